// Numbers as colours and as text.

// Of matplotlib's "cividis": the same order to all eyes, and in grey.
const COLORS = [[0, 34, 78], [53, 69, 108], [102, 105, 112], [148, 142, 119], [200, 184, 102],
  [254, 232, 56]];
const LONGEST_SYMBOL = 16;

export function textOf(value) {
  return value.toFixed(2).replace("-0.00", "0.00");
}

export function colorOf(value) {
  const place = Math.min(Math.max(value, 0), 1) * (COLORS.length - 1);
  const below = Math.min(Math.floor(place), COLORS.length - 2);
  return COLORS[below].map((low, i) =>
    Math.round(low + (place - below) * (COLORS[below + 1][i] - low)));
}

// White or black, whichever stands out more: at least 4.5 to 1 on any colour.
export function inkOn(rgb) {
  const [red, green, blue] = rgb.map((each) => ((each / 255 + 0.055) / 1.055) ** 2.4);
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue < 0.179 ? "#fff" : "#000";
}

export function rgbOf(hex) {
  return [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16));
}

// A symbol as it can be shown: space and line ends have signs, and long words are cut.
export function shownSymbol(symbol) {
  const shown = symbol.replaceAll(" ", "␣").replaceAll("\n", "↵").replaceAll("\t", "⇥");
  return shown.length <= LONGEST_SYMBOL ? shown : `${shown.slice(0, LONGEST_SYMBOL - 1)}…`;
}

// Probabilities as bars.

import { element } from "./dom.js";

// Draws `[symbol, probability]` pairs; `came` is the symbol that really followed, if one did.
export function drawBars(area, pairs, came) {
  area.replaceChildren();
  for (const [symbol, probability] of pairs) {
    const bar = element(area, "div", "bar");
    bar.classList.toggle("came", symbol === came);
    element(bar, "span", "symbol", symbol);
    const track = element(bar, "div", "track");
    element(track, "div", "fill").style.width = `${100 * probability}%`;
    element(bar, "span", "share", probability.toFixed(2));
  }
}

// A list of sequences, checked at once: accepted or rejected, and why.

import { RefusedError } from "./api.js";
import { bestOf } from "./model.js";

export const MOST_LINES = 200;
const SYMBOLS_AT_ONCE = 4000;

// [{text, result, right, why}, ...]: what the model makes of each, and what its task does.
//
// What can be predicted has to be predicted; where more than one symbol may come, one has to have
// a probability of `floor`. `startsAgain` says whether a whole sequence tells that another begins;
// `byTask` says {known, whole} of each, or is null.
export async function check(model, lines, { floor, startsAgain, byTask }) {
  if (lines.length > MOST_LINES) {
    throw new RefusedError(`Up to ${MOST_LINES} sequences are checked at once, got ${lines.length}.`);
  }
  const results = lines.map((text, line) => {
    const read = byTask?.[line];
    const right = read && (read.whole ? "in" : "not in");
    try {
      return { text, right, known: read?.known ?? [], tokens: model.tokensOf(text) };
    } catch (error) {
      return { text, right, result: "rejected", why: error.message };
    }
  });
  const asked = results.filter(({ tokens }) => tokens);
  for (const part of inParts(asked)) {
    const rows = part.map(({ tokens }) => model.asking(tokens));
    const answers = await model.answers(rows);
    part.forEach((each, i) =>
      Object.assign(each, verdict(model, rows[i], answers[i], each, floor, startsAgain)));
  }
  return results;
}

function* inParts(asked) {
  let part = [];
  let longest = 0;
  for (const each of asked) {
    longest = Math.max(longest, each.tokens.length);
    if (part.length && longest * (part.length + 1) > SYMBOLS_AT_ONCE) {
      yield part;
      part = [];
      longest = each.tokens.length;
    }
    part.push(each);
  }
  if (part.length) yield part;
}

function verdict(model, row, probabilities, { tokens, known }, floor, startsAgain) {
  const { answers, written } = model.about;
  if (!model.form.generates) {
    const places = row.map((token, place) => place).filter((place) => model.isAsked(row[place]));
    const said = places.map((place) => answers[bestOf(probabilities[place])]);
    const sure = Math.min(...places.map((place) => Math.max(...probabilities[place])));
    return { result: model.form.joined(said),
      why: `at least ${(100 * sure).toFixed(0)} % sure` };
  }
  for (let place = 1; place < tokens.length; place += 1) {
    const chances = probabilities[place - 1];
    const isRefused = known[place - 1]
      ? bestOf(chances) !== tokens[place] : chances[tokens[place]] < floor;
    if (isRefused) {
      return { result: "rejected", why: `symbol ${place + 1} is ${written[tokens[place]]}, `
        + `expected ${written[bestOf(chances)]}` };
    }
  }
  if (!tokens.length) return { result: "accepted", why: "it is empty" };
  const next = bestOf(probabilities[tokens.length - 1]);
  if (startsAgain && next !== tokens[0]) {
    return { result: "unfinished", why: `goes on with ${written[next]}` };
  }
  return { result: "accepted", why: "every symbol was expected" };
}

// What a memory is for: the fewest forced actions on it alone that break a prediction.
//
// `keras_stackrnn.trace --blame` does the same: see blame.py, whose words these are.

import { bestOf } from "./model.js";

const MOST_ACTIONS = 4;
const MOST_PAIRS = 2000;
const SYMBOLS_AT_ONCE = 20_000;
export const LONGEST = 300;

// The smallest set found, [[place, action], ...]; `isSmallest` if there is none that is smaller.
export async function breakingSet(reading, place, memory) {
  const tokens = reading.tokens.slice(0, place + 1);
  const before = bestOf(reading.steps[place].probabilities);
  const singles = [];
  for (let step = 0; step <= place; step += 1) {
    reading.model.actions.forEach((_, action) => {
      if (action !== reading.taken(step, memory)) singles.push([step, action]);
    });
  }
  const trial = (sets) => trials(reading.model, tokens, memory, sets, before);

  let results = await trial(singles.map((single) => [single]));
  let found = mostCertain(results);
  if (found) return { ...found, isSmallest: true };
  const pairs = singles.flatMap((one, i) =>
    singles.slice(i + 1).filter(([step]) => step !== one[0]).map((other) => [one, other]));
  if (pairs.length && pairs.length <= MOST_PAIRS) {
    found = mostCertain(await trial(pairs));
    if (found) return { ...found, isSmallest: true };
  }
  for (let size = 2; size <= MOST_ACTIONS; size += 1) {
    const closest = results.reduce((one, other) => (other.margin < one.margin ? other : one));
    const free = singles.filter(([step]) => !closest.set.some(([each]) => each === step));
    if (!free.length) return null;
    results = await trial(free.map((single) => [...closest.set, single]));
    found = mostCertain(results);
    if (found) return { ...await pruned(found, trial), isSmallest: false };
  }
  return null;
}

async function pruned(found, trial) {
  let smallest = found;
  for (const each of found.set) {
    const set = smallest.set.filter((other) => other !== each);
    const [without] = set.length ? await trial([set]) : [];
    if (without?.margin < 0) smallest = without;
  }
  return smallest;
}

async function trials(model, tokens, memory, sets, before) {
  const results = [];
  const atOnce = Math.max(1, Math.floor(SYMBOLS_AT_ONCE / tokens.length));
  for (let first = 0; first < sets.length; first += atOnce) {
    const part = sets.slice(first, first + atOnce);
    const rows = part.map((set) => set.map(([step, action]) => [step, memory, action]));
    const answers = await model.force(tokens, rows);
    answers.forEach((probabilities, i) => {
      const after = bestOf(probabilities);
      const other = Math.max(...probabilities.filter((_, answer) => answer !== before));
      results.push({
        set: part[i], after, probability: probabilities[after],
        margin: after === before ? probabilities[before] - other : -probabilities[after],
      });
    });
  }
  return results;
}

// Of those that break the prediction the one that is surest of another; of equals the last, which
// is closest to the prediction.
function mostCertain(results) {
  const broken = results.filter(({ margin }) => margin < 0);
  if (!broken.length) return null;
  return broken.reduce((one, other) => (other.probability >= one.probability - 1e-6 ? other : one));
}

export function sentenceOf(reading, place, memory, found) {
  const { model } = reading;
  const name = model.memories[memory];
  const { answers, written } = model.about;
  const symbol = (step) => written[reading.tokens[step]];
  if (!found) {
    return `${name} is not needed here: no set of up to ${MOST_ACTIONS} forced actions that was tried `
      + "changes the prediction.";
  }
  const orders = [...found.set].sort(([one], [other]) => one - other).map(([step, action]) =>
    `${model.actions[action].name} instead of ${model.actions[reading.taken(step, memory)].name} `
    + `at symbol ${step + 1} (${symbol(step)})`);
  const before = answers[bestOf(reading.steps[place].probabilities)];
  const least = found.isSmallest ? "" : "; none of them can be left out";
  return `${name}: ${orders.join(" and ")} makes it predict ${answers[found.after]} instead of `
    + `${before}${least}.`;
}

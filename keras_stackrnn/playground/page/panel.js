// One reading at the current symbol: its prediction and its memories.

import { drawBars } from "./drawing/bars.js";
import { element } from "./drawing/dom.js";
import { createMemories, drawMemories } from "./drawing/memories.js";
import { shownSymbol } from "./drawing/values.js";

const MOST_BARS = 10;

export class Panel {
  // `choose(memory, action)` is called when an action is forced; only the first panel says it aloud.
  constructor(area, looks, choose, isFirst) {
    this.looks = looks;
    this.choose = choose;
    this.box = element(area, "section", "panel");
    this.title = element(this.box, "h2");
    const prediction = element(this.box, "div", "prediction");
    this.asked = element(prediction, "h3");
    this.bars = element(prediction, "div", "bars");
    this.verdict = element(prediction, "p", "verdict");
    if (isFirst) this.verdict.setAttribute("aria-live", "polite");
    this.columns = element(this.box, "div", "columns");
  }

  say({ verdict, missed }) {
    this.verdict.textContent = verdict;
    this.verdict.classList.toggle("missed", missed);
  }

  show({ title, reading, place, came, verdict, missed, forced }) {
    const { model } = reading;
    this.title.textContent = title;
    this.title.hidden = !title;
    this.box.setAttribute("aria-label", title || "prediction and memories");
    this.asked.textContent = model.form.title;
    drawBars(this.bars, barsOf(reading, place, came), came === null ? null : shownSymbol(came));
    this.say({ verdict, missed });
    if (!reading.contents) return;
    const { memories } = model;
    if (this.shown !== model) {
      this.shown = model;
      this.memories = memories.map((name) => ({
        name, shape: model.about.memory.shape, actions: this.looks(model), reach: [0, 0],
      }));
      createMemories(this.columns, this.memories, this.choose);
    }
    this.memories.forEach((memory, i) => { memory.reach = reading.contents.reaches[i]; });
    drawMemories(this.columns, this.memories, reading.drawn(place), forced);
  }
}

function barsOf(reading, place, came) {
  const { model, steps, tokens } = reading;
  if (!model.isAsked(tokens[place])) return [];
  const { answers } = model.about;
  const pairs = steps[place].probabilities.map((probability, i) => [answers[i], probability]);
  const shown = pairs.length <= MOST_BARS ? pairs : bestPairs(pairs, came);
  return shown.map(([symbol, probability]) => [shownSymbol(symbol), probability]);
}

function bestPairs(pairs, came) {
  const best = [...pairs].sort(([, one], [, other]) => other - one).slice(0, MOST_BARS);
  if (came === null || best.some(([symbol]) => symbol === came)) return best;
  return [...best.slice(0, -1), pairs.find(([symbol]) => symbol === came)];
}

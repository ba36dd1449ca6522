// One model reading one sequence: what is new is read from the state before it, nothing twice.

import { Contents } from "./contents.js";
import { bestOf } from "./model.js";

const SYMBOLS_AT_ONCE = 250;
// States are as large as memories are deep.
const MOST_STATES = 100;
const EMPTY = -1;
// Soft actions leave a little of everything.
const NEARLY_EMPTY = -0.9;

export class Reading {
  constructor(model) {
    this.model = model;
    this.contents = model.about.memory
      ? new Contents(model.about.memory, model.memories.length) : null;
    this.tokens = [];
    this.orders = [];
    this.steps = [];
    this.states = new Map();
  }

  // Reads tokens, of which those from `marks` on are no user's, with forced actions: a list
  // [[memory, action], ...] for each place that has one.
  async read(tokens, forced, marks = tokens.length) {
    const orders = tokens.map((_, place) => forced.get(place) ?? []);
    const same = this.sameUntil(tokens, orders);
    let done = Math.max(0, ...[...this.states.keys()].filter((place) => place <= same));
    this.truncate(done);
    for (const end of this.stops(done, marks, tokens.length)) {
      const state = this.states.get(done) ?? await this.model.begin();
      const part = tokens.slice(done, end);
      const forcedPart = orders.slice(done, end).flatMap((each, place) =>
        each.map(([memory, action]) => [place, memory, action]));
      const [steps, after] = await this.model.read(part, forcedPart, state);
      steps.forEach((step, i) => {
        this.steps.push(step);
        this.tokens.push(part[i]);
        this.orders.push(orders[done + i]);
        this.contents?.append(step);
      });
      this.keep(end, after);
      done = end;
    }
  }

  stops(begin, marks, end) {
    const stops = [];
    for (let place = begin; place < end;) {
      const next = Math.min(place + SYMBOLS_AT_ONCE, place < marks ? marks : end);
      stops.push(next);
      place = next;
    }
    return stops;
  }

  sameUntil(tokens, orders) {
    const same = (place) => this.tokens[place] === tokens[place]
      && String(this.orders[place]) === String(orders[place]);
    let place = 0;
    while (place < this.steps.length && place < tokens.length && same(place)) place += 1;
    return place;
  }

  truncate(length) {
    for (const each of [this.steps, this.tokens, this.orders]) each.length = length;
    this.contents?.truncate(length);
    for (const place of [...this.states.keys()]) if (place > length) this.states.delete(place);
  }

  keep(place, state) {
    this.states.set(place, state);
    if (this.states.size > MOST_STATES) {
      // Every other one of the older half: what is near the end is where people type.
      [...this.states.keys()].sort((a, b) => a - b).slice(0, MOST_STATES / 2)
        .forEach((each, i) => { if (i % 2) this.states.delete(each); });
    }
  }

  // The state after so many tokens, which may have to be read again.
  async stateAfter(length) {
    if (!length) return this.model.begin();
    if (!this.states.has(length)) {
      const again = new Reading(this.model);
      const forced = new Map(this.orders.map((each, place) => [place, each]));
      await again.read(this.tokens.slice(0, length), forced);
      this.keep(length, again.states.get(length));
    }
    return this.states.get(length);
  }

  // The most probable answer at a place, an index; null where none is asked.
  predicted(place) {
    const { model, steps, tokens } = this;
    return model.isAsked(tokens[place]) ? bestOf(steps[place].probabilities) : null;
  }

  // The action of a memory at a place that weighs most.
  taken(place, memory) { return bestOf(this.steps[place].actions[memory]); }

  // Of each place whether the action there changes the memory: taking from what is empty does not,
  // as tops tell.
  effects(memory) {
    return this.steps.map(({ tops }, place) => {
      const { role, writes } = this.model.actions[this.taken(place, memory)];
      if (role === "stays") return false;
      const top = place ? this.steps[place - 1].tops[memory] : EMPTY;
      return writes || top > NEARLY_EMPTY || tops[memory] > NEARLY_EMPTY;
    });
  }

  // All memories at a place, as they are drawn.
  drawn(place) {
    const before = place ? this.contents.after(place) : this.model.memories.map(() => []);
    const after = this.contents.after(place + 1);
    const step = this.steps[place];
    return after.map((slots, memory) => {
      const action = this.taken(place, memory);
      const { role, writes } = this.model.actions[action];
      const changes = writes || before[memory].length || slots.length;
      return {
        action,
        effect: role !== "stays" && Boolean(changes),
        weights: step.actions[memory],
        value: step.values[memory],
        slots,
      };
    });
  }
}

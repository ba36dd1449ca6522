// A served model: what it says of itself, texts as token ids, and what its signatures answer.

import { RefusedError, predict, versionsOf } from "./api.js";
import { Form } from "./forms.js";

export const MOST_SYMBOLS = 5000;
const FEW_SYMBOLS = 20;
const UNKNOWN = "<unk>";
// More than these are not looked through for one that rounds, or does not.
const LATEST_VERSIONS = 4;

export const shared = (one, other) => {
  let length = 0;
  while (length < one.length && one[length] === other[length]) length += 1;
  return length;
};

export const bestOf = (probabilities) => probabilities.indexOf(Math.max(...probabilities));

export class Model {
  constructor(name, version, versions, about) {
    Object.assign(this, { name, version, versions, about });
    this.form = new Form(about);
    this.places = new Map(about.written.map((symbol, place) => [symbol, place]));
    for (const mark of about.symbols.slice(about.symbols.length - about.marks)) {
      this.places.delete(mark);
    }
  }

  static async open(name) {
    const versions = await versionsOf(name);
    return Model.describe(name, versions[0], versions);
  }

  static async describe(name, version, versions) {
    let described;
    try {
      described = await predict(name, version, "describe", { batch_size: 1 });
    } catch (error) {
      if (!(error instanceof RefusedError) || !error.message.includes("not found")) throw error;
      throw new RefusedError(
        `${name} cannot be watched: it was exported by another version; export it again.`);
    }
    return new Model(name, version, versions, JSON.parse(described[0]));
  }

  // The same model, soft if this one rounds its actions and the other way round; or null.
  async other() {
    if (!this.about.memory) return null;
    for (const version of this.versions.slice(0, LATEST_VERSIONS)) {
      if (version === this.version) continue;
      const model = await Model.describe(this.name, version, this.versions);
      const { rounding, memories } = model.about;
      if (rounding !== this.about.rounding && memories.length === this.about.memories.length) {
        return model;
      }
    }
    return null;
  }

  get memories() { return this.about.memories; }

  get actions() { return this.about.memory ? this.about.memory.actions : []; }

  // A text's symbols as token ids; RefusedError says what is wrong with it.
  tokensOf(text) {
    if (text.length > 16 * MOST_SYMBOLS) throw tooLong(text.length, "characters");
    const spaces = [...this.places.keys()].some((symbol) => /\s/.test(symbol));
    const symbols = this.about.separator
      ? text.split(/\s+/).filter(Boolean)
      : [...(spaces ? text : text.trim())];
    if (symbols.length > MOST_SYMBOLS) throw tooLong(symbols.length, "symbols");
    return symbols.map((symbol, place) => {
      const token = this.places.get(symbol) ?? this.places.get(UNKNOWN);
      if (token !== undefined) return token;
      const known = [...this.places.keys()];
      const expected = known.length <= FEW_SYMBOLS
        ? `one of ${known.join(" ")}` : `one of its ${known.length} symbols`;
      throw new RefusedError(`Symbol ${place + 1}, ${symbol}, is none that the model knows: `
        + `expected ${expected}.`);
    });
  }

  textOf(tokens) {
    return tokens.map((token) => this.about.written[token]).join(this.about.separator);
  }

  // The tokens with the marks that ask.
  asking(tokens) {
    return [...tokens, ...this.form.marksAfter(tokens.length)];
  }

  isAsked(token) { return this.form.isAsked(token); }

  ask(signature, inputs) { return predict(this.name, this.version, signature, inputs); }

  async begin() {
    this.initial ??= await this.ask("initial_state", { batch_size: 1 });
    return this.initial;
  }

  // Reads on from a state: what happened at each of the tokens, and the state after them.
  async read(tokens, forced, state) {
    const outputs = await this.ask("trace_on", {
      tokens: [tokens],
      lengths: [tokens.length],
      ...this.forcing([forced]),
      ...state,
    });
    const after = {};
    for (const name of Object.keys(state)) after[name] = outputs[name];
    const steps = tokens.map((_, i) => ({
      probabilities: outputs.probabilities[0][i],
      actions: outputs.actions?.[0][i] ?? [],
      tops: outputs.tops?.[0][i] ?? [],
      values: outputs.values?.[0][i] ?? [],
    }));
    return [steps, after];
  }

  // Probabilities of the answers at each place of several sequences.
  async answers(rows) {
    const longest = Math.max(...rows.map((row) => row.length));
    const state = await this.begin();
    const states = {};
    for (const [name, [first]] of Object.entries(state)) states[name] = rows.map(() => first);
    const outputs = await this.ask("trace_on", {
      tokens: rows.map((row) => [...row, ...Array(longest - row.length).fill(0)]),
      lengths: rows.map((row) => row.length),
      ...this.forcing(rows.map(() => [])),
      ...states,
    });
    return outputs.probabilities;
  }

  // Probabilities after each of some sequences of the same length, all with other forced actions.
  force(tokens, forced) {
    return this.ask("force", {
      tokens: forced.map(() => tokens),
      lengths: forced.map(() => tokens.length),
      ...this.forcing(forced),
    });
  }

  // A continuation as token ids, and the state after it.
  async generate(state, count, temperature, seed, position) {
    const outputs = await this.ask("generate_on", {
      text: [""], max_symbols: count, temperature, seed, position, ...state,
    });
    return outputs.symbols[0].map((symbol) => this.about.symbols.indexOf(symbol));
  }

  // Orders of each row, [[place, memory, action], ...], as the input that signatures take.
  forcing(rows) {
    if (!this.about.memory) return {};
    const places = Math.max(1, ...rows.flat().map(([place]) => place + 1));
    const forced = rows.map((orders) => {
      const row = Array.from({ length: places }, () => Array(this.memories.length).fill(-1));
      for (const [place, memory, action] of orders) row[place][memory] = action;
      return row;
    });
    return { forced };
  }
}

function tooLong(length, what) {
  return new RefusedError(`The page reads up to ${MOST_SYMBOLS.toLocaleString("en")} symbols, `
    + `got ${length.toLocaleString("en")} ${what}.`);
}

// What a model said at each place, what would have been right, and how that is put.

export class Verdicts {
  // Of {model, tokens, answer, known}: `tokens` are the user's; `answer` is what is right, where a
  // sequence was made here; `known` says of each symbol whether it tells the next one, or is null.
  constructor({ model, tokens, answer, known }, reading) {
    Object.assign(this, { model, tokens, answer, known, reading });
    this.firstAsked = reading.tokens.findIndex((token) => model.isAsked(token));
  }

  // The right answer at a place, as its name; null where nobody knows it.
  right(place) {
    if (place < 0) return null;
    const { model, tokens, answer } = this;
    if (!model.form.generates) return answer?.answer?.[place - this.firstAsked] ?? null;
    return place + 1 < tokens.length ? model.about.symbols[tokens[place + 1]] : null;
  }

  predicted(place, reading = this.reading) {
    const predicted = place < 0 ? null : reading.predicted(place);
    return predicted === null ? null : this.model.about.answers[predicted];
  }

  // Whether being wrong there is a fault.
  counts(place) {
    return !this.model.form.generates || this.known === null || Boolean(this.known[place]);
  }

  isWrong(place) {
    const right = this.right(place);
    return right !== null && this.counts(place) && this.predicted(place) !== right;
  }

  // All that was said.
  answers() {
    return this.reading.steps.map((_, place) => this.predicted(place))
      .filter((each) => each !== null);
  }

  on(place, reading) {
    const predicted = this.predicted(place, reading);
    const right = this.right(place);
    if (predicted === null) return { verdict: "Nothing is asked here yet.", missed: false };
    const said = `Predicted ${predicted}`;
    if (right === null) return { verdict: `${said}.`, missed: false };
    const came = this.model.form.generates ? `${right} came` : `${right} is right`;
    if (!this.counts(place)) {
      return { verdict: `${said}; ${came}, which nothing tells beforehand.`, missed: false };
    }
    const missed = predicted !== right;
    return { verdict: `${said}, ${missed ? "but" : "and"} ${came}.`, missed };
  }

  // How much of the sequence is right; nothing where nobody knows.
  score() {
    const scored = this.reading.steps.map((_, place) => place)
      .filter((place) => this.right(place) !== null && this.counts(place));
    if (!scored.length) return "";
    const right = scored.filter((place) => !this.isWrong(place)).length;
    const of = this.model.form.generates ? "symbols" : "answers";
    return `${right} of ${scored.length} ${this.known ? "predictable " : ""}${of} `
      + `${scored.length === 1 ? "is" : "are"} right.`;
  }
}

// What there is to read and to ask in each form of task: after the symbols that a user writes may come
// marks, places to compute in and then places where an answer is asked.

const TITLES = { next_symbol: "Next symbol", transduction: "Answer", recognition: "Label" };

export class Form {
  constructor({ form, symbols, marks, computation, answer_places, terminator }) {
    this.title = TITLES[form];
    // Who says the next symbol can go on with it.
    this.generates = !marks;
    this.answerMark = symbols.length - marks;
    this.computation = computation;
    this.answerPlaces = answer_places;
    this.terminator = terminator;
  }

  marksAfter(length) {
    const [times, over, plus] = this.answerPlaces;
    const places = this.generates ? 0 : Math.ceil(times * length / over) + plus;
    return [...Array(this.computation * length).fill(this.answerMark + 1),
      ...Array(places).fill(this.answerMark)];
  }

  isAsked(token) { return this.generates || token === this.answerMark; }

  // What stands for a mark, where there is little room.
  signOf(token) {
    if (this.generates || token < this.answerMark) return null;
    return token === this.answerMark ? "?" : "·";
  }

  // Answers as one text, up to what ends them.
  joined(answers) {
    const end = answers.indexOf(this.terminator);
    const said = end < 0 ? answers : answers.slice(0, end + 1);
    return said.join(said.every(({ length }) => length === 1) ? "" : " ");
  }
}

// The action map: a row for the symbols, one for what was predicted, one for each memory; as many
// columns as there is room for, and above them an overview of sequences that are longer.

import { button, byId, element } from "./drawing/dom.js";
import { inkOn, rgbOf, shownSymbol } from "./drawing/values.js";

const NARROWEST = 22;
const NAME_WIDTH = 80;
const WIDTH_OF_CHARACTER = 8;

export class Score {
  // `go(place)` moves there, `force(place, memory)` changes what is forced there.
  constructor({ go, force }) {
    this.go = go;
    this.force = force;
    this.row = 0;
    byId("score").addEventListener("keydown", (event) => this.pressed(event));
    byId("earlier").addEventListener("click", () => this.turn(-1));
    byId("later").addEventListener("click", () => this.turn(1));
    byId("overview").addEventListener("click", (event) => {
      const share = event.offsetX / byId("overview").clientWidth;
      this.go(Math.floor(share * this.view.length));
    });
  }

  // Draws what `mark` then shows the current place of. A view says all that is shown: {length, symbols, predictions, known, missed, marks, memories,
  // looks, cell(place, memory) -> {action, forced, differs, idle}}.
  draw(view, current) {
    this.view = view;
    const longest = Math.max(1, ...view.symbols.slice(0, 200).map((each) => shownSymbol(each).length));
    const cell = Math.max(NARROWEST, longest * WIDTH_OF_CHARACTER + 6);
    const width = byId("score").clientWidth - NAME_WIDTH;
    this.columns = Math.max(4, Math.floor(width / (cell + 1)));
    byId("score").style.setProperty("--cell", `${cell}px`);
    this.first = this.firstFor(current);
    this.fill();
  }

  firstFor(place) {
    const first = Math.floor(place / this.columns) * this.columns;
    return Math.max(0, Math.min(first, this.view.length - this.columns));
  }

  fill() {
    const { view, first } = this;
    const grid = byId("score");
    const hadFocus = grid.contains(document.activeElement);
    const last = Math.min(view.length, first + this.columns);
    const places = Array.from({ length: last - first }, (_, i) => first + i);
    grid.replaceChildren();
    grid.setAttribute("aria-rowcount", view.memories.length + 2);
    grid.setAttribute("aria-colcount", view.length + 1);
    this.rows = [];
    this.marked = [];
    this.addRow("symbol", places, (place) => this.given(place));
    this.addRow("predicted", places, (place) => this.predicted(place));
    view.memories.forEach((name, memory) =>
      this.addRow(name, places, (place) => this.action(place, memory)));
    byId("pages").hidden = view.length <= this.columns;
    byId("window").textContent = `symbols ${first + 1} to ${last} of ${view.length}`;
    byId("earlier").disabled = !first;
    byId("later").disabled = last >= view.length;
    this.wantsFocus = hadFocus;
  }

  addRow(name, places, make) {
    const row = element(byId("score"), "div", "score-row");
    row.setAttribute("role", "row");
    element(row, "span", "name", name).setAttribute("role", "rowheader");
    const cells = places.map((place) => {
      const made = make(place);
      made.setAttribute("role", "gridcell");
      made.setAttribute("aria-colindex", place + 2);
      made.tabIndex = -1;
      row.append(made);
      return made;
    });
    this.rows.push(cells);
  }

  given(place) {
    const { view } = this;
    const cell = button(document.createDocumentFragment(), "cell given",
      shownSymbol(view.symbols[place]), () => this.go(place));
    cell.classList.toggle("mark", view.isMark(place));
    this.judge(cell, place);
    return cell;
  }

  judge(cell, place) {
    const { view } = this;
    cell.classList.toggle("known", view.known(place));
    cell.classList.toggle("missed", view.missed(place));
    const predicted = view.missed(place) ? ", predicted wrong" : "";
    cell.ariaLabel = `symbol ${place + 1}: ${view.symbols[place]}${predicted}`;
  }

  // Shows the same with other `known` and `missed` of its view.
  know(changes) {
    Object.assign(this.view, changes);
    this.rows[0].forEach((cell, i) => this.judge(cell, this.first + i));
    this.drawOverview(this.current);
  }

  predicted(place) {
    const symbol = this.view.predictions(place);
    const cell = button(document.createDocumentFragment(), "cell expected",
      symbol === null ? "" : shownSymbol(symbol), () => this.go(place));
    cell.ariaLabel = symbol === null ? "nothing was predicted here" : `${symbol} was predicted here`;
    return cell;
  }

  action(place, memory) {
    const { view } = this;
    const { action, forced, differs, idle } = view.cell(place, memory);
    const { name, sign, color } = view.looks[action];
    const cell = button(document.createDocumentFragment(), "cell action", sign, () => {
      this.row = memory + 2;
      this.force(place, memory);
    });
    cell.style.background = color;
    cell.style.color = inkOn(rgbOf(color));
    cell.classList.toggle("unchanged", idle);
    cell.classList.toggle("ordered", forced);
    cell.classList.toggle("differs", differs && !forced);
    const why = forced ? ", forced" : differs ? ", otherwise before" : "";
    cell.ariaLabel = `${view.memories[memory]} at symbol ${place + 1}: ${name}${why}`;
    cell.title = cell.ariaLabel;
    return cell;
  }

  // Shows which place is the current one.
  mark(current) {
    if (!this.view) return;
    this.current = current;
    if (current < this.first || current >= this.first + this.columns) {
      this.first = this.firstFor(current);
      this.fill();
    }
    this.row = Math.min(this.row, this.rows.length - 1);
    for (const cell of this.marked) {
      cell.classList.remove("current");
      cell.removeAttribute("aria-current");
      cell.tabIndex = -1;
    }
    this.marked = this.rows.map((cells) => cells[current - this.first]);
    for (const cell of this.marked) {
      cell.classList.add("current");
      cell.ariaCurrent = "step";
    }
    this.marked[this.row].tabIndex = 0;
    if (this.wantsFocus || byId("score").contains(document.activeElement)) {
      this.marked[this.row].focus();
    }
    this.wantsFocus = false;
    this.drawOverview(current);
  }

  turn(pages) {
    this.go(Math.min(this.view.length - 1, Math.max(0, this.first + pages * this.columns)));
  }

  // Left and right are the page's; up and down choose the row.
  pressed(event) {
    const by = { ArrowUp: -1, ArrowDown: 1 }[event.key];
    if (!by) return;
    event.preventDefault();
    this.marked[this.row].tabIndex = -1;
    this.row = Math.min(Math.max(this.row + by, 0), this.rows.length - 1);
    this.marked[this.row].tabIndex = 0;
    this.marked[this.row].focus();
  }

  drawOverview(current) {
    const canvas = byId("overview");
    const { view } = this;
    canvas.hidden = view.length <= this.columns;
    if (canvas.hidden) return;
    const width = canvas.clientWidth;
    const ratio = devicePixelRatio || 1;
    canvas.width = width * ratio;
    canvas.height = canvas.clientHeight * ratio;
    const pen = canvas.getContext("2d");
    const rows = view.memories.length + 1;
    const height = canvas.height / rows;
    const columns = Math.min(view.length, Math.floor(canvas.width));
    const each = canvas.width / columns;
    for (let column = 0; column < columns; column += 1) {
      const place = Math.floor(column * view.length / columns);
      pen.fillStyle = view.missed(place) ? "#d55e00" : "#999";
      pen.fillRect(column * each, 0, Math.ceil(each), height - 1);
      view.memories.forEach((_, memory) => {
        const { action, idle } = view.cell(place, memory);
        pen.fillStyle = idle ? "#ccc" : view.looks[action].color;
        pen.fillRect(column * each, (memory + 1) * height, Math.ceil(each), height);
      });
    }
    pen.fillStyle = getComputedStyle(canvas).color;
    pen.fillRect(current * canvas.width / view.length - ratio, 0, 2 * ratio, canvas.height);
  }
}

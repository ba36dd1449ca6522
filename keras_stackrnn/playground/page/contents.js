// What memories hold after each symbol, rebuilt from the actions taken on them, soft or rounded.
//
// How actions move elements comes with the model: `drawn_as` names one of the ways below, and each
// action says in its words what it does. Of other kinds only the element read first is known.

const EMPTY = -1;
const NOTHING = 1e-6;
// Slots that hold less than this of an element are not drawn.
const FAINT = 0.01;
const KEPT_EVERY = 64;

const at = (pile, place) => (place >= 0 && place < pile.length ? pile[place] : EMPTY);

function trimmed(pile) {
  let length = pile.length;
  while (length && pile[length - 1] <= EMPTY + NOTHING) length -= 1;
  return pile.slice(0, length);
}

// An element under the head and a pile on either side of it, nearest element first. A stack is
// one that uses a single pile.
const zipper = {
  empty: () => ({ head: EMPTY, left: [], right: [] }),

  after(now, actions, weights, value) {
    const sum = (of) => actions.reduce((total, action, i) =>
      (weights[i] ? total + weights[i] * of(action, action.first ? value : now.head) : total), 0);
    const moved = (side) => {
      const pile = new Array(now[side].length + 1);
      for (let place = 0; place < pile.length; place += 1) {
        pile[place] = sum((action, old) => (action[side] > 0 && place === 0
          ? old : at(now[side], place - action[side])));
      }
      return trimmed(pile);
    };
    const head = sum((action, old) => ({
      value, stays: old, left: at(now.left, 0), right: at(now.right, 0),
    })[action.head]);
    return { head, left: moved("left"), right: moved("right") };
  },

  slots({ head, left, right }, shape) {
    const beside = (pile, sign) => pile.map((value, place) => [sign * (place + 1), value]);
    return [[0, head], ...beside(right, 1), ...beside(left, shape === "ribbon" ? -1 : 1)];
  },
};

// What comes first goes first. A mark of 0 says that a row is in use; as soft actions leave several
// lengths possible, what is put in is put behind each of them by how probable it is.
const queue = {
  empty: () => ({ elements: [], marks: [] }),

  after({ elements, marks }, actions, weights, value) {
    const mark = (row) => (row < 0 ? 0 : at(marks, row));
    const moves = {
      adds: (row) => {
        const ends = mark(row - 1) - mark(row);
        return [at(elements, row) * (1 - ends) + ends * value, mark(row - 1)];
      },
      takes: (row) => [at(elements, row + 1), mark(row + 1)],
      stays: (row) => [at(elements, row), mark(row)],
    };
    const next = { elements: [], marks: [] };
    for (let row = 0; row <= marks.length; row += 1) {
      const after = [0, 0];
      actions.forEach(({ role }, i) => {
        if (!weights[i]) return;
        moves[role](row).forEach((each, k) => { after[k] += weights[i] * each; });
      });
      next.elements.push(after[0]);
      next.marks.push(after[1]);
    }
    const marksLeft = trimmed(next.marks);
    return { elements: next.elements.slice(0, marksLeft.length), marks: marksLeft };
  },

  slots: ({ elements }) => elements.map((value, place) => [place, value]),
};

const WAYS = { zipper, queue };

// All memories of a model over a sequence; steps are {actions, values, tops}, a row a memory.
export class Contents {
  constructor(picture, count) {
    this.picture = picture;
    this.way = WAYS[picture.drawn_as] ?? null;
    this.count = count;
    this.steps = [];
    this.restart();
  }

  restart() {
    this.kept = new Map();
    this.place = 0;
    this.now = Array.from({ length: this.count }, () => this.way?.empty());
    this.reaches = Array.from({ length: this.count }, () => [0, 0]);
  }

  truncate(length) {
    this.steps.length = length;
    for (const place of [...this.kept.keys()]) if (place > length) this.kept.delete(place);
    if (this.place > length) this.goBack(length);
    // What went beyond is no longer there to be drawn.
    if (!length) this.restart();
  }

  append(step) {
    this.goTo(this.steps.length);
    this.steps.push(step);
    this.goTo(this.steps.length);
    this.slots().forEach((slots, memory) => slots.forEach(([place]) => {
      const reach = this.reaches[memory];
      reach[0] = Math.min(reach[0], place);
      reach[1] = Math.max(reach[1], place);
    }));
  }

  // Of each memory, [[place, value], ...] after so many steps, the element read first at place 0.
  after(steps) {
    if (this.place > steps) this.goBack(steps);
    this.goTo(steps);
    return this.slots();
  }

  slots() {
    const drawn = ([, value]) => value - EMPTY >= FAINT;
    if (this.way) return this.now.map((each) => this.way.slots(each, this.picture.shape).filter(drawn));
    const step = this.steps[this.place - 1];
    return Array.from({ length: this.count }, (_, i) => [[0, step ? step.tops[i] : EMPTY]].filter(drawn));
  }

  goBack(steps) {
    const place = Math.max(0, ...[...this.kept.keys()].filter((each) => each <= steps));
    this.place = place;
    this.now = place ? this.kept.get(place) : this.now.map(() => this.way?.empty());
    this.goTo(steps);
  }

  goTo(steps) {
    for (; this.place < steps; this.place += 1) {
      const { actions, values } = this.steps[this.place];
      if (this.way) {
        this.now = this.now.map((each, i) =>
          this.way.after(each, this.picture.actions, actions[i], values[i]));
      }
      if ((this.place + 1) % KEPT_EVERY === 0) this.kept.set(this.place + 1, this.now);
    }
  }
}

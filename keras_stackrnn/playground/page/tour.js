// Three steps for who never saw a network with a stack.

import { byId } from "./drawing/dom.js";

const SEEN = "keras-stackrnn-tour";
const STEPS = [
  {
    points: "sequence",
    title: "1 of 3: it reads, and says what comes next",
    text: "This network reads a sequence symbol by symbol. Type, or take a sequence offered here; below, each "
      + "symbol stands above what was predicted for its place. Step with the arrow keys.",
  },
  {
    points: "panels",
    title: "2 of 3: what it remembers",
    text: "Beside its few neurons it has a memory without an end. At each symbol it decides what to do with it, "
      + "as PUSH something on a stack or POP it: nobody told it when, it has learned that. Watch it grow while "
      + "there is something to count or to keep, and shrink when that is used.",
  },
  {
    points: "score-section",
    title: "3 of 3: what if?",
    text: "Each row is a memory, each column a symbol. Choose a cell to force another action there, and see at "
      + "once what that breaks: the new prediction stands beside the one before.",
  },
];

export class Tour {
  // Who was here before, or follows a link, knows what this is.
  constructor(isLinked) {
    this.place = null;
    byId("tour").addEventListener("click", () => this.show(0));
    byId("tour-on").addEventListener("click", () => this.show(this.place + 1));
    byId("tour-back").addEventListener("click", () => this.show(this.place - 1));
    byId("tour-end").addEventListener("click", () => this.end());
    byId("tour-card").addEventListener("keydown", (event) => {
      if (event.key === "Escape") this.end();
      event.stopPropagation();
    });
    if (!isLinked && !remembered()) this.show(0, false);
  }

  show(place, takesFocus = true) {
    if (place >= STEPS.length) {
      this.end();
      return;
    }
    this.place = place;
    const { points, title, text } = STEPS[place];
    this.unpoint();
    byId(points).classList.add("pointed");
    byId("tour-title").textContent = title;
    byId("tour-text").textContent = text;
    byId("tour-back").disabled = place === 0;
    byId("tour-on").textContent = place === STEPS.length - 1 ? "Done" : "Next";
    byId("tour-card").hidden = false;
    if (takesFocus) byId("tour-title").focus();
  }

  end() {
    this.unpoint();
    byId("tour-card").hidden = true;
    try {
      localStorage.setItem(SEEN, "1");
    } catch {
      // Where nothing may be kept, the tour is offered again.
    }
    byId("tour").focus();
  }

  unpoint() {
    document.querySelectorAll(".pointed").forEach((each) => each.classList.remove("pointed"));
  }
}

function remembered() {
  try {
    return localStorage.getItem(SEEN) !== null;
  } catch {
    return false;
  }
}

// The page of one trace: everything that it shows is in it.

import { drawBars } from "./drawing/bars.js";
import { button, byId, element } from "./drawing/dom.js";
import { createMemories, drawMemories } from "./drawing/memories.js";

const trace = JSON.parse(byId("trace").textContent);
const last = trace.symbols.length - 1;
let current = 0;

// Deterministic and wrong are said of the symbol after a step, and shown on that symbol.
function isKnown(step) {
  return trace.deterministic !== null && trace.deterministic[step];
}

function isMissed(step) {
  return trace.wrong[step] && (trace.deterministic === null || isKnown(step));
}

function drawText() {
  trace.symbols.forEach((symbol, step) => {
    const made = button(byId("text"), "", symbol, () => show(step));
    if (step > 0 && isKnown(step - 1)) made.classList.add("known");
    if (step > 0 && isMissed(step - 1)) made.classList.add("missed");
  });
}

function verdictOn(step) {
  if (trace.predictions[step] === null) return "The model predicts nothing here.";
  if (trace.answers) return `Answered ${trace.predictions[step]}.`;
  const expected = `Predicted ${trace.predictions[step]}`;
  if (trace.next[step] === null) return `${expected}; the text ends here.`;
  const came = `${trace.next[step]} came`;
  if (trace.deterministic !== null && !isKnown(step)) {
    return `${expected}; ${came}, which nothing tells beforehand.`;
  }
  return trace.wrong[step] ? `${expected}, but ${came}.` : `${expected}, and ${came}.`;
}

function show(step) {
  current = Math.min(Math.max(step, 0), last);
  byId("slider").value = current;
  byId("position").textContent = `symbol ${current + 1} of ${last + 1}`;
  [...byId("text").children].forEach((each, i) => {
    each.classList.toggle("read", i < current);
    each.classList.toggle("current", i === current);
  });
  drawBars(byId("bars"), trace.bars[current], trace.next[current]);
  byId("verdict").classList.toggle("missed", isMissed(current));
  byId("verdict").textContent = verdictOn(current);
  drawMemories(byId("columns"), trace.memories, trace.memories.map((memory) => ({
    action: memory.taken[current],
    effect: memory.effect[current],
    weights: memory.weights[current],
    value: memory.values[current],
    slots: memory.slots[current],
  })));
}

const KEYS = {
  ArrowLeft: () => show(current - 1),
  ArrowRight: () => show(current + 1),
  Home: () => show(0),
  End: () => show(last),
};

document.addEventListener("keydown", (event) => {
  if (!(event.key in KEYS) || event.ctrlKey || event.altKey || event.metaKey) return;
  // The slider would take a step of its own.
  event.preventDefault();
  KEYS[event.key]();
});
// A wider page has room for wider slots.
addEventListener("resize", () => show(current));
byId("slider").max = last;
byId("slider").addEventListener("input", (event) => show(Number(event.target.value)));
byId("back").addEventListener("click", () => show(current - 1));
byId("on").addEventListener("click", () => show(current + 1));
byId("title").textContent = trace.title;
drawText();
createMemories(byId("columns"), trace.memories);
trace.idle.forEach((line) => element(byId("idle"), "div", "", line));
show(0);

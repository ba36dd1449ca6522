// Memories: stacks as columns on a floor, lists and tapes as ribbons past a head, queues as pipes.
//
// A memory is {name, shape, actions: [{name, sign, color}], reach: [first, last place ever filled]};
// what it is at a step is {action, effect, weights, value, slots: [[place, value], ...]}, places
// being counted from the element that is read first.

import { button, element } from "./dom.js";
import { colorOf, inkOn, rgbOf, textOf } from "./values.js";

const LARGEST_SLOT = 22;
const HIGHEST_COLUMN = 256;
const WIDEST_SLOT = 44;
// Columns keep their height while a few elements more come to them.
const ELEMENTS_AT_ONCE = 4;
const MOST_SAID = 6;
// On slots that are emptier nothing could be read.
const LEAST_SAID = -0.3;

// A box for each memory; with `choose(memory, action)`, actions are buttons to choose one by.
export function createMemories(area, memories, choose) {
  area.replaceChildren();
  for (const [place, memory] of memories.entries()) {
    const box = element(area, "div", `memory ${memory.shape}`);
    box.dataset.name = memory.name;
    element(box, "h3", "", memory.name);
    element(box, "div", "badge");
    element(box, "div", "slots").setAttribute("role", "img");
    const weights = element(box, "div", "weights");
    for (const [action, { name }] of memory.actions.entries()) {
      const line = choose
        ? button(weights, "line", undefined, () => choose(place, action))
        : element(weights, "div", "line");
      if (choose) line.title = `Force ${name} on ${memory.name} here, or let it go`;
      element(line, "span", "", name);
      element(line, "span", "share");
    }
    const line = element(weights, "div", "line");
    element(line, "span", "", "value");
    element(line, "span", "share");
  }
}

export function drawMemories(area, memories, now, forced = () => null) {
  area.style.setProperty("--column", `${heightOfColumns(memories)}px`);
  for (const [place, box] of [...area.children].entries()) {
    drawMemory(box, memories[place], now[place], forced(place));
  }
}

function heightOfColumns(memories) {
  const columns = memories.filter((memory) => memory.shape === "column");
  const deepest = Math.max(0, ...columns.map((memory) => memory.reach[1])) + 1;
  const elements = Math.ceil(deepest / ELEMENTS_AT_ONCE) * ELEMENTS_AT_ONCE;
  return Math.min(HIGHEST_COLUMN, elements * LARGEST_SLOT);
}

function drawMemory(box, memory, now, forced) {
  const { name, sign, color } = memory.actions[now.action];
  const badge = box.querySelector(".badge");
  badge.textContent = `${sign} ${name}`;
  badge.classList.toggle("still", !now.effect);
  badge.style.background = now.effect ? color : "";
  badge.style.color = now.effect ? inkOn(rgbOf(color)) : "";
  box.classList.toggle("forced", forced !== null);
  const lines = [...box.querySelectorAll(".line")];
  for (const [place, share] of [...now.weights, now.value].entries()) {
    lines[place].lastChild.textContent = share.toFixed(2);
    if (lines[place].type === "button") lines[place].ariaPressed = String(place === forced);
  }
  const area = box.querySelector(".slots");
  area.setAttribute("aria-label", sentenceOf(memory, now));
  (memory.shape === "column" ? drawColumn : drawRow)(area, memory, now.slots);
}

function sentenceOf(memory, { slots }) {
  if (!slots.length) return `${memory.name} is empty`;
  const said = slots.slice(0, MOST_SAID).map(([, value]) => textOf(value)).join(", ");
  const more = slots.length > MOST_SAID ? ", …" : "";
  return `${memory.name} holds ${slots.length} element${slots.length > 1 ? "s" : ""}: ${said}${more}`;
}

// A stack stands on the floor, its top moving.
function drawColumn(area, memory, slots) {
  const height = Math.min(LARGEST_SLOT, area.clientHeight / (memory.reach[1] + 1));
  const bottom = Math.max(-1, ...slots.map(([place]) => place));
  // From the floor up: what lies below a push stays the element of the page that it was.
  const drawn = slotsIn(area, slots.length);
  slots.forEach(([place, value], i) => {
    const slot = drawn[slots.length - 1 - i];
    fillSlot(slot, memory, place, value, height >= 13);
    put(slot, height < 8, `${(bottom - place) * height}px`, `${height}px`, "bottom", "height");
  });
}

// A list moves past its head, which stays; a queue's front is where things leave.
function drawRow(area, memory, slots) {
  const [first, last] = memory.reach;
  const width = Math.min(WIDEST_SLOT, area.clientWidth / (last - first + 1));
  const spare = Math.max(0, area.clientWidth - width * (last - first + 1));
  const left = memory.shape === "ribbon" ? spare / 2 : 0;
  const x = (place) => left + (place - first) * width;
  if (memory.shape === "ribbon") {
    const head = area.querySelector(".head") ?? element(area, "div", "head");
    head.style.left = `${x(0)}px`;
    head.style.width = `${width}px`;
  }
  const drawn = slotsIn(area, slots.length);
  slots.forEach(([place, value], i) => {
    fillSlot(drawn[i], memory, place, value, width >= 30);
    put(drawn[i], width < 8, `${x(place)}px`, `${width}px`, "left", "width");
  });
}

// So many slots: those that are there, and new ones.
function slotsIn(area, count) {
  const slots = [...area.querySelectorAll(".slot")];
  for (const slot of slots.splice(count)) slot.remove();
  while (slots.length < count) slots.push(element(area, "div", "slot"));
  return slots;
}

function put(slot, isThin, at, size, side, extent) {
  slot.classList.toggle("thin", isThin);
  if (slot.style[side] !== at) slot.style[side] = at;
  if (slot.style[extent] !== size) slot.style[extent] = size;
}

function fillSlot(slot, memory, place, value, hasText) {
  const text = hasText && value > LEAST_SAID ? textOf(value) : "";
  if (slot.textContent !== text) slot.textContent = text;
  slot.dataset.place = place;
  slot.title = `${memory.name}[${place}] = ${textOf(value)}`;
  if (slot.dataset.value === String(value)) return;
  slot.dataset.value = value;
  const rgb = colorOf(value);
  // As solid as the slot is full: soft actions leave slots half empty.
  slot.style.background = `rgb(${rgb.join(" ")} / ${Math.min(value + 1, 1)})`;
  slot.style.color = inkOn(rgb);
}

// The page: what the person chose, and everything that follows from it.

import { RefusedError, get, post } from "./api.js";
import { check } from "./batch.js";
import { LONGEST, breakingSet, sentenceOf } from "./blame.js";
import { button, byId, element } from "./drawing/dom.js";
import { looksOf } from "./looks.js";
import * as link from "./link.js";
import { Model } from "./model.js";
import { Panel } from "./panel.js";
import { Reading } from "./reading.js";
import { Score } from "./score.js";
import { Tour } from "./tour.js";
import { Verdicts } from "./verdicts.js";
import { complain, doing } from "./wishes.js";

const STEP_SECONDS = 0.5;
const NO_ORDERS = new Map();

const state = {
  gallery: [], // [{name, shows}, ...]
  model: null,
  other: null, // the same model, soft where this one rounds
  task: null, // {examples, largest, starts_again, ...}, where somebody knows it
  text: "",
  tokens: [], // what the user wrote
  at: 0,
  orders: new Map(),
  compares: false,
  known: null, // for each place whether what comes next can be predicted
  answer: null, // what is right for a sequence that was made here
  readings: [], // the first is the model as it is asked now
};

const panels = [];
let looks;
let score;
let tour;
let player = null;

// Models.

function openModel(name, then = {}) {
  stop();
  return doing(() => opened(name, then), true);
}

async function opened(name, then) {
  const model = await Model.open(name);
  Object.assign(state, {
    model, other: null, task: null, known: null, answer: null, readings: [],
    orders: link.ordersOf(then.force ?? [], model.memories, model.actions),
    compares: false, at: 0, text: "", tokens: [],
  });
  byId("compare").checked = false;
  byId("compare").disabled = true;
  byId("blamed").replaceChildren();
  byId("checked").hidden = true;
  state.task = await taskOf(model);
  showModel();
  setText(then.text ?? state.task?.examples[0] ?? "");
  await readAll(then.at ? then.at - 1 : Infinity);
  state.other = await model.other();
  byId("compare").disabled = !state.other;
  if (then.compare && state.other) {
    byId("compare").checked = true;
    state.compares = true;
    await readAll(state.at);
  }
}

async function taskOf(model) {
  if (!model.about.task) return null;
  try {
    return await get(`page/tasks/${encodeURIComponent(model.about.task)}`);
  } catch (error) {
    // A server that has models alone knows no tasks.
    if (error instanceof RefusedError) return null;
    throw error;
  }
}

function showModel() {
  const { model, task } = state;
  const known = state.gallery.find(({ name }) => name === model.name);
  byId("model").value = known ? model.name : "";
  byId("shows").textContent = known?.shows ?? "";
  byId("named").hidden = Boolean(known);
  byId("random").disabled = !task;
  byId("size").disabled = !task;
  byId("random").title = task ? `n: ${task.size_means}` : "Nobody here knows this model's task";
  byId("examples").replaceChildren();
  byId("suggestions").hidden = !task;
  for (const example of task?.examples ?? []) {
    button(byId("examples"), "", example, () => readText(example));
  }
  byId("generate-section").hidden = !model.form.generates;
  byId("floor-label").hidden = !model.form.generates;
  byId("blame-section").hidden = !model.about.memory;
  byId("list").value = (task?.examples ?? []).slice(0, 3).join("\n");
  byId("right").textContent = "";
}

// The sequence.

function setText(text) {
  byId("text").value = text;
  fitText();
}

function fitText() {
  const field = byId("text");
  field.rows = Math.min(6, Math.max(1, Math.ceil(field.value.length / 90)));
}

function readText(text, answer = null) {
  state.orders = new Map();
  setText(text);
  state.answer = answer;
  return doing(() => readAll(Infinity));
}

// Reads what is written with all models that are looked at, and goes to a place of it.
async function readAll(at) {
  const { model } = state;
  if (!model) return;
  const text = byId("text").value;
  let tokens;
  try {
    tokens = model.tokensOf(text);
    complain("problem", "");
  } catch (error) {
    complain("problem", error.message);
    return;
  }
  if (text !== state.text) {
    state.text = text;
    if (state.answer?.text !== text) state.answer = null;
    state.known = null;
  }
  state.tokens = tokens;
  const asked = model.asking(tokens);
  for (const place of [...state.orders.keys()]) {
    if (place >= asked.length) state.orders.delete(place);
  }
  const readings = readingsWanted();
  for (const { reading, orders } of readings) await reading.read(asked, orders, tokens.length);
  state.readings = readings;
  state.at = Math.max(0, Math.min(at, asked.length - 1));
  showAll();
  if (state.known === null && tokens.length) {
    const [read] = await readByTask([model.textOf(tokens)]) ?? [null];
    // Where it is none of the task's sequences, everything counts.
    if (read?.known.length === tokens.length) {
      state.known = read.known;
      showKnown();
    }
  }
}

// For each text {known, whole}: what its task says of it; null if nobody here knows.
async function readByTask(texts) {
  if (!state.task || !state.model.form.generates) return null;
  try {
    const path = `page/tasks/${encodeURIComponent(state.model.about.task)}`;
    return (await post(path, { texts })).texts;
  } catch (error) {
    if (error instanceof RefusedError) return null;
    throw error;
  }
}

// The model as it is asked; as it was, if something is forced; and its other half.
function readingsWanted() {
  const { model, other, orders, compares } = state;
  const isForced = orders.size > 0;
  const kind = compares ? `${model.about.rounding ? "Rounded" : "Soft"}` : "";
  const kept = (of, which) => state.readings.find(({ reading, role }) =>
    reading.model === of && role === which)?.reading ?? new Reading(of);
  const titled = (...words) => words.filter(Boolean).join(", ");
  const wanted = [{
    role: "asked", reading: kept(model, "asked"), orders,
    title: titled(kind, isForced && "with forced actions"),
  }];
  if (isForced) {
    const before = state.readings.find(({ role }) => role === "before")?.reading
      ?? new Reading(model);
    wanted.push({ role: "before", reading: before, orders: NO_ORDERS,
      title: titled(kind, "as it was without") });
  }
  if (compares && other) {
    wanted.push({ role: "other", reading: kept(other, "other"), orders,
      title: titled(other.about.rounding ? "Rounded" : "Soft", isForced && "with forced actions") });
  }
  for (const each of wanted) each.title = each.title.replace(/^./, (first) => first.toUpperCase());
  return wanted;
}

// What is shown.

const asked = () => state.readings[0]?.reading;
const before = () => state.readings.find(({ role }) => role === "before")?.reading;

// What is said of the first reading, and in its words of the others.
const verdicts = () => new Verdicts(state, asked());

// Where an answer stands: a next symbol below the symbol that it foretells, others where asked.
const shift = () => (state.model.form.generates ? 1 : 0);

function showAll() {
  const reading = asked();
  const { model } = state;
  const { length } = reading.steps;
  const isEmpty = length === 0;
  byId("panels").hidden = isEmpty;
  byId("score").hidden = isEmpty;
  byId("slider").max = Math.max(1, length);
  for (const id of ["slider", "back", "on", "play", "blame"]) byId(id).disabled = isEmpty;
  showForced();
  if (isEmpty) {
    byId("position").textContent = "nothing was read yet";
    byId("pages").hidden = true;
    byId("overview").hidden = true;
    byId("right").textContent = "";
    byId("answer").textContent = "";
    showLink();
    return;
  }
  const users = state.tokens.length;
  const other = before();
  const effects = model.memories.map((_, memory) => reading.effects(memory));
  const said = verdicts();
  score.draw({
    length,
    symbols: reading.tokens.map((token) => model.form.signOf(token) ?? model.about.written[token]),
    predictions: (place) => said.predicted(place - shift()),
    known: (place) => state.known !== null && Boolean(state.known[place - 1]),
    missed: (place) => said.isWrong(place - shift()),
    isMark: (place) => place >= users,
    memories: model.memories,
    looks: looks(model),
    cell: (place, memory) => ({
      action: reading.taken(place, memory),
      forced: link.forcedAt(state.orders, place, memory) !== null,
      differs: Boolean(other) && other.taken(place, memory) !== reading.taken(place, memory),
      idle: !effects[memory][place],
    }),
  }, state.at);
  showRight();
  show(state.at);
}

// What changes once it is told what can be predicted.
function showKnown() {
  const said = verdicts();
  score.know({
    known: (place) => Boolean(state.known[place - 1]),
    missed: (place) => said.isWrong(place - shift()),
  });
  showRight();
  state.readings.forEach(({ reading }, i) => panels[i].say(said.on(state.at, reading)));
}

function show(place) {
  const reading = asked();
  if (!reading?.steps.length) return;
  state.at = Math.max(0, Math.min(place, reading.steps.length - 1));
  byId("slider").value = state.at + 1;
  byId("position").textContent = `symbol ${state.at + 1} of ${reading.steps.length}`;
  score.mark(state.at);
  while (panels.length < state.readings.length) {
    panels.push(new Panel(byId("panels"), looks, force, panels.length === 0));
  }
  while (panels.length > state.readings.length) panels.pop().box.remove();
  const said = verdicts();
  state.readings.forEach(({ reading: each, title, orders }, i) => {
    panels[i].box.classList.toggle("shared", state.readings.length > 1);
    panels[i].show({
      title, reading: each, place: state.at, came: said.right(state.at),
      ...said.on(state.at, each),
      forced: (memory) => link.forcedAt(orders, state.at, memory),
    });
  });
  showLink();
}

function showRight() {
  const { model, answer } = state;
  const said = verdicts();
  byId("right").textContent = said.score();
  const right = answer ? `; right is ${model.form.joined(answer.answer)}` : "";
  byId("answer").textContent = model.form.generates ? ""
    : `${model.form.title}: ${model.form.joined(said.answers())}${right}`;
}

// What if.

function force(memory, action) {
  const now = link.forcedAt(state.orders, state.at, memory);
  return reforce(state.at, memory, now === action ? null : action);
}

// Each choice of a cell takes the next action, and after the last one the model's own.
function forceNext(place, memory) {
  const own = (before() ?? asked()).taken(place, memory);
  const choices = [null, ...state.model.actions.keys()].filter((each) => each !== own);
  const now = link.forcedAt(state.orders, place, memory);
  return reforce(place, memory, choices[(choices.indexOf(now) + 1) % choices.length]);
}

function reforce(place, memory, action) {
  stop();
  link.force(state.orders, place, memory, action);
  return doing(() => readAll(place));
}

function showForced() {
  const { model, orders } = state;
  byId("forced").hidden = !orders.size;
  byId("orders").replaceChildren();
  if (!orders.size) return;
  for (const [place, each] of orders) {
    for (const [memory, action] of each) {
      const name = `${model.memories[memory]} ${model.actions[action].name} at ${place + 1}`;
      button(byId("orders"), "", `${name} ✕`, () => reforce(place, memory, null)).ariaLabel =
        `no longer force ${name}`;
    }
  }
  const now = asked();
  const was = before();
  const said = verdicts();
  const changed = now.steps.map((_, place) => place)
    .filter((place) => said.predicted(place, now) !== said.predicted(place, was));
  byId("consequence").textContent = changed.length
    ? `${changed.length} of ${now.steps.length} predictions change: the first after symbol `
      + `${changed[0] + 1}, ${said.predicted(changed[0], now)} instead of ${said.predicted(changed[0], was)}.`
    : "No prediction changes.";
}

function blame() {
  byId("blamed").replaceChildren();
  const place = state.at;
  return doing(async () => {
    // Without what is forced already.
    const reading = before() ?? asked();
    byId("blamed").replaceChildren();
    if (place >= LONGEST) {
      throw new RefusedError(`What a memory is for is looked for among the first ${LONGEST} symbols, `
        + `and this is number ${place + 1}.`);
    }
    if (reading.predicted(place) === null) {
      throw new RefusedError("Nothing is predicted at this symbol: choose another one.");
    }
    for (const memory of reading.model.memories.keys()) {
      const found = await breakingSet(reading, place, memory);
      const line = element(byId("blamed"), "li", "", sentenceOf(reading, place, memory, found));
      if (found) {
        button(line, "", "Show", () => {
          state.orders = new Map();
          for (const [step, action] of found.set) link.force(state.orders, step, memory, action);
          return doing(() => readAll(place));
        });
      }
    }
  });
}

// Links.

function shownState() {
  const { model, text, orders, at, compares } = state;
  return {
    model: model.name, text, at: at + 1, compare: compares,
    force: link.wordsOf(orders, model.memories, model.actions),
  };
}

function showLink() {
  history.replaceState(null, "", link.write(shownState()));
}

async function share() {
  try {
    await navigator.clipboard.writeText(location.href);
    byId("share").textContent = "Copied";
  } catch {
    byId("share").textContent = "Copy the address above";
  }
  setTimeout(() => { byId("share").textContent = "Copy link"; }, 2000);
}

// Controls.

function play() {
  if (player) {
    stop();
    return;
  }
  if (state.at >= asked().steps.length - 1) show(0);
  byId("play").textContent = "Pause";
  byId("play").ariaPressed = "true";
  player = setInterval(() => {
    if (state.at >= asked().steps.length - 1) stop();
    else show(state.at + 1);
  }, STEP_SECONDS * 1000);
}

function stop() {
  clearInterval(player);
  player = null;
  byId("play").textContent = "Play";
  byId("play").ariaPressed = "false";
}

function goTo(place) {
  stop();
  show(place);
}

function random() {
  const size = Number(byId("size").value);
  const { task, model } = state;
  if (!Number.isInteger(size) || size < task.smallest || size > task.largest) {
    complain("problem", `n is a whole number from ${task.smallest} to ${task.largest}, `
      + `got ${byId("size").value || "nothing"}.`);
    return;
  }
  const seed = Math.floor(Math.random() * 2 ** 31);
  doing(async () => {
    const name = encodeURIComponent(model.about.task);
    const made = await get(`page/tasks/${name}?size=${size}&seed=${seed}`);
    state.orders = new Map();
    setText(made.text);
    state.answer = made.answer ? made : null;
    await readAll(Infinity);
  });
}

function generate() {
  const count = Number(byId("count").value);
  const temperature = Number(byId("temperature").value);
  doing(async () => {
    if (!Number.isInteger(count) || count < 1 || count > 500) {
      throw new RefusedError(`From 1 to 500 symbols are generated, got ${byId("count").value}.`);
    }
    const reading = asked();
    const place = Math.min(state.at + 1, reading.steps.length);
    const stateThere = await reading.stateAfter(place);
    const seed = Math.floor(Math.random() * 2 ** 31);
    const drawn = await state.model.generate(stateThere, count, temperature, seed, place);
    setText(state.model.textOf([...state.tokens.slice(0, place), ...drawn]));
    await readAll(place);
  });
}

function checkList() {
  const lines = byId("list").value.split("\n").map((line) => line.trim()).filter(Boolean);
  const floor = Number(byId("floor").value);
  doing(async () => {
    const results = await check(state.model, lines, {
      floor, startsAgain: state.task?.starts_again ?? false, byTask: await readByTask(lines),
    });
    const body = byId("checked").querySelector("tbody");
    body.replaceChildren();
    byId("checked").classList.toggle("without-task", results.every(({ right }) => !right));
    for (const { text, result, right, why } of results) {
      const row = element(body, "tr");
      const shown = text.length > 200 ? `${text.slice(0, 200)}…` : text;
      button(element(row, "td"), "", shown, () => readText(text)).ariaLabel = `look at ${shown}`;
      element(row, "td", result, result);
      element(row, "td", "", right ?? "");
      element(row, "td", "", why);
    }
    byId("checked").hidden = !results.length;
  });
}

const KEYS = {
  ArrowLeft: () => goTo(state.at - 1),
  ArrowRight: () => goTo(state.at + 1),
  Home: () => goTo(0),
  End: () => goTo(Infinity),
};

function pressed(event) {
  if (event.ctrlKey || event.altKey || event.metaKey || event.shiftKey) return;
  const { tagName, type } = event.target;
  const writes = tagName === "TEXTAREA" || tagName === "SELECT"
    || (tagName === "INPUT" && type !== "range" && type !== "checkbox");
  if (writes || !asked()) return;
  if (event.key in KEYS) {
    // The slider would take a step of its own.
    event.preventDefault();
    KEYS[event.key]();
  } else if (event.key === " " && tagName !== "BUTTON" && tagName !== "INPUT") {
    event.preventDefault();
    play();
  }
}

function listen() {
  const clicks = {
    back: () => goTo(state.at - 1), on: () => goTo(state.at + 1), play, random, share, generate, blame,
    check: checkList,
    free: () => { state.orders = new Map(); return doing(() => readAll(state.at)); },
  };
  for (const [id, act] of Object.entries(clicks)) byId(id).addEventListener("click", act);
  byId("slider").addEventListener("input", () => goTo(Number(byId("slider").value) - 1));
  byId("text").addEventListener("input", () => {
    stop();
    fitText();
    doing(() => readAll(Infinity));
  });
  byId("model").addEventListener("change", () => {
    byId("named").hidden = Boolean(byId("model").value);
    if (byId("model").value) openModel(byId("model").value);
    else byId("name").focus();
  });
  byId("name").addEventListener("change", () => {
    if (byId("name").value.trim()) openModel(byId("name").value.trim());
  });
  byId("compare").addEventListener("change", () => {
    state.compares = byId("compare").checked;
    doing(() => readAll(state.at));
  });
  document.addEventListener("keydown", pressed);
  addEventListener("resize", () => { if (asked()?.steps.length) showAll(); });
  addEventListener("hashchange", () => {
    const wanted = link.read(location.hash);
    if (wanted.model) openModel(wanted.model, wanted);
  });
}

async function listModels() {
  const { models } = await get("page/models.json").catch((error) => {
    if (error instanceof RefusedError) return { models: [] };
    throw error;
  });
  state.gallery = models;
  byId("named").hidden = models.length > 0;
  byId("model").replaceChildren();
  for (const { name } of models) element(byId("model"), "option", "", name).value = name;
  element(byId("model"), "option", "", "another one").value = "";
}

async function start() {
  listen();
  const wanted = link.read(location.hash);
  await doing(async () => {
    looks ??= await looksOf();
    if (!state.gallery.length) await listModels();
    score ??= new Score({ go: goTo, force: forceNext });
    tour ??= new Tour(Boolean(wanted.model));
    const first = wanted.model ?? state.gallery[0]?.name;
    if (!first) throw new RefusedError("Write the name of a model that is served here.");
    await opened(first, wanted);
  }, true);
}

start();

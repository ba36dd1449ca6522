// What the person wants done, one thing at a time: while something is read, only the latest wish waits.
// Nothing takes the place of another model that is to be opened.

import { AwayError, RefusedError } from "./api.js";
import { byId } from "./drawing/dom.js";

const AGAIN_SECONDS = 1;

let isBusy = false;
let waiting = null;

export async function doing(work, opens = false) {
  if (isBusy) {
    if (!waiting?.opens || opens) waiting = Object.assign(work, { opens });
    return;
  }
  isBusy = true;
  document.body.setAttribute("aria-busy", "true");
  try {
    let next = work;
    while (next) {
      waiting = null;
      await trying(next);
      next = waiting;
    }
  } finally {
    isBusy = false;
    document.body.setAttribute("aria-busy", "false");
  }
}

async function trying(work) {
  for (;;) {
    try {
      await work();
      complain("trouble", "");
      return;
    } catch (error) {
      if (error instanceof RefusedError) {
        complain("trouble", error.message);
        return;
      }
      if (!(error instanceof AwayError)) throw error;
      complain("trouble", `${error.message} Trying again until it does.`);
      await new Promise((done) => { setTimeout(done, AGAIN_SECONDS * 1000); });
      if (waiting) return;
    }
  }
}

export function complain(where, sentence) {
  byId(where).textContent = sentence;
  byId(where).hidden = !sentence;
}

// The REST API of TensorFlow Serving, as this page needs it.

export class AwayError extends Error {}
export class RefusedError extends Error {}

const PATIENCE = 60_000;

async function asked(path, options = {}) {
  let response;
  try {
    response = await fetch(path, { ...options, signal: AbortSignal.timeout(PATIENCE) });
  } catch {
    throw new AwayError("The server does not answer.");
  }
  const document = await response.json().catch(() => null);
  if (response.ok) return document;
  const sentence = sentenceOf(document?.error ?? `The server says ${response.status}.`);
  throw response.status === 503 ? new AwayError(sentence) : new RefusedError(sentence);
}

// What a check inside a graph says, without what TensorFlow writes around it.
function sentenceOf(error) {
  const [, checked] = /assertion failed: \[([^\n]*?)\](?: \[|\n|$)/.exec(error) ?? [];
  return checked === undefined ? error : `${checked}.`;
}

export const get = (path) => asked(path);

export const post = (path, body) => asked(path, {
  method: "POST",
  headers: { "Content-Type": "application/json" },
  body: JSON.stringify(body),
});

const pathOf = (name) => `v1/models/${encodeURIComponent(name)}`;

// The numbers of the versions that can be asked, the latest first.
export async function versionsOf(name) {
  const { model_version_status: all } = await get(pathOf(name));
  const available = all.filter(({ state }) => state === "AVAILABLE");
  if (!available.length) throw new RefusedError(all[0]?.status?.error_message
    || `No version of ${name} is available.`);
  return available.map(({ version }) => Number(version)).sort((a, b) => b - a);
}

// What a signature gives: an object of its outputs, or its only one.
export async function predict(name, version, signature, inputs) {
  const path = `${pathOf(name)}/versions/${version}:predict`;
  return (await post(path, { signature_name: signature, inputs })).outputs;
}

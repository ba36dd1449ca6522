// What a link carries: model, sequence, place and forced actions, these as `stack1@3=POP`.

export function read(hash) {
  const values = new URLSearchParams(hash.replace(/^#/, ""));
  return {
    model: values.get("model"),
    text: values.get("text"),
    at: Number.parseInt(values.get("at"), 10) || null,
    force: (values.get("force") ?? "").split(",").filter(Boolean),
    compare: values.get("compare") === "1",
  };
}

export function write({ model, text, at, force, compare }) {
  const values = new URLSearchParams({ model, text });
  if (at) values.set("at", at);
  if (force.length) values.set("force", force.join(","));
  if (compare) values.set("compare", "1");
  return `#${values}`;
}

// Orders as a Map of places to [[memory, action], ...]; what the model does not have is left out.
export function ordersOf(words, memories, actions) {
  const orders = new Map();
  for (const word of words) {
    const [, name, place, action] = /^(\w+)@(\d+)=(\S+)$/.exec(word) ?? [];
    const memory = memories.indexOf(name);
    const index = actions.findIndex((each) => each.name === action);
    if (memory >= 0 && index >= 0) force(orders, Number(place), memory, index);
  }
  return orders;
}

export function wordsOf(orders, memories, actions) {
  return [...orders.keys()].sort((a, b) => a - b).flatMap((place) =>
    orders.get(place).map(([memory, action]) =>
      `${memories[memory]}@${place}=${actions[action].name}`));
}

// Forces an action at a place, or none if it is null.
export function force(orders, place, memory, action) {
  const others = (orders.get(place) ?? []).filter(([each]) => each !== memory);
  if (action !== null) others.push([memory, action]);
  others.sort(([one], [other]) => one - other);
  if (others.length) orders.set(place, others);
  else orders.delete(place);
}

export function forcedAt(orders, place, memory) {
  return orders.get(place)?.find(([each]) => each === memory)?.[1] ?? null;
}

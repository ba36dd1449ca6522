// What actions look like, by their roles: the same signs and colours as in tables and figures.

import { get } from "./api.js";

// A function that gives [{name, sign, color}, ...] for a model's actions.
export async function looksOf() {
  const { spare, ...byRole } = await get("page/drawing/looks.json");
  return (model) => {
    const taken = new Set();
    let spared = 0;
    return model.actions.map(({ name, role }) => {
      const look = taken.has(role) ? spare[spared++ % spare.length] : byRole[role];
      taken.add(role);
      return { name, sign: look.sign, color: look.color };
    });
  };
}

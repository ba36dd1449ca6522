// Elements of a page, made from text that is never taken for HTML.

export const byId = (id) => document.getElementById(id);

export function element(parent, tag, className, text) {
  const made = document.createElement(tag);
  if (className) made.className = className;
  if (text !== undefined) made.textContent = text;
  parent.append(made);
  return made;
}

export function button(parent, className, text, act) {
  const made = element(parent, "button", className, text);
  made.type = "button";
  made.addEventListener("click", act);
  return made;
}

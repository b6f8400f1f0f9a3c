// Elements made from code: a name, attributes or properties, children. Text is always text, never markup.

import { words } from "/static/words.js";

const SVG = "http://www.w3.org/2000/svg";

function fill(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (name in node && !(node instanceof SVGElement) && name !== "list") node[name] = value;
    else node.setAttribute(name, value === true ? "" : value);
  }
  node.append(...children.flat().filter((child) => child !== null && child !== undefined && child !== false));
  return node;
}

export const h = (name, attributes, ...children) => fill(document.createElement(name), attributes, children);
export const svg = (name, attributes, ...children) => fill(document.createElementNS(SVG, name), attributes, children);

export const section = (title, ...children) => h("section", { ariaLabel: title }, h("h2", {}, title), ...children);
export const refusal = (error) => h("p", { className: "refusal", role: "alert" }, error.message);

// Shows in a node what the last of several questions is answered with, or why it is refused; it is busy meanwhile, and
// what comes late of a question before is dropped. Says whether its question was still the last.
export function answering(node) {
  let turn = 0;
  return async (asked) => {
    const mine = ++turn;
    node.setAttribute("aria-busy", "true");
    const found = await asked().catch(refusal);
    if (mine !== turn) return false;
    node.removeAttribute("aria-busy");
    node.replaceChildren(...[found].flat());
    return true;
  };
}

// Names of metrics in what the model says of itself become words.
const METRIC = /\b[a-z0-9]+(_[a-z0-9]+)*_(pct|ms|tps|tran)\b/g;
export const notes = (items) =>
  items.length
    ? h(
        "ul",
        { className: "notes" },
        items.map((item) => h("li", {}, item.replace(METRIC, words))),
      )
    : "";

export function save(title, ending, type, text) {
  const name = `${title.replaceAll(/[^\w]+/g, "-").toLowerCase()}.${ending}`;
  const link = h("a", { href: URL.createObjectURL(new Blob([text], { type })), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

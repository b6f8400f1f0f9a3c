// A scenario: what is changed, each with a field as What if has it. Compare and Headroom ask several beside each other.

import { h } from "/static/dom.js";
import { keys } from "/static/route.js";
import { changeable, optionField, text } from "/static/views/what-if-fields.js";

// Its fields, and how they are written in an address.
export function scenario(name, system, given) {
  const options = new Map(changeable(system).map((one) => [one.key, one]));
  const fields = new Map();
  const changes = h("div", {});
  const add = h(
    "select",
    {
      ariaLabel: `Add a change to ${name}`,
      onchange: () => {
        const { choices, today } = options.get(add.value);
        const other = choices?.find((value) => value !== today);
        put(add.value, other)?.querySelector("input, select").focus();
        add.value = "";
      },
    },
    new Option("Add a change …", ""),
    [...options.values()].map((one) => new Option(one.label, one.key)),
  );
  function put(key, value) {
    if (fields.has(key)) return null;
    const option = options.get(key);
    const field = option ? optionField(option, value) : text(key, key, "", value, true);
    const leave = () => {
      fields.delete(key);
      row.remove();
      add.focus();
    };
    const button = h("button", { type: "button", className: "plain", ariaLabel: `Leave out ${field.label}`, onclick: leave }, "×");
    const row = h("div", { className: "change" }, field.node, button);
    fields.set(key, field);
    changes.append(row);
    return row;
  }
  for (const [key, value] of Object.entries(keys(given ?? ""))) put(key, String(value));
  const written = () =>
    [...fields]
      .map(([key, field]) => [key, field.read()])
      .filter(([, value]) => value !== null)
      .map((pair) => pair.join("="))
      .join(",");
  return { node: h("fieldset", {}, h("legend", {}, name), changes, add), written };
}

// A scenario as an address has it, in words.
export function worded(system, given) {
  const labels = new Map(changeable(system).map((one) => [one.key, one.label]));
  const said = Object.entries(keys(given)).map(([key, value]) => {
    const [what, unit = ""] = (labels.get(key) ?? key).split(", ");
    return `${what} ${value} ${unit}`.trim();
  });
  return said.join(", ") || "as today";
}

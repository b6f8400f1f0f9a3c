// A scenario: what is changed, each with a field as What if has it. Compare and Headroom ask several beside each other.

import { h } from "/static/dom.js";
import { keys } from "/static/route.js";
import { changeable, isNumber, optionField, text } from "/static/views/what-if-fields.js";

// The option that a value is of: some keys have two, such as the cap of an LPAR by its weight and that by engines.
const optionOf = (options, key, value) =>
  options.find(
    (one) => one.key === key && (one.hint || (one.choices?.length ? one.choices.includes(value) : isNumber(value))),
  );

// Its fields, and how they are written in an address.
export function scenario(name, system, given) {
  const options = changeable(system);
  const fields = new Map();
  const changes = h("div", {});
  const add = h(
    "select",
    {
      ariaLabel: `Add a change to ${name}`,
      onchange: () => {
        const option = options[add.value];
        const other = option.choices?.find((value) => value !== option.today);
        const field = put(option.key, optionField(option, other)).querySelector("input, select");
        field.focus();
        // What is typed takes the place of today's.
        field.select?.();
        add.value = "";
      },
    },
    new Option("Add a change …", ""),
    options.map((one, i) => new Option(one.label, i)),
  );
  // A key stands once: its last field.
  function put(key, field) {
    fields.get(key)?.node.parentNode.remove();
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
  for (const [key, value] of Object.entries(keys(given ?? ""))) {
    const option = optionOf(options, key, String(value));
    // What no field takes stays as it is written, for the service to refuse.
    put(key, option ? optionField(option, String(value)) : text(key, key, "", String(value), true));
  }
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
  const options = changeable(system);
  const said = Object.entries(keys(given)).map(([key, value]) => {
    const [what, unit = ""] = (optionOf(options, key, String(value))?.label ?? key).split(", ");
    return `${what} ${value} ${unit}`.trim();
  });
  return said.join(", ") || "as today";
}

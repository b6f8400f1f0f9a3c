// The choice of a shift of the calendar; the address keeps it.

import { ask } from "/static/client.js";
import { h } from "/static/dom.js";

let known = null;

// A labelled list of the shifts, with what to do when another is chosen.
export async function shiftField(chosen, onchange) {
  known ??= ask("/v1/calendar");
  const { shifts } = await known.catch((error) => {
    known = null;
    throw error;
  });
  const options = [new Option("all hours", ""), ...shifts.map(({ name, words }) => new Option(`${name}: ${words}`, name))];
  const select = h("select", { onchange: () => onchange(select.value) }, options);
  select.value = chosen ?? "";
  return h("label", {}, "Shift ", select);
}

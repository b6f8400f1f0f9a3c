// Charts of what was recorded over time, and the form of the time that they show; of LPARs and CPCs alike.

import { chart, withHoles } from "/static/chart.js";
import { h } from "/static/dom.js";
import { seconds } from "/static/figures.js";

// As many areas as there are colours to tell them apart; the lines over them have others, and dashes.
const AREAS = ["c1", "c2", "c3", "c4", "c7", "c6"];
const EVERY = { interval: "each interval", hour: "means of an hour", day: "means of a day" };

export const of = (history, kind) => history.columns.filter((column) => column.kind === kind);

// Parts of a stack with their colours, the largest first; those beyond the colours there are as one.
function coloured(parts, rest) {
  const kept = parts.slice(0, parts.length > AREAS.length ? AREAS.length - 1 : AREAS.length);
  const more = parts.slice(kept.length);
  if (more.length)
    kept.push({
      name: `${more.length} smaller ${rest}`,
      values: more[0].values.map((_, i) => {
        const there = more.map((part) => part.values[i]).filter((value) => value !== null);
        return there.length ? there.reduce((sum, value) => sum + value, 0) : null;
      }),
    });
  return kept.map((part, i) => ({ ...part, colour: AREAS[i] }));
}

// A chart of columns of a history; `rest` is what parts of the stack are, for those that share a colour.
export function overTime(history, { title, unit, stack = [], rest = "parts", lines, marks = [] }) {
  const parts = coloured(stack, rest);
  const all = [...parts, ...lines];
  const [xs, values] = withHoles(
    history.start_local.map(seconds),
    all.map((column) => column.values),
  );
  const drawn = all.map((column, i) => ({ ...column, values: values[i] }));
  return chart({
    title: `${title}, ${EVERY[history.every]}`,
    x: { label: "local time", values: xs, time: true },
    y: { label: unit, unit },
    stack: drawn.slice(0, parts.length),
    lines: drawn.slice(parts.length),
    marks: marks.map((mark) => ({ ...mark, x: seconds(mark.x) })),
  });
}

// The time that an address shows, as the service takes it.
export const spanOf = (params) =>
  Object.fromEntries(["from", "to"].filter((key) => params.get(key)).map((key) => [key, params.get(key)]));

// The form of the time shown; `go` takes its first and last local time, empty for all of it.
export function spanForm(about, span, go, said, ...more) {
  const first = h("input", { type: "date", value: (span.from ?? about.first_start_local).slice(0, 10) });
  const last = h("input", { type: "date", value: (span.to ?? about.last_start_local).slice(0, 10) });
  const show = (event) => {
    event.preventDefault();
    go(`${first.value}T00:00:00`, `${last.value}T23:59:59`);
  };
  return h(
    "form",
    { className: "row", ariaLabel: "Time shown", onsubmit: show },
    h("label", {}, "From ", first),
    h("label", {}, "to ", last),
    h("button", {}, "Show"),
    h("button", { type: "button", className: "plain", onclick: () => go("", "") }, "All"),
    ...more,
    said && h("p", { className: "quiet" }, said),
  );
}

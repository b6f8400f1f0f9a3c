// Compare: before and after a change, as measured in two periods or as predicted for two questions.

import { ask } from "/static/client.js";
import { answering, h, section } from "/static/dom.js";
import { change, figure, within } from "/static/figures.js";
import { resourceName } from "/static/parts.js";
import { FEWEST_DAYS, changed, daysOf, weeks } from "/static/periods.js";
import { address, keep, keys } from "/static/route.js";
import { shiftField } from "/static/shifts.js";
import { table } from "/static/table.js";
import { term } from "/static/terms.js";
import { dayShape } from "/static/views/day-shape.js";
import { scenario } from "/static/views/scenario.js";
import { named, unit, withoutNetwork } from "/static/words.js";

export async function compare(body, { system, params, known }) {
  const history = known.histories.get(system),
    askable = known.systems.get(system) ?? (known.byCondition.has(system) ? await studied(system) : null);
  if (!history && !askable) throw withoutNetwork(known, system);
  if (history)
    body.append(
      h(
        "form",
        { className: "row", ariaLabel: "Hours counted", onsubmit: (event) => event.preventDefault() },
        await shiftField(params.get("shift"), (shift) => {
          const now = new URLSearchParams(location.hash.split("?")[1] ?? "");
          location.hash = address("compare", { ...Object.fromEntries(now), system, shift });
        }),
      ),
      measured(system, history, params, known),
    );
  if (askable) body.append(predicted(system, askable, params, known));
}

// What may be asked of a system that was measured at conditions.
async function studied(system) {
  const { options } = await ask(`/v1/systems/${encodeURIComponent(system)}/conditions`);
  return { classes: [], options };
}

function keepBeside(system, given) {
  keep("compare", { ...Object.fromEntries(new URLSearchParams(location.hash.split("?")[1] ?? "")), system, ...given });
}

function measured(system, history, params, known) {
  const given = { ...weeks(history), ...Object.fromEntries([...params].filter(([key]) => /^[ab]_/.test(key))) };
  const inputs = Object.fromEntries(
    Object.entries(given).map(([key, value]) => [key, h("input", { type: "date", value })]),
  );
  const other = h(
    "select",
    {},
    [...known.histories.keys()].map((name) => new Option(name, name)),
  );
  other.value = params.get("other") ?? system;
  const answer = h("div", { ariaLive: "polite" }),
    answered = answering(answer);
  const show = async (event) => {
    event?.preventDefault();
    const values = Object.fromEntries(Object.entries(inputs).map(([key, input]) => [key, input.value]));
    if (event) keepBeside(system, { ...values, other: other.value === system ? "" : other.value });
    const shift = params.get("shift");
    const periods = { ...values, ...(other.value !== system && { other: other.value }), ...(shift && { shift }) };
    await answered(async () => {
      const [changes, shape] = await Promise.all([changed(system, periods), dayShape(system, periods)]);
      return [measuredTable(changes), shape];
    });
  };
  if (daysOf(history) >= FEWEST_DAYS || [...params.keys()].some((key) => key in inputs)) show();
  else
    answer.append(
      h(
        "p",
        { className: "quiet" },
        `Two periods are compared over the days of the week that both have, which takes ${FEWEST_DAYS} days; ${system} has ${daysOf(history)} so far. Until then choose another LPAR for B, over the same days.`,
      ),
    );
  return section(
    "As measured, two periods",
    h(
      "form",
      { className: "row", ariaLabel: "Two periods", onsubmit: show },
      h("label", {}, "A from ", inputs.a_from),
      h("label", {}, "to ", inputs.a_to),
      h("label", {}, "B from ", inputs.b_from),
      h("label", {}, "to ", inputs.b_to),
      h("label", {}, "B of ", other),
      h("button", {}, "Compare"),
    ),
    answer,
  );
}

export function measuredTable(changes) {
  const SAID = { true: "yes", false: "within the scatter of days", null: "too few days" };
  const marked = (one) => (one.significant ? h("strong", {}, change(one.change_pct)) : change(one.change_pct));
  const rows = changes.map((one) => [
    named(one.metric, one.class_name),
    one.a,
    one.b,
    marked(one),
    one.lo_pct === null ? "" : `${figure(one.lo_pct, 2)} … ${figure(one.hi_pct, 2)}`,
    SAID[String(one.significant)],
    unit(one.unit),
  ]);
  return changeTable(rows, "Two periods as measured, over the hours of the week that both have");
}

function changeTable(rows, caption) {
  return table(
    [
      { name: "Figure" },
      { name: "A", number: true },
      { name: "B", number: true },
      { name: "change", number: true },
      { name: "interval, %", term: term("90 % interval", "interval, %") },
      { name: "significant" },
      { name: "unit" },
    ],
    rows,
    caption,
  );
}

function predicted(system, askable, params, known) {
  const [a, b] = ["a", "b"].map((side) => scenario(side.toUpperCase(), askable, params.get(side)));
  const other = h(
    "select",
    {},
    [...known.systems.keys(), ...known.byCondition].map((name) => new Option(name, name)),
  );
  other.value = params.get("with") ?? system;
  const answer = h("div", { ariaLive: "polite" }),
    answered = answering(answer);
  const shift = params.get("shift");
  const ofShift = (written) => ({ ...(shift && { shift }), ...keys(written) });
  const show = async (event) => {
    event?.preventDefault();
    const asked = { a: a.written(), b: b.written() };
    if (event) keepBeside(system, { ...asked, with: other.value === system ? "" : other.value });
    const beside = other.value !== system && { other: other.value };
    await answered(async () =>
      predictedTable(await ask("/v1/compare", { system, a: ofShift(asked.a), b: ofShift(asked.b), ...beside })),
    );
  };
  if (params.has("a") || params.has("b") || params.has("with")) show();
  return section(
    "As predicted, two questions",
    h(
      "form",
      { className: "row", ariaLabel: "Two questions", onsubmit: show },
      a.node,
      b.node,
      h("label", {}, "B of ", other),
      h("button", {}, "Compare"),
    ),
    answer,
  );
}

function predictedTable(both) {
  const sure = (one) => (one.lo > 0 || one.hi < 0 ? h("strong", {}, change(one.value)) : change(one.value));
  const rows = both.changes.map((one) => [
    named(one.metric, one.class),
    one.a,
    one.b,
    sure(one.change_pct),
    within(one.change_pct, 2),
    one.change_pct.lo > 0 || one.change_pct.hi < 0 ? "yes" : "no",
    unit(both.b.outputs.find((output) => output.metric === one.metric)?.unit),
  ]);
  const fullest = ({ bottleneck: { resource, utilization_pct: full } }) => `${resourceName(resource)}, at ${figure(full, 3)} %`;
  const known = [both.a, both.b].every((one) => one.bottleneck.stations.length);
  return [
    changeTable(rows, "Two questions as predicted; what both share cancels in the interval"),
    known ? h("p", {}, `Fullest in A: ${fullest(both.a)}. In B: ${fullest(both.b)}.`) : "",
  ];
}

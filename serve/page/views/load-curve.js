// The load curve: a figure along any key of the question, with the measured points beside it.

import { ask } from "/static/client.js";
import { chart, joined } from "/static/chart.js";
import { h, refusal, section } from "/static/dom.js";
import { subject } from "/static/parts.js";
import { without } from "/static/route.js";
import { term } from "/static/terms.js";
import { isOneWorkload, span } from "/static/views/what-if-fields.js";
import { unit, words } from "/static/words.js";

const STEPS = 41;
// What a question may say of a system that stays as it is: measured points lie on its curve.
const RATES = ["growth_pct", "etr_tps", "cpu_busy_pct", "point"];
const LOADS = new Set(["when", ...RATES]);

// Figures by transaction of all classes together mean nothing where these are of several workloads.
const OF_A_MIX = ["etr_tps", "itr_tps", "cpu_us_per_tran", "ziip_us_per_tran"];

export const curveMetrics = (system) => [
  ...system.metrics
    .filter(({ metric }) => isOneWorkload(system) || !OF_A_MIX.includes(metric))
    .map(({ metric }) => [metric, words(metric)])
    .sort(([a], [b]) => (b === "cpu_busy_pct") - (a === "cpu_busy_pct")),
  ...(system.period && system.has_response
    ? system.classes.map((name) => [`response_ms ${name}`, `Response of ${name}`])
    : []),
];

export const axes = (system) => [
  ...(system.period
    ? [["growth_pct", isOneWorkload(system) ? "transaction rate, all classes together" : "growth of all classes, %"]]
    : [["etr_tps", "transaction rate"]]),
  ...system.options.filter((option) => option.least !== null).map((option) => [option.key, option.label]),
  ...(system.period ? system.classes.map((name) => [`growth_pct.${name}`, `growth of ${name}, %`]) : []),
];

function ends(system, key, at) {
  const option = system.options.find((one) => one.key === key && one.least !== null);
  if (option) return [option.least, option.most];
  const here = at[key] ?? 0;
  if (key === "etr_tps") {
    const [low, high] = span(system);
    return [low, Math.max(high, 1.1 * (at.etr_tps ?? 0))];
  }
  return [-90, Math.max(150, 1.3 * here)];
}

export async function loadCurve(system, question, key, chosen) {
  const [metric, of = ""] = chosen.split(" ");
  const [from, to] = ends(system, key, question.at);
  const at = without(question.at, key);
  const whole = ["engines", "ziip_engines"].includes(key) || key.startsWith("limit.");
  const comparable = isOneWorkload(system);
  const byRate = key === "growth_pct" && comparable;
  const overRates = key === "etr_tps" || key === "growth_pct";
  const asked = {
    system: system.system,
    key,
    from,
    to,
    at: overRates ? without(at, ...RATES) : at,
    metrics: [metric, "etr_tps"],
    ...(whole ? { from: Math.max(1, from), steps: Math.round(to - Math.max(1, from)) + 1 } : { steps: STEPS }),
  };
  const changed = Object.keys(at).filter((one) => !LOADS.has(one));
  const [swept, unchanged, measured] = await Promise.all([
    ask("/v1/sweep", asked),
    overRates && changed.length ? ask("/v1/sweep", { ...asked, at: without(asked.at, ...changed) }) : { steps: [] },
    overRates && comparable ? measuredPoints(system, metric, of) : [],
  ]);
  const x = (step) =>
    byRate
      ? (step.outputs.find((output) => output.metric === "etr_tps" && !subject(output))?.value ?? null)
      : step.value;
  const along = ({ steps }) =>
    steps
      .map((step) => ({
        x: x(step),
        of: step.outputs.find((output) => output.metric === metric && subject(output) === of),
      }))
      .filter((point) => point.x !== null && point.of);
  return { points: along(swept), today: along(unchanged), steps: swept.steps.length, measured, key, metric, of, byRate };
}

async function measuredPoints(system, metric, of) {
  if (!system.period) {
    const known = await ask(`/v1/systems/${encodeURIComponent(system.system)}/points`);
    return known.points
      .filter((point) => point.metrics[metric] !== undefined)
      .map((point) => ({ x: point.etr_tps, value: point.metrics[metric], heldOut: true }));
  }
  const path = `/v1/systems/${encodeURIComponent(system.system)}`;
  if (metric !== "cpu_busy_pct" && metric !== "response_ms") return [];
  const known = await ask(`${path}/fitted`);
  let values = known.measured_busy_pct;
  if (of) {
    const own = await ask(`${path}/classes/${encodeURIComponent(of)}?every=interval`);
    const at = new Map(own.start_local.map((start, i) => [start, i]));
    const response = own.columns.find((column) => column.kind === "response_ms").values;
    values = known.start_local.map((start) => response[at.get(start)] ?? null);
  }
  return values.map((value, i) => ({ x: known.rate_tps[i], value, heldOut: known.held_out[i] }));
}

export function curveSection(curve, asked, question, metric, against) {
  const controls = h("div", { className: "row" }, h("label", {}, "Show ", metric), h("label", {}, "against ", against));
  if (curve instanceof Error) return section("Load curve", controls, refusal(curve));
  const known = curve.points;
  const pick = (side) => known.map((point) => point.of[side]);
  const asToday = curve.today.length ? ", as today" : "";
  const kept = (flag) => curve.measured.filter((point) => point.value !== null && point.heldOut === flag);
  const [xs, [line, today, fit, out]] = joined([
    [
      known.map((point) => point.x),
      [pick("value"), known.map((p) => p.of.lo ?? p.of.value), known.map((p) => p.of.hi ?? p.of.value)],
    ],
    [curve.today.map((p) => p.x), [curve.today.map((p) => p.of.value)]],
    [kept(false).map((p) => p.x), [kept(false).map((p) => p.value)]],
    [kept(true).map((p) => p.x), [kept(true).map((p) => p.value)]],
  ]);
  const label = `${words(curve.metric)}${curve.of ? ` of ${curve.of}` : ""}`;
  const said = unit(asked.outputs.find((output) => output.metric === curve.metric)?.unit);
  const here = curve.byRate
    ? asked.at.etr_tps
    : (question.at[curve.key] ?? { etr_tps: asked.at.etr_tps, growth_pct: 0 }[curve.key] ?? null);
  const central = line[0].filter((value) => value !== null);
  const name = [...against.options].find((option) => option.value === curve.key)?.text ?? curve.key;
  return section(
    "Load curve",
    controls,
    chart({
      title: `${label} against ${name}`,
      joined: true,
      zoom: true,
      x: { label: curve.byRate ? "transactions per second" : name, values: xs },
      y: {
        label: said,
        unit: said,
        most: 4 * Math.max(...central.slice(0, Math.ceil(central.length / 2)), 1),
      },
      lines: [
        { name: "predicted", values: line[0], lo: line[1], hi: line[2], colour: "c1" },
        ...(asToday ? [{ name: "predicted, as today", values: today[0], colour: "quiet", dash: [6, 4] }] : []),
      ],
      points: [
        ...(kept(false).length ? [{ name: `measured${asToday}`, values: fit[0], colour: "c4", fainter: true }] : []),
        ...(kept(true).length ? [{ name: `measured${asToday}, held out`, values: out[0], colour: "c2", hollow: true }] : []),
      ],
      marks: here === null || here === undefined ? [] : [{ x: here, label: "your question" }],
    }),
    curve.steps > known.length
      ? h("p", { className: "quiet" }, "No value where there is no steady state.")
      : null,
    curve.measured.length
      ? h(
          "p",
          { className: "quiet" },
          asToday
            ? "Measured points are those of the system as it was, and belong to the dashed curve; "
            : "Measured points are those of the records; ",
          term("held out", "held-out"),
          " ones were predicted from the others in validation.",
        )
      : null,
  );
}

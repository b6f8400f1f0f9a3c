// What if: growth, engines and all that a question can change, beside today; load curve and highest rate.

import { ask } from "/static/client.js";
import { chart, joined } from "/static/chart.js";
import { h, notes, refusal, section } from "/static/dom.js";
import { change, figure, whole, within } from "/static/figures.js";
import { found, responses, resourceName, stations, subject } from "/static/parts.js";
import { keep } from "/static/route.js";
import { table } from "/static/table.js";
import { term } from "/static/terms.js";
import { unit, words } from "/static/words.js";

const PAUSE_MS = 200, STEPS = 41;
const TARGETS = { max_busy_pct: 90, max_response_ms: "" };

export async function whatIf(body, { system: name, params, known }) {
  const system = known.systems.get(name);
  if (!system) throw known.problem ?? new Error(`The model cannot be asked about ${name}: see Model for the reason.`);
  const given = Object.fromEntries(params);
  const fields = fieldsOf(system, given);
  const answers = h("div", { className: "answers", ariaLive: "polite" });
  const metric = h("select", {}, curveMetrics(system).map(([key, label]) => new Option(label, key)));
  const against = h("select", {}, axes(system).map(([key, label]) => new Option(label, key)));
  if (given.metric) metric.value = given.metric;
  if (given.against) against.value = given.against;
  let turn = 0, timer = 0;

  async function answer() {
    const mine = ++turn;
    const question = read(fields);
    keep("what-if", { system: name, ...question.address, ...(metric.selectedIndex > 0 && { metric: metric.value }), ...(against.selectedIndex > 0 && { against: against.value }) });
    answers.setAttribute("aria-busy", "true");
    try {
      const start = question.at.when ? { when: question.at.when } : {};
      const [both, limit, curve, sizing] = await Promise.all([
        ask("/v1/compare", { system: name, a: start, b: question.at }),
        ask("/v1/max-rate", { system: name, at: without(question.at, "growth_pct", "etr_tps"), ...question.targets }).catch((error) => error),
        loadCurve(system, question, against.value, metric.value).catch((error) => error),
        ask("/v1/size", { system: name, at: without(question.at, "engines"), ...question.targets }).catch((error) => error),
      ]);
      if (mine === turn) answers.replaceChildren(...shown(both, limit, curve, sizing, question, metric, against));
    } catch (error) {
      if (mine === turn) answers.replaceChildren(refusal(error));
    }
    if (mine === turn) answers.removeAttribute("aria-busy");
  }
  const soon = () => { clearTimeout(timer); timer = setTimeout(answer, PAUSE_MS); };
  const form = h("form", { className: "ask", ariaLabel: "What is changed", noValidate: true, oninput: soon, onsubmit: (event) => { event.preventDefault(); answer(); } },
    ...fields.map((field) => field.node).filter(Boolean),
    h("button", { type: "button", className: "plain", onclick: () => { for (const field of fields) field.reset(); answer(); } }, "Back to today"));
  metric.addEventListener("change", answer);
  against.addEventListener("change", answer);
  body.classList.add("beside");
  body.append(form, answers);
  await answer();
}

// A load that the highest rate scales by itself is left out of its question.
const without = (at, ...left) => Object.fromEntries(Object.entries(at).filter(([key]) => !left.includes(key)));

function slider(key, label, least, most, today, given, step = 1) {
  const input = h("input", { type: "number", step: "any", inputMode: "decimal", value: given ?? today ?? "" });
  const range = h("input", { type: "range", min: least, max: most, step, value: given ?? today ?? least, ariaLabel: `${label}, slider` });
  range.addEventListener("input", () => { input.value = range.value; });
  input.addEventListener("input", () => { range.value = input.value; });
  return {
    key, group: "at",
    node: h("div", { className: "field" }, h("label", {}, label, input), range),
    read: () => (input.value === "" || Number(input.value) === today ? null : Number(input.value)),
    reset: () => { input.value = range.value = today ?? ""; },
  };
}

function choice(key, label, choices, today, given) {
  const select = h("select", {}, choices.map(([value, text]) => new Option(text, value)));
  select.value = given ?? today;
  return {
    key, group: "at", node: h("label", { className: "field" }, label, select),
    read: () => (select.value === today ? null : select.value), reset: () => { select.value = today; },
  };
}

function text(key, label, hint, given) {
  const input = h("input", { type: "text", placeholder: hint, value: given ?? "" });
  return {
    key, group: "at", node: h("label", { className: "field" }, label, input),
    read: () => (input.value.trim() === "" ? null : input.value.trim()), reset: () => { input.value = ""; },
  };
}

function target(key, label, given) {
  const input = h("input", { type: "number", step: "any", min: 0, value: given ?? TARGETS[key] });
  return {
    key, group: "targets", node: h("label", { className: "field" }, label, input),
    read: () => (input.value === "" ? null : Number(input.value)), reset: () => { input.value = TARGETS[key]; },
  };
}

function fieldsOf(system, given) {
  const fields = system.period
    ? [text("when", "Starting from", "peak, or mon 10:00, or 2027-03-01", given.when), slider("growth_pct", "Growth of all classes, %", -50, 200, 0, given.growth_pct)]
    : [slider("etr_tps", "Transactions per second", ...span(system), system.operating_tps, given.etr_tps, "any")];
  const own = system.period ? system.classes.map((name) => slider(`growth_pct.${name}`, `Growth of ${name}, %`, -100, 300, null, given[`growth_pct.${name}`])) : [];
  const option = (one) => (one.choices.length
    ? choice(one.key, one.label, one.choices.map((value) => [value, value || "as it is"]), one.today, given[one.key])
    : slider(one.key, one.label, one.least, one.most, one.today, given[one.key]));
  const effects = system.options.filter((one) => one.key.startsWith("adjust.")).map(option);
  const hardware = system.options.filter((one) => !one.key.startsWith("adjust.")).map(option);
  const group = (title, parts) => parts.length && { read: () => null, reset: () => {}, node: h("details", { open: parts.some((part) => part.read() !== null) }, h("summary", {}, title), parts.map((part) => part.node)) };
  const hidden = (parts) => parts.map((part) => ({ ...part, node: null }));
  return [
    ...fields, ...[group("Growth class by class", own)].filter(Boolean), ...hidden(own), ...hardware,
    ...[group("Encryption, releases and other published effects", effects)].filter(Boolean), ...hidden(effects),
    target("max_busy_pct", "Busy at most, %", given.max_busy_pct),
    ...(system.has_response ? [target("max_response_ms", "Response at most, ms", given.max_response_ms)] : []),
  ];
}

function span(system) {
  const low = Math.min(...system.rates), high = Math.max(...system.rates);
  return low === high ? [0.3 * low, 1.5 * high] : [0.5 * low, 1.3 * high];
}

function read(fields) {
  const at = {}, targets = {}, kept = {};
  for (const field of fields) {
    const value = field.key ? field.read() : null;
    if (!field.key) continue;
    if (field.group === "targets") {
      if (value !== null) targets[field.key] = value;
      if (value !== null && value !== TARGETS[field.key]) kept[field.key] = value;
    } else if (value !== null) at[field.key] = kept[field.key] = value;
  }
  return { at, targets: { max_busy_pct: 100, ...targets }, address: kept };
}

const curveMetrics = (system) => [
  ...system.metrics.map(({ metric }) => [metric, words(metric)]).sort(([a], [b]) => (b === "cpu_busy_pct") - (a === "cpu_busy_pct")),
  ...(system.period && system.has_response ? system.classes.map((name) => [`response_ms ${name}`, `Response of ${name}`]) : []),
];

const axes = (system) => [
  ...(system.period ? [["growth_pct", "transaction rate, all classes together"]] : [["etr_tps", "transaction rate"]]),
  ...system.options.filter((option) => option.least !== null).map((option) => [option.key, option.label]),
  ...(system.period ? system.classes.map((name) => [`growth_pct.${name}`, `growth of ${name}, %`]) : []),
];

function ends(system, key, at) {
  const option = system.options.find((one) => one.key === key);
  if (option) return [option.least, option.most];
  const here = at[key] ?? 0;
  if (key === "etr_tps") {
    const [low, high] = span(system);
    return [low, Math.max(high, 1.1 * (at.etr_tps ?? 0))];
  }
  return [-90, Math.max(150, 1.3 * here)];
}

async function loadCurve(system, question, key, chosen) {
  const [metric, of = ""] = chosen.split(" ");
  const [from, to] = ends(system, key, question.at);
  const at = without(question.at, key);
  const whole = ["engines", "ziip_engines"].includes(key) || key.startsWith("limit.");
  const byRate = key === "growth_pct";
  const asked = { system: system.system, key, from, to, at, metrics: [metric, "etr_tps"], ...(whole ? { from: Math.max(1, from), steps: Math.round(to - Math.max(1, from)) + 1 } : { steps: STEPS }) };
  const [swept, measured] = await Promise.all([ask("/v1/sweep", asked), key === "etr_tps" || byRate ? measuredPoints(system, metric, of) : []]);
  const x = (step) => (byRate ? step.outputs.find((output) => output.metric === "etr_tps" && !subject(output))?.value ?? null : step.value);
  const points = swept.steps.map((step) => ({ x: x(step), of: step.outputs.find((output) => output.metric === metric && subject(output) === of) })).filter((point) => point.x !== null);
  return { points, measured, key, metric, of, byRate };
}

async function measuredPoints(system, metric, of) {
  if (!system.period) {
    const known = await ask(`/v1/systems/${encodeURIComponent(system.system)}/points`);
    return known.points.filter((point) => point.metrics[metric] !== undefined).map((point) => ({ x: point.etr_tps, value: point.metrics[metric], heldOut: true }));
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

function shown(both, limit, curve, sizing, question, metric, against) {
  const { a: today, b: asked } = both;
  const busy = found(asked, "cpu_busy_pct"), rate = asked.at.etr_tps ?? found(asked, "etr_tps")?.value;
  const head = asked.bottleneck, next = head.next;
  const fits = head.utilization_pct <= question.targets.max_busy_pct;
  const most = limit instanceof Error ? null : limit.etr_tps.value;
  const usedPct = busy?.value ?? head.utilization_pct;
  return [
    h("section", { ariaLabel: "Answer" },
      h("p", { className: "headline", id: "headline" },
        `At ${figure(rate, 5)} transactions/s the LPAR is `, h("strong", {}, `${figure(usedPct, 3)} % busy`),
        within(busy, 3) && ` (${within(busy, 3)})`, "; ", term("headroom"), ` ${figure(100 - usedPct, 3)} points.`),
      h("p", { className: fits ? "verdict good" : "verdict bad", id: "verdict" }, fits ? "Fits: " : "Does not fit: ",
        `${resourceName(head.resource)} at ${figure(head.utilization_pct, 3)} % fills first`,
        next ? `, then ${resourceName(next.resource)} at ${figure(next.utilization_pct, 3)} %. ` : ". ",
        most === null ? limit.message ?? "" : `The mix can go to ${figure(most, 5)}/s (${change(limit.growth_pct.value)} from today) within ${question.targets.max_busy_pct} %${question.targets.max_response_ms ? ` and ${question.targets.max_response_ms} ms` : ""}.`),
      asked.extrapolated ? h("p", { className: "warning" }, "This leaves what was measured: see the notes.") : null,
      notes(asked.notes)),
    section("Busy by resource, against today", stations(today, asked)),
    asked.times.length ? section("Response by class", responses(today, asked)) : null,
    curveSection(curve, asked, question, metric, against),
    limit instanceof Error ? null : limits(limit),
    sizing instanceof Error ? null : engines(sizing, question.targets),
    section("Every figure, against today", allFigures(both)),
  ].filter(Boolean);
}

function curveSection(curve, asked, question, metric, against) {
  const controls = h("div", { className: "row" }, h("label", {}, "Show ", metric), h("label", {}, "against ", against));
  if (curve instanceof Error) return section("Load curve", controls, refusal(curve));
  const known = curve.points.filter((point) => point.of);
  const pick = (side) => known.map((point) => point.of[side]);
  const kept = (flag) => curve.measured.filter((point) => point.value !== null && point.heldOut === flag);
  const [xs, [line, fit, out]] = joined([
    [known.map((point) => point.x), [pick("value"), known.map((p) => p.of.lo ?? p.of.value), known.map((p) => p.of.hi ?? p.of.value)]],
    [kept(false).map((p) => p.x), [kept(false).map((p) => p.value)]], [kept(true).map((p) => p.x), [kept(true).map((p) => p.value)]],
  ]);
  const label = `${words(curve.metric)}${curve.of ? ` of ${curve.of}` : ""}`;
  const here = curve.byRate ? asked.at.etr_tps : question.at[curve.key] ?? (curve.key === "etr_tps" ? asked.at.etr_tps : null);
  const central = line[0].filter((value) => value !== null);
  const name = [...against.options].find((option) => option.value === curve.key)?.text ?? curve.key;
  return section("Load curve", controls, chart({
    title: `${label} against ${name}`, joined: true, zoom: true,
    x: { label: curve.byRate ? "transactions per second" : name, values: xs },
    y: { label: `${label}, ${unit(asked.outputs.find((output) => output.metric === curve.metric)?.unit)}`, unit: unit(asked.outputs.find((output) => output.metric === curve.metric)?.unit), most: 4 * Math.max(...central.slice(0, Math.ceil(central.length / 2)), 1) },
    lines: [{ name: "predicted", values: line[0], lo: line[1], hi: line[2], colour: "c1" }],
    points: [...(kept(false).length ? [{ name: "measured", values: fit[0], colour: "c4", fainter: true }] : []), ...(kept(true).length ? [{ name: "measured, held out", values: out[0], colour: "c2", hollow: true }] : [])],
    marks: here === null || here === undefined ? [] : [{ x: here, label: "your question" }],
  }), curve.points.length > known.length ? h("p", { className: "quiet" }, "No value where there is no steady state.") : null,
  curve.measured.length ? h("p", { className: "quiet" }, "Measured points are those of the records as they were; ", term("held out", "held-out"), " ones were predicted from the others in validation.") : null);
}

const limits = (limit) => section("What limits, and what limits next", table(
  [{ name: "Resource" }, { name: "rate at the target", unit: "transactions/s", number: true }, { name: "interval" }, { name: "growth", text: change, number: true }, { name: "chance to be first", number: true, text: (v) => `${figure(100 * v, 2)} %` }],
  limit.limits.map((one) => [resourceName(one.resource), one.etr_tps.value, within(one.etr_tps, 4), one.growth_pct.value, one.probability]), "Highest rate within each target"));

function engines(sizing, targets) {
  const { value, lo, hi } = sizing.engines;
  const aim = `${targets.max_busy_pct} % busy${targets.max_response_ms ? ` and ${targets.max_response_ms} ms` : ""}`;
  const sure = lo === hi ? "with near certainty" : `5 % to 95 % sure: ${lo ?? "–"} to ${hi ?? "more than can be said"}`;
  const answers = sizing.table.some((row) => row.response_ms?.value);
  const kept = (cells) => cells.filter((_, i) => answers || i !== 3);
  return section("Fewest engines", h("p", {}, value === null ? `No number of engines keeps ${aim}.` : h("strong", {}, `${value} CPs`), value === null ? "" : ` keep ${aim} (${sure}).`),
    table(kept([{ name: "CPs", number: true, text: whole }, { name: "CPU busy", unit: "%", number: true }, { name: "interval" }, { name: "response", unit: "ms", number: true }, { name: "chance to meet", number: true, text: (v) => `${figure(100 * v, 2)} %` }, { name: "meets" }]),
      sizing.table.map((row) => kept([row.engines, row.cpu_busy_pct.value, within(row.cpu_busy_pct, 3), row.response_ms?.value ?? null, row.probability, row.meets ? "yes" : "no"])), "What each number of engines would do"));
}

function allFigures(both) {
  const rows = both.changes.map((one) => {
    const output = found(both.b, one.metric, one.class);
    return [`${words(one.metric)}${one.class ? `, ${one.class}` : ""}`, one.a, one.b, within(output, 4), one.change_pct.value, within(one.change_pct, 2), unit(output?.unit)];
  });
  return table([{ name: "Figure" }, { name: "today", number: true }, { name: "asked", number: true }, { name: "interval" }, { name: "change", number: true, text: change }, { name: "interval of the change, %" }, { name: "unit" }], rows, "Every figure, today and as asked");
}

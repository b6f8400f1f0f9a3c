// What if: growth, engines and all that a question can change, beside today; load curve and highest rate.

import { ask } from "/static/client.js";
import { answering, h, notes, section } from "/static/dom.js";
import { change, clock, counted, figure, whole, within } from "/static/figures.js";
import { CPS, found, responses, resourceName, stations } from "/static/parts.js";
import { address, keep, without } from "/static/route.js";
import { table } from "/static/table.js";
import { term } from "/static/terms.js";
import { conditions } from "/static/views/conditions.js";
import { axes, curveMetrics, curveSection, loadCurve } from "/static/views/load-curve.js";
import { MEASURED, aims, fieldsOf, isOneWorkload, misread, questionForm, read } from "/static/views/what-if-fields.js";
import { named, unit, withoutNetwork, words } from "/static/words.js";

export async function whatIf(body, { system: name, params, known }) {
  const system = known.systems.get(name);
  if (known.byCondition.has(name) || params.get("by") === "conditions") return conditions(body, { name, params, known });
  if (!system) throw withoutNetwork(known, name);
  const given = Object.fromEntries(params);
  const fields = fieldsOf(system, given);
  const answers = h("div", { className: "answers", ariaLive: "polite" });
  const metric = h(
    "select",
    {},
    curveMetrics(system).map(([key, label]) => new Option(label, key)),
  );
  const against = h(
    "select",
    {},
    axes(system).map(([key, label]) => new Option(label, key)),
  );
  if (given.metric) metric.value = given.metric;
  if (given.against) against.value = given.against;
  const show = answering(answers);

  async function answer() {
    // A reader who went to another view meanwhile keeps that view's address.
    if (!answers.isConnected) return;
    const question = read(fields);
    keep("what-if", {
      system: name,
      ...question.address,
      ...(metric.selectedIndex > 0 && { metric: metric.value }),
      ...(against.selectedIndex > 0 && { against: against.value }),
    });
    await show(async () => {
      const start = Object.fromEntries(Object.entries(question.at).filter(([key]) => key === "when" || key === "shift"));
      const measured = Object.keys(question.at).filter((key) => key.startsWith(MEASURED));
      const usual = { ...question, at: without(question.at, ...measured) };
      const [both, limit, curve, sizing] = await Promise.all([
        ask("/v1/compare", { system: name, a: start, b: question.at }),
        ask("/v1/max-rate", {
          system: name,
          at: without(usual.at, "growth_pct", "etr_tps"),
          ...question.targets,
        }).catch((error) => error),
        loadCurve(system, usual, against.value, metric.value).catch((error) => error),
        ask("/v1/size", { system: name, at: without(usual.at, "engines"), ...question.targets }).catch(
          (error) => error,
        ),
      ]);
      if (both.b.bottleneck.stations.length) return shown(system, both, limit, curve, sizing, question, metric, against);
      // What only studies answer has no stations.
      location.replace(address("what-if", { system: name, by: "conditions", ...question.address }));
      return [];
    });
  }
  const studies = system.has_conditions
    ? h("p", {}, h("a", { href: address("what-if", { system: name, by: "conditions" }) }, "Ask by the conditions of its studies"))
    : "";
  const form = questionForm(fields, answer, "Back to the baseline", studies);
  metric.addEventListener("change", answer);
  against.addEventListener("change", answer);
  body.classList.add("beside");
  body.before(...misread(fields, given));
  body.append(form, answers);
  await answer();
}

const rateOf = (answer) => answer.at.etr_tps ?? found(answer, "etr_tps")?.value;

// How far the mix that is asked goes within the targets, and what stops it there.
function reach(limit, today_tps, targets, comparable) {
  const most = limit.etr_tps.value;
  const first = resourceName(limit.limits[0].resource);
  if (!most) return `${limit.notes[0].replace(/^no rate/, "No rate")} (asked for: ${aims(targets)}).`;
  const growth = `${change(100 * (most / today_tps - 1))} from the baseline`;
  const said = comparable ? `go to ${figure(most, 5)}/s (${growth})` : `change by ${growth}`;
  return `The mix can ${said} within ${aims(targets)}, limited by ${first}.`;
}

function shown(system, both, limit, curve, sizing, question, metric, against) {
  const { a: today, b: asked } = both;
  const rate = rateOf(asked);
  const head = asked.bottleneck,
    next = head.next;
  const most = limit instanceof Error ? null : limit.etr_tps.value;
  const room_pct = most === null || !rate ? null : 100 * (most / rate - 1);
  // Whether a response target is met is not known where it was refused.
  const unknown = limit instanceof Error && question.targets.max_response_ms !== undefined;
  const fits = room_pct === null ? !unknown && head.utilization_pct <= question.targets.max_busy_pct : room_pct >= 0;
  // What the work asks of the engines, as the table below has it; they, or a share of them, may give less.
  const cps = head.stations.find((station) => station.resource === CPS);
  const asks = { ...cps, value: cps.utilization_pct };
  const gets = found(asked, "cpu_busy_pct") ?? { value: Math.min(asks.value, 100), hi: Math.min(asks.hi, 100) };
  const beyond = (most, given) => most > given + 0.01;
  const over = beyond(asks.value, gets.value);
  const comparable = isOneWorkload(system);
  const shared = new Set(today.notes);
  return [
    h(
      "section",
      { ariaLabel: "Answer" },
      h(
        "p",
        { className: "headline", id: "headline" },
        `${comparable ? `At ${figure(rate, 5)} transactions/s the` : "The"} ${over ? "work asks for" : "LPAR is"} `,
        h("strong", {}, `${figure(asks.value, 3)} % ${over ? "of the engines" : "busy"}`),
        within(asks, 3) && ` (${within(asks, 3)}${!over && beyond(asks.hi, gets.hi) ? " asked for" : ""})`,
        over && beyond(100, gets.value) ? ` and gets ${figure(gets.value, 3)} %` : "",
        room_pct !== null && room_pct >= 0 ? ["; ", term("headroom"), `: ${figure(room_pct, 2)} % more of this mix.`] : ".",
      ),
      h(
        "p",
        { className: fits ? "verdict good" : "verdict bad", id: "verdict" },
        fits ? "Fits. " : unknown ? "" : "Does not fit. ",
        `Fullest: ${resourceName(head.resource)}, at ${figure(head.utilization_pct, 3)} %`,
        next ? `, then ${resourceName(next.resource)} at ${figure(next.utilization_pct, 3)} %. ` : ". ",
        most === null ? (limit.message ?? "") : reach(limit, rateOf(today), question.targets, comparable),
      ),
      asked.extrapolated
        ? h("p", { className: "warning" }, "Extrapolated beyond the measured range: see the notes.")
        : null,
      notes(asked.notes.filter((note) => !shared.has(note))),
      ...baseline(system, both),
    ),
    section("Busy by resource, baseline and scenario", stations(today, asked)),
    asked.times.length ? section("Response by class", responses(today, asked, system.workloads)) : null,
    curveSection(curve, asked, question, metric, against),
    limit instanceof Error ? null : limits(limit),
    sizing instanceof Error ? null : engines(sizing, question.targets, asked.notes),
    section("Every figure, baseline and scenario", allFigures(both), ofModel(asked.notes.filter((note) => shared.has(note)))),
  ].filter(Boolean);
}

// What holds for baseline and scenario alike is about the model of the system: said once, at the end.
const ofModel = (said) => (said.length ? h("details", {}, h("summary", {}, "Notes on the model"), notes(said)) : null);

// The recorded interval that the scenario starts from, by its name, and the main figures of both.
const MAIN = ["cpu_busy_pct", "machine_busy_pct", "ziip_busy_pct", "msu", "r4ha_msu"];

function baseline(system, { a: today, b: asked, changes }) {
  if (!system.period) return [];
  const when = today.at.when ?? system.operating_point;
  const msu = found(today, "msu");
  const recorded = /^\d{4}-\d\d-\d\dT/.test(when);
  const name = `${recorded ? clock(when) : when}${msu ? `, ${figure(msu.value, 3)} MSU` : ""}`;
  const peak = when === system.operating_point ? " (the recorded peak)" : "";
  const rows = MAIN.flatMap((metric) => {
    const row = changes.find((one) => one.metric === metric && !one.class);
    const output = found(asked, metric);
    return row ? [[words(metric), row.a, row.b, within(output, 3), row.change_pct.value, unit(output?.unit)]] : [];
  });
  return [
    h("p", { id: "baseline" }, "Baseline: ", h("strong", {}, name), `${peak}.`),
    table(
      [
        { name: "Figure" },
        { name: `baseline, ${name}`, number: true },
        { name: "scenario", number: true },
        { name: "interval", term: term("90 % interval", "interval") },
        { name: "change", number: true, text: change },
        { name: "unit" },
      ],
      rows,
      "Main figures, baseline and scenario",
    ),
  ];
}

const limits = (limit) =>
  section(
    "Limiting resource, and the next",
    table(
      [
        { name: "Resource" },
        { name: "rate at the target", unit: "tran/s", number: true },
        { name: "interval" },
        { name: "growth", text: change, number: true },
        { name: "probability of being first", number: true, text: (v) => `${figure(100 * v, 2)} %` },
      ],
      limit.limits.map((one) => [
        resourceName(one.resource),
        one.etr_tps.value,
        within(one.etr_tps, 4),
        one.growth_pct.value,
        one.probability,
      ]),
      "Highest rate within each target",
    ),
  );

function engines(sizing, targets, said) {
  const { value, lo, hi } = sizing.engines;
  const aim = aims(targets);
  const sure = lo === hi ? "with near certainty" : `5 % to 95 %: ${lo ?? "–"} to ${hi ?? "no upper limit"}`;
  const answers = sizing.table.some((row) => row.response_ms?.value);
  const kept = (cells) => cells.filter((_, i) => answers || i !== 3);
  return section(
    "Fewest engines",
    h(
      "p",
      {},
      value === null ? `No number of engines keeps within ${aim}.` : h("strong", {}, counted(value, "CP")),
      value === null ? "" : ` ${value === 1 ? "keeps" : "keep"} within ${aim} (${sure}).`,
    ),
    table(
      kept([
        { name: "CPs", number: true, text: whole },
        { name: "CPU busy", unit: "%", number: true },
        { name: "interval" },
        { name: "longest response", unit: "ms", number: true },
        { name: "probability", number: true, text: (v) => `${figure(100 * v, 2)} %` },
        { name: "meets" },
        { name: "nearest to its target" },
      ]),
      sizing.table.map((row) =>
        kept([
          row.engines,
          row.cpu_busy_pct.value,
          within(row.cpu_busy_pct, 3),
          row.response_ms?.value ?? null,
          row.probability,
          row.meets ? "yes" : "no",
          resourceName(row.limit),
        ]),
      ),
      "What each number of engines would do",
    ),
    notes(sizing.notes.filter((note) => !said.includes(note))),
  );
}

function allFigures(both) {
  const rows = both.changes.map((one) => {
    const output = found(both.b, one.metric, one.class);
    return [
      named(one.metric, one.class),
      one.a,
      one.b,
      within(output, 4),
      one.change_pct.value,
      within(one.change_pct, 2),
      unit(output?.unit),
    ];
  });
  return table(
    [
      { name: "Figure" },
      { name: "baseline", number: true },
      { name: "scenario", number: true },
      { name: "interval" },
      { name: "change", number: true, text: change },
      { name: "interval of the change, %" },
      { name: "unit" },
    ],
    rows,
    "Every figure, baseline and scenario",
  );
}

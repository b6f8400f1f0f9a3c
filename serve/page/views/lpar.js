// LPAR: busy over time by class group with capacity, cap and share; classes; down to a class and the records behind.

import { ask } from "/static/client.js";
import { chart, withHoles } from "/static/chart.js";
import { answering, h, section } from "/static/dom.js";
import { change, counted, figure, minute, seconds, whole } from "/static/figures.js";
import { of, overTime, spanForm, spanOf } from "/static/history.js";
import { changed } from "/static/periods.js";
import { address, keep } from "/static/route.js";
import { shiftField } from "/static/shifts.js";
import { table } from "/static/table.js";
import { term } from "/static/terms.js";
import { measuredTable } from "/static/views/compare.js";
import { spelt, unit, words } from "/static/words.js";

const TARGET_PCT = 90;

export async function lpar(body, { system, params, known }) {
  const path = `/v1/systems/${encodeURIComponent(system)}`;
  const about = known.histories.get(system);
  if (!about)
    throw new Error(
      `No history of intervals is known of ${system}: ask What if about measured points, or see Overview.`,
    );
  const span = spanOf(params);
  const shift = params.get("shift") ?? "";
  const query = new URLSearchParams({ ...span, shift }).toString();
  const [history, classes, shifts] = await Promise.all([
    ask(`${path}/history?${query}`),
    ask(`${path}/classes?${new URLSearchParams({ shift })}`),
    shiftField(shift, (chosen) => {
      location.hash = address("lpar", { ...Object.fromEntries(params), system, shift: chosen });
    }),
  ]);
  body.append(
    spanForm(
      about,
      span,
      (from, to) => {
        location.hash = address("lpar", { ...Object.fromEntries(params), system, from, to });
      },
      [
        `${about.lpars.join(", ")} on CPC `,
        about.machine ? h("a", { href: address("cpc", { machine: about.machine }) }, about.machine_name) : about.machine_name,
        `${about.cps ? `, ${counted(about.cps, "CP")}` : ""}${about.ziips ? `, ${counted(about.ziips, "zIIP")}` : ""}`,
      ],
      shifts,
    ),
    engines(history, about),
    ...ziips(history),
    ...msu(history),
    classTable(system, classes, { ...span, shift }),
    aroundDate(system, params),
  );
  if (params.get("class")) body.append(await oneClass(path, system, params.get("class"), query));
  body.append(behind(path, about, params));
}

// The engines in use at which the LPAR is as busy as it should be at most.
const aimed = (history) =>
  of(history, "cp_online").map((column) => ({
    ...column,
    values: column.values.map((value) => (value === null ? null : (TARGET_PCT / 100) * value)),
  }));

function engines(history) {
  const lines = [
    ["cp_busy", "busy of all", "c5", undefined],
    ["cp_peak", "highest interval", "c5", [2, 3]],
    ["cp_online", "CPs online", "c8", undefined],
    ["cp_share", "share by weight", "c8", [8, 4]],
    ["cp_cap", "absolute cap", "mark", [3, 3]],
    ["target", `target, ${TARGET_PCT} % busy`, "bad", [6, 4]],
  ]
    .filter(([kind]) => kind !== "cp_peak" || history.every !== "interval")
    .flatMap(([kind, name, colour, dash]) =>
      (kind === "target" ? aimed(history) : of(history, kind)).map((column) => ({
        ...column,
        name,
        colour,
        dash,
        width: kind === "cp_busy" ? 1 : 1.5,
      })),
    );
  return section(
    "General-purpose engines in use",
    overTime(history, {
      title: "General-purpose engines in use by class group",
      unit: "engines",
      // Uncaptured time below the class groups.
      stack: [...of(history, "uncaptured"), ...of(history, "class_group")],
      rest: "groups",
      lines,
    }),
  );
}

function ziips(history) {
  const busy = of(history, "ziip_busy");
  if (!busy.some((column) => column.values.some((value) => value > 0))) return [];
  const lines = [
    ...busy.map((column) => ({ ...column, name: "busy", colour: "c3" })),
    ...of(history, "ziip_on_cp").map((column) => ({ ...column, name: "zIIP work on CPs", colour: "bad", width: 1.5 })),
    ...of(history, "ziip_online").map((column) => ({ ...column, name: "zIIPs online", colour: "c8", width: 1.5 })),
  ];
  return [section("zIIPs in use", overTime(history, { title: "zIIPs in use", unit: "engines", lines }))];
}

function msu(history) {
  const lines = ["msu", "r4ha_msu", "msu_capacity"].flatMap((kind, i) =>
    of(history, kind).map((column) => ({ ...column, colour: ["c1", "c2", "c8"][i], width: i === 1 ? 2 : 1 })),
  );
  return lines.length ? [section("MSU", overTime(history, { title: "MSU and their R4HA", unit: "MSU", lines }))] : [];
}

// Work that misses its goal first, the most starved on top; then what uses most.
function classTable(system, classes, kept) {
  const order = (one) => ((one.performance_index ?? 0) > 1 ? one.performance_index : 0);
  const sorted = classes.classes.toSorted((a, b) => order(b) - order(a) || (b.engines ?? 0) - (a.engines ?? 0));
  const index = (v) => (v > 1 ? h("strong", { className: "bad" }, figure(v, 3)) : figure(v, 3));
  const rows = sorted.map((row) => [
    h("a", { href: address("lpar", { system, ...kept, class: row.class_name }) }, row.class_name),
    row.workload,
    row.importance,
    row.performance_index === null ? null : index(row.performance_index),
    row.missed_pct,
    row.msu,
    row.engines,
    row.rate_tps,
    row.rate_tps_change_pct,
    row.cpu_us_per_tran,
    row.cpu_us_per_tran_change_pct,
    row.ziip_on_cp_engines,
    row.response_ms,
    row.response_ms_change_pct,
    row.goal_ms,
  ]);
  const trend = { name: "trend", number: true, text: change };
  const caption = "Service classes, last seven days against the seven before";
  return section(
    caption,
    classes.capture_ratio === null
      ? null
      : h("p", {}, term("capture ratio", "Capture ratio"), `: ${figure(100 * classes.capture_ratio, 3)} %.`),
    table(
      [
        { name: "Class", term: term("service class", "Class") },
        { name: "workload" },
        { name: "importance", number: true, term: term("importance"), text: (v) => v ?? "–" },
        { name: "PI", number: true, term: term("PI") },
        { name: "PI above 1, % of intervals", number: true, text: (v) => figure(v, 2) },
        { name: "MSU", number: true, text: (v) => figure(v, 3) },
        { name: "engines", number: true },
        { name: "rate", unit: "tran/s", number: true },
        trend,
        { name: "CPU", unit: "µs/tran", number: true, text: (v) => figure(v, 5) },
        trend,
        { name: "zIIP work on CPs", unit: "engines", number: true, text: (v) => (v ? figure(v, 2) : "–") },
        { name: "response", unit: "ms", number: true },
        trend,
        { name: "goal", unit: "ms", number: true, text: (v) => figure(v, 3) },
      ],
      rows,
      caption,
    ),
    workloads(classes),
  );
}

function workloads({ workloads: rows, currency }) {
  const cost = currency ? [`${currency}/1,000 transactions`, `zIIP work on CPs, ${currency}/hour`] : [];
  const caption = "CPU per transaction by workload, its regions included, last seven days";
  return table(
    [
      { name: "Workload" },
      { name: "MSU", number: true, text: (v) => figure(v, 3) },
      { name: "engines", number: true },
      { name: "rate", unit: "tran/s", number: true },
      { name: "CPU", unit: "µs/tran", number: true, text: (v) => figure(v, 5) },
      { name: "zIIP work on CPs", unit: "engines", number: true, text: (v) => (v ? figure(v, 2) : "–") },
      ...cost.map((name) => ({ name, number: true, text: (v) => (v ? figure(v, 3) : "–") })),
    ],
    rows.map((one) => [
      one.workload,
      one.msu,
      one.engines,
      one.rate_tps,
      one.cpu_us_per_tran,
      one.ziip_on_cp_engines,
      ...(currency ? [one.cost_per_1000, one.ziip_on_cp_cost_per_hour] : []),
    ]),
    caption,
  );
}

// What changed at a date, such as that of a release: the days before it beside as many from it on.
function aroundDate(system, params) {
  const found = h("div", { ariaLive: "polite" }),
    answered = answering(found);
  const date = h("input", { type: "date", required: true, value: params.get("change") ?? "" });
  const show = async (event) => {
    event?.preventDefault();
    if (event) keep("lpar", { ...Object.fromEntries(params), system, change: date.value });
    await answered(async () => measuredTable(await changed(system, { change: date.value, shift: params.get("shift") ?? "" })));
  };
  if (date.value) show();
  return section(
    "Before and after a date",
    h(
      "form",
      { className: "row", ariaLabel: "Before and after a date", onsubmit: show },
      h("label", {}, "Date of the change ", date),
      h("button", {}, "Compare"),
      h("p", { className: "quiet" }, "A: up to seven days before the date; B: as many days from the date on."),
    ),
    found,
  );
}

async function oneClass(path, system, name, query) {
  const [series, explained] = await Promise.all([
    ask(`${path}/classes/${encodeURIComponent(name)}?${query}`),
    ask("/v1/explain", { system }).catch(() => ({ demand: [] })),
  ]);
  const charts = series.columns
    .filter((column) => column.values.some((value) => value !== null))
    .map((column) => {
      const [xs, [values]] = withHoles(series.start_local.map(seconds), [column.values]);
      const label =
        {
          rate_tps: "Transaction rate",
          cpu_us_per_tran: "CPU per transaction",
          engines: "Engines in use",
          response_ms: "Mean response",
        }[column.kind] ?? words(column.kind);
      return chart({
        title: `${label} of ${name}`,
        x: { label: "local time", values: xs, time: true },
        y: { label: unit(column.unit), unit: unit(column.unit) },
        lines: [{ name: label.replace(/^[A-Z](?=[a-z])/, (first) => first.toLowerCase()), values, colour: "c1", width: 1.5 }],
      });
    });
  const demand = explained.demand.filter((row) => row.class === name);
  return section(
    `Class ${name}`,
    demand.length
      ? table(
          [
            { name: "Component" },
            { name: "engine" },
            { name: "engines at the peak", number: true },
            { name: "CPU", unit: "µs/tran", number: true, text: (v) => figure(v, 5) },
            { name: "known from" },
          ],
          demand.map((row) => [
            spelt(row.component),
            row.engine === "cp" ? "CP" : "zIIP",
            row.engines_in_use.value,
            row.us_per_tran?.value ?? null,
            row.evidence,
          ]),
          `Demand of ${name} by component, as calibrated`,
        )
      : null,
    h("div", { className: "pair" }, charts),
  );
}

function behind(path, about, params) {
  const found = h("div", { ariaLive: "polite" }),
    answered = answering(found);
  const at = h("input", {
    type: "datetime-local",
    step: 1,
    value: (params.get("at") ?? about.highest_at).slice(0, 16),
  });
  const show = async (event) => {
    event?.preventDefault();
    await answered(async () => {
      const known = await ask(`${path}/records?at=${at.value.slice(0, 16)}:00`);
      if (!known.records.length)
        return h("p", {}, "No interval begins then: give the local start of one, such as that of the peak.");
      return table(
        [
          { name: "File" },
          { name: "record type" },
          { name: "records", number: true, text: whole },
          { name: "first record, from 0", number: true, text: whole },
        ],
        known.records.map((row) => [row.file, row.record_type, row.records, row.first_record]),
        `Records of the interval of ${minute(known.interval_start_local)}`,
      );
    });
  };
  show();
  return section(
    "The records behind an interval",
    h(
      "form",
      { className: "row", onsubmit: show },
      h("label", {}, "Local start ", at),
      h("button", {}, "Show"),
      h("p", { className: "quiet" }, "Filled in: the busiest interval. etalon decode shows a record field by field."),
    ),
    found,
  );
}

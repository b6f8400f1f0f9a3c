// LPAR: busy over time by class group with capacity, cap and share; classes; down to a class and the records behind.

import { ask } from "/static/client.js";
import { chart, withHoles } from "/static/chart.js";
import { answering, h, section } from "/static/dom.js";
import { change, counted, figure, minute, seconds, whole } from "/static/figures.js";
import { address } from "/static/route.js";
import { table } from "/static/table.js";
import { term } from "/static/terms.js";
import { spelt, unit, words } from "/static/words.js";

const TARGET_PCT = 90;
// As many areas as there are colours to tell them apart; the lines over them have others, and dashes.
const AREAS = ["c1", "c2", "c3", "c4", "c7", "c6"];

export async function lpar(body, { system, params, known }) {
  const path = `/v1/systems/${encodeURIComponent(system)}`;
  const about = known.histories.get(system);
  if (!about)
    throw new Error(
      `No history of intervals is known of ${system}: ask What if about measured points, or see Overview.`,
    );
  const span = Object.fromEntries(["from", "to"].filter((key) => params.get(key)).map((key) => [key, params.get(key)]));
  const query = new URLSearchParams(span).toString();
  const [history, classes] = await Promise.all([ask(`${path}/history?${query}`), ask(`${path}/classes`)]);
  body.append(
    spanForm(system, about, span, params),
    engines(history, about),
    ...ziips(history),
    ...msu(history),
    classTable(system, classes, span),
  );
  if (params.get("class")) body.append(await oneClass(path, system, params.get("class"), query));
  body.append(behind(path, about, params));
}

function spanForm(system, about, span, params) {
  const first = h("input", { type: "date", value: (span.from ?? about.first_start_local).slice(0, 10) });
  const last = h("input", { type: "date", value: (span.to ?? about.last_start_local).slice(0, 10) });
  const go = (from, to) => {
    location.hash = address("lpar", { ...Object.fromEntries(params), system, from, to });
  };
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
    h(
      "p",
      { className: "quiet" },
      `${about.lpars.join(", ")} on CPC ${about.machine}${about.cps ? `, ${counted(about.cps, "CP")}` : ""}${about.ziips ? `, ${counted(about.ziips, "zIIP")}` : ""}`,
    ),
  );
}

const of = (history, kind) => history.columns.filter((column) => column.kind === kind);

// The engines in use at which the LPAR is as busy as it should be at most.
const aimed = (history) =>
  of(history, "cp_online").map((column) => ({
    ...column,
    values: column.values.map((value) => (value === null ? null : (TARGET_PCT / 100) * value)),
  }));

function timed(history, columns) {
  const [xs, values] = withHoles(
    history.start_local.map(seconds),
    columns.map((column) => column.values),
  );
  return [xs, columns.map((column, i) => ({ ...column, values: values[i] }))];
}

const EVERY = { interval: "each interval", hour: "means of an hour", day: "means of a day" };

// Uncaptured time and class groups, the largest first; those beyond the colours there are as one.
function areas(history) {
  const groups = [...of(history, "uncaptured"), ...of(history, "class_group")];
  const rest = groups.length > AREAS.length ? groups.splice(AREAS.length - 1) : [];
  if (rest.length)
    groups.push({
      name: `${rest.length} smaller groups`,
      values: rest[0].values.map((_, i) => {
        const there = rest.map((group) => group.values[i]).filter((value) => value !== null);
        return there.length ? there.reduce((sum, value) => sum + value, 0) : null;
      }),
    });
  return groups.map((group, i) => ({ ...group, colour: AREAS[i] }));
}

function engines(history) {
  const groups = areas(history);
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
  const [xs, all] = timed(history, [...groups, ...lines]);
  return section(
    "General-purpose engines in use",
    chart({
      title: `General-purpose engines in use by class group, ${EVERY[history.every]}`,
      x: { label: "local time", values: xs, time: true },
      y: { label: "engines", unit: "engines" },
      stack: all.slice(0, groups.length),
      lines: all.slice(groups.length),
    }),
  );
}

function ziips(history) {
  const busy = of(history, "ziip_busy");
  if (!busy.some((column) => column.values.some((value) => value > 0))) return [];
  const [xs, lines] = timed(history, [
    ...busy.map((column) => ({ ...column, name: "busy", colour: "c3" })),
    ...of(history, "ziip_online").map((column) => ({ ...column, name: "zIIPs online", colour: "c8", width: 1.5 })),
  ]);
  return [
    section(
      "zIIPs in use",
      chart({
        title: `zIIPs in use, ${EVERY[history.every]}`,
        x: { label: "local time", values: xs, time: true },
        y: { label: "engines", unit: "engines" },
        lines,
      }),
    ),
  ];
}

function msu(history) {
  const found = ["msu", "r4ha_msu", "msu_capacity"].flatMap((kind, i) =>
    of(history, kind).map((column) => ({ ...column, colour: ["c1", "c2", "c8"][i], width: i === 1 ? 2 : 1 })),
  );
  if (!found.length) return [];
  const [xs, lines] = timed(history, found);
  return [
    section(
      "MSU",
      chart({
        title: `MSU and their R4HA, ${EVERY[history.every]}`,
        x: { label: "local time", values: xs, time: true },
        y: { label: "MSU", unit: "MSU" },
        lines,
      }),
    ),
  ];
}

function classTable(system, classes, span) {
  const rows = classes.classes.map((row) => [
    h("a", { href: address("lpar", { system, ...span, class: row.class_name }) }, row.class_name),
    row.workload,
    row.importance,
    row.engines,
    row.rate_tps,
    row.rate_tps_change_pct,
    row.cpu_us_per_tran,
    row.cpu_us_per_tran_change_pct,
    row.response_ms,
    row.response_ms_change_pct,
    row.goal_ms,
  ]);
  return section(
    "Service classes, last seven days against the seven before",
    table(
      [
        { name: "Class", term: term("service class", "Class") },
        { name: "workload" },
        { name: "importance", number: true, term: term("importance"), text: (v) => v ?? "–" },
        { name: "engines", number: true },
        { name: "rate", unit: "transactions/s", number: true },
        { name: "trend", number: true, text: change },
        { name: "CPU", unit: "µs/transaction", number: true, text: (v) => figure(v, 5) },
        { name: "trend", number: true, text: change },
        { name: "response", unit: "ms", number: true },
        { name: "trend", number: true, text: change },
        { name: "goal", unit: "ms", number: true, text: (v) => figure(v, 3) },
      ],
      rows,
      "Service classes of the last seven days",
    ),
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
            { name: "CPU", unit: "µs/transaction", number: true, text: (v) => figure(v, 5) },
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

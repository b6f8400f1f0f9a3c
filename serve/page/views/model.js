// Model: versions, gates, residuals and drift, and what an answer rests on.

import { ask } from "/static/client.js";
import { chart, withHoles } from "/static/chart.js";
import { h, notes, refusal, section } from "/static/dom.js";
import { change, counted, day, figure, minute, seconds, whole, within } from "/static/figures.js";
import { address } from "/static/route.js";
import { table } from "/static/table.js";
import { term } from "/static/terms.js";
import { named, onZiips, spelt, words } from "/static/words.js";
import { verdict } from "/static/views/overview.js";

export async function model(body, { system, params, known }) {
  const {
    models: [champion],
    versions,
  } = await ask("/v1/models");
  const about = known.systems.get(system);
  const chosen = versions.find((one) => one.model_version === params.get("version"));
  body.append(
    gates(champion, known, system),
    ...history(versions, champion, system),
    ...errors(chosen?.errors ?? champion.validation.errors ?? [], system, chosen?.model_version ?? champion.model_version),
    refused(champion),
  );
  if (!about) return;
  const explained = await ask("/v1/explain", { system });
  if (about.period) body.append(await residuals(system).catch(refusal));
  body.append(rests(system, explained), demand(explained), ...sensitivity(explained));
}

// What its gate says of a system, in a sentence, and the checks.
function standing(system, gate) {
  const checks = gate?.checks ?? [];
  if (!checks.length) return [h("p", {}, `${system} has too few measurements to hold any out: it is not judged.`)];
  const missed = checks.filter((check) => check.passed === false).length;
  const why = missed ? `${missed} of ${checks.length} limits are missed` : "what was held out is predicted within its limits";
  return [
    h("p", { className: `headline ${gate.passed ? "pass" : "warn"}` }, h("strong", {}, `${system}: ${verdict(gate)}`), `; ${why}.`),
    table(
      [
        { name: "check", term: term("held out", `Check of ${system} on held-out data`) },
        { name: "value", number: true, text: (v) => figure(v, 3) },
        { name: "limit", number: true, text: (v) => figure(v, 3) },
        { name: "holds" },
      ],
      checks.map((check) => [check.name, check.value, check.limit, check.passed ? "yes" : h("strong", {}, "no")]),
      `Checks of ${system} on held-out data`,
    ),
  ];
}

function gates(champion, known, chosen) {
  const verdicts = [...known.systems.values()].map((system) => [
    h("a", { href: address("model", { system: system.system }) }, system.system),
    verdict(system.gate),
    (system.gate?.baselines ?? [])
      .filter((one) => one.baseline_pct < one.model_pct)
      .map((one) => `${words(one.metric)} ${one.class}`.trim())
      .join(", "),
  ]);
  return section(
    `Version ${champion.model_version}`,
    h(
      "p",
      { className: "quiet" },
      `Calibrated on ${fitted(champion.data ?? {})}.`,
    ),
    ...standing(chosen, known.systems.get(chosen)?.gate),
    h(
      "details",
      {},
      h("summary", {}, `All ${verdicts.length} systems`),
      table(
        [
          { name: "System" },
          { name: "verdict", term: term("gate", "verdict") },
          { name: "baseline was closer for" },
        ],
        verdicts,
        "Verdict by system",
      ),
    ),
  );
}

const SHOWN = [
  ["later days", "cpu_busy_pct", "busy, later days"],
  ["later days", "response_ms", "largest response error, later days"],
  ["a measured point", null, "largest error of a figure, measured points"],
];

// The versions that hold the system, with the largest error of each kind; the name of one shows all its errors below.
function history(versions, champion, system) {
  const rows = versions.flatMap((version) => {
    const own = version.systems.find((one) => one.system === system);
    if (!own) return [];
    const worst = ([heldOut, metric]) =>
      version.errors
        .filter((row) => row.system === system && row.held_out === heldOut && (!metric || row.metric === metric))
        .reduce((most, row) => Math.max(most, row.error_pct), -Infinity);
    return [
      [
        h("a", { href: address("model", { system, version: version.model_version }) }, version.model_version),
        minute(version.registered_at),
        own.period ? own.period.map(day).join(" to ") : counted(own.points, "measured point"),
        ...SHOWN.map(worst).map((value) => (value === -Infinity ? null : value)),
        outcome(version, own, champion),
      ],
    ];
  });
  const columns = [
    { name: "Version" },
    { name: "registered, UTC" },
    { name: `data of ${system}` },
    ...SHOWN.map(([, , name]) => ({ name, unit: "%", number: true, text: (v) => figure(v, 3) })),
    { name: "outcome" },
  ];
  const used = columns.map((_, i) => !columns[i].unit || rows.some((row) => row[i] !== null));
  const kept = (cells) => cells.filter((_, i) => used[i]);
  return rows.length ? [section("Versions", table(kept(columns), rows.map(kept), `Versions that hold ${system}`))] : [];
}

function outcome(version, own, champion) {
  if (!version.promoted) return "not promoted: no system passed its gate";
  const since = version.model_version === champion.model_version ? "in service" : "was in service";
  if (own.kept) return `${since}; ${own.system} is kept from ${own.kept.model_version}: ${own.kept.reason}`;
  return `${since}; ${own.system} ${own.passed === null ? "is not judged" : verdict(own)}`;
}

function errors(all, system, version) {
  const rows = all.filter((row) => row.system === system);
  if (!rows.length) return [];
  const part = (v) => (v === null || v === undefined ? "–" : `${figure(100 * v, 3)} %`);
  return [
    section(
      `Errors of ${version} on held-out data`,
      table(
        [
          { name: "Held out", term: term("held out", "Held out") },
          { name: "figure" },
          { name: "values", number: true, text: whole },
          { name: "error", unit: "%", number: true, text: (v) => figure(v, 3) },
          { name: "worst", unit: "%", number: true, text: (v) => figure(v, 3) },
          { name: "within the 90 % interval", number: true, text: part },
          { name: "half-width", unit: "%", number: true, text: (v) => figure(v, 3) },
          { name: "best baseline" },
          { name: "its error", unit: "%", number: true, text: (v) => figure(v, 3) },
        ],
        rows.map((row) => [
          row.held_out,
          named(row.metric, row.class),
          row.n,
          row.error_pct,
          row.worst_pct,
          row.coverage,
          row.half_width_pct,
          row.baseline,
          row.baseline_pct,
        ]),
        `Errors of ${system} on held-out data`,
      ),
      h(
        "p",
        { className: "quiet" },
        "Error and worst are mean and largest of measured points, median and 95th percentile of recorded intervals. A recorded interval counts as within if it is no further out than single intervals scatter.",
      ),
    ),
  ];
}

function refused(champion) {
  const left = Object.entries(champion.refused ?? {});
  return left.length
    ? section(
        "Not calibrated",
        table([{ name: "System" }, { name: "reason" }], left, "Systems that were not calibrated, with the reason"),
      )
    : "";
}

async function residuals(system) {
  const found = await ask(`/v1/systems/${encodeURIComponent(system)}/fitted`);
  const error = found.measured_busy_pct.map((value, i) =>
    value === null || found.predicted_busy_pct[i] === null ? null : found.predicted_busy_pct[i] - value,
  );
  const part = (held) => error.map((value, i) => (found.held_out[i] === held ? value : null));
  const [xs, [early, later]] = withHoles(found.start_local.map(seconds), [part(false), part(true)]);
  const mean = (values) => values.filter((value) => value !== null);
  const bias = (values) => mean(values).reduce((sum, value) => sum + value, 0) / Math.max(1, mean(values).length);
  const sizes = mean(error)
    .map(Math.abs)
    .sort((a, b) => a - b);
  const drift = bias(part(true)) - bias(part(false));
  const points = (value) => value.toFixed(2).replace(/^-(?=[0.]+$)/, "");
  return section(
    "Residuals and drift",
    h(
      "p",
      {},
      `Mean error of busy ${points(bias(part(false)))} points on the earlier days, ${points(bias(part(true)))} on the later 30 %: a drift of ${points(drift)} points. Nine of ten intervals are within ${points(sizes[Math.floor(0.9 * sizes.length)])} points.`,
    ),
    chart({
      title: `Predicted less measured busy of ${system}`,
      x: { label: "local time", values: xs, time: true },
      y: { label: "percent points of busy", unit: "points" },
      points: [
        { name: "earlier days", values: early, colour: "c1", fainter: true },
        { name: "later days", values: later, colour: "c2", fainter: true },
      ],
    }),
  );
}

const fitted = ({ files, bytes, sha256 }) =>
  sha256 === undefined
    ? "data that the model does not name"
    : `${whole(files)} files, ${figure(bytes / 1e6, 3)} MB, whose SHA-256 digest begins ${sha256.slice(0, 16)}`;

function rests(system, explained) {
  const seen = explained.evidence;
  const facts = {
    [seen.period ? "Recorded" : "Measured points"]: seen.period
      ? seen.period.map(minute).join(" to ")
      : String(seen.points),
    Rates: `${figure(seen.etr_tps[0], 5)} to ${figure(seen.etr_tps.at(-1), 5)} transactions/s`,
    Engines: `${counted(seen.engines, "CP")}, machine ${seen.machine}`,
    Intervals: `${whole(seen.intervals)}, ${figure(seen.seconds / 3600, 4)} hours`,
    "Borrows strength from": seen.relatives.join(", ") || "no other system",
    "Not measured here":
      Object.entries(seen.origins)
        .map(([name, origin]) => `${name}: ${origin}`)
        .join("; ") || "nothing",
  };
  return section(
    `What answers about ${system} rest on`,
    h(
      "dl",
      {},
      Object.entries(facts).flatMap(([name, text]) => [h("dt", {}, name), h("dd", {}, text)]),
    ),
    notes(explained.notes),
  );
}

const demand = (explained) =>
  section(
    "Demand by class and component",
    table(
      [
        { name: "Class" },
        { name: "component" },
        { name: "engine" },
        { name: "engines in use", number: true },
        { name: "interval" },
        { name: "CPU", unit: "µs/tran", number: true, text: (v) => figure(v, 5) },
        { name: "known from" },
      ],
      explained.demand.map((row) => [
        row.class ?? "all",
        spelt(row.component),
        row.engine === "cp" ? "CP" : "zIIP",
        row.engines_in_use.value,
        within(row.engines_in_use, 3),
        row.us_per_tran?.value ?? null,
        row.evidence,
      ]),
      "Demand by class and component",
    ),
  );

function sensitivity(explained) {
  const rows = explained.sensitivity.flatMap((one) =>
    one.shares
      .filter((share) => share.share_pct >= 1)
      .map((share, i) => [
        i ? "" : named(one.metric, one.class),
        onZiips(share.assumption),
        share.share_pct,
      ]),
  );
  return rows.length
    ? [
        section(
          "Where the intervals come from",
          table(
            [
              { name: "Figure" },
              { name: "assumption" },
              { name: "part of the variance", unit: "%", number: true, text: (v) => figure(v, 2) },
            ],
            rows,
            "Part of the variance by assumption",
          ),
        ),
      ]
    : [];
}

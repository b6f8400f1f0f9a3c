// Parts that several views show of an answer: bars of utilization, using and waiting, what an answer says against itself.

import { h, svg } from "/static/dom.js";
import { figure, within } from "/static/figures.js";
import { table } from "/static/table.js";
import { explained, term } from "/static/terms.js";
import { spelt } from "/static/words.js";

// A bar from 0 to 100 % with the interval as a line; beyond 100 % it changes colour.
export function bar(part, label) {
  const most = Math.max(100, (part.hi ?? part.value ?? 0) * 1.02);
  const at = (pct) => `${(100 * (pct ?? most)) / most}%`;
  const node = svg(
    "svg",
    { class: "bar", role: "img", "aria-label": `${label}: ${figure(part.value, 3)} %` },
    svg("rect", { class: "track", x: 0, y: 3, width: at(100), height: 10 }),
    svg("rect", { class: part.value > 100 ? "over" : "fill", x: 0, y: 3, width: at(part.value), height: 10 }),
  );
  if (part.lo !== null && part.lo !== undefined && part.lo !== part.hi)
    node.append(svg("line", { class: "span", x1: at(part.lo), x2: at(part.hi), y1: 8, y2: 8 }));
  return node;
}

// Using and each kind of waiting, in ms, on one scale.
export function split(times, most) {
  const parts = [["using", times.using_ms], ...Object.entries(times.waiting_ms)];
  let from = 0;
  const node = svg("svg", {
    class: "bar",
    role: "img",
    "aria-label": parts.map(([name, ms]) => `${name} ${figure(ms, 3)} ms`).join(", "),
  });
  parts.forEach(([name, ms], i) => {
    const width = (100 * (ms ?? 0)) / most;
    node.append(
      svg(
        "rect",
        { class: `part${i % 8}`, x: `${from}%`, y: 3, width: `${width}%`, height: 10 },
        svg("title", {}, `${name}: ${figure(ms, 3)} ms`),
      ),
    );
    from += width;
  });
  return node;
}

// The class or station a figure is of; empty for the system.
export function subject(output) {
  const pairs = output.condition.split(";").map((pair) => pair.trim().split("="));
  return (pairs.find(([key]) => key === "class" || key === "station") ?? ["", ""])[1];
}

// What is less of a response than this is not shown.
const LEAST_PART = 1e-4;
const WAITS = { cp: "CPs", ziip: "zIIPs", other: "elsewhere" };

export const found = (answer, metric, of = "") =>
  answer.outputs.find((output) => output.metric === metric && subject(output) === of);

export const CPS = "general-purpose CPs of the LPAR";
export const resourceName = (name) =>
  spelt(name.replace(/^of which /, "").replace(/ of the LPAR$/, "").replace(/^machine /, "CPC "));

export function stations(today, asked) {
  const before = new Map(today.bottleneck.stations.map((station) => [station.resource, station]));
  const inner = (station) => station.resource.startsWith("of which ");
  // The parts of the engines' busy stand below it.
  const all = [...asked.bottleneck.stations, ...rest(asked)];
  const known = all
    .filter((station) => !inner(station))
    .flatMap((station) => (station.resource === CPS ? [station, ...all.filter(inner)] : [station]));
  for (const station of rest(today)) before.set(station.resource, station);
  const rows = known.map((station) => [
    inner(station)
      ? h("span", { className: "inner" }, explained(resourceName(station.resource)))
      : resourceName(station.resource),
    before.get(station.resource)?.utilization_pct ?? null,
    station.utilization_pct,
    within({ ...station, value: station.utilization_pct }, 3),
    bar({ ...station, value: station.utilization_pct }, station.resource),
    inner(station) || !station.probability ? null : `${figure(100 * station.probability, 2)} %`,
  ]);
  const columns = [
    { name: "Resource" },
    { name: "baseline", unit: "%", number: true },
    { name: "scenario", unit: "%", number: true },
    { name: "interval", term: term("90 % interval", "interval") },
    { name: "utilization" },
    { name: "probability of being the bottleneck", number: true, text: (v) => v ?? "" },
  ];
  return table(columns, rows, "Utilization of each resource, baseline and scenario");
}

// What the busy of the engines has beside the classes, so that the parts add up.
function rest(answer) {
  const parts = answer.bottleneck.stations.filter((station) => station.resource.startsWith("of which "));
  const whole = answer.bottleneck.stations.find((station) => station.resource === CPS);
  if (!whole || !parts.length) return [];
  const left = whole.utilization_pct - parts.reduce((sum, station) => sum + station.utilization_pct, 0);
  return left > 0.005
    ? [
        {
          resource: "of which the rest: system and uncaptured",
          utilization_pct: left,
          lo: null,
          hi: null,
          probability: 0,
        },
      ]
    : [];
}

// Bars have a scale for each workload: a transaction of CICS would not be seen beside a batch job.
export function responses(today, asked, workloads = {}) {
  const before = new Map(today.times.map((times) => [times.class, times]));
  const whole = (times) => [times.using_ms, ...Object.values(times.waiting_ms)].reduce((sum, ms) => sum + (ms ?? 0), 0);
  const all = [...today.times, ...asked.times];
  const kind = (times) => workloads[times.class] ?? "";
  const most = (times) => Math.max(1e-9, ...all.filter((one) => kind(one) === kind(times)).map(whole));
  const wait = (times, name) => {
    const ms = times.waiting_ms[name];
    return ms === null || ms > LEAST_PART * whole(times) ? ms : 0;
  };
  const waits = [...new Set(all.flatMap((times) => Object.keys(times.waiting_ms)))].filter((name) =>
    all.some((times) => wait(times, name)),
  );
  const idle = (times) => [today, asked].every((answer) => found(answer, "etr_tps", times.class)?.value === 0);
  const rows = asked.times.flatMap((times) => {
    if (idle(times)) return [];
    const old = before.get(times.class),
      now = found(asked, times.metric, times.class);
    const line = (when, one, output) => [
      when === "baseline" ? times.class || "all" : "",
      when,
      output?.value ?? null,
      within(output, 3),
      one.using_ms,
      ...waits.map((name) => wait(one, name)),
      output?.value === null || !output ? "no steady state" : split(one, most(times)),
    ];
    return [...(old ? [line("baseline", old, found(today, times.metric, times.class))] : []), line("scenario", times, now)];
  });
  const columns = [
    { name: "Class" },
    { name: "load" },
    { name: "response", unit: "ms", number: true },
    { name: "interval" },
    { name: "using", unit: "ms", number: true, term: term("using", "using, ms") },
    ...waits.map((name) => ({ name: `waiting: ${WAITS[name] ?? spelt(name)}`, unit: "ms", number: true })),
    { name: "split" },
  ];
  const several = new Set(all.map(kind)).size > 1;
  return h(
    "div",
    {},
    table(columns, rows, "Response by class, split into using and waiting"),
    several ? h("p", { className: "quiet" }, "Bars are scaled workload by workload, batch apart from transactions.") : null,
  );
}

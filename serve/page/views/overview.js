// Overview: every machine and LPAR at a glance, and where to look first.

import { ask } from "/static/client.js";
import { h, refusal, section } from "/static/dom.js";
import { change, day, figure, months, whole } from "/static/figures.js";
import { resourceName } from "/static/parts.js";
import { address } from "/static/route.js";
import { table } from "/static/table.js";
import { term } from "/static/terms.js";

const TIGHT_PCT = 80,
  SOON_MONTHS = 12,
  JUMP_PCT = 10;

export async function overview(body, { known }) {
  const quality = await ask("/v1/quality").catch(() => ({ verdict: null, problems: [] }));
  const machines = Map.groupBy([...known.histories.values()], (system) => system.machine);
  const attention = h("ul", { className: "attention" });
  const look = (text, view, params) => attention.append(h("li", {}, h("a", { href: address(view, params) }, text)));
  const VERDICTS = { pass: "sound", warn: "usable, with warnings", fail: "not fit for use" };
  if (quality.verdict && quality.verdict !== "pass")
    look(
      `The last check of the data: ${VERDICTS[quality.verdict]} (expectations not met: ${quality.problems.map((one) => one.title).join("; ")})`,
      "data",
      {},
    );
  body.append(
    h(
      "div",
      { className: "tiles" },
      tile("Data", quality.verdict ? VERDICTS[quality.verdict] : "not checked yet", quality.verdict, "#/data"),
      tile("Model", known.modelVersion ?? "no champion", known.modelVersion ? "pass" : "fail", "#/model"),
      tile("LPARs", String(known.histories.size), null, "#/overview"),
      tile(
        "Systems of measured points",
        String([...known.systems.values()].filter((system) => !system.period).length),
        null,
        "#/what-if",
      ),
    ),
    section("Where to look", attention),
    ...[...machines].map(([machine, systems]) => machineSection(machine, systems, known, look)),
  );
  const points = [...known.systems.values()].filter((system) => !system.period);
  if (points.length)
    body.append(
      section(
        "Systems of measured points",
        table(
          [
            { name: "System" },
            { name: "machine" },
            { name: "CPs", number: true, text: whole },
            { name: "rates measured", unit: "transactions/s" },
            { name: "model" },
          ],
          points.map((system) => [
            h("a", { href: address("what-if", { system: system.system }) }, system.system),
            system.machine,
            system.engines,
            system.rates.length > 1
              ? `${figure(system.rates[0], 5)} to ${figure(system.rates.at(-1), 5)}`
              : figure(system.rates[0], 5),
            verdict(system.gate),
          ]),
          "Systems of measured points",
        ),
      ),
    );
  if (!known.histories.size && !points.length)
    throw (
      known.snapshotProblem ??
      known.problem ??
      new Error("Nothing was published yet: run etalon demo, or etalon ingest and build.")
    );
  if (known.problem) body.append(refusal(known.problem));
}

const tile = (name, value, kind, href) =>
  h("a", { className: `tile ${kind ?? ""}`, href }, h("span", { className: "quiet" }, name), h("strong", {}, value));

export function verdict(gate) {
  if (!gate || gate.passed === null) return "not judged";
  return gate.passed ? "passes" : "does not pass";
}

function machineSection(name, systems, known, look) {
  const cells = new Map();
  const rows = systems.map((system) => {
    const fitted = known.systems.get(system.system);
    const headroom = h("span", { ariaBusy: "true" }, fitted ? "…" : "no model");
    if (fitted) cells.set(system, headroom);
    const trend = system.week_before_mean_busy_pct
      ? 100 * (system.mean_busy_pct / system.week_before_mean_busy_pct - 1)
      : null;
    if (system.highest_busy_pct >= TIGHT_PCT)
      look(`${system.system} was ${figure(system.highest_busy_pct, 3)} % busy at its peak`, "lpar", {
        system: system.system,
      });
    if (Math.abs(trend ?? 0) >= JUMP_PCT)
      look(`${system.system} used ${change(trend)} on its last day against the week before`, "compare", {
        system: system.system,
      });
    if (fitted?.gate?.passed === false)
      look(`The model of ${system.system} does not pass its gate`, "model", { system: system.system });
    return [
      h("a", { href: address("lpar", { system: system.system }) }, system.system),
      system.cps,
      system.ziips || null,
      day(system.last_day),
      system.mean_busy_pct,
      system.peak_busy_pct,
      system.highest_busy_pct,
      trend,
      system.four_hour_msu,
      headroom,
      verdict(fitted?.gate),
    ];
  });
  for (const [system, cell] of cells) fillHeadroom(system, cell, look);
  const columns = [
    { name: "LPAR" },
    { name: "CPs", number: true, text: whole },
    { name: "zIIPs", number: true, term: term("zIIP", "zIIPs"), text: (v) => v ?? "–" },
    { name: "last day" },
    { name: "mean", number: true, unit: "%", text: (v) => figure(v, 3) },
    { name: "peak", unit: "%", number: true, text: (v) => figure(v, 3) },
    { name: "highest ever", unit: "%", number: true, text: (v) => figure(v, 3) },
    { name: "against the week before", number: true, text: change },
    { name: "4-hour MSU", number: true, term: term("rolling 4-hour average", "4-hour MSU"), text: (v) => figure(v, 3) },
    { name: "headroom", term: term("headroom", "fits until (90 %)") },
    { name: "model", term: term("gate", "model") },
  ];
  return section(`Machine ${name}`, table(columns, rows, `LPARs of machine ${name}`));
}

async function fillHeadroom(system, cell, look) {
  try {
    const found = await ask("/v1/headroom", { system: system.system });
    const first = found.first,
      from = system.last_day;
    const until = first?.value ?? null,
      early = first?.lo ?? null;
    cell.textContent = first?.already
      ? "over 90 % already"
      : until
        ? `${figure(Math.max(0, months(from, until)), 2)} months`
        : early
          ? `over 3 years (5 %: ${figure(months(from, early), 2)} months)`
          : "over 3 years";
    cell.title = first ? `${resourceName(first.resource)}: ${first.value ?? "later than three years"}` : "";
    if (first?.already || (until && months(from, until) < SOON_MONTHS))
      look(
        first.already
          ? `${system.system}: ${resourceName(first.resource)} is over 90 % at the peak already`
          : `${system.system}: ${resourceName(first.resource)} reaches 90 % in ${figure(Math.max(0, months(from, until)), 2)} months`,
        "headroom",
        { system: system.system },
      );
  } catch (error) {
    cell.textContent = "not known";
    cell.title = error.message;
  }
  cell.removeAttribute("aria-busy");
}

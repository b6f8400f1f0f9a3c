// Overview: every machine and LPAR at a glance, and where to look first.

import { ask } from "/static/client.js";
import { answering, h, refusal, section } from "/static/dom.js";
import { change, day, daysUntil, figure, lasting, staleness, whole } from "/static/figures.js";
import { resourceName } from "/static/parts.js";
import { FEWEST_DAYS, changed, daysOf, weeks } from "/static/periods.js";
import { address } from "/static/route.js";
import { table } from "/static/table.js";
import { term } from "/static/terms.js";
import { named, unit } from "/static/words.js";

const TIGHT_PCT = 80,
  SOON_DAYS = 365,
  JUMP_PCT = 10,
  LEAST_CHANGE_PCT = 1,
  MOST_CHANGES = 15,
  MOST_NAMED = 3;
// What is nearest to being full comes after these by its days.
const RANK = { data: -5, stale: -4, full: -3, tight: -2, jump: 1e5, gate: 1e6 };
const VERDICTS = { pass: "sound", warn: "usable, with warnings", fail: "not fit for use" };
const PRESSING_DAYS = 182;
const pressing = (rank) => (rank === RANK.full ? "bad" : rank <= PRESSING_DAYS ? "warn" : "");
// A crossing ranks by the days that are left, and as full where there are none.
function rankOf(crossing) {
  const left = crossing.already ? 0 : daysUntil(crossing.value);
  return left > 0 ? left : RANK.full;
}

export async function overview(body, { known }) {
  const quality = await ask("/v1/quality").catch(() => ({ verdict: null, problems: [] }));
  const points = [...known.systems.values()].filter((system) => !system.period);
  const studied = [...known.byCondition].map((name) => known.studies.get(name));
  if (!known.histories.size && !points.length && !studied.length)
    throw (
      known.snapshotProblem ??
      known.problem ??
      new Error("Nothing was published yet: run etalon demo, or etalon ingest and build.")
    );
  const attention = h("ul", { className: "attention" });
  const items = [];
  // The lowest rank first: what cannot be relied on, what is full, then what fills soonest.
  const look = (rank, text, view, params) => {
    items.push([rank, h("li", { className: pressing(rank) }, h("a", { href: address(view, params) }, text))]);
    attention.replaceChildren(...items.sort(([one], [other]) => one - other).map(([, item]) => item));
  };
  if (quality.verdict && quality.verdict !== "pass")
    look(
      RANK.data,
      `The last check of the data: ${VERDICTS[quality.verdict]} (expectations not met: ${quality.problems.map((one) => (one.where ? `${one.title} (${one.where})` : one.title)).join("; ")})`,
      "data",
      {},
    );
  for (const { system, gate } of known.systems.values())
    if (gate?.passed === false) look(RANK.gate, `The model of ${system} does not pass its gate`, "model", { system });
  body.append(
    h(
      "div",
      { className: "tiles" },
      tile("Data", VERDICTS[quality.verdict] ?? "not checked yet", quality.verdict, "#/data"),
      modelTile(known),
      tile("LPARs", String(known.histories.size), null, "#/overview"),
      points.length ? tile("Systems of measured points", String(points.length), null, "#/what-if") : null,
    ),
    section("Alerts", attention),
    everyLpar(known, look) ?? "",
    ...lastWeek([...known.histories.values()]),
    points.length ? measuredPoints(points) : "",
    studied.length ? measuredAtConditions(studied) : "",
  );
  if (known.problem) body.append(refusal(known.problem));
}

const whatIf = (system) => h("a", { href: address("what-if", { system }) }, system);

function measuredPoints(systems) {
  const columns = [
    { name: "System" },
    { name: "CPC" },
    { name: "CPs", number: true, text: whole },
    { name: "rates measured", unit: "transactions/s" },
    { name: "model" },
  ];
  const rates = ({ rates: all }) =>
    all.length > 1 ? `${figure(all[0], 5)} to ${figure(all.at(-1), 5)}` : figure(all[0], 5);
  const rows = systems.map((one) => [whatIf(one.system), one.machine, one.engines, rates(one), verdict(one.gate)]);
  return section("Systems of measured points", table(columns, rows, "Systems of measured points"));
}

function measuredAtConditions(studies) {
  const columns = [{ name: "System" }, { name: "study" }, { name: "hardware" }];
  const rows = studies.map((about) => [whatIf(about.system), about.title, about.hardware]);
  return section("Systems measured at conditions", table(columns, rows, "Systems measured at conditions other than load"));
}

const tile = (name, value, kind, href) =>
  h("a", { className: `tile ${kind ?? ""}`, href }, h("span", { className: "quiet" }, name), h("strong", {}, value));

// The version in service, and how many of its systems held what their gates ask of them.
function modelTile(known) {
  if (!known.modelVersion) return tile("Model", "no champion", "fail", "#/model");
  const judged = [...known.systems.values()].map((system) => system.gate?.passed ?? null).filter((one) => one !== null);
  const passed = judged.filter(Boolean).length;
  const said = judged.length ? `: ${passed} of ${judged.length} judged ${passed === 1 ? "passes" : "pass"}` : "";
  return tile("Model", `${known.modelVersion}${said}`, passed < judged.length ? "warn" : "pass", "#/model");
}

export function verdict(gate) {
  if (!gate || gate.passed === null) return "not judged";
  return gate.passed ? "passes" : "does not pass";
}

// One table, so that all LPARs are seen at once: each below its machine, unless it has the machine to itself.
function everyLpar(known, look) {
  const machines = Map.groupBy([...known.histories.values()], (system) => system.machine);
  const cells = new Map();
  const row = (one, link, asked, model) => {
    const fits = h("span", { ariaBusy: asked && "true" }, asked ? "…" : "no model");
    cells.set(one, fits);
    return [
      link,
      fits,
      one.mean_busy_pct,
      one.peak_busy_pct,
      trend(one),
      one.highest_busy_pct,
      one.r4ha_msu,
      one.cps,
      one.ziips || null,
      model,
      day(one.last_day),
    ];
  };
  const rows = [...machines].flatMap(([name, systems]) => {
    const machine = known.machines.get(name);
    const alone = systems.length === 1 && (machine?.lpars ?? 1) <= 1;
    const asked = systems.filter((one) => known.systems.has(one.system));
    const below = systems.map((one) => {
      const fitted = known.systems.get(one.system);
      remark(one, look);
      const link = h("a", { href: address("lpar", { system: one.system }) }, one.system);
      return row(one, alone ? link : h("span", { className: "inner" }, link), Boolean(fitted), verdict(fitted?.gate));
    });
    const all = machine && !alone && row(machine, h("strong", {}, h("a", { href: address("cpc", { machine: name }) }, `CPC ${machine?.machine_name ?? name}`)), asked.length > 0, "");
    fillHeadroom(name, alone ? null : machine, asked, cells, look);
    return all ? [all, ...below] : below;
  });
  remarkStale([...known.histories.values()], look);
  const columns = [
    { name: "LPAR" },
    { name: "headroom to 90 %", term: term("headroom", "headroom to 90 %") },
    { name: "mean", number: true, unit: "%", text: (v) => figure(v, 3) },
    { name: "peak", unit: "%", number: true, text: (v) => figure(v, 3) },
    { name: "against the week before", number: true, text: change },
    { name: "highest ever", unit: "%", number: true, text: (v) => figure(v, 3) },
    { name: "R4HA (MSU)", number: true, term: term("R4HA", "R4HA (MSU)"), text: (v) => figure(v, 3) },
    { name: "CPs", number: true, text: whole },
    { name: "zIIPs", number: true, term: term("zIIP", "zIIPs"), text: (v) => v ?? "–" },
    { name: "model", term: term("gate", "model") },
    { name: "recorded until" },
  ];
  const caption = "Machines and LPARs in the last 24 hours recorded";
  return rows.length ? section(caption, table(columns, rows, caption)) : null;
}

// What the last week had that the one before had not, beyond the scatter of days: most first.
function lastWeek(histories) {
  const fresh = histories.filter((history) => !staleness(history.last_day));
  const long = (fresh.length ? fresh : histories).filter((history) => daysOf(history) >= FEWEST_DAYS);
  if (!long.length) return [];
  const found = h("div", { ariaLive: "polite" });
  answering(found)(async () => {
    const answers = await Promise.allSettled(long.map((history) => changed(history.system, weeks(history))));
    const rows = answers
      .flatMap(({ value }, i) => (value ?? []).map((one) => [long[i].system, one]))
      .filter(([, one]) => one.significant && Math.abs(one.change_pct) >= LEAST_CHANGE_PCT)
      .sort(([, one], [, other]) => Math.abs(other.change_pct) - Math.abs(one.change_pct))
      .map(([system, one]) => [
        h("a", { href: address("compare", { system }) }, system),
        named(one.metric, one.class_name),
        one.change_pct,
        `${figure(one.lo_pct, 2)} … ${figure(one.hi_pct, 2)}`,
        one.a,
        one.b,
        unit(one.unit),
      ]);
    const columns = [
      { name: "LPAR" },
      { name: "figure" },
      { name: "change", number: true, text: change },
      { name: "interval, %", term: term("90 % interval", "interval, %") },
      { name: "week before", number: true },
      { name: "last week", number: true },
      { name: "unit" },
    ];
    const such = `by ${LEAST_CHANGE_PCT} % or more, beyond the scatter of days`;
    const said = answers.flatMap(({ reason }, i) => (reason ? [`${long[i].system}: ${reason.message}`] : []));
    if (!rows.length) said.unshift(`Nothing changed ${such}.`);
    if (rows.length > MOST_CHANGES)
      said.unshift(`The largest ${MOST_CHANGES} of ${rows.length} changes; Compare has all of an LPAR.`);
    return [
      ...(rows.length ? [table(columns, rows.slice(0, MOST_CHANGES), `What changed in the last week ${such}`)] : []),
      ...said.map((text) => h("p", { className: "quiet" }, text)),
    ];
  });
  return [section("What changed in the last week", found)];
}

const trend = (one) =>
  one.week_before_mean_busy_pct ? 100 * (one.mean_busy_pct / one.week_before_mean_busy_pct - 1) : null;

// What of an LPAR stands out: a high peak, a jump since the week before.
function remark(one, look) {
  const system = one.system;
  if (one.highest_busy_pct >= TIGHT_PCT)
    look(RANK.tight, `${system} was ${figure(one.highest_busy_pct, 3)} % busy at its peak`, "lpar", { system });
  const jump = trend(one) ?? 0;
  if (Math.abs(jump) >= JUMP_PCT) {
    const more = `${figure(Math.abs(jump), 2)} % ${jump > 0 ? "more" : "less"}`;
    look(RANK.jump, `${system} used ${more} in its last 24 hours than in the same a week before`, "compare", { system });
  }
}

// LPARs of which nothing came for long, those of one day together.
function remarkStale(histories, look) {
  for (const [said, some] of Map.groupBy(histories, (one) => staleness(one.last_day))) {
    if (!said) continue;
    const more = some.length - MOST_NAMED;
    const names = some.slice(0, MOST_NAMED).map((one) => one.system);
    const who = some.length === histories.length ? "All LPARs" : names.join(", ") + (more > 0 ? ` and ${more} more` : "");
    look(RANK.stale, `${who}: ${said}; what is shown is of then`, "data", {});
  }
}

async function fillHeadroom(name, machine, systems, cells, look) {
  const found = await Promise.allSettled(systems.map(({ system }) => ask("/v1/headroom", { system })));
  systems.forEach((one, i) => {
    const { value, reason } = found[i];
    tell(cells.get(one), value?.first, reason);
    const first = value?.first;
    if (!first?.already && !first?.value) return;
    const rank = rankOf(first);
    if (rank <= SOON_DAYS)
      look(rank, `${one.system}: ${crossed(first)} (${resourceName(first.resource)})`, "headroom", {
        system: one.system,
      });
  });
  if (!machine || !systems.length) return;
  // Each LPAR foresees its machine by its own growth: the one that fills it first is named.
  const own = found.flatMap(({ value }) => value?.crossings ?? []).filter((one) => one.resource === `machine ${machine.machine_name}`);
  const [first] = own.sort((a, b) => b.already - a.already || (a.value ?? "9").localeCompare(b.value ?? "9"));
  tell(cells.get(machine), first, new Error("no model knows the machine"));
}

// When 90 % is crossed, seen from today: records may end long before.
function crossed(crossing) {
  if (crossing.already) return "over 90 % at the recorded peak";
  const left = daysUntil(crossing.value);
  return left > 0 ? `over 90 % in ${lasting(left)}` : `over 90 % since ${crossing.value} if growth went on`;
}

function tell(cell, crossing, reason) {
  const until = crossing?.value ?? null,
    early = crossing?.lo ?? null;
  cell.removeAttribute("aria-busy");
  if (!crossing && reason) {
    cell.textContent = "not known";
    cell.title = reason.message;
    return;
  }
  if (crossing?.already || until) cell.className = pressing(rankOf(crossing));
  cell.textContent =
    crossing?.already || (until && daysUntil(until) <= 0)
      ? crossed(crossing)
      : until
        ? lasting(daysUntil(until))
        : early && daysUntil(early) > 0
          ? `over 3 years (5 %: ${lasting(daysUntil(early))})`
          : "over 3 years";
  cell.title = crossing ? `${resourceName(crossing.resource)}: ${until ?? "later than three years"}` : "";
}

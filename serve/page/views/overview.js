// Overview: every machine and LPAR at a glance, and where to look first.

import { ask } from "/static/client.js";
import { answering, h, refusal, section } from "/static/dom.js";
import { change, clock, day, daysUntil, figure, lasting, minute, staleness, whole } from "/static/figures.js";
import { resourceName } from "/static/parts.js";
import { FEWEST_DAYS, changed, daysOf } from "/static/periods.js";
import { address } from "/static/route.js";
import { shiftField } from "/static/shifts.js";
import { table } from "/static/table.js";
import { term } from "/static/terms.js";
import { gapsTable } from "/static/views/data.js";
import { named, unit } from "/static/words.js";

const TIGHT_PCT = 80,
  SOON_DAYS = 365,
  JUMP_PCT = 10,
  LEAST_CHANGE_PCT = 1,
  MOST_CHANGES = 15,
  MOST_NAMED = 3,
  MOST_GAPS = 5,
  MOST_CLASSES = 12;
// What is nearest to being full comes after these by its days.
const RANK = { failure: -6, data: -5, stale: -4, full: -3, tight: -2, warning: -1, jump: 1e5, remark: 5e5, gate: 1e6 };
const VERDICTS = { pass: "sound", warn: "usable, with warnings", fail: "not fit for use" };
const PRESSING_DAYS = 182;
const pressing = (rank) =>
  rank === RANK.full || rank === RANK.failure ? "bad" : rank <= PRESSING_DAYS ? "warn" : "";
// A crossing ranks by the days that are left, and as full where there are none.
function rankOf(crossing) {
  const left = crossing.already ? 0 : daysUntil(crossing.value);
  return left > 0 ? left : RANK.full;
}

// The recorded figures of a shift, in the place of those of all intervals.
async function ofShift(known, shift) {
  if (!shift) return known;
  const found = await ask(`/v1/overview?${new URLSearchParams({ shift })}`);
  return {
    ...known,
    shift,
    classes: found.classes,
    machines: new Map(found.machines.map((machine) => [machine.machine, machine])),
    histories: new Map(found.systems.map((system) => [system.system, system])),
  };
}

export async function overview(body, { params, known: all }) {
  const shift = params.get("shift") ?? "";
  const [known, shifts, nights, quality, files] = await Promise.all([
    ofShift(all, shift),
    all.histories.size ? shiftField(shift, (chosen) => (location.hash = address("overview", { shift: chosen }))) : null,
    ask("/v1/alerts?state=open").catch(() => ({ alerts: [] })),
    ask("/v1/quality").catch(() => ({ verdict: null, problems: [] })),
    all.published ? ask("/v1/files").catch(() => ({ gaps: [] })) : { gaps: [] },
  ]);
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
  for (const alert of nights.alerts) look(RANK[alert.severity] ?? RANK.remark, alert.text, "alerts", {});
  // What alerts of nights say of the data is not said twice.
  const told = nights.alerts.some((alert) => alert.rule === "data" || alert.rule === "gap");
  if (quality.verdict && quality.verdict !== "pass" && !told)
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
    ...lastNight(known.night),
    section("Alerts", attention),
    shifts ? h("form", { className: "row", ariaLabel: "Hours counted", onsubmit: (event) => event.preventDefault() }, shifts) : "",
    everyLpar(known, look, nights.alerts) ?? "",
    ...classTable(known),
    ...(files.gaps.length ? [section("Data gaps, local time", gapsTable(files.gaps.slice(0, MOST_GAPS)), more(files.gaps))] : []),
    ...lastWeek([...known.histories.values()], shift),
    points.length ? measuredPoints(points) : "",
    studied.length ? measuredAtConditions(studied) : "",
  );
  if (known.problem) body.append(refusal(known.problem));
}

const more = (gaps) =>
  gaps.length > MOST_GAPS
    ? h("p", { className: "quiet" }, h("a", { href: "#/data" }, `All ${gaps.length} gaps`), ", the longest first")
    : "";

// The last night in one line, with a link to its page.
function lastNight(night) {
  if (!night) return [];
  const outcome = night.ended ? night.verdict || "done" : "running";
  return [
    h(
      "p",
      { className: night.errors.length ? "warning" : "quiet", id: "night" },
      h("a", { href: night.page }, `Last night, ${minute(night.started)} UTC`),
      `: records of ${night.day}, ${whole(night.files)} files, ${whole(night.records)} records: ${outcome}`,
    ),
  ];
}

// Which classes use the MSU, and how much of the CPU time is charged to any.
function classTable(known) {
  const classes = known.classes.filter((one) => one.msu);
  if (!classes.length) return [];
  const total = new Map();
  for (const one of classes) total.set(one.system, (total.get(one.system) ?? 0) + one.msu);
  const ratios = [...known.histories.values()].flatMap((one) =>
    one.capture_ratio ? [`${one.system} ${figure(100 * one.capture_ratio, 3)} %`] : [],
  );
  const caption = "MSU by service class, last seven days";
  return [
    section(
      caption,
      ratios.length ? h("p", {}, term("capture ratio", "Capture ratio"), `: ${ratios.join(", ")}.`) : null,
      table(
        [
          { name: "LPAR" },
          { name: "class" },
          { name: "workload" },
          { name: "mean MSU", number: true, text: (v) => figure(v, 3) },
          { name: "of the LPAR's classes", number: true, text: (v) => `${figure(v, 2)} %` },
          { name: "highest MSU", number: true, text: (v) => figure(v, 3) },
        ],
        classes
          .slice(0, MOST_CLASSES)
          .map((one) => [
            h("a", { href: address("lpar", { system: one.system, class: one.class_name }) }, one.system),
            one.class_name,
            one.workload,
            one.msu,
            (100 * one.msu) / total.get(one.system),
            one.peak_msu,
          ]),
        caption,
      ),
      classes.length > MOST_CLASSES
        ? h("p", { className: "quiet" }, `The largest ${MOST_CLASSES} of ${classes.length} classes; the LPAR view has all of an LPAR.`)
        : null,
    ),
  ];
}

const whatIf = (system) => h("a", { href: address("what-if", { system }) }, system);

function measuredPoints(systems) {
  const columns = [
    { name: "System" },
    { name: "CPC" },
    { name: "CPs", number: true, text: whole },
    { name: "rates measured", unit: "tran/s" },
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

// A recorded peak with its date and time.
const peak = (value, at) =>
  value === null ? "–" : h("span", {}, h("strong", {}, figure(value, 3)), h("span", { className: "quiet" }, ` ${clock(at)}`));

// One table, so that all LPARs are seen at once: each below its machine, unless it has the machine to itself.
function everyLpar(known, look, alerts) {
  // A night's alert about the headroom of a CPC or LPAR is not said twice.
  const short = (who) => alerts.some((alert) => alert.name === `headroom of ${who}`);
  const machines = Map.groupBy([...known.histories.values()], (system) => system.machine);
  const cells = new Map();
  const row = (one, link, asked, model) => {
    const fits = h("span", { ariaBusy: asked && "true" }, asked ? "…" : "no model");
    cells.set(one, fits);
    return [
      link,
      fits,
      peak(one.highest_r4ha_msu, one.highest_r4ha_at),
      peak(one.highest_msu, one.highest_msu_at),
      peak(one.highest_busy_pct, one.highest_at),
      one.r4ha_msu,
      one.mean_busy_pct,
      one.peak_busy_pct,
      trend(one),
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
    fillHeadroom(name, alone ? null : machine, asked, cells, (rank, text, view, params, who) => short(who) || look(rank, text, view, params), known.shift);
    return all ? [all, ...below] : below;
  });
  remarkStale([...known.histories.values()], look);
  const columns = [
    { name: "LPAR" },
    { name: "headroom to 90 %", term: term("headroom", "headroom to 90 %") },
    { name: "R4HA peak (MSU)", term: term("R4HA", "R4HA peak (MSU)") },
    { name: "MSU peak" },
    { name: "CPU busy peak, %" },
    { name: "R4HA, last 24 hours (MSU)", number: true, text: (v) => figure(v, 3) },
    { name: "mean, last 24 hours", number: true, unit: "%", text: (v) => figure(v, 3) },
    { name: "peak, last 24 hours", unit: "%", number: true, text: (v) => figure(v, 3) },
    { name: "against the week before", number: true, text: change },
    { name: "CPs", number: true, text: whole },
    { name: "zIIPs", number: true, term: term("zIIP", "zIIPs"), text: (v) => v ?? "–" },
    { name: "model", term: term("gate", "model") },
    { name: "recorded until" },
  ];
  const caption = "CPCs and LPARs: recorded peaks, and the last 24 hours";
  return rows.length ? section(caption, table(columns, rows, caption)) : null;
}

// What the last week had that the one before had not, beyond the scatter of days: most first.
function lastWeek(histories, shift) {
  const fresh = histories.filter((history) => !staleness(history.last_day));
  const long = (fresh.length ? fresh : histories).filter((history) => daysOf(history) >= FEWEST_DAYS);
  if (!long.length) return [];
  const found = h("div", { ariaLive: "polite" });
  answering(found)(async () => {
    const answers = await Promise.allSettled(long.map((history) => changed(history.system, { shift })));
    const rows = answers
      .flatMap(({ value }, i) => (value ?? []).map((one) => [long[i].system, one]))
      .filter(([, one]) => one.significant && Math.abs(one.change_pct) >= LEAST_CHANGE_PCT)
      .sort(([, one], [, other]) => Math.abs(other.change_pct) - Math.abs(one.change_pct))
      .map(([system, one]) => [
        h("a", { href: address("compare", { system, shift }) }, system),
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
    look(RANK.tight, `${system} was ${figure(one.highest_busy_pct, 3)} % busy at its peak, ${clock(one.highest_at)}`, "lpar", {
      system,
    });
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

async function fillHeadroom(name, machine, systems, cells, look, shift) {
  const at = shift ? { at: { shift } } : {};
  const found = await Promise.allSettled(systems.map(({ system }) => ask("/v1/headroom", { system, ...at })));
  const cpc = machine && `machine ${machine.machine_name}`;
  systems.forEach((one, i) => {
    const { value, reason } = found[i];
    const first = value?.first;
    tell(cells.get(one), first, reason, first?.resource === cpc ? "CPC " : "");
    // A full CPC is one cause: it is reported once, below.
    if (first?.resource !== cpc) report(first, one.system, "headroom", { system: one.system, shift }, look, one.system);
  });
  if (!machine || !systems.length) return;
  // Each LPAR foresees its CPC by its own growth: the earliest date counts.
  const own = found.flatMap(({ value }) => value?.crossings ?? []).filter((one) => one.resource === cpc);
  const [first] = own.sort((a, b) => b.already - a.already || (a.value ?? "9").localeCompare(b.value ?? "9"));
  tell(cells.get(machine), first, new Error("no model knows the machine"));
  const when = first?.already ? ` (${clock(machine.highest_at)})` : "";
  report(first, `CPC ${machine.machine_name}${when}`, "cpc", { machine: name }, look, cpc);
}

function report(crossing, who, view, params, look, subject) {
  if (!crossing?.already && !crossing?.value) return;
  const rank = rankOf(crossing);
  const what = view === "cpc" ? "" : ` (${resourceName(crossing.resource)})`;
  if (rank <= SOON_DAYS) look(rank, `${who}: ${crossed(crossing)}${what}`, view, params, subject);
}

// When 90 % is crossed, seen from today: records may end long before.
function crossed(crossing) {
  if (crossing.already) return "over 90 % at the recorded peak";
  const left = daysUntil(crossing.value);
  return left > 0 ? `over 90 % in ${lasting(left)}` : `over 90 % since ${crossing.value} if growth went on`;
}

function tell(cell, crossing, reason, what = "") {
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
    what +
    (crossing?.already || (until && daysUntil(until) <= 0)
      ? crossed(crossing)
      : until
        ? lasting(daysUntil(until))
        : early && daysUntil(early) > 0
          ? `over 3 years (5 %: ${lasting(daysUntil(early))})`
          : "over 3 years");
  cell.title = crossing ? `${resourceName(crossing.resource)}: ${until ?? "later than three years"}` : "";
}

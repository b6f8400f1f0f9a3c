// Headroom: the recorded peaks, the forecast with its band, crossing dates, and scenarios side by side.

import { ask } from "/static/client.js";
import { chart, joined } from "/static/chart.js";
import { answering, h, notes, refusal, section } from "/static/dom.js";
import { change, clock, dated, figure, seconds, whole, within } from "/static/figures.js";
import { resourceName } from "/static/parts.js";
import { address, keys } from "/static/route.js";
import { shiftField } from "/static/shifts.js";
import { table } from "/static/table.js";
import { term } from "/static/terms.js";
import { worded, scenario } from "/static/views/scenario.js";
import { withoutNetwork } from "/static/words.js";

const MOST_SCENARIOS = 3,
  HALF_YEAR_S = 182 * 86400;

export async function headroom(body, { system, params, known }) {
  const about = known.systems.get(system);
  if (!about) throw withoutNetwork(known, system);
  if (!about.period)
    throw new Error(
      `${system} has measured points and no history: growth is not known. Ask What if for a growth you assume.`,
    );
  const target = Number(params.get("target") ?? 90);
  const scenarios = ["", ...params.getAll("with").filter(Boolean)];
  const shift = params.get("shift") ?? "";
  const ofShift = (written) => ({ ...(shift && { shift }), ...keys(written) });
  body.append(await form(system, about, target, scenarios.slice(1), shift));
  const [history, units, ...answers] = await Promise.all([
    ask(`/v1/systems/${encodeURIComponent(system)}/history?${new URLSearchParams({ every: "day", shift })}`),
    ask("/v1/forecast-msu", { system }).catch((error) => error),
    ...scenarios.map((text) =>
      ask("/v1/headroom", { system, at: ofShift(text), max_busy_pct: target }).catch((error) => error),
    ),
  ]);
  const names = scenarios.map((text) => worded(about, text));
  const failed = answers.flatMap((one, i) => (one instanceof Error ? [[names[i], one]] : []));
  const good = answers
    .map((answer, i) => ({ answer, name: names[i] }))
    .filter(({ answer }) => !(answer instanceof Error));
  body.append(...failed.map(([name, error]) => refusal(new Error(`${name}: ${error.message}`))));
  if (good.length)
    body.append(
      h(
        "section",
        { ariaLabel: "Answer" },
        good.map((one) => until(one, target, good.length > 1)),
        short(good[0].answer).map((note) => h("p", { className: "warning" }, `${note[0].toUpperCase()}${note.slice(1)}.`)),
      ),
      section("History and forecast", forecast(history, about, good, target)),
      dates(good, target),
      install(about, good, names.map((_, i) => ofShift(scenarios[i])), names, target),
      growth(good[0].answer, shift),
      msu(units),
    );
}

async function form(system, about, target, scenarios, shift) {
  const limit = h("input", { type: "number", min: 1, max: 100, value: target });
  const fields = Array.from({ length: MOST_SCENARIOS }, (_, i) => scenario(`Scenario ${i + 1}`, about, scenarios[i]));
  const refused = h("div", {});
  const go = (more) => {
    const query = new URLSearchParams({ system, target: limit.value, ...(shift && { shift }) });
    for (const written of [...fields.map((field) => field.written()), more].filter(Boolean)) query.append("with", written);
    location.hash = `#/headroom?${query}`;
  };
  // A plan file is one more scenario; where all are taken, the last one gives way.
  const read = async (file) => {
    try {
      const { at } = await ask("/v1/plan", { plan: await file.text() });
      if (fields.every((field) => field.written())) fields.pop();
      go(
        Object.entries(at)
          .map((pair) => pair.join("="))
          .join(","),
      );
    } catch (error) {
      refused.replaceChildren(refusal(error));
    }
  };
  return h(
    "form",
    {
      className: "row",
      ariaLabel: "Target and scenarios",
      noValidate: true,
      onsubmit: (event) => {
        event.preventDefault();
        go();
      },
    },
    h("label", {}, "Max CPU busy, % ", limit),
    await shiftField(shift, (chosen) => {
      shift = chosen;
      go();
    }),
    fields.map((field) => field.node),
    h(
      "label",
      {},
      "Growth plan, a TOML file ",
      h("input", { type: "file", accept: ".toml", onchange: (event) => read(event.target.files[0]) }),
    ),
    h("button", {}, "Show"),
    h(
      "p",
      { className: "quiet" },
      "A scenario holds planned growth a year, steps with dates and seasons, for all classes or one, and changes of LPAR and CPC.",
    ),
    refused,
  );
}

function forecast(history, about, good, target) {
  const column = (kind) => history.columns.find((one) => one.kind === kind)?.values ?? [];
  const peak = column("cp_peak").map((value, i) => (value === null ? null : (100 * value) / column("cp_online")[i]));
  const sets = [
    [history.start_local.map(seconds), [peak]],
    ...good.map(({ answer }) => [
      answer.forecast.map((week) => seconds(week.date)),
      ["value", "lo", "hi"].map((side) => answer.forecast.map((week) => week[side])),
    ]),
  ];
  const first = seconds(history.start_local[0]),
    last = seconds(good[0].answer.forecast.at(-1).date);
  const [xs, [past, ...weeks]] = joined([...sets, [[first, last], [[target, target]]]]);
  const line = weeks.pop();
  return chart({
    title: `Busy of the general-purpose engines at the daily peak of ${about.system}`,
    joined: true,
    x: { label: "date", values: xs, time: true, to: shown(first, seconds(history.start_local.at(-1)), good) },
    y: { label: "CPU busy, %", unit: "%", least: target, most: 200 },
    lines: [
      ...weeks.map(([value, lo, hi], i) => ({
        name: `forecast, ${good[i].name}`,
        values: value,
        lo,
        hi,
        colour: ["c1", "c2", "c3", "c4"][i],
      })),
      { name: `target ${target} %`, values: line[0], colour: "bad", dash: [6, 4], width: 1.5 },
    ],
    points: [{ name: "recorded daily peak", values: past[0], colour: "c8" }],
  });
}

// Where the chart ends at first, so that three years do not squeeze the history: half a year beyond the records, or
// twice as far as these go back, or behind the first crossing.
function shown(first, last, good) {
  const crossings = good.map(({ answer }) => answer.first?.value).filter(Boolean);
  const ahead = [HALF_YEAR_S, 2 * (last - first), ...crossings.map((one) => 1.25 * (seconds(one) - last))];
  return last + Math.max(...ahead);
}

function msu(found) {
  if (found instanceof Error) return section("R4HA forecast", h("p", { className: "quiet" }, found.message));
  const xs = found.subjects[0].forecast.map((week) => seconds(week.date));
  const lines = found.subjects.map((one, i) => ({
    name: `${one.scope === "lpar" ? "LPAR" : "CPC"} ${one.name}`,
    colour: `c${i + 1}`,
    ...Object.fromEntries(
      [
        ["values", "value"],
        ["lo", "lo"],
        ["hi", "hi"],
      ].map(([to, side]) => [to, one.forecast.map((week) => week[side])]),
    ),
  }));
  const rated = found.subjects.some((one) => one.capacity_msu !== null);
  return section(
    "R4HA forecast",
    chart({
      title: "Highest R4HA of four weeks",
      zoom: true,
      x: { label: "date", values: xs, time: true },
      y: { label: "MSU", unit: "MSU" },
      lines,
    }),
    table(
      [
        { name: "Of" },
        { name: "highest recorded", term: term("R4HA", "highest recorded, MSU"), number: true },
        { name: "at" },
        ...(rated ? [{ name: "capacity", unit: "MSU", number: true }, { name: "from" }] : []),
      ],
      found.subjects.map((one) => [
        `${one.scope === "lpar" ? "LPAR" : "CPC"} ${one.name}`,
        one.recorded.peak_r4ha_msu,
        clock(one.recorded.peak_at_local),
        ...(rated ? [one.capacity_msu, { recorded: "records", engines: "all engines" }[one.capacity_basis]] : []),
      ]),
      "Highest recorded rolling four-hour averages",
    ),
    notes(found.notes.filter((note) => !note.includes(SHORT))),
  );
}

// What the model says of histories too short to know their growth; warned of once, on top.
const SHORT = "short history";
const short = (answer) => answer.notes.filter((note) => note.startsWith(SHORT));

// Until when it fits, in a sentence.
function until({ answer, name }, target, several) {
  const { first } = answer;
  const who = several ? `${name}: ` : "";
  if (first?.already) return headline("fail", who, `over ${target} % already`, `: ${resourceName(first.resource)}, at the recorded peak.`);
  if (!first?.value) {
    const early = first?.lo ? ` (5 % probability that ${resourceName(first.resource)} reaches it by ${dated(first.lo)})` : "";
    return headline("pass", who, `within ${target} % for three years`, `${early}.`);
  }
  return headline("", who, `reaches ${target} % ${around(first)}`, `: ${resourceName(first.resource)}.`);
}

const headline = (kind, who, said, more) => {
  const strong = who ? said : said[0].toUpperCase() + said.slice(1);
  return h("p", { className: `headline ${kind}` }, who, h("strong", {}, strong), more);
};

// A crossing date with its range, in words.
function around(crossing) {
  if (crossing.already) return "already";
  const [lo, hi] = [crossing.lo, crossing.hi].map((date) => (date ? dated(date) : "later than 3 years"));
  if (!crossing.value) return crossing.lo ? `later than 3 years (5 % probability by ${lo})` : "later than 3 years";
  return `around ${dated(crossing.value)}${crossing.lo === crossing.hi ? "" : ` (90 % range ${lo} – ${hi})`}`;
}

// Scenarios side by side.
function dates(good, target) {
  const resources = [...new Set(good.flatMap(({ answer }) => answer.crossings.map((one) => one.resource)))];
  const reaches = `reaches ${target} %`;
  return section(
    "When targets are reached",
    table(
      [
        { name: "CPC or LPAR resource" },
        ...good.map(({ name }) => ({ name: good.length > 1 ? `${reaches}, ${name}` : reaches, prose: true })),
      ],
      resources.map((resource) => [
        resourceName(resource),
        ...good.map(({ answer }) => {
          const one = answer.crossings.find((crossing) => crossing.resource === resource);
          return one ? around(one) : "–";
        }),
      ]),
      "When each resource reaches its target, by scenario",
    ),
    notes(good[0].answer.notes.filter((note) => !note.startsWith(SHORT))),
  );
}

// How many CPs CPC and LPAR need at dates to come, so that they stay within the target.
const HORIZON_WEEKS = [26, 52, 104, 156];

function install(about, good, scenarios, names, target) {
  const found = h("div", { ariaLive: "polite" });
  const isOnCpc = about.metrics.some(({ metric }) => metric === "machine_busy_pct");
  const physical = isOnCpc && about.options.find((option) => option.key === "physical_cps");
  const logical = about.options.find((option) => option.key === "engines").today;
  const weeks = good[0].answer.forecast;
  const dates = HORIZON_WEEKS.map((week) => weeks.find((one) => one.week >= week)?.date).filter(Boolean);
  answering(found)(async () => {
    // One after the other: together they would hold up whoever else asks.
    const needs = [];
    for (const { name } of good)
      for (const when of dates)
        needs.push(await needed(about, physical, logical, { ...scenarios[names.indexOf(name)], when }, target));
    const columns = good.flatMap(({ name }) => {
      const of = good.length > 1 ? `, ${name}` : "";
      return [
        ...(physical ? [{ name: `physical CPs of the CPC${of}` }] : []),
        { name: `logical CPs of the LPAR${of}` },
      ];
    });
    const today = ["installed now", ...good.flatMap(() => [...(physical ? [whole(physical.today)] : []), whole(logical)])];
    const rows = dates.map((date, i) => [
      `by ${dated(date)}`,
      ...good.flatMap((_, s) => {
        const { cpc, lpar } = needs[s * dates.length + i];
        return [...(physical ? [cpc] : []), lpar];
      }),
    ]);
    return table([{ name: "When" }, ...columns], [today, ...rows], `What to install by when for at most ${target} % busy`);
  });
  return section("What to install by when", found);
}

const installed = (count) => `${whole(count)} (as installed)`;

// The fewest physical CPs that hold the CPC within the target, and the fewest logical CPs of the LPAR on these.
async function needed(about, physical, logical, at, target) {
  const kept = Object.fromEntries(Object.entries(at).filter(([key]) => key !== "engines" && key !== "physical_cps"));
  let cpc = "–";
  try {
    if (physical) {
      const [from, to] = [physical.today, physical.most];
      const { steps } = await ask("/v1/sweep", {
        system: about.system,
        key: "physical_cps",
        from,
        to,
        steps: to - from + 1,
        at: kept,
        metrics: ["machine_busy_pct"],
      });
      const enough = steps.find((step) => step.outputs[0]?.value <= target)?.value;
      cpc = !enough ? `more than ${whole(to)}` : enough <= from ? installed(from) : whole(enough);
      if (enough) kept.physical_cps = enough;
    }
    const { engines } = await ask("/v1/size", { system: about.system, at: kept, max_busy_pct: target });
    if (engines.value === null) return { cpc, lpar: "none suffices" };
    if (engines.value <= logical) return { cpc, lpar: installed(logical) };
    const range = engines.lo === engines.hi ? "" : ` (${engines.lo ?? "–"} – ${engines.hi ?? "more"})`;
    return { cpc, lpar: `${engines.value}${range}` };
  } catch (error) {
    return { cpc, lpar: error.message };
  }
}

const growth = (answer, shift) =>
  section(
    "Growth that the records show",
    table(
      [{ name: "Class" }, { name: "growth a year", number: true, text: change }, { name: "interval, %" }],
      answer.growth.map((one) => [one.class, one.growth_pct_per_year.value, within(one.growth_pct_per_year, 2)]),
      "Growth by class",
    ),
    h(
      "p",
      {},
      h(
        "a",
        { href: address("what-if", { system: answer.system, shift, when: answer.forecast[13]?.date }) },
        `What if at ${answer.forecast[13]?.date ?? "a date to come"}`,
      ),
      ` · forecast then ${figure(answer.forecast[13]?.value, 3)} % busy`,
    ),
  );

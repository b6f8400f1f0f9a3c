// Headroom: the recorded peaks, the forecast with its band, crossing dates, and scenarios side by side.

import { ask } from "/static/client.js";
import { chart, joined } from "/static/chart.js";
import { h, notes, refusal, section } from "/static/dom.js";
import { change, figure, minute, seconds, within } from "/static/figures.js";
import { resourceName } from "/static/parts.js";
import { address, keys } from "/static/route.js";
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
  body.append(form(system, about, target, scenarios.slice(1)));
  const [history, units, ...answers] = await Promise.all([
    ask(`/v1/systems/${encodeURIComponent(system)}/history?every=day`),
    ask("/v1/forecast-msu", { system }).catch((error) => error),
    ...scenarios.map((text) =>
      ask("/v1/headroom", { system, at: keys(text), max_busy_pct: target }).catch((error) => error),
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
      h("section", { ariaLabel: "Answer" }, good.map((one) => until(one, target, good.length > 1))),
      section("History and forecast", forecast(history, about, good, target)),
      dates(good),
      growth(good[0].answer),
      msu(units),
    );
}

function form(system, about, target, scenarios) {
  const limit = h("input", { type: "number", min: 1, max: 100, value: target });
  const fields = Array.from({ length: MOST_SCENARIOS }, (_, i) => scenario(`Scenario ${i + 1}`, about, scenarios[i]));
  const show = (event) => {
    event.preventDefault();
    const query = new URLSearchParams({ system, target: limit.value });
    for (const written of fields.map((field) => field.written()).filter(Boolean)) query.append("with", written);
    location.hash = `#/headroom?${query}`;
  };
  return h(
    "form",
    { className: "row", ariaLabel: "Target and scenarios", noValidate: true, onsubmit: show },
    h("label", {}, "Max CPU busy, % ", limit),
    fields.map((field) => field.node),
    h("button", {}, "Show"),
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
  if (found instanceof Error) return section("R4HA forecast (MSU)", h("p", { className: "quiet" }, found.message));
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
    "R4HA forecast (MSU)",
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
        minute(one.recorded.peak_at_local),
        ...(rated ? [one.capacity_msu, { recorded: "records", engines: "all engines" }[one.capacity_basis]] : []),
      ]),
      "Highest recorded rolling four-hour averages",
    ),
    notes(found.notes),
  );
}

// Until when it fits, in a sentence.
function until({ answer, name }, target, several) {
  const { first } = answer;
  const who = several ? `${name}: ` : "";
  if (first?.already) return headline("fail", who, `over ${target} % already`, `: ${resourceName(first.resource)}, at the recorded peak.`);
  if (!first?.value) {
    const early = first?.lo ? ` (5 %: over it by ${first.lo}, ${resourceName(first.resource)})` : "";
    return headline("pass", who, `within ${target} % for three years`, `${early}.`);
  }
  const range = first.lo === first.hi ? "" : ` (90 % range ${date(first.lo)} … ${date(first.hi)})`;
  return headline("", who, `fits until ${first.value}`, `${range}; first over ${target} %: ${resourceName(first.resource)}.`);
}

const headline = (kind, who, said, more) => {
  const strong = who ? said : said[0].toUpperCase() + said.slice(1);
  return h("p", { className: `headline ${kind}` }, who, h("strong", {}, strong), more);
};

const date = (value) => value ?? "later than 3 years";

// Scenarios side by side.
function dates(good) {
  const resources = [...new Set(good.flatMap(({ answer }) => answer.crossings.map((one) => one.resource)))];
  const ends = "90 % range";
  return section(
    "When targets are crossed",
    table(
      [
        { name: "resource" },
        ...good.flatMap(({ name }) => [
          { name: good.length > 1 ? `most likely, ${name}` : "most likely" },
          { name: ends, term: term("90 % interval", ends) },
        ]),
      ],
      resources.map((resource) => [
        resourceName(resource),
        ...good.flatMap(({ answer }) => {
          const one = answer.crossings.find((crossing) => crossing.resource === resource);
          if (!one) return ["–", "–"];
          const range = one.lo === one.hi ? date(one.lo) : `${date(one.lo)} … ${date(one.hi)}`;
          return [one.already ? "already" : date(one.value), range];
        }),
      ]),
      "Crossing dates by resource and scenario",
    ),
    notes(good[0].answer.notes),
  );
}

const growth = (answer) =>
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
        { href: address("what-if", { system: answer.system, when: answer.forecast[13]?.date }) },
        `What if at ${answer.forecast[13]?.date ?? "a date to come"}`,
      ),
      ` · forecast then ${figure(answer.forecast[13]?.value, 3)} % busy`,
    ),
  );

// The fields of What if: each reads its key of the question, null where it is as today.

import { h } from "/static/dom.js";

// What was measured at one load: limits, engines and the curve are of other loads, and are asked without it.
export const MEASURED = "response_ms.";
const MOVES = /^(add_lpar|remove_lpar|cpc|move_to\..*|move_from\..*)$/;
const TARGETS = { max_busy_pct: 90 };

export const isNumber = (given) => given.trim() !== "" && Number.isFinite(Number(given));
// What an address gives a field of a number; nothing where that is none.
export const numeric = (given) => (given !== undefined && isNumber(given) ? given : undefined);

// What an address asks that no field takes: said, as it is left out.
export function misread(fields, given) {
  const own = Object.groupBy(
    fields.filter((field) => field.key in given),
    (field) => field.key,
  );
  const wrong = Object.keys(own).filter((key) => !own[key].some((field) => field.takes(given[key])));
  return wrong.map((key) =>
    h("p", { className: "warning" }, `The address has ${key}=${given[key]}, which ${own[key][0].label} does not take: left out.`),
  );
}

function slider(key, label, least, most, exactly, given, step = 1) {
  const today = exactly === undefined || exactly === null ? exactly : Number(exactly.toPrecision(6));
  const input = h("input", { type: "number", step: "any", inputMode: "decimal", value: numeric(given) ?? today ?? "" });
  // What is not set today rests where it changes nothing.
  const still = today ?? (least < 0 ? 0 : most);
  const range = h("input", {
    type: "range",
    min: least,
    max: most,
    step,
    value: numeric(given) ?? still,
    ariaLabel: `${label}, slider`,
  });
  range.addEventListener("input", () => {
    input.value = range.value;
  });
  input.addEventListener("input", () => {
    range.value = input.value;
  });
  return {
    key,
    label,
    group: "at",
    takes: isNumber,
    node: h("div", { className: "field" }, h("label", {}, label, input), range),
    read: () => (input.value === "" || Number(input.value) === today ? null : Number(input.value)),
    reset: () => {
      input.value = today ?? "";
      range.value = still;
    },
  };
}

export function choice(key, label, choices, today, given, below = null) {
  const select = h(
    "select",
    {},
    choices.map(([value, text]) => new Option(text, value)),
  );
  select.value = choices.some(([value]) => value === given) ? given : today;
  return {
    key,
    label,
    group: "at",
    takes: (given) => choices.some(([value]) => value === given),
    node: h("label", { className: "field" }, label, select, below),
    read: () => (select.value === today ? null : select.value),
    reset: () => {
      select.value = today;
    },
  };
}

export function text(key, label, hint, given, numeric = false) {
  const input = h("input", { type: "text", placeholder: hint, value: given ?? "" });
  return {
    key,
    label,
    group: "at",
    takes: () => true,
    node: h("label", { className: "field" }, label, input),
    read: () => {
      const said = input.value.trim();
      return said === "" ? null : numeric && Number.isFinite(Number(said)) ? Number(said) : said;
    },
    reset: () => {
      input.value = "";
    },
  };
}

function number(key, label, given, group, otherwise = "") {
  const input = h("input", { type: "number", step: "any", min: 0, value: numeric(given) ?? otherwise });
  return {
    key,
    label,
    group,
    takes: isNumber,
    node: h("label", { className: "field" }, label, input),
    read: () => (input.value === "" ? null : Number(input.value)),
    reset: () => {
      input.value = otherwise;
    },
  };
}

const target = (key, label, given) => number(key, label, given, "targets", TARGETS[key]);

// A response target as it is written: 40 is that of every class, ONLHI=40, BATCH=4000 those of classes.
function responseTarget(given) {
  const takes = (said) => typeof asTarget(said) !== "string";
  const field = text("max_response_ms", "Max response, ms", "40, or ONLHI=40", takes(given ?? null) ? given : "");
  return {
    ...field,
    group: "targets",
    takes,
    read: () => asTarget(field.read()),
    written: field.read,
  };
}

// As the service takes it; what is not understood as it is, for the service to refuse.
function asTarget(said) {
  if (said === null) return null;
  if (isNumber(said)) return Number(said);
  const pairs = said.split(",").map((pair) => pair.match(/^\s*(.*\S)\s*=\s*(\S+)\s*$/) ?? []);
  if (!pairs.every(([, name, value]) => name && isNumber(value))) return said;
  return Object.fromEntries(pairs.map(([, name, value]) => [name, Number(value)]));
}

// The targets in a sentence.
export function aims({ max_busy_pct, max_response_ms: most }) {
  const responses = typeof most === "object" ? Object.entries(most).map(([name, ms]) => `${ms} ms of ${name}`) : most ? [`${most} ms`] : [];
  return [`${max_busy_pct} % busy`, ...responses].join(" and ");
}

export const EFFECTS = "Encryption, releases and other published effects";

// Fields behind a summary, open where one of them is set.
export function group(title, parts, said = null) {
  if (!parts.length) return [];
  const node = h(
    "details",
    { open: parts.some((part) => part.read() !== null) },
    h("summary", {}, title),
    said && h("p", { className: "quiet" }, said),
    parts.map((part) => part.node),
  );
  return [{ read: () => null, reset: () => {}, node }, ...parts.map((part) => ({ ...part, node: null }))];
}

// The fields as a form, which asks anew a moment after a change.
const PAUSE_MS = 200;
export function questionForm(fields, answer, back, ...more) {
  let timer = 0;
  return h(
    "form",
    {
      className: "ask",
      ariaLabel: "What is changed",
      noValidate: true,
      oninput: () => {
        clearTimeout(timer);
        timer = setTimeout(answer, PAUSE_MS);
      },
      onsubmit: (event) => {
        event.preventDefault();
        answer();
      },
    },
    ...more,
    ...fields.map((field) => field.node).filter(Boolean),
    h(
      "button",
      {
        type: "button",
        className: "plain",
        onclick: () => {
          for (const field of fields) field.reset();
          answer();
        },
      },
      back,
    ),
  );
}

// What an address may hold beside keys of the question.
const BESIDE = ["system", "by", "metric", "against"];

// A field by its name for every key that the address asks and no other field is for.
export function others(given, fields) {
  const known = new Set([...BESIDE, ...fields.map((field) => field.key)]);
  const left = Object.keys(given).filter((key) => !known.has(key));
  return left.map((key) => text(key, key, "", given[key], true));
}

// The fields of a system.
export function fieldsOf(system, given) {
  const fields = offered(system, given);
  return [...fields, ...others(given, fields)];
}

// What is said of the load, as options are given: of a system of measured points its rate, else growth.
const loads = (system) =>
  system.rates && !system.period
    ? [{ key: "etr_tps", label: "Transactions per second", least: span(system)[0], most: span(system)[1], today: system.operating_tps, step: "any" }]
    : [{ key: "growth_pct", label: "Growth of all classes, %", least: -50, most: 200, today: 0 }];

const growthByClass = (system) =>
  system.period ? system.classes.map((name) => ({ key: `growth_pct.${name}`, label: `Growth of ${name}, %`, least: -100, most: 300, today: null })) : [];

// Planned growth, for all classes and for each, in place of the growth that the records show.
const PLAN = [
  ["growth_pct_per_year", "Planned growth, % a year", { least: -50, most: 100 }],
  ["step_pct", "Planned steps, DATE:PCT", { hint: "2027-01-15:20,2027-06-01:-5" }],
  ["season_pct", "Planned seasons, MONTH:PCT", { hint: "11:15,12:30" }],
];
export const planned = (system) => [
  ...PLAN.map(([key, label, more]) => ({ key, label, today: null, ...more })),
  ...system.classes.flatMap((name) =>
    PLAN.map(([key, label, more]) => ({ key: `${key}.${name}`, label: label.replace(/^Planned (\w+)/, `Planned $1 of ${name}`), today: null, ...more })),
  ),
];

// Whether transactions of all classes are of one workload, so that their number alone says how much work they are.
export const isOneWorkload = (system) => new Set(Object.values(system.workloads ?? {})).size <= 1;

// All that a scenario of a system may change.
export const changeable = (system) => [
  ...(system.period ? planned(system) : []),
  ...loads(system),
  ...growthByClass(system),
  ...system.options.filter((one) => !one.key.startsWith(MEASURED)),
];

// The field of an option: a choice, a number, or a number with its range.
// What a field offers; of a published effect also the share of the work that a link says.
export function choices(one, given, empty) {
  const effect = one.key.startsWith("adjust.");
  const asked = effect && given > 0 && given <= 1 && !one.choices.includes(given) ? [given] : [];
  const said = (value) => (effect && value > 0 ? `of ${Number((100 * value).toPrecision(3))} % of the work` : value || empty);
  return [...one.choices, ...asked].map((value) => [value, said(value)]);
}

export function optionField(one, given) {
  if (one.choices?.length)
    return choice(
      one.key,
      one.label,
      choices(one, given, one.key === "shift" ? "all hours" : "as it is"),
      one.today,
      given,
      one.meaning ? h("span", { className: "quiet" }, one.meaning) : null,
    );
  if (one.hint) return text(one.key, one.label, one.hint, given);
  if (one.least === null) return number(one.key, one.label, given, "at");
  const step = one.step ?? (one.least < 1 && one.least > 0 ? 0.1 : 1);
  return slider(one.key, one.label, one.least, one.most, one.today, given, step);
}

function offered(system, given) {
  const field = (one) => optionField(one, given[one.key]);
  const effects = system.options.filter((one) => one.key.startsWith("adjust."));
  const seen = system.options.filter((one) => one.key.startsWith(MEASURED));
  const moves = system.options.filter((one) => MOVES.test(one.key));
  const shifts = system.options.filter((one) => one.key === "shift");
  const apart = [...effects, ...seen, ...moves, ...shifts];
  return [
    ...(system.period ? [text("when", "Baseline", "peak, mon 10:00 or 2026-11-10T10:45", given.when)] : []),
    ...shifts.map(field),
    ...loads(system).map(field),
    ...group("Growth class by class", growthByClass(system).map(field)),
    ...system.options.filter((one) => !apart.includes(one)).map(field),
    ...group("LPARs and classes that move", moves.map(field)),
    target("max_busy_pct", "Max CPU busy, %", given.max_busy_pct),
    ...(system.has_response ? [responseTarget(given.max_response_ms)] : []),
    ...group(
      "Condition on measured response times",
      seen.map(field),
      "They tell how much work the transactions of that interval were; nothing else is changed with them.",
    ),
    ...group(EFFECTS, effects.map(field)),
  ];
}

// The rates worth asking of a system of measured points.
export function span(system) {
  const low = Math.min(...system.rates),
    high = Math.max(...system.rates);
  return low === high ? [0.3 * low, 1.5 * high] : [0.5 * low, 1.3 * high];
}

export function read(fields) {
  const at = {},
    targets = {},
    kept = {};
  for (const field of fields) {
    const value = field.key ? field.read() : null;
    if (!field.key) continue;
    if (field.group === "targets") {
      if (value !== null) targets[field.key] = value;
      if (value !== null && value !== TARGETS[field.key]) kept[field.key] = field.written?.() ?? value;
    } else if (value !== null) at[field.key] = kept[field.key] = value;
  }
  return { at, targets: { max_busy_pct: 100, ...targets }, address: kept };
}

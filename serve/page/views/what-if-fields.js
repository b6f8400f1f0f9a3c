// The fields of What if: each reads its key of the question, null where it is as today.

import { h } from "/static/dom.js";

// What was measured at one load: limits, engines and the curve are of other loads, and are asked without it.
export const MEASURED = "response_ms.";
const TARGETS = { max_busy_pct: 90, max_response_ms: "" };

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

function slider(key, label, least, most, today, given, step = 1) {
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

function offered(system, given) {
  const fields = system.period
    ? [
        text("when", "Starting from", "peak, mon 10:00 or 2027-03-01", given.when),
        slider("growth_pct", "Growth of all classes, %", -50, 200, 0, given.growth_pct),
      ]
    : [slider("etr_tps", "Transactions per second", ...span(system), system.operating_tps, given.etr_tps, "any")];
  const own = system.period
    ? system.classes.map((name) =>
        slider(`growth_pct.${name}`, `Growth of ${name}, %`, -100, 300, null, given[`growth_pct.${name}`]),
      )
    : [];
  const option = (one) =>
    one.choices.length
      ? choice(
          one.key,
          one.label,
          one.choices.map((value) => [value, value || "as it is"]),
          one.today,
          given[one.key],
          one.meaning ? h("span", { className: "quiet" }, one.meaning) : null,
        )
      : one.least === null
        ? number(one.key, one.label, given[one.key], "at")
        : slider(one.key, one.label, one.least, one.most, one.today, given[one.key], one.least < 1 && one.least > 0 ? 0.1 : 1);
  const effects = system.options.filter((one) => one.key.startsWith("adjust.")).map(option);
  const hardware = system.options
    .filter((one) => !one.key.startsWith("adjust.") && !one.key.startsWith(MEASURED))
    .map(option);
  const seen = system.options
    .filter((one) => one.key.startsWith(MEASURED))
    .map((one) => number(one.key, one.label, given[one.key], "at"));
  return [
    ...fields,
    ...group("Growth class by class", own),
    ...hardware,
    ...group(EFFECTS, effects),
    ...group(
      "Responses measured then",
      seen,
      "They say how much work the transactions of that interval were; nothing else is changed with them.",
    ),
    target("max_busy_pct", "Busy at most, %", given.max_busy_pct),
    ...(system.has_response ? [target("max_response_ms", "Response at most, ms", given.max_response_ms)] : []),
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
      if (value !== null && value !== TARGETS[field.key]) kept[field.key] = value;
    } else if (value !== null) at[field.key] = kept[field.key] = value;
  }
  return { at, targets: { max_busy_pct: 100, ...targets }, address: kept };
}

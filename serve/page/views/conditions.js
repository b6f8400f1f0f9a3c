// What if of a system that was measured at conditions: fields for these, every figure, and how one follows a number.

import { chart, joined } from "/static/chart.js";
import { ask } from "/static/client.js";
import { answering, h, notes, section } from "/static/dom.js";
import { figure, within } from "/static/figures.js";
import { resourceName } from "/static/parts.js";
import { address, keep, without } from "/static/route.js";
import { table } from "/static/table.js";
import { term } from "/static/terms.js";
import { EFFECTS, choice, choices, group, isNumber, misread, numeric, others, questionForm, read } from "/static/views/what-if-fields.js";
import { unit, words } from "/static/words.js";

const STEPS = 9,
  MOST_LINES = 8,
  FEW = 3,
  BEYOND = 1.25;

export async function conditions(body, { name, params, known }) {
  const offered = await ask(`/v1/systems/${encodeURIComponent(name)}/conditions`);
  const given = Object.fromEntries(params);
  const fields = fieldsOf(offered, given);
  const axes = offered.options.filter((one) => one.measured.length);
  const labels = new Map([...offered.options, ...offered.parts].map((one) => [one.key, one.label]));
  const metric = h("select", {});
  const against = h(
    "select",
    {},
    axes.map((one) => new Option(one.label, one.key)),
  );
  if (given.against) against.value = given.against;
  const answers = h("div", { className: "answers", ariaLive: "polite" });
  const drawn = h("div", { ariaLive: "polite" });
  const show = answering(answers),
    draw = answering(drawn);
  const along = axes.length ? [controls(metric, against), drawn] : null;

  async function answer() {
    // A reader who went to another view meanwhile keeps that view's address.
    if (!answers.isConnected) return;
    const { at, address: asked } = read(fields);
    const last = await show(async () => {
      const found = await ask("/v1/predict", { system: name, at });
      offer(metric, found.outputs, given.metric);
      return shown(found, metric.value, known.studies.get(name), along, labels);
    });
    if (!last || !answers.isConnected) return;
    keep("what-if", {
      system: name,
      by: known.systems.has(name) ? "conditions" : "",
      ...asked,
      metric: metric.selectedIndex > 0 ? metric.value : "",
      against: against.selectedIndex > 0 ? against.value : "",
    });
    if (drawn.isConnected) await draw(() => curve(name, at, metric.value, axes[against.selectedIndex], labels));
  }
  metric.addEventListener("change", answer);
  against.addEventListener("change", answer);
  const loads = known.systems.has(name)
    ? h("p", {}, h("a", { href: address("what-if", { system: name }) }, "Ask by its load"))
    : "";
  body.classList.add("beside");
  body.before(...misread(fields, given));
  body.append(questionForm(fields, answer, "As measured", loads), answers);
  await answer();
}

function fieldsOf({ options, parts }, given) {
  const effect = (one) => one.key.startsWith("adjust.");
  const field = (one) => (one.choices.length ? chosen(one, given) : count(one, given));
  const fields = [
    ...options.filter((one) => !effect(one)).map(field),
    ...group(EFFECTS, options.filter(effect).map(field)),
    ...group("Which figures", parts.map(field), "Parts of the measurement; nothing is changed with them."),
  ];
  return [...fields, ...others(given, fields)];
}

const chosen = (one, given) =>
  choice(
    one.key,
    one.label,
    choices(one, given[one.key], "each"),
    one.today,
    given[one.key],
    one.meaning ? h("span", { className: "quiet" }, one.meaning) : null,
  );

// A number about those that were measured; empty for each of these.
function count(one, given) {
  const id = `levels-${one.key}`;
  const input = h("input", { type: "number", step: "any", min: 0, list: id, value: numeric(given[one.key]) ?? one.today ?? "" });
  const levels = one.measured.map((level) => level.toLocaleString("en"));
  const hint = one.today === null ? `measured: ${levels.join("; ")}` : `${levels[0]} as measured`;
  return {
    key: one.key,
    label: one.label,
    group: "at",
    takes: isNumber,
    node: h(
      "label",
      { className: "field" },
      one.label,
      input,
      h(
        "datalist",
        { id },
        one.measured.map((level) => new Option(String(level))),
      ),
      levels.length ? h("span", { className: "quiet" }, hint) : null,
    ),
    read: () => (input.value === "" || Number(input.value) === one.today ? null : Number(input.value)),
    reset: () => {
      input.value = one.today ?? "";
    },
  };
}

// What may be drawn together: figures of one metric in one unit, as reports have an average of several things.
const kind = (output) => (output.unit ? `${output.metric} ${output.unit}` : output.metric);

// The metrics of an answer to choose from; the choice stays where there still is such a metric.
function offer(select, outputs, otherwise) {
  const kinds = new Map(outputs.map((output) => [kind(output), output]));
  const several = Map.groupBy(kinds.values(), (output) => output.metric);
  const name = ({ metric, unit: said }) => (several.get(metric).length > 1 ? `${words(metric)}, ${unit(said)}` : words(metric));
  // An address may name the metric alone.
  const like = (one) => [...kinds.keys()].find((key) => key === one || kinds.get(key).metric === one);
  const wanted = [select.value, otherwise].map(like).find(Boolean);
  select.replaceChildren(...[...kinds].map(([key, output]) => new Option(name(output), key)));
  if (wanted) select.value = wanted;
}

const controls = (metric, against) =>
  h("div", { className: "row" }, h("label", {}, "Show ", metric), h("label", {}, "against ", against));

const partsOf = (condition) => new Map(condition ? condition.split("; ").map((part) => part.split(/=(.*)/s).slice(0, 2)) : []);

// The keys in which some conditions differ.
function varying(conditions) {
  const levels = new Map();
  for (const parts of conditions)
    for (const [key, level] of parts) levels.set(key, (levels.get(key) ?? new Set()).add(level));
  return [...levels].filter(([, own]) => own.size > 1).map(([key]) => key);
}

// A few figures one by one; of more of them that they are many, of what, and how far they are apart.
function inShort(outputs, said, labels) {
  const strong = (text) => h("strong", {}, `${text} ${said}`);
  const values = outputs.map((output) => output.value);
  const conditions = outputs.map((output) => partsOf(output.condition));
  const keys = varying(conditions);
  if (outputs.length > FEW) {
    const each = keys.map((key) => spelledKey(key, labels)).join(" and ");
    const apart = strong(`${figure(Math.min(...values))} to ${figure(Math.max(...values))}`);
    return [`${outputs.length} figures, one for each ${each || "condition"}, from `, apart];
  }
  return outputs.flatMap((output, i) => [
    i ? "; " : "",
    keys.length ? `${keys.map((key) => conditions[i].get(key) ?? "").join(", ")} ` : "",
    strong(figure(output.value)),
    within(output) && ` (${within(output)})`,
  ]);
}

// A key within a sentence.
const spelledKey = (key, labels) =>
  (labels.get(key) ?? key.replaceAll("_", " ")).replace(/^[A-Z](?=[a-z])/, (letter) => letter.toLowerCase());
const spelled = (level) => (level && Number.isFinite(Number(level)) ? Number(level).toLocaleString("en") : level);

// Keys in what the model says of itself become words.
const inWords = (text, labels) => text.replace(/\b\w+\b/g, (word) => labels.get(word)?.split(",")[0] ?? word);

function shown(found, metric, study, along, labels) {
  const own = found.outputs.filter((output) => kind(output) === metric);
  const said = unit(own[0]?.unit);
  const { resource, utilization_pct: full, stations } = found.bottleneck;
  return [
    h(
      "section",
      { ariaLabel: "Answer" },
      h("p", { className: "headline", id: "headline" }, `${words(own[0].metric)}: `, inShort(own, said, labels), "."),
      stations.length ? h("p", {}, `Fullest: ${resourceName(resource)}, at ${figure(full, 3)} %.`) : null,
      found.extrapolated ? h("p", { className: "warning" }, "Extrapolated beyond the measured range: see the notes.") : null,
      notes(found.notes.map((note) => inWords(note, labels))),
      study ? h("p", { className: "quiet" }, `Measured: ${study.title}, on ${study.hardware}.`) : null,
    ),
    along && section("Along a condition", ...along),
    section("Every figure", everyFigure(found, labels)),
  ].filter(Boolean);
}

function everyFigure(found, labels) {
  const place = (one) => `${one.metric} ${one.condition}`;
  const behind = new Map((found.evidence.figures ?? []).map((one) => [place(one), one]));
  const conditions = found.outputs.map((output) => partsOf(output.condition));
  const keys = varying(conditions);
  return table(
    [
      { name: "Figure" },
      ...(keys.length ? [{ name: keys.length > 1 ? "of" : (labels.get(keys[0]) ?? keys[0].replaceAll("_", " ")) }] : []),
      { name: "value", number: true },
      { name: "interval", term: term("90 % interval", "interval"), wraps: true },
      { name: "unit" },
      { name: "measured", number: true },
      { name: "rests on", prose: true },
    ],
    found.outputs.map((output, i) => [
      words(output.metric),
      ...(keys.length ? [keys.map((key) => spelled(conditions[i].get(key))).filter(Boolean).join(", ")] : []),
      output.value,
      within(output),
      unit(output.unit),
      behind.get(place(output))?.measured ?? null,
      inWords(behind.get(place(output))?.basis ?? "the calibrated network", labels),
    ]),
    "Every figure at these conditions",
  );
}

// A figure along a number, one line for each condition that is left open, with what was measured.
async function curve(system, at, chosen, axis, labels) {
  const here = at[axis.key] ?? null;
  const swept = await ask("/v1/sweep", { system, key: axis.key, ...span(axis, here), at: without(at, axis.key) });
  // The number itself is where a figure stands along it, and no line of its own.
  const rest = (condition) => condition.split("; ").filter((part) => !part.startsWith(`${axis.key}=`)).join("; ");
  const all = [
    ...swept.steps.flatMap((step) => step.outputs.map((output) => ({ ...output, x: step.value }))),
    ...swept.measured.map((one) => ({ ...one, x: one.at })),
  ]
    .map((one) => ({ ...one, condition: rest(one.condition) }))
    .sort((one, other) => one.x - other.x);
  // What a network adds to an answer does not follow every condition, and of one value there is nothing to follow.
  const known = Map.groupBy(all.filter((one) => one.value !== null), kind);
  const follows = (one) => new Set(known.get(one)?.map(({ x }) => x)).size > 1;
  const drawable = [chosen, ...known.keys()].find(follows);
  if (!drawable) return h("p", { className: "quiet" }, `No figure is known along ${axis.label}.`);
  const points = all.filter((one) => kind(one) === drawable);
  const { metric } = points[0];
  const lines = Map.groupBy(points, (point) => point.condition);
  const conditions = [...lines.keys()].map(partsOf);
  const keys = varying(conditions);
  if (lines.size > MOST_LINES) {
    const open = keys.map((key) => labels.get(key) ?? key).join(" or ");
    return h("p", { className: "quiet" }, `${lines.size} lines are too many to draw: choose a level of ${open}.`);
  }
  const names = conditions.map((parts, i) => {
    const open = keys.map((key) => parts.get(key) ?? "").join(", ");
    return open || (lines.size > 1 ? [...lines.keys()][i] : "");
  });
  const bands = lines.size <= 3;
  const [xs, found] = joined(
    [...lines.values()].map((own) => [
      own.map((point) => point.x),
      ["value", "lo", "hi", "measured"].map((side) => own.map((point) => point[side] ?? null)),
    ]),
  );
  const said = unit([...lines.values()][0]?.[0].unit);
  const colour = (i) => `c${i + 1}`;
  const drawn = chart({
    title: `${words(metric)} against ${axis.label}`,
    joined: true,
    zoom: true,
    x: { label: axis.label, values: xs },
    y: { label: said, unit: said },
    lines: names.map((line, i) => ({
      name: line || "predicted",
      values: found[i][0],
      ...(bands && { lo: found[i][1], hi: found[i][2] }),
      colour: colour(i),
    })),
    points: names
      .map((line, i) => ({ name: `measured${line && `: ${line}`}`, values: found[i][3], colour: colour(i) }))
      .filter((points) => points.values.some((value) => value !== null)),
    marks: here === null ? [] : [{ x: here, label: "your question" }],
  });
  const other = `${words(chosen.split(" ")[0])} is not known along ${axis.label}; ${words(metric)} is.`;
  return drawable === chosen ? drawn : [h("p", { className: "quiet" }, other), drawn];
}

// From the first level measured to beyond the last, or about the only one, and as far as is asked.
function span(axis, here) {
  const several = axis.measured.length > 1;
  const from = several ? axis.measured[0] : axis.least;
  const to = Math.max(several ? BEYOND * axis.measured.at(-1) : axis.most, 1.1 * (here ?? 0));
  return axis.key === "engines" ? { from: Math.max(1, Math.floor(from)), to: Math.ceil(to) } : { from, to, steps: STEPS };
}

// Saved questions and scenarios: what they ask, what every night answered, and how to save and forget them.

import { chart } from "/static/chart.js";
import { ask } from "/static/client.js";
import { answering, h, refusal, section } from "/static/dom.js";
import { figure, minute, seconds } from "/static/figures.js";
import { resourceName } from "/static/parts.js";
import { address, keys } from "/static/route.js";
import { table } from "/static/table.js";
import { words } from "/static/words.js";

const KINDS = {
  predict: "Predict",
  size: "Size",
  "max-rate": "Highest rate",
  headroom: "Headroom",
  compare: "Compare with a change",
};

export async function saved(body, { known }) {
  const { questions } = await ask("/v1/saved");
  const again = async () => {
    body.replaceChildren();
    await saved(body, { known });
  };
  body.append(
    h(
      "p",
      { className: "quiet" },
      "A saved question is answered every night with the model in service. Its main figures are kept, so that a change shows.",
    ),
    questions.length
      ? h("div", { className: "view" }, questions.map((one) => shown(one, again)))
      : h("p", { className: "quiet" }, "No question is saved yet."),
    section("Save a question", form(known, again)),
  );
}

const described = ({ kind, question }) => {
  const { system, at, ...rest } = question;
  const written = (pairs) => Object.entries(pairs).map((pair) => pair.join("="));
  const pairs = Object.entries({ ...at, ...rest }).flatMap(([key, value]) =>
    value && typeof value === "object" ? [`${key.toUpperCase()}: ${written(value).join(", ") || "as today"}`] : written({ [key]: value }),
  );
  return [KINDS[kind], system, ...pairs].join(" · ");
};

// The view that asks the same.
function opened({ kind, question }) {
  const { system, at, a, b, max_busy_pct: target } = question;
  const written = (pairs) => Object.entries(pairs ?? {}).map((pair) => pair.join("=")).join(",");
  if (kind === "compare") return address("compare", { system, a: written(a), b: written(b) });
  if (kind === "headroom") return address("headroom", { system, target, with: written(at) });
  return address("what-if", { system, ...at, max_busy_pct: target });
}

function shown(one, again) {
  const problem = h("div", { ariaLive: "polite" });
  const remove = async () => {
    try {
      await ask(`/v1/saved/${encodeURIComponent(one.name)}`, {}, "DELETE");
      await again();
    } catch (error) {
      problem.replaceChildren(refusal(error));
    }
  };
  const answers = one.answers.filter((answer) => !answer.refused);
  const names = [...new Set(answers.flatMap((answer) => Object.keys(answer.figures)))];
  const numeric = names.filter((name) => answers.some((answer) => typeof answer.figures[name] === "number"));
  const refused = one.answers.some((answer) => answer.refused);
  const heading = (name) => (one.kind === "compare" ? `change of ${label(name)}, %` : label(name));
  const rows = one.answers.toReversed().map((answer) => [
    minute(answer.at),
    answer.model_version,
    ...names.map((name) => {
      const value = answer.figures[name];
      return typeof value === "number" ? figure(value) : name === "first_resource" ? resourceName(value) : (value ?? "–");
    }),
    ...(refused ? [answer.refused] : []),
  ]);
  const columns = [
    { name: "night, UTC" },
    { name: "model" },
    ...names.map((name) => ({ name: heading(name) })),
    ...(refused ? [{ name: "refused", prose: true }] : []),
  ];
  // A figure that never changed has no chart.
  const main = numeric.find((name) => new Set(answers.map((answer) => answer.figures[name])).size > 1);
  return section(
    one.name,
    h("p", {}, h("a", { href: opened(one) }, described(one))),
    main && answers.length > 1
      ? chart({
          title: `${heading(main)} of ${one.name}, night by night`,
          x: { label: "night", values: answers.map((answer) => seconds(answer.at.slice(0, 19))), time: true },
          y: { label: heading(main) },
          lines: [{ name: heading(main), values: answers.map((answer) => answer.figures[main] ?? null) }],
        })
      : null,
    rows.length
      ? table(columns, rows, `Answers to ${one.name}`)
      : h("p", { className: "quiet" }, "No night has answered it yet."),
    h("p", { className: "tools" }, h("button", { type: "button", className: "plain", onclick: remove, ariaLabel: `Forget ${one.name}` }, "Forget")),
    problem,
  );
}

// "response_ms class=HIGH" as words.
function label(name) {
  const [metric, ...of] = name.split(" ");
  const subject = of.join(" ").replaceAll(/\b(class|station)=/g, "");
  return [words(metric), subject].filter(Boolean).join(", ");
}

function form(known, again) {
  const name = h("input", { type: "text", required: true, maxLength: 64 });
  const kind = h("select", {}, Object.entries(KINDS).map(([value, text]) => new Option(text, value)));
  const system = h("select", {}, [...known.systems.keys()].map((one) => new Option(one, one)));
  const at = h("input", { type: "text", placeholder: "growth_pct=20, shift=prime" });
  const changed = h("input", { type: "text", placeholder: "engines=8" });
  const busy = h("input", { type: "number", min: 1, max: 100, value: 90 });
  const outcome = h("div", { ariaLive: "polite" });
  const show = answering(outcome);
  const withChange = h("label", { hidden: true }, "Change ", changed);
  const target = h("label", { hidden: true }, "Busy at most, % ", busy);
  const fit = () => {
    withChange.hidden = kind.value !== "compare";
    target.hidden = !["size", "max-rate", "headroom"].includes(kind.value);
  };
  kind.addEventListener("change", fit);
  fit();
  const save = (event) => {
    event.preventDefault();
    const asked = keys(at.value);
    const question =
      kind.value === "compare"
        ? { system: system.value, a: asked, b: { ...asked, ...keys(changed.value) } }
        : { system: system.value, at: asked, ...(target.hidden ? {} : { max_busy_pct: Number(busy.value) }) };
    show(async () => {
      await ask(`/v1/saved/${encodeURIComponent(name.value.trim())}`, { kind: kind.value, question }, "PUT");
      await again();
      return [];
    });
  };
  return h(
    "form",
    { className: "row", ariaLabel: "Question to save", onsubmit: save },
    h("label", {}, "Name ", name),
    h("label", {}, "Question ", kind),
    h("label", {}, "System ", system),
    h("label", {}, "Load and change ", at),
    withChange,
    target,
    h("button", {}, "Save"),
    outcome,
  );
}

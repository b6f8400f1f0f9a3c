// The planner's page: a system and a rate in, an answer with its interval, limits and evidence out.

import { ask } from "/static/client.js";
import { figure, gauge, plot } from "/static/chart.js";
import { unit, words } from "/static/words.js";

const $ = (id) => document.getElementById(id);
const REACH = 1.15, STEPS = 61, PAUSE_MS = 150;
const state = { systems: new Map(), measured: new Map(), turn: 0, timer: 0 };

function element(name, text, className) {
  const node = document.createElement(name);
  if (text !== undefined) node.textContent = text;
  if (className) node.className = className;
  return node;
}

function within(part, digits = 4) {
  return part ? `${figure(part.lo, digits)} … ${part.hi === null ? "no limit" : figure(part.hi, digits)}` : "–";
}

// The class or station a figure is of; empty for the system.
function subject(output) {
  const pairs = output.condition.split(";").map((pair) => pair.trim().split("="));
  return (pairs.find(([key]) => key === "class" || key === "station") ?? ["", ""])[1];
}

function refuse(id, error) {
  $(id).hidden = !error;
  $(id).textContent = error ? error.message : "";
}

function list(id, items) {
  $(id).replaceChildren(...items.map((item) => element("li", item)));
}

function rows(body, lines) {
  body.replaceChildren(...lines.map((cells) => {
    const row = element("tr");
    row.append(...cells.map(([text, className, small]) => {
      const cell = element("td", text, className);
      if (small) cell.append(element("small", small));
      return cell;
    }));
    return row;
  }));
}

const current = () => state.systems.get($("system").value);

function span(system) {
  const low = Math.min(...system.rates), high = Math.max(...system.rates);
  return low === high ? [0.3 * low, 1.3 * high] : [0.5 * low, REACH * high];
}

function question() {
  const system = current();
  const shown = Number($("rate").value);
  // The field shows a measured rate rounded; the question is about the measured one.
  const measured = system.rates.find((rate) => Math.abs(rate - shown) < 0.01);
  const at = { etr_tps: measured ?? shown };
  const engines = $("engines").value;
  if (engines && Number(engines) !== system.engines) at.engines = Number(engines);
  return { system: system.system, at };
}

async function choose() {
  const system = current();
  const [from, to] = span(system);
  $("about").textContent = [system.workload, system.machine, system.software].filter(Boolean).join(" · ");
  Object.assign($("slider"), { min: from, max: to, step: (to - from) / 1000, value: system.operating_tps });
  $("rate").value = Math.round(100 * system.operating_tps) / 100;
  $("engines").value = system.engines;
  $("from").textContent = `${figure(from, 1)}/s`;
  $("to").textContent = `${figure(to, 1)}/s`;
  $("size-rate").value = Math.round(system.operating_tps * 1.1);
  $("size-response-label").hidden = !system.has_response;
  $("size-response").value = "";
  $("sizing").hidden = true;
  $("metric").replaceChildren(...system.metrics.map(({ metric }) => new Option(words(metric), metric)));
  $("metric").value = system.main_metric;
  history.replaceState(null, "", `#${encodeURIComponent(system.system)}`);
  if (!state.measured.has(system.system)) {
    state.measured.set(system.system, await ask(`/v1/systems/${encodeURIComponent(system.system)}/points`));
  }
  await answer();
}

async function answer() {
  const turn = ++state.turn;
  try {
    const asked = question();
    const found = await ask("/v1/predict", asked);
    if (turn !== state.turn) return;
    refuse("refused", null);
    show(found);
    await curve(found, turn);
  } catch (error) {
    if (turn === state.turn) refuse("refused", error);
  }
}

function show(found) {
  const system = current();
  const main = found.outputs.find((output) => output.metric === system.main_metric) ?? found.outputs[0];
  $("headline").replaceChildren(
    `At ${figure(found.at.etr_tps, 6)} transactions/s: ${words(main.metric)} `,
    element("strong", `${figure(main.value)} ${unit(main.unit)}`),
    ` (${found.interval_pct} % interval ${within(main)}).`,
  );
  $("warning").hidden = !found.extrapolated;
  $("warning").textContent = "This leaves what was measured: " + found.notes.join("; ") + ".";
  const limit = found.bottleneck;
  $("resource").textContent = limit.resource;
  $("busy").textContent = `${figure(limit.utilization_pct, 3)} % busy (${within(limit, 3)})`;
  gauge($("gauge"), limit);
  const used = (station) => `${station.resource} ${figure(station.utilization_pct, 3)} %`;
  const parts = limit.stations.filter((station) => station.resource !== limit.resource && station.resource !== limit.next?.resource);
  $("parts").textContent = [...(limit.next ? [`next: ${used(limit.next)}`] : []), ...parts.map(used)].join(" · ");
  $("interval-head").textContent = `${found.interval_pct} % interval`;
  $("band-name").textContent = `${found.interval_pct} % interval`;
  const ordered = [main, ...found.outputs.filter((output) => output !== main)];
  rows($("outputs").tBodies[0], ordered.map((output) => [
    [words(output.metric), "metric", [output.metric, subject(output)].filter(Boolean).join(" · ")], [figure(output.value), "number"], [within(output), "number"], [unit(output.unit)],
  ]));
  list("notes", found.extrapolated ? [] : found.notes);
  evidence(found);
}

async function curve(found, turn) {
  const system = current();
  const [from, to] = span(system);
  const metric = $("metric").value;
  const rate = found.at.etr_tps;
  const reach = { from: Math.min(from, 0.9 * rate), to: Math.max(to, 1.1 * rate) };
  const at = found.at.engines ? { engines: found.at.engines } : {};
  const swept = await ask("/v1/sweep", { system: system.system, key: "etr_tps", ...reach, steps: STEPS, at, metrics: [metric] });
  if (turn !== state.turn) return;
  const line = swept.steps.map((step) => ({ rate: step.value, extrapolated: step.extrapolated, ...(step.outputs[0] ?? { value: null }) }));
  const points = state.measured.get(system.system).points
    .filter((point) => point.metrics[metric] !== undefined)
    .map((point) => ({ name: point.point, rate: point.etr_tps, value: point.metrics[metric] }));
  const here = found.outputs.find((output) => output.metric === metric) ?? { value: null };
  const said = system.metrics.find((known) => known.metric === metric);
  plot($("chart"), { points: line, label: `${words(metric)}, ${unit(said.unit)}` }, points, { rate, value: here.value, lo: here.lo, hi: here.hi }, system.rates);
}

function evidence(found) {
  const seen = found.evidence, system = current();
  const published = state.measured.get(system.system)?.published_at;
  const rates = system.rates.length > 1
    ? `${figure(Math.min(...system.rates), 6)} to ${figure(Math.max(...system.rates), 6)}` : figure(system.rates[0], 6);
  const facts = {
    Model: found.model_version,
    [seen.period ? "Recorded" : "Measured points"]:
      `${seen.period ? seen.period.join(" to ") : seen.points}, at ${rates} transactions/s on ${seen.engines} engines (${seen.machine})`,
    "Intervals": `${seen.intervals} intervals, ${figure(seen.seconds / 60, 3)} minutes in all`,
    "Borrows strength from": seen.relatives.join(", ") || "no other system",
    "Not measured here": Object.entries(seen.origins).map(([name, origin]) => `${name}: ${origin}`).join("; ") || "nothing",
    "Data": Object.entries(seen.data).map(([name, value]) => `${name} ${value}`).join(" · "),
    "Snapshot": published ? `published ${new Date(published).toLocaleString()}` : "none published: measured points are not shown",
  };
  $("evidence").replaceChildren(...Object.entries(facts).flatMap(([name, text]) => [element("dt", name), element("dd", text)]));
  const measured = state.measured.get(system.system)?.points ?? [];
  const names = system.metrics.map(({ metric }) => metric).filter((name) => measured.some((point) => point.metrics[name] !== undefined));
  const head = element("tr");
  head.append(...["Point", "Rate/s", ...names].map((name, i) => element("th", i > 1 ? words(name) : name, i ? "number" : "")));
  $("points").tHead.replaceChildren(...(measured.length ? [head] : []));
  rows($("points").tBodies[0], measured.map((point) => [
    [point.point], [figure(point.etr_tps, 6), "number"], ...names.map((name) => [figure(point.metrics[name]), "number"]),
  ]));
}

async function size(event) {
  event.preventDefault();
  const number = (id) => ($(id).value ? Number($(id).value) : null);
  const asked = {
    system: current().system,
    etr_tps: number("size-rate"),
    max_busy_pct: number("size-busy"),
    max_response_ms: $("size-response-label").hidden ? null : number("size-response"),
  };
  try {
    const found = await ask("/v1/size", asked);
    refuse("size-refused", null);
    const { value, lo, hi } = found.engines;
    const sure = lo === hi ? `${lo} with near certainty` : `${lo ?? "–"} to ${hi ?? "more than can be said"}`;
    $("size-headline").replaceChildren(
      value === null ? "No number of engines meets this." : element("strong", `${value} engines`),
      value === null ? "" : ` carry ${figure(found.at.etr_tps, 6)} transactions/s; 5 % to 95 % sure: ${sure}.`,
    );
    rows($("sizing").querySelector("tbody"), found.table.map((row) => [
      [String(row.engines), "number"],
      [`${figure(row.cpu_busy_pct.value)} (${within(row.cpu_busy_pct)})`, "number"],
      [row.response_ms ? `${figure(row.response_ms.value)} (${within(row.response_ms)})` : "–", "number"],
      [`${figure(100 * row.probability, 3)} %`, "number"],
      [row.meets ? "yes" : "no", row.meets ? "meets" : ""],
    ]));
    list("size-notes", found.notes);
    $("sizing").hidden = false;
  } catch (error) {
    refuse("size-refused", error);
    $("sizing").hidden = true;
  }
}

function soon() {
  clearTimeout(state.timer);
  state.timer = setTimeout(answer, PAUSE_MS);
}

async function start() {
  $("ask").addEventListener("submit", (event) => { event.preventDefault(); answer(); });
  $("system").addEventListener("change", choose);
  $("metric").addEventListener("change", answer);
  $("slider").addEventListener("input", () => { $("rate").value = Math.round($("slider").value); soon(); });
  $("rate").addEventListener("input", () => { $("slider").value = $("rate").value; soon(); });
  $("engines").addEventListener("input", soon);
  $("size").addEventListener("submit", size);
  try {
    const known = await ask("/v1/systems");
    $("model").textContent = `model ${known.model_version}`;
    for (const system of known.systems) {
      state.systems.set(system.system, system);
      $("system").append(new Option(system.system, system.system));
    }
    const wanted = decodeURIComponent(location.hash.slice(1));
    if (state.systems.has(wanted)) $("system").value = wanted;
    await choose();
    document.body.dataset.ready = "yes";
  } catch (error) {
    refuse("refused", error);
    $("headline").textContent = "No answer yet.";
    document.body.dataset.ready = "no";
  }
}

start();

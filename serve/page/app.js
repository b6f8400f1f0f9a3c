// The shell: which view the address asks for, which system it is about, and who answers.

import { ask } from "/static/client.js";
import { h, refusal } from "/static/dom.js";
import { minute, staleness } from "/static/figures.js";
import { address, current } from "/static/route.js";
import { alerts } from "/static/views/alerts.js";
import { cpc } from "/static/views/cpc.js";
import { compare } from "/static/views/compare.js";
import { data } from "/static/views/data.js";
import { headroom } from "/static/views/headroom.js";
import { lpar } from "/static/views/lpar.js";
import { model } from "/static/views/model.js";
import { overview } from "/static/views/overview.js";
import { r4ha } from "/static/views/r4ha.js";
import { saved } from "/static/views/saved.js";
import { whatIf } from "/static/views/what-if.js";

const VIEWS = {
  overview: ["Overview", overview],
  cpc: ["CPC", cpc],
  lpar: ["LPAR", lpar],
  "what-if": ["What if", whatIf],
  headroom: ["Headroom", headroom],
  compare: ["Compare", compare],
  r4ha: ["R4HA", r4ha],
  alerts: ["Alerts", alerts],
  saved: ["Saved", saved],
  model: ["Model", model],
  data: ["Data", data],
};
const OF_ALL = new Set(["overview", "r4ha", "alerts", "saved", "data"]);
const OF_CPC = "cpc";
const $ = (id) => document.getElementById(id);
const known = {
  systems: new Map(),
  byCondition: new Set(),
  studies: new Map(),
  histories: new Map(),
  machines: new Map(),
  classes: [],
  night: null,
  published: null,
  modelVersion: null,
  problem: null,
};
let turn = 0;

async function learn() {
  const [models, recorded] = await Promise.allSettled([ask("/v1/systems"), ask("/v1/overview")]);
  if (models.status === "fulfilled") {
    known.modelVersion = models.value.model_version;
    known.systems = new Map(models.value.systems.map((system) => [system.system, system]));
    const predictable = models.value.reference_systems.filter((about) => about.predictable);
    known.studies = new Map(models.value.reference_systems.map((about) => [about.system, about]));
    known.byCondition = new Set(predictable.map((about) => about.system).filter((name) => !known.systems.has(name)));
  } else known.problem = models.reason;
  if (recorded.status === "fulfilled") {
    known.published = recorded.value.published_at;
    known.night = recorded.value.night;
    known.classes = recorded.value.classes;
    known.machines = new Map(recorded.value.machines.map((machine) => [machine.machine, machine]));
    known.histories = new Map(recorded.value.systems.map((system) => [system.system, system]));
  } else known.snapshotProblem = recorded.reason;
  const names = [...new Set([...known.histories.keys(), ...known.systems.keys()])];
  const studied = [...known.byCondition].map((name) => new Option(name, name));
  $("system").replaceChildren(
    ...names.map((name) => new Option(name, name)),
    ...(studied.length ? [h("optgroup", { label: "Measured at conditions" }, studied)] : []),
  );
  $("cpc").replaceChildren(...[...known.machines.values()].map((one) => new Option(one.machine_name, one.machine)));
  $("state").textContent = [
    known.modelVersion ? `model ${known.modelVersion}` : known.problem?.message,
    known.published ? `data published ${minute(known.published)} UTC` : "no data published",
  ]
    .filter(Boolean)
    .join(" · ");
}

// The system that an address is about: the one it names, else the last one that was looked at.
function systemOf(view, params) {
  const wanted = params.get("system") ?? sessionStorage.getItem("etalon-system");
  const options = [...$("system").options].map((option) => option.value);
  const system = options.includes(wanted) || params.has("system") ? wanted : options[0];
  if (view !== OF_CPC && !OF_ALL.has(view) && system) {
    sessionStorage.setItem("etalon-system", system);
    $("system").value = system;
  }
  return system;
}

// The CPC that an address is about: the one it names, else that of the system.
function cpcOf(params, system) {
  const wanted = params.get("machine") ?? known.histories.get(params.get("system") ?? system)?.machine;
  const machine = params.has("machine") || known.machines.has(wanted) ? wanted : [...known.machines.keys()][0];
  $("cpc").value = machine ?? "";
  return machine;
}

async function show() {
  const mine = ++turn;
  const { view: asked, params } = current();
  const view = VIEWS[asked] ? asked : "overview";
  const [title, render] = VIEWS[view];
  const system = systemOf(view, params);
  const machine = cpcOf(params, system);
  const subject = view === OF_CPC ? (known.machines.get(machine)?.machine_name ?? machine) : system;
  const ofSystem = view !== OF_CPC && !OF_ALL.has(view);
  $("choice").hidden = !ofSystem;
  $("cpc-choice").hidden = view !== OF_CPC;
  document.title = `${title} · Etalon`;
  for (const link of $("views").children) {
    link.removeAttribute("aria-current");
    if (link.dataset.view === view) link.setAttribute("aria-current", "page");
    link.href = address(
      link.dataset.view,
      link.dataset.view === OF_CPC ? { machine } : OF_ALL.has(link.dataset.view) ? {} : { system },
    );
  }
  const body = h("div", { className: "view", id: `view-${view}` });
  $("main").replaceChildren(h("h1", { tabIndex: -1 }, OF_ALL.has(view) || !subject ? title : `${title}: ${subject}`), body);
  document.body.dataset.ready = "";
  try {
    if (!OF_ALL.has(view) && !subject)
      throw (
        known.problem ??
        known.snapshotProblem ??
        new Error(
          view === OF_CPC
            ? "No intervals of a CPC are recorded. Load SMF 70.1 records with etalon ingest, then run etalon build."
            : "There is nothing to show yet: run etalon demo, or etalon ingest, build and fit on your own records.",
        )
      );
    const stale = !ofSystem ? "" : staleness(known.histories.get(system)?.last_day);
    if (stale) body.before(h("p", { className: "warning" }, `${system}: ${stale}. Answers and forecasts begin there.`));
    await render(body, { system, machine, params, known });
  } catch (error) {
    if (mine === turn) body.replaceChildren(refusal(error));
  }
  if (mine === turn) document.body.dataset.ready = "yes";
}

function chooseSystem() {
  const { view, params } = current();
  location.hash = address(view, {
    ...(view === "lpar" ? Object.fromEntries(params) : {}),
    class: "",
    system: $("system").value,
  });
}

for (const [view, [title]] of Object.entries(VIEWS))
  $("views").append(h("a", { href: `#/${view}`, "data-view": view }, title));
$("system").addEventListener("change", chooseSystem);
$("cpc").addEventListener("change", () => {
  location.hash = address(OF_CPC, { machine: $("cpc").value });
});
// What stands after # is a view's address, so the browser's own way to a place on the page is not open.
$("skip").addEventListener("click", (event) => {
  event.preventDefault();
  $("main").querySelector("h1").focus();
});
window.addEventListener("hashchange", async () => {
  await show();
  $("main").querySelector("h1").focus({ preventScroll: true });
});
window.addEventListener("beforeprint", () => {
  $("address").textContent = location.href;
});
await learn();
await show();

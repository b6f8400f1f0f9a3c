// R4HA: the peaks of a billing month by CPC, capacity group, LPAR and product, their highest hours, and what these are
// made of.

import { chart, withHoles } from "/static/chart.js";
import { ask } from "/static/client.js";
import { answering, h, section } from "/static/dom.js";
import { clock, counted, figure, seconds, whole } from "/static/figures.js";
import { address } from "/static/route.js";
import { shiftField } from "/static/shifts.js";
import { table } from "/static/table.js";

const SCOPES = { cpc: "CPC", capacity_group: "Capacity group", lpar: "LPAR", product: "Product" };
const msu = { number: true, unit: "MSU" };

export async function r4ha(body, { params }) {
  const asked = Object.fromEntries(params);
  const query = new URLSearchParams(["month", "shift"].filter((key) => asked[key]).map((key) => [key, asked[key]]));
  const month = await ask(`/v1/billing?${query}`);
  if (!month.months.length)
    throw new Error("There is no R4HA yet: load SMF 70 records, then run etalon build and etalon publish.");
  const go = (changed) => (location.hash = address("r4ha", { ...asked, ...changed }));
  const months = h(
    "select",
    { onchange: () => go({ month: months.value, hour: "" }) },
    month.months.map((one) => new Option(`${one.month.slice(0, 7)}, ${one.hours} h`, one.month)),
  );
  months.value = month.month;
  body.append(
    h("p", { className: "quiet" }, month.note),
    h(
      "form",
      { className: "row", ariaLabel: "Billing month and shift", onsubmit: (event) => event.preventDefault() },
      h("label", {}, "Billing month ", months),
      await shiftField(asked.shift, (shift) => go({ shift, hour: "" })),
    ),
  );
  const chosen = month.peaks.find((one) => one.scope === asked.scope && one.name === asked.name) ?? month.peaks[0];
  if (!chosen) {
    body.append(h("p", { className: "quiet" }, "No recorded hour of this month belongs to the shift."));
    return;
  }
  body.append(peaks(month, asked), await hours(month, chosen, asked));
}

function peaks(month, asked) {
  const link = (one) =>
    h(
      "a",
      { href: address("r4ha", { month: month.month, shift: asked.shift, scope: one.scope, name: one.name, cpc: one.cpc }) },
      one.name,
    );
  const cost = month.currency
    ? [
        ["MSU cost", "msu_cost"],
        ["CPU cost", "cpu_cost"],
      ]
    : [];
  const columns = [
    { name: "of" },
    { name: "name" },
    { name: "peak", ...msu },
    { name: "at" },
    { name: "R4HA without limits", ...msu },
    { name: "limit", ...msu },
    { name: "hours above limit", number: true, text: whole },
    { name: "hours capped", number: true, text: whole },
    { name: "mean", ...msu },
    ...cost.map(([name]) => ({ name, number: true, unit: month.currency, text: whole })),
  ];
  const rows = month.peaks.map((one) => [
    SCOPES[one.scope],
    link(one),
    one.peak_msu,
    clock(one.peak_at),
    one.r4ha_msu,
    one.limit_msu,
    one.hours_above_limit,
    one.hours_capped,
    one.mean_msu,
    ...cost.map(([, key]) => one[key]),
  ]);
  const title = `Peaks of billing month ${month.month.slice(0, 7)}, 2nd to 1st`;
  return section(title, table(columns, rows, title));
}

async function hours(month, one, asked) {
  const named = new URLSearchParams({ scope: one.scope, name: one.name, ...(one.cpc ? { cpc: one.cpc } : {}) });
  const limits = new URLSearchParams({ month: month.month, ...(asked.shift ? { shift: asked.shift } : {}) });
  const found = await ask(`/v1/billing/hours?${named}&${limits}`);
  const title = `${SCOPES[one.scope]} ${one.name}`;
  const keys = ["r4ha_msu", "msu", "limit_msu"];
  const [xs, values] = withHoles(
    found.hours.map((hour) => seconds(hour.hour_local)),
    keys.map((key) => found.hours.map((hour) => hour[key])),
  );
  const line = (name, key, more = {}) => ({ name, values: values[keys.indexOf(key)], ...more });
  const lines = [line("R4HA", "r4ha_msu", { colour: "c1" }), line("MSU of the hour", "msu", { colour: "c8" })];
  if (found.hours.some((hour) => hour.limit_msu !== null))
    lines.push(line("limit", "limit_msu", { colour: "bad", dash: [6, 4] }));
  const parts = h("div", { ariaLive: "polite" });
  const show = answering(parts);
  const drill = (hour) => show(async () => classes(await ask(`/v1/billing/classes?${named}&hour=${hour}`), hour));
  const rows = found.highest.map((hour) => [
    h("button", { type: "button", className: "link", onclick: () => drill(hour.hour_local) }, clock(hour.hour_local)),
    hour.billable_msu,
    hour.r4ha_msu,
    hour.msu,
    hour.limit_msu,
    hour.capped_pct,
  ]);
  const columns = [
    { name: "hour" },
    { name: "billable", ...msu },
    { name: "R4HA", ...msu },
    { name: "MSU of the hour", ...msu },
    { name: "limit", ...msu },
    { name: "capped", unit: "%", number: true },
  ];
  drill(found.highest[0].hour_local);
  return section(
    title,
    chart({
      title: `R4HA of ${title} by hour`,
      x: { label: "local time", values: xs, time: true },
      y: { label: "MSU", unit: "MSU" },
      lines,
    }),
    h("h3", {}, counted(rows.length, "highest hour")),
    table(columns, rows, `Highest hours of ${title}`),
    parts,
  );
}

function classes(found, hour) {
  const rows = found.classes.map((part) => [
    part.lpar,
    part.class_name || "not captured",
    part.workload,
    part.importance,
    part.msu,
  ]);
  const columns = [
    { name: "LPAR" },
    { name: "service class" },
    { name: "workload" },
    { name: "importance", number: true, text: (value) => value ?? "–" },
    { name: "R4HA", ...msu },
  ];
  const title = `Service classes in the four hours that end with the hour of ${clock(hour)}`;
  return [
    h("h3", {}, title),
    h("p", { className: "quiet" }, `${figure(rows.reduce((sum, row) => sum + row[4], 0))} MSU in all.`),
    table(columns, rows, title),
  ];
}

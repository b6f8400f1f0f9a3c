// CPC: its LPARs stacked up to the physical engines, MSU and R4HA against their limits, and share and caps of every LPAR.

import { ask } from "/static/client.js";
import { h, section } from "/static/dom.js";
import { clock, figure, whole } from "/static/figures.js";
import { of, overTime, spanForm, spanOf } from "/static/history.js";
import { address } from "/static/route.js";
import { shiftField } from "/static/shifts.js";
import { table } from "/static/table.js";
import { term } from "/static/terms.js";

const PHYSICAL = "PHYSICAL";
// The LPARs' own colours in the chart of their R4HA, which their defined capacities share.
const COLOURS = ["c1", "c3", "c4", "c7", "c6", "c8"];
const WHOLE = { colour: "bad", dash: [6, 4], width: 1.5 };

export async function cpc(body, { machine, params }) {
  const path = `/v1/cpcs/${encodeURIComponent(machine)}`;
  const span = spanOf(params);
  const shift = params.get("shift") ?? "";
  const go = (changed) => {
    location.hash = address("cpc", { machine, ...span, shift, ...changed });
  };
  const [about, history, shifts] = await Promise.all([
    ask(path),
    ask(`${path}/history?${new URLSearchParams({ ...span, shift })}`),
    shiftField(shift, (chosen) => go({ shift: chosen })),
  ]);
  body.append(
    peaks(about),
    spanForm(about, span, (from, to) => go({ from, to }), "", shifts),
    engines(history, "cp", "Physical CPs by LPAR", "physical CPs"),
    ...(history.columns.some((one) => one.kind === "ziip_lpar" && one.values.some((value) => value > 0))
      ? [engines(history, "ziip", "Physical zIIPs by LPAR", "physical zIIPs")]
      : []),
    ...msu(history, about),
    lpars(about),
  );
}

// What the machine did at most, when, and what was left of it then.
function peaks(about) {
  const NAMES = { r4ha_msu: "R4HA", msu: "MSU", cp: "Physical CPs busy", ziip: "Physical zIIPs busy" };
  const rows = Object.entries(NAMES).flatMap(([kind, name]) => {
    const peak = about.peaks.find((one) => one.kind === kind);
    if (!peak) return [];
    const left = peak.capacity ? peak.capacity - peak.value : null;
    return [
      [
        name,
        peak.value,
        clock(peak.at_local),
        peak.capacity,
        left,
        peak.capacity ? (100 * left) / peak.capacity : null,
        peak.unit,
      ],
    ];
  });
  const first = about.peaks.find((one) => one.kind === "cp");
  const full = first?.capacity ? (100 * first.value) / first.capacity : null;
  const caption = "Recorded peaks of the CPC and its headroom then";
  return section(
    "Peaks and headroom",
    full === null
      ? null
      : h(
          "p",
          { className: "headline", id: "headline" },
          "At its peak, ",
          h("strong", {}, clock(first.at_local)),
          `, ${figure(first.value, 3)} of ${figure(first.capacity, 3)} physical CPs were busy (${figure(full, 3)} %); `,
          term("headroom"),
          `: ${figure(first.capacity - first.value, 3)} CPs.`,
        ),
    table(
      [
        { name: "Figure" },
        { name: "peak", number: true },
        { name: "at, local time" },
        { name: "capacity", number: true },
        { name: "headroom", number: true },
        { name: "headroom, %", number: true, text: (v) => figure(v, 3) },
        { name: "unit" },
      ],
      rows,
      caption,
    ),
    about.msu_per_engine
      ? h(
          "p",
          { className: "quiet" },
          `MSU of all physical CPs by the software rating in the records, ${figure(about.msu_per_engine, 4)} MSU a CP.`,
        )
      : null,
  );
}

function engines(history, pool, title, unit) {
  const used = of(history, `${pool}_lpar`);
  const isOwn = (one) => one.name === PHYSICAL;
  const peaks = history.every === "interval" ? [] : of(history, `${pool}_peak`);
  return section(
    title,
    overTime(history, {
      title,
      unit: "engines",
      // PR/SM's own time is on top of the LPARs.
      stack: [...used.filter((one) => !isOwn(one)), ...used.filter((one) => isOwn(one) && one.values.some((v) => v > 0))],
      rest: "LPARs",
      lines: [
        ...of(history, `${pool}_physical`).map((one) => ({ ...one, name: unit, ...WHOLE })),
        ...peaks.map((one) => ({ ...one, colour: "c5", dash: [2, 3], width: 1 })),
      ],
    }),
  );
}

function msu(history, about) {
  const total = of(history, "r4ha_msu");
  if (!total.length) return [];
  const own = of(history, "r4ha_lpar");
  const colourOf = (name) => COLOURS[Math.max(0, own.findIndex((lpar) => lpar.name === name)) % COLOURS.length];
  const lines = (kind, said, style) =>
    of(history, kind).map((one) => ({ ...one, name: said(one.name), ...style(one.name) }));
  const capacity = about.peaks.find((one) => one.kind === "r4ha_msu")?.capacity;
  const title = "R4HA against defined and group capacity";
  return [
    section(
      title,
      overTime(history, {
        title,
        unit: "MSU",
        lines: [
          ...total.map((one) => ({ ...one, name: "R4HA of the CPC", colour: "c2" })),
          ...lines("r4ha_lpar", (name) => `R4HA of ${name}`, (name) => ({ colour: colourOf(name), width: 1 })),
          ...lines(
            "defined_capacity",
            (name) => `defined capacity of ${name}`,
            (name) => ({ colour: colourOf(name), dash: [6, 4], width: 1.5 }),
          ),
          ...lines("r4ha_group", (name) => `R4HA of group ${name}`, () => ({ colour: "mark", width: 1.5 })),
          ...lines(
            "group_limit",
            (name) => `limit of group ${name}`,
            () => ({ colour: "mark", dash: [6, 4], width: 1.5 }),
          ),
          ...(capacity
            ? [{ name: "MSU of all physical CPs", values: history.start_local.map(() => capacity), ...WHOLE }]
            : []),
        ],
      }),
    ),
  ];
}

function lpars(about) {
  const caps = (one) =>
    [
      one.is_capped && "held to its share",
      one.cap_engines && `${figure(one.cap_engines, 3)} engines`,
      one.group_cap_engines && `group: ${figure(one.group_cap_engines, 3)} engines`,
      one.defined_capacity_msu && `defined: ${whole(one.defined_capacity_msu)} MSU`,
      one.capacity_group &&
        `group ${one.capacity_group}${one.capacity_group_limit_msu ? `: ${whole(one.capacity_group_limit_msu)} MSU` : ""}`,
    ]
      .filter(Boolean)
      .join(", ");
  const rows = about.lpars.map((one) => [
    one.system ? h("a", { href: address("lpar", { system: one.system }) }, one.lpar) : one.lpar,
    one.lpar === PHYSICAL ? "PR/SM itself" : one.system ? "own records" : "no records of its own",
    one.lpar === PHYSICAL ? null : one.cps,
    one.lpar === PHYSICAL ? null : one.weight,
    one.is_dedicated ? "dedicated" : one.share_pct ? `${figure(one.share_pct, 3)} %` : "–",
    one.lpar === PHYSICAL ? null : one.share_engines,
    caps(one),
    one.cps_used,
    one.peak_cps_used,
    clock(one.peak_at),
    one.ziips_used,
    one.r4ha_msu,
    one.capped_pct,
  ]);
  const short = { number: true, text: (v) => figure(v, 3) };
  const caption = "LPARs of the last 24 hours: definition now, and use of the last seven days";
  return section(
    caption,
    table(
      [
        { name: "LPAR" },
        { name: "records" },
        { name: "logical CPs", number: true, text: whole },
        { name: "weight", number: true, text: whole },
        { name: "share by weight", number: true, text: (v) => v },
        { name: "share, CPs", ...short },
        { name: "caps and groups" },
        { name: "CPs busy, mean", ...short },
        { name: "CPs busy, peak", ...short },
        { name: "at, local time" },
        { name: "zIIPs busy, mean", ...short },
        { name: "R4HA (MSU)", term: term("R4HA", "R4HA, peak (MSU)"), ...short },
        { name: "capped, %", number: true, text: (v) => (v ? figure(v, 3) : "–") },
      ],
      rows,
      caption,
    ),
  );
}

// The one maker of charts, over uPlot: stacked areas, lines with bands, points, marks; with table, CSV and SVG of each.
//
// A chart is {title, x: {label, values, time, digits, to}, y: {label, most}, stack, lines, points, marks, joined}; it is
// drawn up to `to` at first, where that is given. Members of
// stack, lines and points are {name, values, colour, dash, lo, hi, hollow}, values in the order of x. Marks are {x, label}.

import uPlot from "/static/vendor/uPlot.esm.js";
import { h, save } from "/static/dom.js";
import { figure, local, minute, within } from "/static/figures.js";
import { grid, saveCsv } from "/static/table.js";
import { drawing } from "/static/svg.js";

const COLOURS = ["c1", "c2", "c3", "c4", "c5", "c6", "c7", "c8"];
const HEIGHT = 300,
  LEAST_WIDTH = 280;
const alive = new Set();

const style = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
const faint = (colour, part) =>
  colour +
  Math.round(2.55 * part)
    .toString(16)
    .padStart(2, "0");

export function chart(spec) {
  const plot = h("div", { className: "plot", role: "img", ariaLabel: spec.title });
  const [columns, rows] = tabulated(spec);
  const behind = h("details", {}, h("summary", {}, "Table"));
  behind.addEventListener("toggle", () => {
    if (behind.open && behind.children.length === 1) behind.append(grid(columns, rows(), spec.title));
  });
  let plotted = null;
  const button = (label, onclick) =>
    h("button", { type: "button", className: "plain", onclick, ariaLabel: `${label} of: ${spec.title}` }, label);
  const figureNode = h(
    "figure",
    {},
    h(
      "figcaption",
      {},
      h("strong", {}, spec.title),
      h(
        "span",
        { className: "tools" },
        button("CSV", () => saveCsv(spec.title, columns, rows())),
        button("SVG", () => save(spec.title, "svg", "image/svg+xml", drawing(plotted, spec, paint))),
      ),
    ),
    plot,
    spec.x.time || spec.zoom ? h("p", { className: "quiet hint" }, "Drag to zoom, double-click for all.") : null,
    behind,
  );

  const make = () => {
    plotted?.destroy();
    plotted = new uPlot(options(spec, Math.max(LEAST_WIDTH, plot.clientWidth)), data(spec), plot);
    if (spec.x.to < spec.x.values.at(-1)) plotted.setScale("x", { min: spec.x.values[0], max: spec.x.to });
  };
  const one = { make, plot };
  const watcher = new ResizeObserver(() => {
    if (!plot.isConnected) {
      // Left with its view: whatever holds it lets it go.
      watcher.disconnect();
      alive.delete(one);
      plotted?.destroy();
    } else if (!plotted) make();
    else if (Math.abs(plotted.width - plot.clientWidth) > 4)
      plotted.setSize({ width: Math.max(LEAST_WIDTH, plot.clientWidth), height: HEIGHT });
  });
  watcher.observe(plot);
  alive.add(one);
  return figureNode;
}

// Colours are read when a chart is drawn, so a change of theme draws all anew.
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
  for (const one of alive) if (one.plot.isConnected) one.make();
});

const paint = (spec, kind, i) => {
  const place = kind === "stack" ? i : (spec.stack?.length ?? 0) + i;
  const given = spec[kind][i].colour ?? COLOURS[place % COLOURS.length];
  return style(given);
};

function cumulated(stack) {
  const sums = [];
  let below = null;
  for (const { values } of stack) {
    below = values.map((value, i) => (value === null ? (below ? below[i] : null) : value + (below?.[i] ?? 0)));
    sums.push(below);
  }
  return sums;
}

function data(spec) {
  const lines = spec.lines ?? [],
    points = spec.points ?? [];
  return [
    spec.x.values,
    ...cumulated(spec.stack ?? []),
    ...lines.flatMap((line) => (line.lo ? [line.values, line.lo, line.hi] : [line.values])),
    ...points.map((one) => one.values),
  ];
}

// What is drawn, in the order of `data`, and the fills between.
function drawn(spec) {
  const series = [
    {
      label: spec.x.label,
      value: (_, v) => (v === null || v === undefined ? "–" : spec.x.time ? minute(local(v)) : figure(v, spec.x.digits)),
    },
  ];
  const bands = [];
  const hidden = { show: false };
  const said =
    ({ values, lo, hi }) =>
    (_, __, ___, i) => {
      if (i === null || i === undefined || values[i] === null) return "–";
      const limits = lo ? within({ value: values[i], lo: lo[i], hi: hi[i] }) : "";
      return `${figure(values[i])}${spec.y.unit ? ` ${spec.y.unit}` : ""}${limits && ` (${limits})`}`;
    };
  (spec.stack ?? []).forEach((part, i) => {
    const colour = paint(spec, "stack", i),
      area = faint(colour, 45);
    series.push({
      label: part.name,
      stroke: colour,
      width: 1,
      fill: i === 0 ? area : undefined,
      area,
      points: hidden,
      value: said(part),
    });
    if (i > 0) bands.push({ series: [i + 1, i], fill: area });
  });
  (spec.lines ?? []).forEach((line, i) => {
    const colour = paint(spec, "lines", i),
      spanGaps = Boolean(spec.joined);
    series.push({
      label: line.name,
      stroke: colour,
      width: line.width ?? 2,
      dash: line.dash,
      spanGaps,
      points: hidden,
      value: said(line),
    });
    if (!line.lo) return;
    const edge = { class: "edge", stroke: "transparent", width: 0, spanGaps, points: hidden };
    series.push(edge, { ...edge });
    bands.push({ series: [series.length - 1, series.length - 2], fill: faint(colour, 20) });
  });
  (spec.points ?? []).forEach((one, i) => {
    const colour = paint(spec, "points", i);
    series.push({
      label: one.name,
      stroke: colour,
      paths: () => null,
      value: said(one),
      points: {
        show: true,
        size: one.size ?? (one.values.length > 300 ? 4 : 9),
        width: 1.5,
        stroke: one.fainter ? faint(colour, 60) : colour,
        fill: one.hollow ? style("panel") : faint(colour, 60),
      },
    });
  });
  return { series, bands };
}

function axes(spec) {
  const font = "12px system-ui, sans-serif";
  const axis = {
    stroke: style("quiet"),
    grid: { stroke: style("rule"), width: 1 },
    ticks: { stroke: style("rule") },
    font,
    labelFont: font,
    labelSize: 22,
  };
  return [
    {
      ...axis,
      label: spec.x.time ? undefined : spec.x.label,
      space: 70,
      values: spec.x.time ? dates : (_, ticks) => ticks.map((tick) => figure(tick, 1)),
    },
    {
      ...axis,
      size: (_, ticks) => 18 + 7 * Math.max(2, ...(ticks ?? []).map((tick) => String(tick).length)),
      label: spec.y.label,
      values: (_, ticks) => ticks.map((tick) => (tick === null ? "" : tick.toLocaleString("en"))),
    },
  ];
}

function options(spec, width) {
  const { series, bands } = drawn(spec);
  return {
    width,
    height: HEIGHT,
    series,
    bands,
    axes: axes(spec),
    tzDate: (at) => uPlot.tzDate(new Date(at * 1000), "Etc/UTC"),
    padding: [12, 28, 0, 0],
    scales: {
      x: { time: Boolean(spec.x.time) },
      y: {
        range: (_, low, high) => [
          Math.min(0, low ?? 0),
          Math.max(spec.y.least ?? 0, Math.min(high ?? 1, spec.y.most ?? Infinity) * 1.05) || 1,
        ],
      },
    },
    cursor: { drag: { x: true, y: false }, points: { size: 6 } },
    legend: { live: true, markers: { dash: (_, i) => dashed(series[i].dash), fill: (_, i) => series[i].area ?? null } },
    hooks: { draw: [(u) => marks(u, spec)] },
  };
}

// The border of a line's mark in the legend: short dashes are dots there.
const dashed = (dash) => (dash ? (dash[0] > 3 ? "dashed" : "dotted") : "solid");

// Ticks of local time: the month, the day or the minute, by how far they are apart.
function dates(_, ticks, __, ___, apart_s) {
  const [from, to] = apart_s >= 28 * 86400 ? [0, 7] : apart_s >= 86400 ? [5, 10] : [11, 16];
  return ticks.map((tick, i) => {
    const text = local(tick).slice(from, to).replace("T", " ");
    return from === 11 && (i === 0 || text === "00:00") ? local(tick).slice(5, 10) : text;
  });
}

function marks(u, spec) {
  const { ctx, bbox } = u;
  for (const mark of spec.marks ?? []) {
    const x = Math.round(u.valToPos(mark.x, "x", true));
    if (x < bbox.left || x > bbox.left + bbox.width) continue;
    ctx.save();
    ctx.strokeStyle = ctx.fillStyle = style("mark");
    ctx.setLineDash([4, 4]);
    ctx.lineWidth = devicePixelRatio;
    ctx.beginPath();
    ctx.moveTo(x, bbox.top);
    ctx.lineTo(x, bbox.top + bbox.height);
    ctx.stroke();
    ctx.font = `${12 * devicePixelRatio}px system-ui, sans-serif`;
    ctx.textAlign = x > bbox.left + 0.7 * bbox.width ? "right" : "left";
    const y = bbox.top + 12 * devicePixelRatio;
    // A line behind it would cross it out.
    ctx.setLineDash([]);
    ctx.lineWidth = 4 * devicePixelRatio;
    ctx.strokeStyle = style("panel");
    ctx.strokeText(` ${mark.label} `, x, y);
    ctx.fillText(` ${mark.label} `, x, y);
    ctx.restore();
  }
}

function tabulated(spec) {
  const members = [...(spec.stack ?? []), ...(spec.lines ?? []), ...(spec.points ?? [])];
  const number = (name) => ({ name, unit: spec.y.unit, number: true });
  const columns = [
    { name: spec.x.label, ...(!spec.x.time && { number: true, text: (x) => figure(x, spec.x.digits) }) },
  ];
  const values = [];
  for (const one of members) {
    columns.push(number(one.name));
    values.push(one.values);
    if (one.lo) {
      columns.push(number(`${one.name}, low`), number(`${one.name}, high`));
      values.push(one.lo, one.hi);
    }
  }
  const rows = () =>
    spec.x.values.map((x, i) => [spec.x.time ? minute(local(x)) : x, ...values.map((column) => column[i] ?? null)]);
  return [columns, rows];
}

// Sets of points over x of their own, as one x with nulls where a set has none: {x, sets} of [[xs, [values…]], …].
export function joined(sets) {
  const xs = [...new Set(sets.flatMap(([x]) => x))].sort((a, b) => a - b);
  const place = new Map(xs.map((x, i) => [x, i]));
  const spread = sets.map(([x, columns]) =>
    columns.map((values) => {
      const out = Array(xs.length).fill(null);
      x.forEach((at, i) => {
        out[place.get(at)] = values[i];
      });
      return out;
    }),
  );
  return [xs, spread];
}

// A hole in time becomes a null, so that no line is drawn across it.
export function withHoles(times, columns) {
  const steps = times
    .slice(1)
    .map((time, i) => time - times[i])
    .sort((a, b) => a - b);
  const usual = steps[Math.floor(steps.length / 2)] ?? 0;
  const xs = [],
    out = columns.map(() => []);
  times.forEach((time, i) => {
    if (i && time - times[i - 1] > 1.5 * usual) {
      xs.push(times[i - 1] + usual);
      out.forEach((column) => column.push(null));
    }
    xs.push(time);
    out.forEach((column, c) => column.push(columns[c][i]));
  });
  return [xs, out];
}

// A drawn chart as an SVG file that stands alone, in the light colours of print.

import { local, minute } from "/static/figures.js";

const WIDTH = 900,
  HEIGHT = 420,
  LEFT = 70,
  RIGHT = 20,
  TOP = 44,
  BOTTOM = 78;
const escape = (text) =>
  String(text).replace(/[<>&"]/g, (c) => ({ "<": "&lt;", ">": "&gt;", "&": "&amp;", '"': "&quot;" })[c]);

export function drawing(plot, spec, paint) {
  const on = frame(plot, spec);
  const shapes = [],
    legend = [];
  let row = 1;
  for (const [kind, draw] of Object.entries({ stack: area, lines: line, points: dots }))
    (spec[kind] ?? []).forEach((one, i) => {
      const colour = paint(spec, kind, i);
      shapes.push(...draw(on, plot.data, row, one, colour, i));
      legend.push([one.name, colour, kind === "lines" ? (one.dash ?? []) : null]);
      row += one.lo ? 3 : 1;
    });
  const [named, height] = legendOf(legend);
  // What lies outside the part that is seen is drawn, and cut off.
  const parts = [...grid(plot, spec, on), `<g clip-path="url(#seen)">`, ...shapes, "</g>", ...marks(spec, on), ...named];
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" font-family="system-ui, sans-serif" font-size="12" fill="#222">${parts.join("")}</svg>\n`;
}

// Where values stand on the drawing: x, y, the path of a line, and that around an area.
function frame(plot, spec) {
  const { min: low, max: high } = plot.scales.x,
    { min: bottom, max: top } = plot.scales.y;
  const xs = plot.data[0];
  const x = (value) => LEFT + ((value - low) / (high - low || 1)) * (WIDTH - LEFT - RIGHT);
  const y = (value) => HEIGHT - BOTTOM - ((value - bottom) / (top - bottom || 1)) * (HEIGHT - TOP - BOTTOM);
  const at = (i, value) => `${x(xs[i]).toFixed(1)},${y(value).toFixed(1)}`;
  const path = (values) => {
    let out = "",
      pen = "M";
    values.forEach((value, i) => {
      if (value === null || value === undefined) {
        if (!spec.joined) pen = "M";
      } else {
        out += pen + at(i, value);
        pen = "L";
      }
    });
    return out;
  };
  const around = (upper, lower) => {
    const kept = xs.map((_, i) => i).filter((i) => upper[i] !== null && upper[i] !== undefined);
    const edge = (values, order) => order.map((i) => at(i, values?.[i] ?? bottom));
    return kept.length ? `M${[...edge(upper, kept), ...edge(lower, kept.toReversed())].join("L")}Z` : "";
  };
  return { x, y, low, high, xs, path, around };
}

// Ground, title, and the ticks of the chart on the page.
function grid(plot, spec, { x, y, low, high }) {
  const [across, up] = plot.axes.map((axis) => axis._splits.map((at, i) => [at, axis._values[i]]));
  const span = spec.x.time ? [low, high].map((at) => minute(local(at))).join(" to ") : escape(spec.x.label);
  return [
    `<rect width="100%" height="100%" fill="#fff"/>`,
    `<clipPath id="seen"><rect x="${LEFT}" y="${TOP}" width="${WIDTH - LEFT - RIGHT}" height="${HEIGHT - TOP - BOTTOM}"/></clipPath>`,
    `<text x="${LEFT}" y="22" font-size="16" font-weight="600">${escape(spec.title)}</text>`,
    ...up.flatMap(([value, text]) => [
      `<line x1="${LEFT}" x2="${WIDTH - RIGHT}" y1="${y(value)}" y2="${y(value)}" stroke="#ddd"/>`,
      `<text x="${LEFT - 8}" y="${y(value) + 4}" text-anchor="end">${escape(text)}</text>`,
    ]),
    ...across.map(
      ([at, text]) =>
        `<text x="${x(at)}" y="${HEIGHT - BOTTOM + 18}" text-anchor="middle">${escape(text ?? "")}</text>`,
    ),
    `<text x="${LEFT - 8}" y="${TOP - 8}" text-anchor="end">${escape(spec.y.unit ?? "")}</text>`,
    `<text x="${WIDTH - RIGHT}" y="${HEIGHT - BOTTOM + 36}" text-anchor="end">${span}</text>`,
  ];
}

const area = ({ around }, data, row, _, colour, i) => [
  `<path d="${around(data[row], i ? data[row - 1] : null)}" fill="${colour}" fill-opacity="0.45" stroke="${colour}"/>`,
];

const line = ({ path, around }, data, row, one, colour) => [
  one.lo ? `<path d="${around(data[row + 2], data[row + 1])}" fill="${colour}" fill-opacity="0.2"/>` : "",
  `<path d="${path(data[row])}" fill="none" stroke="${colour}" stroke-width="2"${one.dash ? ` stroke-dasharray="${one.dash.join(" ")}"` : ""}/>`,
];

const dots = ({ x, y, xs }, data, row, one, colour) =>
  data[row].map((value, i) =>
    value !== null
      ? `<circle cx="${x(xs[i]).toFixed(1)}" cy="${y(value).toFixed(1)}" r="3" fill="${one.hollow ? "#fff" : colour}" stroke="${colour}"/>`
      : "",
  );

const marks = (spec, { x }) =>
  (spec.marks ?? []).flatMap((mark) => [
    `<line x1="${x(mark.x)}" x2="${x(mark.x)}" y1="${TOP}" y2="${HEIGHT - BOTTOM}" stroke="#555" stroke-dasharray="4 4"/>`,
    `<text x="${x(mark.x) + 5}" y="${TOP + 12}" stroke="#fff" stroke-width="4" paint-order="stroke">${escape(mark.label)}</text>`,
  ]);

// Names with their colours, in as many lines as they take, and how high the drawing is with them.
function legendOf(names) {
  const parts = [];
  let at = LEFT,
    row = HEIGHT - 18;
  for (const [name, colour, dash] of names) {
    const wide = 34 + 6.6 * name.length;
    if (at > LEFT && at + wide > WIDTH) [at, row] = [LEFT, row + 18];
    parts.push(
      dash
        ? `<line x1="${at}" x2="${at + 14}" y1="${row}" y2="${row}" stroke="${colour}" stroke-width="2" stroke-dasharray="${dash.join(" ")}"/>`
        : `<rect x="${at}" y="${row - 6}" width="12" height="12" fill="${colour}"/>`,
      `<text x="${at + 17}" y="${row + 4}">${escape(name)}</text>`,
    );
    at += wide;
  }
  return [parts, row + 18];
}

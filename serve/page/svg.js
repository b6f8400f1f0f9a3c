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
  const { min: low, max: high } = plot.scales.x,
    { min: bottom, max: top } = plot.scales.y;
  const x = (value) => LEFT + ((value - low) / (high - low || 1)) * (WIDTH - LEFT - RIGHT);
  const y = (value) =>
    HEIGHT - BOTTOM - ((Math.min(value, top) - bottom) / (top - bottom || 1)) * (HEIGHT - TOP - BOTTOM);
  const xs = plot.data[0];
  const path = (values) => {
    let out = "",
      pen = "M";
    values.forEach((value, i) => {
      if (value === null || value === undefined) {
        if (!spec.joined) pen = "M";
        return;
      }
      if (xs[i] < low || xs[i] > high) return;
      out += `${pen}${x(xs[i]).toFixed(1)},${y(value).toFixed(1)}`;
      pen = "L";
    });
    return out;
  };
  const area = (upper, lower) => {
    const kept = xs
      .map((_, i) => i)
      .filter((i) => upper[i] !== null && upper[i] !== undefined && xs[i] >= low && xs[i] <= high);
    const edge = (values, order) => order.map((i) => `${x(xs[i]).toFixed(1)},${y(values?.[i] ?? bottom).toFixed(1)}`);
    return kept.length ? `M${[...edge(upper, kept), ...edge(lower, kept.toReversed())].join("L")}Z` : "";
  };
  const parts = [
    `<rect width="100%" height="100%" fill="#fff"/>`,
    `<text x="${LEFT}" y="22" font-size="16" font-weight="600">${escape(spec.title)}</text>`,
  ];
  // The ticks of the chart on the page.
  const [across, up] = plot.axes.map((axis) => axis._splits.map((at, i) => [at, axis._values[i]]));
  for (const [value, text] of up)
    parts.push(
      `<line x1="${LEFT}" x2="${WIDTH - RIGHT}" y1="${y(value)}" y2="${y(value)}" stroke="#ddd"/>`,
      `<text x="${LEFT - 8}" y="${y(value) + 4}" text-anchor="end">${escape(text)}</text>`,
    );
  for (const [at, text] of across)
    parts.push(`<text x="${x(at)}" y="${HEIGHT - BOTTOM + 18}" text-anchor="middle">${escape(text ?? "")}</text>`);
  parts.push(
    `<text x="${LEFT - 8}" y="${TOP - 8}" text-anchor="end">${escape(spec.y.unit ?? "")}</text>`,
    `<text x="${WIDTH - RIGHT}" y="${HEIGHT - BOTTOM + 36}" text-anchor="end">${spec.x.time ? [low, high].map((at) => minute(local(at))).join(" to ") : escape(spec.x.label)}</text>`,
  );
  const legend = [];
  let row = 1;
  (spec.stack ?? []).forEach((part, i) => {
    const colour = paint(spec, "stack", i);
    parts.push(
      `<path d="${area(plot.data[row], i ? plot.data[row - 1] : null)}" fill="${colour}" fill-opacity="0.45" stroke="${colour}"/>`,
    );
    legend.push([part.name, colour]);
    row += 1;
  });
  (spec.lines ?? []).forEach((line, i) => {
    const colour = paint(spec, "lines", i);
    if (line.lo)
      parts.push(`<path d="${area(plot.data[row + 2], plot.data[row + 1])}" fill="${colour}" fill-opacity="0.2"/>`);
    parts.push(
      `<path d="${path(plot.data[row])}" fill="none" stroke="${colour}" stroke-width="2"${line.dash ? ` stroke-dasharray="${line.dash.join(" ")}"` : ""}/>`,
    );
    legend.push([line.name, colour, line.dash ?? []]);
    row += line.lo ? 3 : 1;
  });
  (spec.points ?? []).forEach((one, i) => {
    const colour = paint(spec, "points", i);
    plot.data[row].forEach((value, j) => {
      if (value !== null && xs[j] >= low && xs[j] <= high)
        parts.push(
          `<circle cx="${x(xs[j]).toFixed(1)}" cy="${y(value).toFixed(1)}" r="3" fill="${one.hollow ? "#fff" : colour}" stroke="${colour}"/>`,
        );
    });
    legend.push([one.name, colour]);
    row += 1;
  });
  for (const mark of spec.marks ?? []) {
    parts.push(
      `<line x1="${x(mark.x)}" x2="${x(mark.x)}" y1="${TOP}" y2="${HEIGHT - BOTTOM}" stroke="#555" stroke-dasharray="4 4"/>`,
      `<text x="${x(mark.x) + 5}" y="${TOP + 12}">${escape(mark.label)}</text>`,
    );
  }
  let at = LEFT,
    line = HEIGHT - 18;
  for (const [name, colour, dash] of legend) {
    const wide = 34 + 6.6 * name.length;
    if (at > LEFT && at + wide > WIDTH) [at, line] = [LEFT, line + 18];
    parts.push(
      dash
        ? `<line x1="${at}" x2="${at + 14}" y1="${line}" y2="${line}" stroke="${colour}" stroke-width="2" stroke-dasharray="${dash.join(" ")}"/>`
        : `<rect x="${at}" y="${line - 6}" width="12" height="12" fill="${colour}"/>`,
      `<text x="${at + 17}" y="${line + 4}">${escape(name)}</text>`,
    );
    at += wide;
  }
  const height = line + 18;
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" font-family="system-ui, sans-serif" font-size="12" fill="#222">${parts.join("")}</svg>\n`;
}

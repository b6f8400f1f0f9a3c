// The plot of a metric against the rate, and the bar of a utilization, as SVG.

const SVG = "http://www.w3.org/2000/svg";
const WIDTH = 900, HEIGHT = 380, LEFT = 74, RIGHT = 40, TOP = 14, BOTTOM = 46;

function draw(parent, name, attributes, text) {
  const node = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
  if (text !== undefined) node.textContent = text;
  parent.append(node);
  return node;
}

export function figure(value, digits = 4) {
  if (value === null || value === undefined) return "–";
  const whole = Math.abs(value) >= 1 ? String(Math.floor(Math.abs(value))).length : 0;
  const decimals = value === 0 ? 0 : Math.max(0, digits - whole);
  return value.toLocaleString("en", { minimumFractionDigits: decimals, maximumFractionDigits: decimals });
}

function ticks(low, high, count) {
  const rough = (high - low) / count;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 2.5, 5, 10].map((factor) => factor * power).find((size) => size >= rough);
  const found = [];
  for (let at = Math.ceil(low / step) * step; at <= high + step * 1e-9; at += step) found.push(at);
  return found;
}

export function plot(svg, curve, measured, here, rates) {
  svg.replaceChildren();
  svg.setAttribute("viewBox", `0 0 ${WIDTH} ${HEIGHT}`);
  const known = curve.points.filter((point) => point.value !== null);
  if (!known.length) return;
  const xs = curve.points.map((point) => point.rate);
  const tops = [...known.map((point) => Math.min(point.hi ?? point.value, 3 * point.value)), ...measured.map((point) => point.value)];
  const low = Math.min(...xs), high = Math.max(...xs), top = Math.max(...tops) * 1.05;
  const x = (rate) => LEFT + ((rate - low) / (high - low)) * (WIDTH - LEFT - RIGHT);
  const y = (value) => HEIGHT - BOTTOM - (Math.min(value, top) / top) * (HEIGHT - TOP - BOTTOM);

  const first = Math.max(low, Math.min(...rates)), last = Math.min(high, Math.max(...rates));
  draw(svg, "rect", { class: "range", x: x(first) - 2, y: TOP, width: Math.max(4, x(last) - x(first) + 4), height: HEIGHT - TOP - BOTTOM });
  for (const at of ticks(0, top, 5)) {
    draw(svg, "line", { class: "axis", x1: LEFT, x2: WIDTH - RIGHT, y1: y(at), y2: y(at) });
    draw(svg, "text", { x: LEFT - 8, y: y(at) + 4, "text-anchor": "end" }, figure(at, at < 10 && top < 10 ? 2 : 1));
  }
  for (const at of ticks(low, high, 7)) {
    draw(svg, "line", { class: "axis", x1: x(at), x2: x(at), y1: HEIGHT - BOTTOM, y2: HEIGHT - BOTTOM + 5 });
    draw(svg, "text", { x: x(at), y: HEIGHT - BOTTOM + 20, "text-anchor": "middle" }, figure(at, 1));
  }
  draw(svg, "text", { x: (LEFT + WIDTH - RIGHT) / 2, y: HEIGHT - 8, "text-anchor": "middle" }, "transactions per second");
  draw(svg, "text", { transform: `translate(16 ${(HEIGHT - BOTTOM + TOP) / 2}) rotate(-90)`, "text-anchor": "middle" }, curve.label);

  const edge = (side) => known.map((point) => `${x(point.rate)},${y(point[side] ?? (side === "hi" ? top : point.value))}`);
  draw(svg, "polygon", { class: "band", points: [...edge("hi"), ...edge("lo").reverse()].join(" ") });
  for (const part of runs(known)) {
    const points = part.map((point) => `${x(point.rate)},${y(point.value)}`).join(" ");
    draw(svg, "polyline", { class: part[part.length - 1].extrapolated ? "line beyond" : "line", points });
  }
  if (here.rate >= low && here.rate <= high) {
    draw(svg, "line", { class: "mark", x1: x(here.rate), x2: x(here.rate), y1: TOP, y2: HEIGHT - BOTTOM });
    if (here.value !== null) {
      draw(svg, "line", { class: "whisker", x1: x(here.rate), x2: x(here.rate), y1: y(here.lo ?? 0), y2: y(here.hi ?? top) });
      draw(svg, "circle", { class: "here", cx: x(here.rate), cy: y(here.value), r: 4.5 });
    }
  }
  for (const point of measured) {
    if (point.rate < low || point.rate > high) continue;
    const dot = draw(svg, "circle", { class: "dot", cx: x(point.rate), cy: y(point.value), r: 5 });
    draw(dot, "title", {}, `point ${point.name}: ${figure(point.value)} at ${figure(point.rate, 6)}/s`);
  }
}

// Neighbours within and outside the calibrated rates, joined where they meet.
function runs(points) {
  const found = [];
  for (const point of points) {
    const last = found[found.length - 1];
    if (last && last[last.length - 1].extrapolated === point.extrapolated) last.push(point);
    else found.push(last ? [{ ...last[last.length - 1], extrapolated: point.extrapolated }, point] : [point]);
  }
  return found;
}

export function gauge(svg, limit) {
  svg.replaceChildren();
  const most = Math.max(100, (limit.hi ?? limit.utilization_pct) * 1.02);
  const at = (pct) => `${(100 * pct) / most}%`;
  draw(svg, "rect", { class: "track", x: 0, y: 5, width: at(100), height: 12, rx: 4 });
  draw(svg, "rect", { class: limit.utilization_pct > 100 ? "over" : "fill", x: 0, y: 5, width: at(limit.utilization_pct), height: 12, rx: 4 });
  draw(svg, "line", { class: "span", x1: at(limit.lo), x2: at(limit.hi ?? most), y1: 11, y2: 11 });
  for (const end of [limit.lo, limit.hi ?? most]) draw(svg, "line", { class: "span", x1: at(end), x2: at(end), y1: 3, y2: 19 });
}

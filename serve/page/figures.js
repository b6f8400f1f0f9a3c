// Figures for readers: numbers, intervals, changes and dates.

export function figure(value, digits = 4) {
  if (value === null || value === undefined || Number.isNaN(value)) return "–";
  // Costs of single bytes are below any fixed number of decimals; below 1e-9 is rounding.
  if (Math.abs(value) >= 1e-9 && Math.abs(value) < 1e-3) return String(Number(value.toPrecision(digits)));
  const whole = Math.abs(value) >= 1 ? String(Math.floor(Math.abs(value))).length : 0;
  const decimals = value === 0 ? 0 : Math.min(6, Math.max(0, digits - whole));
  const text = value.toLocaleString("en", { minimumFractionDigits: decimals, maximumFractionDigits: decimals });
  return text.replace(/^-(?=[0.]+$)/, "");
}

export function within(part, digits = 4) {
  if (!part || part.value === null || part.lo === part.hi) return "";
  return `${figure(part.lo, digits)} … ${part.hi === null ? "no limit" : figure(part.hi, digits)}`;
}

export const whole = (value) =>
  value === null || value === undefined ? "–" : value.toLocaleString("en", { maximumFractionDigits: 0 });
export const change = (pct) => {
  const text = figure(pct, 2);
  return text === "–" ? text : `${pct > 0 && /[1-9]/.test(text) ? "+" : ""}${text} %`;
};
export const day = (iso) => (iso ? iso.slice(0, 10) : "–");
export const minute = (iso) => iso.slice(0, 16).replace("T", " ");
// Local times of the records have no zone: they are drawn as they stand.
export const seconds = (iso) => Date.parse(`${iso.length > 10 ? iso : `${iso}T00:00:00`}Z`) / 1000;
export const local = (s) => new Date(1000 * s).toISOString().slice(0, 19);

export function months(from, to) {
  return (seconds(to) - seconds(from)) / (30.44 * 86400);
}

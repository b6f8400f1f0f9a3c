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
export const counted = (count, what) => `${count} ${what}${count === 1 ? "" : "s"}`;
export const change = (pct) => {
  const text = figure(pct, 2);
  return text === "–" ? text : `${pct > 0 && /[1-9]/.test(text) ? "+" : ""}${text} %`;
};
export const day = (iso) => (iso ? iso.slice(0, 10) : "–");
export const minute = (iso) => iso.slice(0, 16).replace("T", " ");
const DAYS = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"];
const MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
// A date as planners write it: 30 Dec 2026.
export const dated = (iso) => `${Number(iso.slice(8, 10))} ${MONTHS[iso.slice(5, 7) - 1]} ${iso.slice(0, 4)}`;
// A local time of the records: Tue 10 Nov 10:45; with the year where it is not this one.
export function clock(iso) {
  if (!iso) return "–";
  const weekday = DAYS[new Date(`${iso.slice(0, 10)}T00:00Z`).getUTCDay()];
  const day = iso.startsWith(`${new Date().getFullYear()}`) ? dated(iso).slice(0, -5) : dated(iso);
  return `${weekday} ${day} ${iso.slice(11, 16)}`;
}
// Local times of the records have no zone: they are drawn as they stand.
export const seconds = (iso) => Date.parse(`${iso.length > 10 ? iso : `${iso}T00:00:00`}Z`) / 1000;
export const local = (s) => new Date(1000 * s).toISOString().slice(0, 19);

// Days from now until a date, below zero for one that is past.
export const daysUntil = (iso) => Math.ceil(seconds(iso.slice(0, 10)) / 86400 - Date.now() / 86400000);

export function lasting(days) {
  if (days < 14) return `${days} ${days === 1 ? "day" : "days"}`;
  return days < 61 ? `${Math.round(days / 7)} weeks` : `${figure(days / 30.44, 2)} months`;
}

const STALE_DAYS = 7;
// What to say of records that end too long ago to speak of today; empty for others.
export function staleness(lastDay) {
  const days = lastDay ? -daysUntil(lastDay) : 0;
  return days > STALE_DAYS ? `the last records are of ${day(lastDay)}, ${lasting(days)} ago` : "";
}

// How busy two periods were at each hour of the day, over the hours of the week that both have.

import { ask } from "/static/client.js";
import { chart } from "/static/chart.js";
import { seconds } from "/static/figures.js";

const HOURS = [...Array(24).keys()];
const hourOf = (start) => Number(start.slice(11, 13));
const hourOfWeek = (start) => 24 * new Date(1000 * seconds(start)).getUTCDay() + hourOf(start);

export async function dayShape(system, periods) {
  const [a, b] = await Promise.all([
    recorded(system, periods.a_from, periods.a_to, periods.shift),
    recorded(periods.other ?? system, periods.b_from, periods.b_to, periods.shift),
  ]);
  const later = new Set(b.start_local.map(hourOfWeek));
  const shared = new Set(a.start_local.map(hourOfWeek).filter((hour) => later.has(hour)));
  return chart({
    title: "CPU busy by hour of the day",
    x: { label: "local hour of the day", values: HOURS, digits: 2 },
    y: { label: "%", unit: "%" },
    lines: [
      { name: `A, ${a.system} ${periods.a_from} to ${periods.a_to}`, values: busyByHour(a, shared), colour: "c1" },
      { name: `B, ${b.system} ${periods.b_from} to ${periods.b_to}`, values: busyByHour(b, shared), colour: "c2" },
    ],
  });
}

function recorded(system, from, to, shift = "") {
  const span = new URLSearchParams({ from: `${from}T00:00:00`, to: `${to}T23:59:59`, every: "hour", shift });
  return ask(`/v1/systems/${encodeURIComponent(system)}/history?${span}`);
}

// Engines that were busy by engines online, in %: a ratio of sums.
function busyByHour(history, hours) {
  const [busy, online] = ["cp_busy", "cp_online"].map((kind) => history.columns.find((column) => column.kind === kind));
  const sums = HOURS.map(() => [0, 0]);
  history.start_local.forEach((start, i) => {
    if (!hours.has(hourOfWeek(start)) || busy.values[i] === null) return;
    const sum = sums[hourOf(start)];
    sum[0] += busy.values[i];
    sum[1] += online.values[i];
  });
  return sums.map(([used, there]) => (there ? (100 * used) / there : null));
}

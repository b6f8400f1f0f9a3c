// Two periods of a history side by side, by default the last week and the one before.

import { ask } from "/static/client.js";

const DAY_S = 86400;
// Periods are compared over the days of the week that both have.
export const FEWEST_DAYS = 8;
const dayOf = (start) => Date.parse(`${start.slice(0, 10)}T00:00:00Z`) / 1000;
const iso = (s) => new Date(1000 * s).toISOString().slice(0, 10);

export const daysOf = (history) => (dayOf(history.last_start_local) - dayOf(history.first_start_local)) / DAY_S + 1;

// The last week and the one before, as much of them as was recorded; of a shorter history all of it, twice.
export function weeks(history) {
  const days = daysOf(history),
    last = dayOf(history.last_start_local);
  const week = Math.min(7, days - 7);
  const [from, to] = [iso(last - (days - 1) * DAY_S), iso(last)];
  if (days < FEWEST_DAYS) return { a_from: from, a_to: to, b_from: from, b_to: to };
  return {
    a_from: iso(last - (week + 6) * DAY_S),
    a_to: iso(last - 7 * DAY_S),
    b_from: iso(last - (week - 1) * DAY_S),
    b_to: to,
  };
}

// What changed from the first period to the second, of one system or with another.
export async function changed(system, periods) {
  const { changes } = await ask(`/v1/systems/${encodeURIComponent(system)}/periods?${new URLSearchParams(periods)}`);
  return changes;
}

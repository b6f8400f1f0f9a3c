// Metric names and units in a planner's words. A name of a new metric is read by its parts, so none is ever missing.

const NAMES = {
  etr_tps: "External transaction rate (ETR)",
  itr_tps: "Internal transaction rate (ITR)",
  cpu_busy_pct: "CPU busy",
  machine_busy_pct: "CPC busy",
  ziip_busy_pct: "zIIP busy",
  rate_tps: "Transaction rate",
  cpu_us_per_tran: "CPU per transaction",
  response_ms: "Mean response",
  response_p90_ms: "90th percentile of response",
  msu: "MSU",
  r4ha_msu: "R4HA (MSU)",
  utilization_pct: "Utilization",
  users: "Users",
  limit_pct: "Use of the limit",
  ziip_us_per_tran: "zIIP time per transaction",
  service_cpu_us_per_tran: "Own CPU per transaction",
  uncaptured_us_per_tran: "Share of uncaptured CPU per transaction",
};
const ENDINGS = [
  ["_cpu_us_per_tran", " CPU per transaction"],
  ["_cpu_pct", " CPU"],
  ["_response_ms", " response time"],
  ["_rate_tps", " rate"],
  ["_tps", " rate"],
];
const SPELT = { avg: "average", io: "I/O", max: "highest", min: "lowest", p90: "90th percentile", stddev: "standard deviation" };
const SHORT = new Set(
  "aor cf cics csa csm dasd db2 dedb dli ecsa emh for http ims jvm lpar lsqa lu2 mips mq sdt semh srb tor zcee ziip".split(" "),
);

export function words(metric) {
  if (NAMES[metric]) return NAMES[metric];
  // A unit at the end is said beside the figure.
  const [ending, said] = ENDINGS.find(([end]) => metric.endsWith(end)) ?? [/(?<!_per)_(mb_per_s|per_s|ms|s|pct|kb|mb)$/.exec(metric)?.[0] ?? "", ""];
  const parts = metric
    .slice(0, metric.length - ending.length)
    .split("_")
    .map((part, i) => (i && part === "for" ? part : spelt(part)));
  const text = parts.join(" ") + said;
  return text[0].toUpperCase() + text.slice(1);
}

// A class, group or resource in the field's own spelling.
export const spelt = (name) => SPELT[name] ?? (SHORT.has(name) ? name.toUpperCase() : onZiips(name));
// Parts of a class by engine, also within a sentence.
export const onZiips = (text) => text.replace(/(\S):ziip\b/g, "$1 on zIIPs");
// A figure with what it is of.
export const named = (metric, of) => (of ? `${words(metric)}, ${spelt(of)}` : words(metric));

/** What is wrong where a view asks for a system with a network, and the model has none of this one. */
export function withoutNetwork(known, system) {
  if (known.problem) return known.problem;
  if (known.byCondition.has(system))
    return new Error(
      `${system} was measured at conditions, without a load that could change: What if asks about these.`,
    );
  return new Error(`The model cannot be asked about ${system}: see Model for the reason.`);
}

// A unit as people write it, as on the command line: % for pct, µs for us.
export const unit = (name) => (!name || name === "count" ? "" : name.replace(/\bpct\b/g, "%").replace(/\bus\b/g, "µs"));

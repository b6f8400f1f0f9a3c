// Terms of the field, explained where the pointer or the focus rests on them.

import { h } from "/static/dom.js";

const MEANINGS = {
  "External transaction rate (ETR)": "External transaction rate: transactions that end per second.",
  "Internal transaction rate (ITR)":
    "Rate that the same engines would give at 100 % busy if cost per transaction stayed: ETR by busy.",
  "CPU per transaction": "Time of the general-purpose engines for each transaction.",
  "90th percentile of response": "Nine of ten transactions end within this time.",
  "CPU busy": "Share of the online time in which the general-purpose engines (CPs) of the LPAR were busy.",
  "CPC busy": "Part of the machine's shared general-purpose engines that all its LPARs use together.",
  headroom: "Growth that is possible before a target is reached: as a share of the load, or as time.",
  "zIIP busy": "Share of the online time in which the zIIPs of the LPAR were busy.",
  MSU: "Million service units per hour: the unit of capacity for software charges.",
  "R4HA":
    "Mean MSU of the last four hours; many software charges depend on its peak of the month.",
  "share of the machine by weight or cap":
    "The engines that the LPAR can get: its share of the shared engines by weight, engines that others leave, at most its cap.",
  "capture ratio": "Share of the CPU time that WLM charged to service classes; the rest is uncaptured.",
  PI: "Performance index: 1 or less where work meets its goal, 2 where it takes twice as long.",
  using: "Time the work has an engine or device.",
  uncaptured: "CPU time that WLM charged to no class.",
  "probability of being the bottleneck": "Share of the model's posterior samples in which this resource has the highest utilization.",
  "service class": "Work that Workload Manager (WLM) manages towards one goal.",
  importance: "Which goal WLM gives up last: 1 is the highest.",
  "90 % interval": "The range that contains the true value in 90 of 100 cases, by the model's uncertainty.",
  TOR: "Terminal-owning regions: CICS regions that receive transactions and pass them on.",
  AOR: "Application-owning regions: CICS regions that run the programs.",
  FOR: "File-owning regions: CICS regions that access files for the others.",
  zIIP: "Engine for eligible work (Java, Db2 requests by network, z/OS Connect); not charged as general capacity.",
  "held out": "Not used in the fit, and predicted from the other data.",
  gate: "The limits for the held-out errors of a system.",
};

export const term = (name, shown = name) =>
  MEANINGS[name] ? h("abbr", { title: MEANINGS[name], tabIndex: 0 }, shown) : shown;

// The same in the cells of a table, which the keyboard passes over.
export const explained = (text) => (MEANINGS[text] ? h("abbr", { title: MEANINGS[text] }, text) : text);

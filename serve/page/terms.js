// Terms of the field, explained where the pointer or the focus rests on them.

import { h } from "/static/dom.js";

const MEANINGS = {
  "Transaction rate (ETR)": "External transaction rate: transactions that end per second.",
  "Internal transaction rate (ITR)":
    "Rate that the same engines would give at 100 % busy if cost per transaction stayed: ETR by busy.",
  "CPU per transaction": "Time of the general-purpose engines for each transaction.",
  "90th percentile of response": "Nine of ten transactions end within this time.",
  "CPU busy": "Part of the time online that the general-purpose engines (CPs) of the LPAR were busy.",
  "CPC busy": "Part of the machine's shared general-purpose engines that all its LPARs use together.",
  headroom: "How much more work fits within the targets: as a part of the load, or as the time until growth has used it up.",
  "zIIP busy": "Part of the time online that the zIIPs of the LPAR were busy.",
  MSU: "Million service units an hour: CPU time at the speed by which software is charged.",
  "R4HA":
    "Mean MSU of the last four hours; its peak of the month is what much software is charged by.",
  "share of the machine by weight or cap":
    "The engines the LPAR can get: its weight among all times the shared engines, what others leave, at most its cap.",
  using: "Time the work has an engine or device.",
  uncaptured: "CPU that the engines spent and WLM charged to no class.",
  "chance to fill first": "Part of the model's draws in which this resource is the first to fill.",
  "service class": "Work that Workload Manager (WLM) manages towards one goal.",
  importance: "Which goal WLM gives up last: 1 is the highest.",
  "90 % interval": "The range that holds nine of ten such figures, by the model's own uncertainty.",
  TOR: "Terminal-owning regions: CICS regions that receive transactions and pass them on.",
  AOR: "Application-owning regions: CICS regions that run the programs.",
  FOR: "File-owning regions: CICS regions that access files for the others.",
  zIIP: "Engine for eligible work (Java, Db2 requests by network, z/OS Connect); not charged as general capacity.",
  "held out": "Not used in the fit that predicted it: the model had to find it from the rest.",
  gate: "The limits that held-out errors of a system have to keep.",
};

export const term = (name, shown = name) =>
  MEANINGS[name] ? h("abbr", { title: MEANINGS[name], tabIndex: 0 }, shown) : shown;

// The same in the cells of a table, which the keyboard passes over.
export const explained = (text) => (MEANINGS[text] ? h("abbr", { title: MEANINGS[text] }, text) : text);

// Terms of the field, explained where the pointer or the focus rests on them.

import { h } from "/static/dom.js";

const MEANINGS = {
  "CPU busy": "Part of the time online that the general-purpose engines (CPs) of the LPAR were busy.",
  "Machine busy": "Part of the machine's shared general-purpose engines that all its LPARs use together.",
  headroom: "What is left: engines less those in use at the load, in percent points of busy.",
  MSU: "Million service units an hour: CPU time at the speed by which software is charged.",
  "rolling 4-hour average":
    "Mean MSU of the last four hours; its peak of the month is what much software is charged by.",
  "share by weight":
    "The engines PR/SM guarantees the LPAR when the machine is full: its weight among all, times the shared engines.",
  bottleneck: "The resource that fills first as the load grows.",
  using: "Time the work has an engine or device.",
  waiting: "Time the work waits for an engine, a limit or a place.",
  uncaptured: "CPU that the engines spent and WLM charged to no class.",
  "service class": "Work that Workload Manager (WLM) manages towards one goal.",
  importance: "Which goal WLM gives up last: 1 is the highest.",
  "90 % interval": "The range that holds nine of ten such figures, by the model's own uncertainty.",
  TOR: "Terminal-owning regions: CICS regions that receive transactions and pass them on.",
  AOR: "Application-owning regions: CICS regions that run the programs.",
  FOR: "File-owning regions: CICS regions that access files for the others.",
  zIIP: "Engine for eligible work (Java, Db2 requests by network, z/OS Connect); not charged as general capacity.",
  SMT: "Two threads on one zIIP core.",
  "held out": "Not used in the fit that predicted it: the model had to find it from the rest.",
  gate: "The limits that held-out errors of a system have to keep.",
  extrapolated: "Outside what was measured: a rate, or a number of engines.",
};

export const term = (name, shown = name) =>
  MEANINGS[name] ? h("abbr", { title: MEANINGS[name], tabIndex: 0 }, shown) : shown;

// Data: the verdict of the last check, what was loaded, which hours are there, and where holes are.

import { ask } from "/static/client.js";
import { chart } from "/static/chart.js";
import { h, refusal, section } from "/static/dom.js";
import { figure, minute, seconds } from "/static/figures.js";
import { table } from "/static/table.js";

const VERDICTS = { pass: "Sound: every expectation is met.", warn: "Usable, with warnings.", fail: "Not fit for use." };

export async function data(body) {
  const [quality, files] = await Promise.allSettled([ask("/v1/quality"), ask("/v1/files")]);
  body.append(quality.status === "fulfilled" ? verdict(quality.value) : refusal(quality.reason));
  if (files.status !== "fulfilled") {
    body.append(refusal(files.reason));
    return;
  }
  body.append(hours(files.value), gaps(files.value), loaded(files.value));
}

function verdict(quality) {
  if (!quality.verdict)
    return section("Last check", h("p", {}, "The data were not checked yet: run etalon build or etalon check."));
  const counts = quality.counts;
  return section(
    "Last check",
    h("p", { className: `headline ${quality.verdict}` }, h("strong", {}, VERDICTS[quality.verdict])),
    h(
      "p",
      {},
      `${counts.pass ?? 0} expectations met, ${counts.warn ?? 0} ${counts.warn === 1 ? "warning" : "warnings"}, ${counts.fail ?? 0} critical; checked ${minute(quality.checked_at)} UTC. `,
      h("a", { href: "/quality/index.html" }, "The whole report"),
    ),
    quality.problems.length
      ? table(
          [
            { name: "Expected" },
            { name: "not so for", number: true, text: (v) => v },
            { name: "what to do" },
            { name: "detail" },
          ],
          quality.problems.map((one) => [
            one.title,
            `${figure(one.unexpected, 1)} of ${figure(one.checked, 1)}`,
            one.advice,
            one.page ? h("a", { href: `/quality/${one.page}` }, "detail") : "",
          ]),
          "What needs attention",
        )
      : null,
  );
}

function hours(files) {
  const days = [...new Set(Object.values(files.days).flatMap((known) => Object.keys(known)))].sort();
  if (!days.length) return "";
  const lines = Object.entries(files.days)
    .slice(0, 8)
    .map(([system, known], i) => ({
      name: system,
      values: days.map((day) => known[day] ?? null),
      colour: `c${i + 1}`,
      width: 1.5,
    }));
  return section(
    "Hours recorded by day",
    chart({
      title: "Hours recorded by day",
      x: { label: "day", values: days.map(seconds), time: true },
      y: { label: "hours", unit: "h", least: 24 },
      lines,
    }),
  );
}

function gaps(files) {
  if (!files.gaps.length) return section("Gaps", h("p", {}, "No history has a hole."));
  return section(
    "Gaps",
    table(
      [
        { name: "System" },
        { name: "from" },
        { name: "to" },
        { name: "hours", number: true, text: (v) => figure(v, 3) },
        { name: "why" },
      ],
      files.gaps.map((gap) => [
        gap.system,
        minute(gap.from_local),
        minute(gap.to_local),
        gap.hours,
        gap.ipl_local ? `down: IPL ${minute(gap.ipl_local)}` : "no record says",
      ]),
      "Holes in the histories",
    ),
  );
}

const loaded = (files) =>
  section(
    "Files loaded",
    table(
      [
        { name: "File" },
        { name: "kind" },
        { name: "status" },
        { name: "loaded, UTC" },
        { name: "MB", number: true, text: (v) => figure(v / 1e6, 3) },
        { name: "records", number: true, text: (v) => figure(v, 1) },
        { name: "quarantined", number: true, text: (v) => figure(v, 1) },
        { name: "said" },
      ],
      files.files.map((file) => [
        file.file,
        file.kind,
        file.status,
        minute(file.loaded_at),
        file.bytes,
        file.records,
        file.quarantined,
        file.message ?? "",
      ]),
      "Files, the newest first",
    ),
  );

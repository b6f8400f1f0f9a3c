// Data: the verdict of the last check, what was loaded, which hours are there, and where holes are.

import { ask } from "/static/client.js";
import { h, refusal, section, svg } from "/static/dom.js";
import { clock, figure, minute, whole } from "/static/figures.js";
import { table } from "/static/table.js";

const VERDICTS = { pass: "Sound: every expectation is met.", warn: "Usable, with warnings.", fail: "Not fit for use." };

export async function data(body) {
  const [quality, files] = await Promise.allSettled([ask("/v1/quality"), ask("/v1/files")]);
  body.append(quality.status === "fulfilled" ? verdict(quality.value) : refusal(quality.reason));
  if (files.status !== "fulfilled") {
    body.append(refusal(files.reason));
    return;
  }
  body.append(hours(files.value), gaps(files.value), ...loaded(files.value));
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
            { name: "not met for", number: true, text: (v) => v },
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

const DAY_MS = 86400000;
const FULL_HOURS = 23;

// A row for each system, its days from the first to the last of all beside each other.
function hours(files) {
  const recorded = [...new Set(Object.values(files.days).flatMap((known) => Object.keys(known)))].sort();
  if (!recorded.length) return "";
  const count = Math.round((Date.parse(recorded.at(-1)) - Date.parse(recorded[0])) / DAY_MS) + 1;
  const days = Array.from({ length: count }, (_, i) =>
    new Date(Date.parse(recorded[0]) + i * DAY_MS).toISOString().slice(0, 10),
  );
  const rows = Object.entries(files.days).map(([system, known]) => {
    const own = Object.keys(known).sort();
    const short = own.filter((day) => known[day] < FULL_HOURS).length;
    return [system, strip(days, known, system), own.length, short, own[0], own.at(-1)];
  });
  return section(
    "Hours recorded by day",
    table(
      [
        { name: "System" },
        { name: `${days[0]} to ${days.at(-1)}` },
        { name: "days", number: true, text: (v) => v },
        { name: `of which short of ${FULL_HOURS} hours`, number: true, text: (v) => v },
        { name: "first day" },
        { name: "last day" },
      ],
      rows,
      "Hours recorded by day",
    ),
    h("p", { className: "quiet" }, "A full block is a whole day, a low one a part of it; where there is none, nothing was recorded."),
  );
}

function strip(days, known, system) {
  const width = 100 / days.length;
  const height = 12;
  const block = (day, i) => {
    const part = Math.min(known[day] / 24, 1);
    return svg(
      "rect",
      {
        class: known[day] < FULL_HOURS ? "part4" : "part0",
        x: `${i * width}%`,
        y: 2 + height * (1 - part),
        width: `${width}%`,
        height: height * part,
      },
      svg("title", {}, `${day}: ${figure(known[day], 3)} h`),
    );
  };
  const missing = days.filter((day) => !known[day]).length;
  return svg(
    "svg",
    { class: "bar strip", role: "img", "aria-label": `${system}: ${days.length - missing} of ${days.length} days recorded` },
    ...days.flatMap((day, i) => (known[day] ? [block(day, i)] : [])),
  );
}

function gaps(files) {
  const title = "Gaps and lost records, local time";
  if (!files.gaps.length) return section(title, h("p", {}, "No history has a gap, and SMF lost no records."));
  return section(title, gapsTable(files.gaps));
}

// Times without records, each with its cause: overview and data view show the same.
export const gapsTable = (gaps) =>
  table(
    [
      { name: "System" },
      { name: "from" },
      { name: "to" },
      { name: "hours", number: true, text: (v) => figure(v, 3) },
      { name: "records", prose: true },
      { name: "cause", prose: true },
    ],
    gaps.map((gap) => [gap.system, clock(gap.from_local), clock(gap.to_local), gap.hours, gap.records, gap.cause]),
    "Times without records, and why",
  );

const MOST_NAMED = 5,
  MOST_FILES = 20;

// Files with the same fault are one row; the others are listed one by one.
function loaded(files) {
  const faulty = (file) => file.message || file.quarantined || file.status !== "loaded";
  const fault = (file) => `${file.status} ${file.kind} ${(file.message ?? "").replaceAll(file.file, "")}`;
  const faults = [...Map.groupBy(files.files.filter(faulty), fault).values()];
  const sum = (some, key) => some.reduce((total, file) => total + (file[key] ?? 0), 0);
  const names = (some) => {
    const more = some.length - MOST_NAMED;
    const first = some.slice(0, MOST_NAMED).map((file) => file.file);
    return first.join(", ") + (more > 0 ? ` and ${more} more` : "");
  };
  return [
    faults.length
      ? section(
          "Files with faults",
          table(
            [
              { name: "files", number: true, text: (v) => v },
              { name: "status" },
              { name: "kind" },
              { name: "what is wrong" },
              { name: "records", number: true, text: whole },
              { name: "quarantined", number: true, text: whole },
              { name: "which" },
            ],
            faults.map((some) => [
              some.length,
              some[0].status,
              some[0].kind,
              some[0].message || (some[0].quarantined ? "some records could not be decoded" : ""),
              sum(some, "records"),
              sum(some, "quarantined"),
              names(some),
            ]),
            "Faults of files, each with the files that have it",
          ),
        )
      : "",
    section("Files loaded", ...sound(files.files.filter((file) => !faulty(file)))),
  ];
}

// The newest files at first; those before them on request.
function sound(files) {
  const listed = (some, title) =>
    table(
      [
        { name: "File" },
        { name: "kind" },
        { name: "loaded, UTC" },
        { name: "size", number: true, text: size },
        { name: "records", number: true, text: whole },
      ],
      some.map((file) => [file.file, file.kind, minute(file.loaded_at), file.bytes, file.records]),
      title,
    );
  const rest = files.slice(MOST_FILES);
  return [
    listed(files.slice(0, MOST_FILES), "Files without faults, the newest first"),
    rest.length ? h("details", {}, h("summary", {}, `${whole(rest.length)} files before these`), listed(rest, "Earlier files")) : null,
  ];
}

const size = (bytes) =>
  bytes < 1e3 ? `${whole(bytes)} B` : bytes < 1e6 ? `${figure(bytes / 1e3, 3)} kB` : `${figure(bytes / 1e6, 3)} MB`;

"""One quality run: read, check, write the site, say the verdict."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import duckdb

from expectations.baseline import Baseline
from expectations.chart import Interval, busy_chart
from expectations.frame import Frame
from expectations.frames import Domains, read_frames
from expectations.pages import Chart, front_page, stylesheet, suites_page
from expectations.result import Finding, QualityError, QualityLocked, QualityResult
from expectations.rules import RULES
from expectations.suites import validate
from model import documents

_MOST_CHARTS = 12


def run(
    db_path: str | Path,
    site_dir: str | Path,
    *,
    baseline: Iterable[Baseline] = (),
    domains: Domains | None = None,
    manifest: str | Path | None = None,
    extent: str = "the whole warehouse",
) -> QualityResult:
    """Check a built warehouse and put the data-quality site at `site_dir`, in place of the one before.

    `baseline` are expectations that follow from the record layouts, `domains` the bounds of metrics that are columns of
    marts; `manifest` is dbt's manifest.json, from which findings about a mart column take its definition; `extent` says
    on the front page what was checked. Opens the warehouse read-only. QualityError if there is no warehouse or its
    marts have not been built, QualityLocked while another process writes it.
    """
    database, site = Path(db_path), Path(site_dir)
    if not database.is_file():
        raise QualityError(f"{database}: no warehouse; load files first with `etalon ingest PATH`")
    try:
        with duckdb.connect(str(database), read_only=True) as connection:
            frames = read_frames(connection, baseline, domains)
            ledger = _ledger(connection)
    except (duckdb.CatalogException, duckdb.BinderException) as error:
        message = f"{database}: this version of Etalon has not built the marts: run `etalon build`"
        raise QualityError(f"{message} ({str(error).splitlines()[0]})") from error
    except duckdb.IOException as error:
        if "lock" in str(error).lower():
            message = f"{database}: another process is writing to the warehouse; wait until it ends and try again"
            raise QualityLocked(f"{message} ({error})") from error
        raise QualityError(f"{database} is not a readable DuckDB database: {error}") from error
    building = site.with_name(site.name + ".new")
    shutil.rmtree(building, ignore_errors=True)
    building.mkdir(parents=True)
    made_at = datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")
    definitions = _definitions(manifest)
    findings = [_defined(finding, definitions) for finding in validate(frames, RULES)]
    result = QualityResult(tuple(findings), site / "index.html", extent)
    page = front_page(result, made_at=made_at, charts=_charts(frames, findings), files=ledger)
    (building / "index.html").write_text(page, encoding="utf-8")
    titles = {frame.name: frame.title for frame in frames}
    (building / "suites.html").write_text(suites_page(findings, titles), encoding="utf-8")
    (building / "page.css").write_text(stylesheet(), encoding="utf-8")
    (building / "quality.json").write_text(documents.dumps(result.as_dict(), indent=1), encoding="utf-8")
    _swap(building, site)
    return result


def _swap(building: Path, site: Path) -> None:
    """Put the new site in the place of the old one."""
    old = site.with_name(site.name + ".old")
    shutil.rmtree(old, ignore_errors=True)
    if site.exists():
        site.rename(old)
    building.rename(site)
    shutil.rmtree(old, ignore_errors=True)


def _ledger(connection: duckdb.DuckDBPyConnection) -> list[dict[str, Any]]:
    query = (
        "select path as file, status, bytes, records, decoded, skipped, quarantined, "
        "coalesce(replace(message, path || ': ', ''), '') as message "
        "from meta.ledger where status <> 'superseded' order by path"
    )
    return connection.sql(query).to_arrow_table().to_pylist()


def _definitions(manifest: str | Path | None) -> Mapping[str, str]:
    """What each mart column means, as `mart.column`, with its formula; empty without a manifest that can be read."""
    try:
        nodes = json.loads(Path(manifest or "").read_text(encoding="utf-8"))["nodes"]
    except (OSError, ValueError, KeyError):
        return {}
    meanings = {}
    for node in nodes.values():
        if node.get("schema") != "marts":
            continue
        for name, column in node.get("columns", {}).items():
            formula = (column.get("config", {}).get("meta") or column.get("meta") or {}).get("formula")
            meanings[f"{node['name']}.{name}"] = column.get("description", "") + (f" ({formula})" if formula else "")
    return meanings


def _defined(finding: Finding, definitions: Mapping[str, str]) -> Finding:
    """The finding with the definition of the metric it is about."""
    metric = next(rule.metric for rule in RULES if rule.name == finding.rule)
    return replace(finding, about=f"{metric}: {definitions[metric]}") if metric in definitions else finding


def _charts(frames: list[Frame], findings: list[Finding]) -> list[Chart]:
    """Busy per interval of each system, suspect intervals marked."""
    rows = next(frame.rows for frame in frames if frame.name == "utilization")
    steps = next(frame.rows for frame in frames if frame.name == "interval_sequence")
    adjoining = steps[steps["hole_s"].abs() <= 1]
    follows = set(zip(adjoining["system"], adjoining["interval"], strict=True))
    suspect = {
        (example.get("system"), example.get("interval"))
        for finding in findings
        for example in finding.examples
        if not finding.success
    }
    charts = []
    engines = rows[rows["engine_type"] == "CP"]
    for system, group in engines.groupby("system", sort=True):
        intervals = [
            Interval(at, busy, (system, at) in follows, (system, at) in suspect)
            for at, busy in zip(group["interval"], group["cpu_busy_pct"], strict=True)
        ]
        names = " and ".join(name for name in sorted(set(group["system_id"])) if name != system)
        count = f"{names + ': ' if names else ''}{group['engines'].max()} engines, {len(intervals)} intervals, in UTC"
        charts.append(Chart(str(system), count, busy_chart(intervals, f"Busy of {system} by interval")))
    return charts[:_MOST_CHARTS]

"""`etalon demo`: the whole way once, from published measurements to an answer over HTTP."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pipelines import answer_text, asking, steps, text
from pipelines.exits import EtalonError, Exit
from pipelines.home import PROJECT, ROOT, Home
from pipelines.progress import Reporter

SYSTEMS = ("cics52-18cp", "cics53-18cp", "ims14-ff-haldb-z13", "ims14-ff-haldb-z14", "subsystems")
# A rate that was run and printed, whose CPU figures nobody published.
QUESTION = {"system": "cics53-18cp", "at": {"etr_tps": 110560.9}}


def run(home: Home, reporter: Reporter) -> str:
    """Run every step over `home` and return the summary.

    Raises EtalonError when a critical expectation fails or the model does not pass its gate.
    """
    with reporter.step("writing dumps of studies and a generated night") as advance:
        for done, system in enumerate(SYSTEMS):
            advance(done, len(SYSTEMS))
            steps.render([system], home.lab)
        reporter.note(f"{sum(path.stat().st_size for path in _inputs(home)) / 1e6:.1f} MB")
    with reporter.step("ingesting them"):
        reports = steps.ingest(home, _inputs(home))
        failed = [report.message for report in reports if report.exit_code]
        if failed:
            raise EtalonError("; ".join(failed), Exit(int(max(report.exit_code for report in reports))))
    with reporter.step("building and testing the marts"):
        steps.build(home)
    with reporter.step("checking data quality"):
        quality = steps.check(home)
        reporter.note(steps.quality_line(quality))
    if quality.verdict == "fail":
        raise EtalonError(f"a critical expectation failed; see {quality.report}", Exit.QUALITY)
    with reporter.step("publishing the snapshot"):
        steps.publish(home)
    with reporter.step("calibrating, validating, registering"):
        fitted = steps.fit(home)
        reporter.note(fitted.line)
    if not fitted.promoted:
        raise EtalonError(fitted.line, Exit.GATE)
    with reporter.step("asking the service over HTTP"), asking.service(home) as address:
        answer = asking.ask(address, "/v1/predict", QUESTION)
    return summary(home, reports, quality, fitted, answer)


def _inputs(home: Home) -> list[Path]:
    """Files of the lab with measurements; its manifests only describe them."""
    return [path for system in SYSTEMS for path in sorted(home.lab.glob(f"{system}.*")) if path.suffix != ".json"]


def summary(home: Home, reports: list[Any], quality: Any, fitted: Any, answer: Mapping[str, Any]) -> str:
    """One screen: what was read, whether it can be believed, how well the model predicts, the answer, what next."""
    totals = {name: sum(getattr(report, name) for report in reports) for name in ("records", "decoded", "quarantined")}
    skipped = sum(count for report in reports for count in report.skipped.values())
    checkout = PROJECT == ROOT
    return "\n".join(
        [
            "",
            f"Records   {totals['records']:,} read, {totals['decoded']:,} decoded, {skipped:,} skipped, "
            f"{totals['quarantined']:,} quarantined",
            f"Quality   {steps.quality_line(quality).removeprefix('quality ')}",
            f"          {_short(quality.report)}",
            f"Model     {fitted.line}",
            "",
            "Predicted without the point, against its measurement:",
            text.table(held_out(fitted.validation), HELD_OUT, "  "),
            "",
            answer_text.answer(answer),
            "",
            "Next (after `source .venv/bin/activate`):" if checkout and not os.environ.get("VIRTUAL_ENV") else "Next:",
            '  etalon sql "select system_id, etr_tps, cpu_us_per_tran from marts.fct_point '
            'where itr_tps > 0 order by 1, 2"',
            "  etalon size cics53-18cp --at etr_tps=200000 --max-busy-pct 90",
            "  etalon serve      the planner's page",
            *(["  dagster dev       the pipelines"] if checkout else []),
        ]
    )


HELD_OUT = {
    "system": "system",
    "etr_tps": "rate/s",
    "metric": "metric",
    "measured": "measured",
    "predicted": "predicted",
    "error_pct": "error %",
    "interval": "90 % interval",
    "covered": "held",
}


def held_out(validation: Any) -> list[dict[str, Any]]:
    """The held-out rows of totals."""
    rows = [row for row in validation.to_dict()["rows"] if row["role"] == "total"]
    return [row | {"interval": f"{text.figure(row['lo'])} … {text.figure(row['hi'])}"} for row in rows]


def _short(path: Path) -> str:
    try:
        return str(path.relative_to(Path.cwd()))
    except ValueError:
        return str(path)

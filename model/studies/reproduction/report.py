"""What came of a reproduction, for readers and programs: plain values, CSV, and a document."""

import csv
import io
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from model.names import csv_row
from model.studies.document import Document, Table
from model.studies.reproduction.verdicts import EQUAL, EXCEPTED, FAILING, STATEMENT, Result

VERDICTS = (EQUAL, EXCEPTED, FAILING)
HEADS = (
    "table",
    "condition",
    "metric",
    "unit",
    "published",
    "computed",
    "difference",
    "verdict",
    "reading",
    "note",
)
_REMARKABLE = ((FAILING, "Failing"), (EXCEPTED, "Excepted, with the arithmetic"))

Results = Mapping[str, Sequence[Result]]


def summary(results: Iterable[Result]) -> dict[str, int]:
    """Counts: `values`, and of them `equal`, `excepted` and `failing`; statements are no values."""
    counted = Counter(result.verdict for result in results)
    return {"values": sum(counted[verdict] for verdict in VERDICTS), **{name: counted[name] for name in VERDICTS}}


def total(results: Results) -> dict[str, int]:
    """The summary over all systems."""
    return summary(result for outcomes in results.values() for result in outcomes)


def as_dict(results: Results) -> dict[str, Any]:
    """Plain values for JSON."""
    return {
        "summary": total(results),
        "systems": [
            {
                "system": system,
                **summary(outcomes),
                "statements": sum(result.verdict == STATEMENT for result in outcomes),
                "results": [_plain(result) for result in outcomes],
            }
            for system, outcomes in results.items()
        ],
    }


def as_csv(results: Results) -> str:
    """Every figure as a row."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(("system", *HEADS))
    for system, outcomes in results.items():
        writer.writerows(csv_row((system, *row.values())) for row in map(_shown, outcomes))
    return text.getvalue()


def document(results: Results) -> Document:
    """Counts by system, then every exception and failure with its arithmetic, then every figure."""
    sections: dict[str, Table | Sequence[str]] = {"": _counts(results)}
    sections |= {title: lines for verdict, title in _REMARKABLE if (lines := _of(results, verdict))}
    sections |= {
        system: Table(HEADS, [list(_shown(result).values()) for result in outcomes])
        for system, outcomes in results.items()
    }
    return Document("Published figures, computed from records", _sentence(results), sections)


def _of(results: Results, verdict: str) -> list[str]:
    """A line of words for every figure with this verdict."""
    return [
        f"{system}: {named(result)}, printed {result.figure.value}: {why(result)}"
        for system, outcomes in results.items()
        for result in outcomes
        if result.verdict == verdict
    ]


def named(result: Result) -> str:
    """Metric, table and condition of a figure."""
    figure = result.figure
    return f"{figure.metric} of {figure.table}" + (f" [{figure.condition}]" if figure.condition else "")


def why(result: Result) -> str:
    """What was computed and by which arithmetic, or why nothing was."""
    if result.computed is None:
        return result.note
    return f"{result.computed:.10g} computed" + (f" ({result.note})" if result.note else "")


def _sentence(results: Results) -> str:
    counts = total(results)
    statements = sum(result.verdict == STATEMENT for outcomes in results.values() for result in outcomes)
    return (
        f"{counts['values']} published values of {len(results)} systems: {counts['equal']} come out of the records as "
        f"printed, {counts['excepted']} are contradicted by the paper itself, {counts['failing']} fail. "
        f"{statements} {'statement is no value and is' if statements == 1 else 'statements are no values and are'} "
        "listed only."
    )


def _counts(results: Results) -> Table:
    rows = []
    for system, outcomes in results.items():
        counts = [*summary(outcomes).values(), sum(result.verdict == STATEMENT for result in outcomes)]
        rows.append([system, *map(str, counts)])
    return Table(("system", "values", *VERDICTS, "statements"), rows)


def _plain(result: Result) -> dict[str, Any]:
    figure = result.figure
    return {
        "study": figure.study,
        "table": figure.table,
        "condition": figure.condition,
        "metric": figure.metric,
        "unit": figure.unit,
        "kind": figure.kind,
        "published": figure.value,
        "computed": result.computed,
        "difference": result.difference,
        "verdict": result.verdict,
        "reading": result.reading,
        "note": result.note,
    }


def _shown(result: Result) -> dict[str, str]:
    plain = _plain(result)
    numbers = {name: "" if plain[name] is None else f"{plain[name]:.10g}" for name in ("computed", "difference")}
    return {head: numbers.get(head, str(plain[head])) for head in HEADS}

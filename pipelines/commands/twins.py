"""Twins: their records, the truth of their questions, and the command that compares a model's answers with it."""

import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from model import documents
from pipelines import steps, text
from pipelines.home import Home
from pipelines.progress import Reporter

if TYPE_CHECKING:
    from model.lab.twin import Twin
    from model.lab.twin.activity import Lived
    from model.lab.twin.comparing import Compared


def register(app: typer.Typer) -> None:
    """Add the command to the application."""
    app.command()(twin)


def twin(
    description: Annotated[
        Path, typer.Argument(metavar="TWIN", help="Description of a twin (TOML); docs/twins.md describes the format.")
    ],
    seed: Annotated[int | None, typer.Option(help="Seed that replaces the one in the description.", min=0)] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document on standard output.")] = False,
) -> None:
    """Compare model answers with a twin's known truth.

    Each run loads the records into a new state folder, `twins/SYSTEM_ID` in ETALON_HOME.
    """
    from model.capacity import ask
    from model.lab.twin import write
    from model.lab.twin.comparing import compare

    loaded_twin, reporter = load(description, seed), Reporter()
    home = _emptied(Home(Home.from_environment().root / "twins" / loaded_twin.system_id))
    lived = _live(loaded_twin, reporter)
    with reporter.step("writing and loading the records"):
        steps.ingest(home, write(lived, home.lab))
    with reporter.step("building the marts"):
        steps.build(home)
        steps.publish(home)
    with reporter.step("fitting"):
        steps.fit(home)
    truths = dict(_truths(lived, reporter))
    bundle = steps.champion(home)
    rows = compare(loaded_twin, truths, lambda system, at: ask.predict(bundle, system, at).to_dict())
    typer.echo(documents.dumps([asdict(row) for row in rows], indent=2) if as_json else comparison(rows))


def _emptied(home: Home) -> Home:
    """A state folder of which nothing is left from before."""
    home.require_writable()
    shutil.rmtree(home.root)
    return home


def comparison(rows: "Sequence[Compared]") -> str:
    """The rows as a table, and the number of intervals that contain the truth."""
    table = text.table(
        [
            {
                "question": row.question,
                "metric": row.metric,
                "condition": row.condition,
                "truth": _short(row.truth),
                "predicted": _short(row.predicted),
                "lo": _short(row.lo),
                "hi": _short(row.hi),
                "error": "" if row.error_pct is None else f"{row.error_pct:+.2f}",
                "covered": "" if row.covered is None else "yes" if row.covered else "no",
                "note": row.note,
            }
            for row in rows
        ]
    )
    judged = [row for row in rows if row.covered is not None and row.metric != "bottleneck"]
    return f"{table}\n{sum(row.covered is True for row in judged)} of {len(judged)} intervals contain the truth"


def _short(value: float | None) -> str:
    return "" if value is None else f"{value:.4g}"


def load(path: Path, seed: int | None = None) -> "Twin":
    """A twin from its file, with another seed if one is given."""
    from model.lab.twin import Twin

    twin = Twin.load(path)
    return twin if seed is None else replace(twin, seed=seed)


def render(path: Path, folder: Path, seed: int | None = None) -> list[Path]:
    """Simulate a twin's days and write its records into a folder."""
    from model.lab.twin import write

    reporter = Reporter()
    lived = _live(load(path, seed), reporter)
    with reporter.step("writing the records"):
        return write(lived, folder)


def print_truth(path: Path, seed: int | None, as_json: bool) -> None:
    """Print the truth of a twin's questions: a table of each as soon as it is computed, or one JSON document."""
    reporter = Reporter()
    truths = _truths(_live(load(path, seed), reporter), reporter)
    if as_json:
        typer.echo(documents.dumps(dict(truths), indent=2))
        return
    for name, answer in truths:
        typer.echo(f"{answer_text(name, answer)}\n")


def _live(twin: "Twin", reporter: Reporter) -> "Lived":
    from model.lab.twin import live

    with reporter.step(f"simulating {text.counted(twin.days, 'day')} of {twin.system_id}") as advance:
        return live(twin, advance)


def _truths(lived: "Lived", reporter: Reporter) -> Iterator[tuple[str, dict[str, Any]]]:
    """Each question with its truth, each computed in a separate step."""
    from model.lab.twin import truth

    names, answers = [question.name for question in lived.twin.questions], truth(lived)
    for i, name in enumerate(names, 1):
        with reporter.step(f"simulating question {i} of {len(names)}, {name}"):
            answered = next(answers)
        yield answered


def answer_text(name: str, answer: Mapping[str, Any]) -> str:
    """The answer to a question as a table."""
    at = ", ".join(f"{key}={value}" for key, value in answer["at"].items())
    rows = [
        {
            "metric": o["metric"],
            "condition": o["condition"],
            **{key: _short(o[key]) for key in ("value", "lo", "hi")},
            "unit": o["unit"],
        }
        for o in answer["outputs"]
    ]
    notes = "".join(f"\nnote: {note}" for note in answer["notes"])
    first = answer["bottleneck"].get("resource", "none")
    return f"{name}: {answer['system']} at {at}\n{text.table(rows)}\nbottleneck: {first}{notes}"

"""Questions planners ask, each as SQL over the published snapshot; `python -m pipelines.questions` writes their page.

A question is a file of `dbt/questions/`: its first comment line is the question, the next ones say how to read the
answer; one that begins with `needs:` says what must be loaded for an answer.
"""

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pipelines import text
from pipelines.exits import EtalonError, Exit
from pipelines.home import DBT_PROJECT, ROOT

FOLDER = DBT_PROJECT / "questions"
NEEDS = "needs:"
PAGE = ROOT / "docs" / "questions.md"


@dataclass(frozen=True)
class Question:
    """A question, how to read its answer, and the SQL."""

    name: str
    title: str
    remark: str
    sql: str
    needs: str = ""

    @property
    def nothing(self) -> str:
        """The text of an empty answer."""
        return (
            f"(nothing: it needs {self.needs})"
            if self.needs
            else ("(no result: the records that it needs are not loaded)")
        )


def questions() -> dict[str, Question]:
    """Every question by name."""
    return {path.stem: _read(path) for path in sorted(FOLDER.glob("*.sql"))}


def question(name: str) -> Question:
    """The question of that name. Raises EtalonError naming those there are."""
    catalogue = questions()
    if name not in catalogue:
        raise EtalonError(f"unknown question {name!r}; questions: {', '.join(catalogue)}", Exit.QUESTION)
    return catalogue[name]


def _read(path: Path) -> Question:
    lines = path.read_text(encoding="utf-8").splitlines()
    comments = [line.removeprefix("--").strip() for line in lines if line.startswith("--")]
    sql = "\n".join(line for line in lines if not line.startswith("--"))
    needs = [line.removeprefix(NEEDS).strip() for line in comments if line.startswith(NEEDS)]
    remarks = [line for line in comments[1:] if not line.startswith(NEEDS)]
    return Question(path.stem, comments[0], " ".join(remarks), sql, needs[0] if needs else "")


def answer(database: Path, question: Question) -> Any:
    """The answer as an Arrow table."""
    from ingest import warehouse

    return warehouse.query(database, question.sql)


def page(database: Path) -> str:
    """The page of all questions, with their answers from this database."""
    parts = [
        "# Ready questions",
        "What planners ask most, as SQL over the marts of the [data dictionary](data-dictionary/README.md). "
        "`etalon questions` lists them, `etalon questions NAME` answers one from the published snapshot, and "
        "`--sql` prints the query to start from. The answers below come from the records of the "
        "[reference systems](reference-systems.md). No study publishes CICS tasks or subsystem records, so these are "
        "invented, such as the [night of subsystems](lab-writers.md#a-night-of-subsystems). A question without any "
        "records shows an empty answer.",
    ]
    parts += [section(question, answer(database, question)) for question in questions().values()]
    return "\n\n".join(parts) + "\n"


def section(question: Question, answer: Any) -> str:
    """A question of the page with its query and answer."""
    return "\n\n".join(
        (
            f"## {question.name}",
            f"**{question.title}** {question.remark}",
            f"```sql\n{question.sql.strip()}\n```",
            f"```text\n{shown(question, answer)}\n```",
        )
    )


def shown(question: Question, answer: Any) -> str:
    """An answer as a table; an empty one says so."""
    table = text.table(answer.to_pylist(), {name: name for name in answer.column_names}, number=text.exact)
    return table if answer.num_rows else f"{table}\n{question.nothing}"


if __name__ == "__main__":
    PAGE.write_text(page(Path(sys.argv[1])), encoding="utf-8")

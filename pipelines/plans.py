"""Plans of growth as files: what `docs/model.md` says of planned growth, as keys of a question."""

from pathlib import Path

from model.capacity.values import FORM, QuestionError, plan_keys
from pipelines.exits import EtalonError, Exit


def read(path: Path) -> dict[str, float | str]:
    """The keys of a question that a plan stands for.

    Raises EtalonError (QUESTION) for a file that cannot be read or says anything else.
    """
    try:
        return plan_keys(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise EtalonError(f"{path}: the plan cannot be read: {error}; {FORM}", Exit.QUESTION) from error
    except QuestionError as refused:
        raise EtalonError(f"{path}: {refused.message}", Exit.QUESTION) from refused

"""The small files of the state folder, and what to do about a damaged one. `etalon doctor` looks at each of them."""

from typing import Any

from state.files import Damage, StateFile

_ROWS = list[dict[str, Any]]
_LISTS = dict[str, _ROWS]
_TABLES = dict[str, dict[str, Any]]
_FIT = "run `etalon fit`, which makes it anew"
_NIGHT = "the next `etalon nightly` makes it anew"

CHAMPION = StateFile(
    "models/champion.json",
    dict[str, Any],
    _FIT,
    Damage.REFUSED,
    {"schema": str, "model_version": str, "systems": _TABLES},
)
VERSIONS = StateFile("models/versions.json", _LISTS, _FIT, fields={"versions": list})
DRIFT = StateFile(
    "models/drift.jsonl",
    list[dict[str, Any]],
    "the next `etalon fit` begins it anew",
    Damage.SET_ASIDE,
    dict.fromkeys(("model_version", "system", "metric", "class", "last"), Any),
    lines=True,
)
DEFINITIONS = StateFile("published/definitions.json", dict[str, str], "run `etalon publish` to replace it")
QUALITY = StateFile(
    "quality/quality.json",
    dict[str, Any],
    "run `etalon check`, which makes it anew",
    fields={"verdict": str, "counts": dict[str, int], "findings": _ROWS},
)
TOKENS = StateFile(
    "tokens.json",
    _LISTS,
    "move it away, and make the tokens anew with `etalon token NAME`",
    Damage.REFUSED,
    {"tokens": list},
    rights=0o600,
)
NIGHT = StateFile(
    "nights/20*.json",
    dict[str, Any],
    "delete it, or restore it from a copy; it is the account of one night, and nothing else needs it",
    fields={
        "day": str,
        "started": str,
        "ended": str,
        "built": str,
        "steps": dict[str, float],
        "files": _ROWS,
        "lacks": _ROWS,
        "quality": dict | None,
        "model": dict | None,
        "errors": list[str],
        "notes": list[str],
    },
)
MISSING = StateFile("nights/missing.json", _LISTS, _NIGHT, fields={"lacks": list})
FITTED = StateFile("nights/fitted.json", dict[str, Any], _NIGHT)
OUTBOX = StateFile(
    "nights/outbox.json",
    dict[str, list[dict[str, str]]],
    "messages that waited in it were not sent; the pages of the nights have them",
    Damage.SET_ASIDE,
)
ALERTS = StateFile(
    "nights/alerts.json",
    _LISTS,
    "the next `etalon nightly` opens its alerts anew; acknowledge them again with `etalon alerts acknowledge`",
    Damage.SET_ASIDE,
    {"alerts": list},
)
SAVED = StateFile(
    "saved.json",
    _LISTS,
    "save the questions again with `etalon saved add`",
    Damage.SET_ASIDE,
    {"questions": list},
)
FETCHED = StateFile("fetched/.fetched.json", dict[str, str], _NIGHT)
#: In the folder of a copy.
BACKUP = StateFile(
    "backup.json", dict[str, Any], "use another backup", Damage.REFUSED, {"schema": int, "files": dict[str, str]}
)

CATALOGUE = (
    CHAMPION,
    VERSIONS,
    DRIFT,
    DEFINITIONS,
    QUALITY,
    TOKENS,
    NIGHT,
    MISSING,
    FITTED,
    OUTBOX,
    ALERTS,
    SAVED,
    FETCHED,
)

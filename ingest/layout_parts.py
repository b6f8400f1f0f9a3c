"""Parts that sections of several layouts share: heads, product sections, identifications.

A section with `include = "NAME"` begins with the fields and bits of `parts/NAME.toml`, which is in the folder of its
layout or among the built-in ones. IBM's names are those of the part behind the section's `prefix`; `confidence`, where
the section gives one, is that of all included fields. A part may include another.
"""

from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import tomli as tomllib

from ingest.layout_checks import check_including, check_part

BUILT_IN = Path(__file__).parent / "layouts" / "parts"


def expanded(entry: Mapping[str, Any], folder: Path, within: tuple[Path, ...] = ()) -> dict[str, Any]:
    """A section with the lines of the part it includes, followed by the section's lines.

    ``folder`` is that of the layout file, ``within`` the parts that the section is of. Raises ValueError for an unknown
    part, and for one that cannot be used.
    """
    entry = dict(entry)
    if "include" not in entry:
        return entry
    check_including(f"section {entry.get('name')}", entry)
    part = _part(entry.pop("include"), folder / "parts", within)
    prefix, confidence = entry.pop("prefix", ""), entry.pop("confidence", None)
    fields = [[name, prefix + ibm, *rest] for name, ibm, *rest in part["fields"]]
    if confidence is not None:
        fields = [[*line[:8], confidence, *line[9:]] for line in fields]
    bits = [[prefix + owner, place, prefix + ibm, *rest] for owner, place, ibm, *rest in part["bits"]]
    entry["fields"] = [*fields, *entry.get("fields", ())]
    entry["bits"] = [*bits, *entry.get("bits", ())]
    entry["none"] = [*([prefix + owner, *values] for owner, *values in part["none"]), *entry.get("none", ())]
    return entry


def _part(name: str, folder: Path, within: tuple[Path, ...]) -> dict[str, Sequence[Any]]:
    places = (place / f"{name}.toml" for place in (folder, BUILT_IN))
    path = next((file for file in places if file.is_file() and file not in within), None)
    if path is None:
        parts = sorted({file.stem for place in (folder, BUILT_IN) for file in place.glob("*.toml")})
        raise ValueError(
            f"include names {name!r}, which is no part in {folder} or {BUILT_IN}, or the one it stands in; known: "
            f"{', '.join(parts)}"
        )
    return _read(path, path.stat().st_mtime_ns, (*within, path))


@cache
def _read(path: Path, modified_ns: int, within: tuple[Path, ...]) -> dict[str, Sequence[Any]]:
    del modified_ns
    try:
        part = expanded(tomllib.loads(path.read_text(encoding="utf-8")), path.parent.parent, within)
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise ValueError(f"include: {path} is not a TOML file: {error}; correct what stands there") from error
    check_part(f"include: {path}", part)
    return {name: part.get(name, []) for name in ("fields", "bits", "none")}

"""The champion as a JSON document: parameters of each system, studies, and what they were fitted on."""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from model import documents
from model.capacity.parameters import ParametersError, SystemParameters, from_plain, to_plain

SCHEMA = "etalon-bundle/14"
DIGITS = 12
# Draws say how far, not where: these many digits are enough for a spread.
DRAW_DIGITS = 6


REMEDY = "run `etalon fit`, which makes it anew"


class BundleError(ValueError):
    """A file is not a bundle this version can read."""


def build(
    systems: Mapping[str, SystemParameters],
    *,
    model_version: str = "",
    data: Mapping[str, Any],
    validation: Mapping[str, Any],
    refused: Mapping[str, str] | None = None,
    conditions: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """A bundle from calibrated systems, the identity of the data and the summary of the validation.

    ``refused`` says of each system that cannot be asked why; ``conditions`` are the condition
    laws. Without a version the bundle is named after its content,
    so that equal parameters have equal names.
    """
    document = rounded(
        {
            "schema": SCHEMA,
            "model_version": model_version,
            "data": dict(data),
            "validation": dict(validation),
            "refused": dict(refused or {}),
            "conditions": dict(conditions or {}),
            "systems": {name: to_plain(one) for name, one in systems.items()},
        }
    )
    bundle = typed(document)
    if not model_version:
        bundle["model_version"] = "content-" + hashlib.sha256(dumps(bundle).encode()).hexdigest()[:12]
    return bundle


class Systems(Mapping[str, SystemParameters]):
    """Systems of a bundle by id, whose parameters are read when they are first wanted."""

    def __init__(self, plain: Mapping[str, Any]) -> None:
        self.plain = plain
        self._read: dict[str, SystemParameters] = {}

    def __getitem__(self, system: str) -> SystemParameters:
        if system not in self._read:
            stored = self.plain[system]
            try:
                self._read[system] = from_plain(stored)
            except ParametersError as error:
                raise BundleError(f"system {system}: {error}; {REMEDY}") from error
        return self._read[system]

    def __iter__(self) -> Iterator[str]:
        return iter(self.plain)

    def __len__(self) -> int:
        return len(self.plain)


def typed(document: Mapping[str, Any]) -> dict[str, Any]:
    """A bundle of plain JSON values with the parameters of its systems as :class:`SystemParameters`."""
    return {**document, "systems": Systems(document["systems"])}


def rounded(value: Any, digits: int = DIGITS) -> Any:
    """Plain JSON values with floats cut to 12 significant digits, 6 in draws, so that equal fits give equal bytes."""
    if isinstance(value, Mapping):
        return {str(k): rounded(item, DRAW_DIGITS if k == "draws" else digits) for k, item in value.items()}
    if isinstance(value, list | tuple):
        return [rounded(item, digits) for item in value]
    if isinstance(value, float):
        return float(f"{value:.{digits}g}")
    return value


def plain(bundle: Mapping[str, Any]) -> dict[str, Any]:
    """The bundle, or another document beside it, as plain JSON values."""
    systems = bundle.get("systems", {})
    if isinstance(systems, Systems):
        return {**bundle, "systems": systems.plain}
    stored = {name: to_plain(one) if isinstance(one, SystemParameters) else one for name, one in systems.items()}
    return dict(rounded({**bundle, "systems": stored} if systems else bundle))


def dumps(bundle: Mapping[str, Any]) -> str:
    """The bundle as text: one line, keys sorted, floats as shortest round-trip text."""
    return documents.dumps(plain(bundle), sort_keys=True, ensure_ascii=False) + "\n"


def loads(text: str, origin: str = "bundle") -> dict[str, Any]:
    """Read a bundle.

    Raises:
        BundleError: the text is no JSON, no bundle, or a bundle of another schema.
    """
    try:
        bundle = json.loads(text)
    except json.JSONDecodeError as error:
        raise BundleError(f"{origin} is no JSON ({error}); {REMEDY}") from error
    schema = bundle.get("schema") if isinstance(bundle, dict) else None
    if schema != SCHEMA:
        raise BundleError(f"{origin} has schema {schema!r}, expected {SCHEMA!r}; {REMEDY}")
    lacking = [key for key in ("model_version", "systems") if key not in bundle]
    if lacking:
        raise BundleError(f"{origin} lacks {', '.join(lacking)}; {REMEDY}")
    if not isinstance(bundle["systems"], dict):
        raise BundleError(f"{origin}: systems is no JSON object; {REMEDY}")
    return typed(bundle)


def read(path: Path) -> dict[str, Any]:
    """Read a bundle from a file; errors as :func:`loads`, OSError where it cannot be opened."""
    return loads(path.read_text(encoding="utf-8"), str(path))


def write(bundle: Mapping[str, Any], path: Path) -> Path:
    """Write the bundle beside ``path`` and swap it in, so that there is never half of it, for readers of the folder."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=path.name, suffix=".part")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as stream:
            stream.write(dumps(bundle))
        Path(temporary).chmod(path.parent.stat().st_mode & 0o644)
        Path(temporary).replace(path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
    return path

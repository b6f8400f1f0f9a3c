"""The champion as plain JSON: everything a prediction needs, and nothing that needs a scientific stack to read."""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

SCHEMA = "etalon-bundle/1"
DIGITS = 12

# What predictions assume where nothing was measured; part of the bundle so that an answer can name it.
ASSUMPTIONS = {
    "engine_exponent_sd": 0.1,
}


class BundleError(ValueError):
    """A file is not a bundle this version can read."""


def build(
    systems: Mapping[str, Any], *, model_version: str = "", data: Mapping[str, Any], validation: Mapping[str, Any]
) -> dict[str, Any]:
    """A bundle from calibrated systems, the identity of the data and the summary of the validation.

    Without a version the bundle is named after its content, so that equal parameters have equal names.
    """
    bundle = rounded(
        {
            "schema": SCHEMA,
            "model_version": model_version,
            "data": dict(data),
            "validation": dict(validation),
            "assumptions": dict(ASSUMPTIONS),
            "systems": dict(systems),
        }
    )
    if not model_version:
        bundle["model_version"] = "content-" + hashlib.sha256(dumps(bundle).encode()).hexdigest()[:12]
    return bundle


def rounded(value: Any) -> Any:
    """Plain JSON values with floats cut to 12 significant digits, so that equal fits give equal bytes."""
    if isinstance(value, Mapping):
        return {str(key): rounded(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [rounded(item) for item in value]
    if isinstance(value, float):
        return float(f"{value:.{DIGITS}g}")
    return value


def dumps(bundle: Mapping[str, Any]) -> str:
    """The bundle as text: keys sorted, floats as shortest round-trip text, a newline at the end."""
    return json.dumps(bundle, sort_keys=True, indent=1, allow_nan=False, ensure_ascii=False) + "\n"


def loads(text: str, origin: str = "bundle") -> dict[str, Any]:
    """Read a bundle.

    Raises:
        BundleError: the text is no JSON, no bundle, or a bundle of another schema.
    """
    try:
        bundle = json.loads(text)
    except json.JSONDecodeError as error:
        raise BundleError(f"{origin} is no JSON: {error}") from error
    schema = bundle.get("schema") if isinstance(bundle, dict) else None
    if schema != SCHEMA:
        raise BundleError(f"{origin} has schema {schema!r}, expected {SCHEMA!r}; export the champion again")
    lacking = [key for key in ("model_version", "systems", "assumptions") if key not in bundle]
    if lacking:
        raise BundleError(f"{origin} lacks {', '.join(lacking)}; export the champion again")
    if not all(isinstance(bundle[key], dict) for key in ("systems", "assumptions")):
        raise BundleError(f"{origin}: systems and assumptions are no JSON objects; export the champion again")
    return bundle


def read(path: Path) -> dict[str, Any]:
    """Read a bundle from a file; errors as :func:`loads`, OSError where it cannot be opened."""
    return loads(path.read_text(encoding="utf-8"), str(path))


def write(bundle: Mapping[str, Any], path: Path) -> Path:
    """Write the bundle beside ``path`` and swap it in, so that a reader never sees half of it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=path.name, suffix=".part")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as stream:
            stream.write(dumps(bundle))
        Path(temporary).chmod(0o644)
        Path(temporary).replace(path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
    return path

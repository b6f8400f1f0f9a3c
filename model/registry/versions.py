"""The latest versions of the model as one file: when each was registered, on what, and how far off it was."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from model.capacity import bundle as bundles
from model.registry.store import BUNDLE_FILE, MODEL_NAME, tracking

MOST = 30


def export_versions(tracking_dir: Path, path: Path, server: str | None = None) -> Path:
    """Write the :data:`MOST` latest versions to ``path`` for the service, the latest first.

    What the file says already is not read again from the registry; a new registry counts from 1 again, so a version is
    known by when it was registered, too. RegistryDamagedError as :func:`model.registry.load_champion`.
    """
    described = {(one["model_version"], one["registered_at"]): one for one in _read(path)}
    with tracking(tracking_dir, server) as mlflow:
        registered = mlflow.MlflowClient().search_model_versions(f"name = '{MODEL_NAME}'")
        latest = sorted(registered, key=lambda version: int(version.version), reverse=True)[:MOST]
        versions = [
            described.get((_name(one), _registered(one))) or _described(one, _bundle(mlflow, one)) for one in latest
        ]
    return bundles.write({"versions": versions}, path)


def _read(path: Path) -> list[Any]:
    try:
        return list(json.loads(path.read_text(encoding="utf-8"))["versions"])
    except (OSError, ValueError, KeyError, TypeError):
        return []


def _bundle(mlflow: Any, version: Any) -> Mapping[str, Any]:
    """The bundle of a version; nothing where its artifacts are gone."""
    try:
        return dict(json.loads(mlflow.artifacts.load_text(f"runs:/{version.run_id}/{BUNDLE_FILE}")))
    except (mlflow.exceptions.MlflowException, OSError, ValueError):
        return {}


def _name(version: Any) -> str:
    return f"{MODEL_NAME}/{version.version}"


def _registered(version: Any) -> str:
    return datetime.fromtimestamp(version.creation_timestamp / 1000, UTC).isoformat(timespec="seconds")


def _described(version: Any, bundle: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "model_version": _name(version),
        "registered_at": _registered(version),
        "promoted": version.tags.get("gate") == "passed",
        "systems": [_system(name, entry) for name, entry in sorted(bundle.get("systems", {}).items())],
        "errors": bundle.get("validation", {}).get("errors", []),
    }


def _system(name: str, entry: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "system": name,
        "period": entry.get("period"),
        "points": len(entry.get("points", ())),
        "passed": (entry.get("gate") or {}).get("passed"),
        "kept": entry.get("kept"),
    }

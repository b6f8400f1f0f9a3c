"""The champion as a JSON document: parameters of each system, studies, and what they were fitted on.

A bundle is read and written here, and its systems, points and classes are looked up by name.
"""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from model.capacity.parameters import Point, SystemParameters, cached, from_plain
from model.capacity.samples import ParametersError, to_plain
from model.capacity.values import QuestionError

SCHEMA = "etalon-bundle/15"
DIGITS = 12
DRAW_DIGITS = 6
"""Significant digits of posterior samples, which only give the spread."""


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

    ``refused`` has the reason for each system that cannot be predicted; ``conditions`` are the published
    studies. Without a version the bundle is named after its content,
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
    """The bundle, or another document of the state folder, as plain JSON values."""
    systems = bundle.get("systems", {})
    if isinstance(systems, Systems):
        return {**bundle, "systems": systems.plain}
    stored = {name: to_plain(one) if isinstance(one, SystemParameters) else one for name, one in systems.items()}
    return dict(rounded({**bundle, "systems": stored} if systems else bundle))


def dumps(bundle: Mapping[str, Any]) -> str:
    """The bundle as text: one line, keys sorted, floats as shortest round-trip text."""
    from model import documents

    return documents.dumps(plain(bundle), sort_keys=True, ensure_ascii=False) + "\n"


def loads(text: str, origin: str = "bundle") -> dict[str, Any]:
    """Read a bundle.

    Raises
    ------
    BundleError
        the text is no JSON, no bundle, or a bundle of another schema.
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
    """Write the bundle to a temporary file and rename it to ``path``, so that readers never see half of it."""
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


def systems_with_conditions(conditions: Mapping[str, Any]) -> set[str]:
    """The systems that studies have figures of."""
    return cached(conditions, "systems", lambda: {row["system"] for row in conditions.get("rows", ())})


def has_conditions(bundle: Mapping[str, Any], system: str) -> bool:
    """Whether a system was measured at conditions, in a published study or in its runs."""
    return system in systems_with_conditions(bundle.get("conditions", {}))


def askable(bundle: Mapping[str, Any]) -> set[str]:
    """The systems that can be predicted, by a network or by the studies."""
    return {*bundle["systems"], *systems_with_conditions(bundle.get("conditions", {}))}


def system_entry(bundle: Mapping[str, Any], system: str) -> SystemParameters:
    """Parameters of a system, by its id or the SMF identifier of an LPAR, with the other systems of the installation.

    The ratings of machines and the calendar of the installation are part of them.

    Raises
    ------
    QuestionError
        the system is unknown, or has no network.
    """
    systems = bundle["systems"]
    if system in systems:
        return _of_installation(systems[system], bundle)
    named = [name for name, parameters in systems.items() if parameters.smf_sid.upper() == str(system).upper()]
    if len(named) == 1:
        return _of_installation(systems[named[0]], bundle)
    reason = bundle.get("refused", {}).get(system)
    if reason:
        raise QuestionError("system", system, f"system: {system} cannot be asked: {reason}")
    if system in askable(bundle):
        refusal = f"system: {system} has figures by condition and no network; ask predict, sweep or what-if"
        raise QuestionError("system", system, refusal)
    if system in bundle.get("conditions", {}).get("facts", {}):
        refusal = f"system: {system} is known by its configuration alone; load its records and run `etalon fit`"
        raise QuestionError("system", system, refusal)
    refusal = f"system: {system!r} is not in model {bundle['model_version']}; load its records and run `etalon fit`"
    raise QuestionError("system", system, refusal, askable(bundle))


def _of_installation(parameters: SystemParameters, bundle: Mapping[str, Any]) -> SystemParameters:
    """The system's part with the other systems, the ratings of machines and the calendar that the installation has now;
    the very same one for the same."""
    systems = bundle["systems"]
    files = {key: bundle[key] for key in ("machine_ratings", "calendar") if bundle.get(key)}
    more = files | ({"installation": systems} if len(systems) > 1 else {})
    if not more:
        return parameters
    return cached(parameters, ("installation", id(systems), repr(files)), lambda: replace(parameters, **more))


def point_entry(parameters: SystemParameters, value: Any) -> Point:
    """The measured point of that name; 5, 5.0 and "5" are the same name."""
    text = str(int(value)) if isinstance(value, float) and value == int(value) else str(value)
    for point in parameters.points:
        if point.point == text:
            return point
    raise QuestionError("point", text, f"point: {text!r} was not measured", [p.point for p in parameters.points])


def classes_named(parameters: SystemParameters, field: str, name: str) -> tuple[int, ...]:
    """The numbers of the classes that a service class, report class, workload or transaction class stands for.

    Raises
    ------
    QuestionError
        the name is unknown, or stands for different sets of classes.
    """
    wanted = name.strip().casefold()
    members_of: dict[str, tuple[int, ...]] = {}
    names_of_classes: set[str] = set()
    for kind in ("name", "report_class", "workload"):
        names = [str(getattr(one, kind)) for one in parameters.classes]
        names_of_classes.update(filter(None, names))
        members = tuple(i for i, one in enumerate(names) if one.casefold() == wanted)
        if members:
            members_of[kind] = members
    for mix, shares in parameters.mixes.items():
        if all(share == 1.0 for share in shares.values()):
            names_of_classes.add(mix)
            if mix.casefold() == wanted:
                members_of["mix"] = tuple(i for i, one in enumerate(parameters.classes) if one.name in shares)
    if not members_of:
        reasons = {one.casefold(): why for one, why in parameters.without_transactions.items()}
        text = reasons.get(wanted, f"no class {name!r} has ended transactions here")
        raise QuestionError(field, name, f"{field}: {text}", names_of_classes)
    if len(set(members_of.values())) > 1:
        kinds = {"name": "service class", "report_class": "report class", "workload": "workload", "mix": "groups file"}
        meant = "; ".join(
            f"{kinds[kind]}: {', '.join(parameters.classes[i].name for i in members)}"
            for kind, members in members_of.items()
        )
        raise QuestionError(field, name, f"{field}: {name!r} stands for several ({meant}); name the classes")
    return next(iter(members_of.values()))

"""What a question about a system can change, with what it is today: the keys the page offers as fields."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from model.capacity.adjustments import from_plain, parts_of
from model.hardware.speed import identity, rated
from serve.schemas import Option


def options(entry: Mapping[str, Any]) -> list[Option]:
    """The keys besides the load that can be asked of a system of the bundle."""
    engines, machine = float(entry["engines"]), entry.get("on_machine")
    most = max(2.0 * engines, float(machine["engines"]) if machine else 0.0)
    found = [Option(key="engines", label="General-purpose CPs", today=engines, least=1, most=most)]
    ziips = entry.get("ziip") or {}
    if ziips.get("engines"):
        count = float(ziips["engines"])
        found.append(Option(key="ziip_engines", label="zIIPs", today=count, least=0, most=2 * count + 2))
        if ziips.get("threads", 1.0) > 1.0:
            found.append(Option(key="smt", label="SMT of the zIIPs", today="on", choices=["on", "off"]))
    weights = entry.get("weights") or {}
    if machine and weights.get("total", 0.0) > weights.get("own", 0.0):
        own = float(weights["own"])
        found.append(Option(key="weight", label="Weight of the LPAR", today=own, least=1, most=3 * own))
        today = "on" if machine["capped"] else "off"
        found.append(Option(key="cap", label="Held to its share by weight", today=today, choices=["off", "on"]))
        held_to = machine.get("cap_engines")
        found.append(Option(key="cap", label="Absolute cap, engines", today=held_to, least=0.1, most=most))
    ratings = entry.get("machine_ratings", ())
    machines = rated(ratings)
    if entry.get("service_units_per_s") or identity(str(entry.get("machine")), ratings) in machines:
        found.append(Option(key="machine", label="Machine", today="", choices=["", *machines]))
    for limit in entry.get("limits", ()):
        if limit.get("kind") == "devices":
            continue
        one = Option(key=f"limit.{limit['name']}", label=f"Places of {limit['name']}", today=None)
        if "servers" in limit:
            one.today = places = float(limit["servers"]["centre"])
            one.least, one.most = 1, 4 * places
        found.append(one)
    for name, law in entry["response"].items():
        if "of_interval" in law:
            found.append(Option(key=f"response_ms.{name}", label=f"Measured response of {name}, ms", today=None))
    for name, about in sorted(from_plain(entry.get("adjustments", {})).items()):
        if {"cpu", "itr"} & set(about.factors) and about.concerns(parts_of(entry)):
            effect = Option(key=f"adjust.{name}", label=about.title, today="off", choices=["off", "on"])
            where = dict.fromkeys(source.partition(":")[0] for source in about.sources)
            effect.meaning = f"{about.changes}; measured on {', '.join(where)}"
            found.append(effect)
    return found

"""Which LPARs a network's stations and classes make, each a system with an SMF identifier of its own."""

from dataclasses import dataclass

from model.lab.errors import LabError
from model.network import Network, Station, demands

CP, ZIIP, CF = "cp", "ziip", "cf"


@dataclass(frozen=True, slots=True)
class Partition:
    """An LPAR: its pool of CPs, its zIIPs if any, and the classes that run there.

    `home_classes` end their transactions here; `classes` also holds those that only use its CPs.
    """

    smf_sid: str
    cp: str
    ziip: str
    classes: tuple[str, ...]
    home_classes: tuple[str, ...]


def partitions(network: Network, system_id: str) -> tuple[Partition, ...]:
    """The LPARs of a network, in the order of their CP stations. LabError when no station is of component `cp`."""
    cps = [s for s in network.stations if is_cp(s)]
    if not cps:
        raise LabError(f'network {network.name!r}: no station has component = "cp"')
    work = demands(network).visits
    column = {name: i for i, name in enumerate(network.station_names)}
    home: dict[str, str] = {}
    for row, cls in enumerate(network.classes):
        used = [s.name for s in cps if work[row, column[s.name]] > 0]
        if used:
            visited = [op.name for op in network.operations(cls.name) if op.kind == "visit" and op.name in used]
            home[cls.name] = visited[0] if visited else used[0]
    pools = {s.name: _cp_of(s, cps) for s in network.stations if s.component == ZIIP}
    sids: list[str] = []
    for station in cps:
        sids.append(_sid(station.name if len(cps) > 1 else system_id, sids))
    sharers = []
    for station, sid in zip(cps, sids, strict=True):
        uses = [c for row, c in enumerate(network.class_names) if work[row, column[station.name]] > 0]
        alone = [c for c in network.class_names if c not in home] if station is cps[0] else []
        ziips = [name for name, cp in pools.items() if cp == station.name]
        if len(ziips) > 1:
            raise LabError(f"station {station.name!r}: more than one zIIP pool: {', '.join(ziips)}")
        sharers.append(
            Partition(
                sid,
                station.name,
                ziips[0] if ziips else "",
                tuple(c for c in network.class_names if c in uses or c in alone),
                tuple(c for c in network.class_names if home.get(c) == station.name or c in alone),
            )
        )
    return tuple(sharers)


def is_cp(station: Station) -> bool:
    """Whether a station is an LPAR's pool of general-purpose engines."""
    return station.component == CP or (not station.component and (station.name == CP or station.lpar is not None))


def _cp_of(ziip: Station, cps: list[Station]) -> str:
    """The CPs of the LPAR a zIIP pool belongs to: those it overflows to, the only ones, or those named alike."""
    if ziip.overflow is not None:
        return ziip.overflow.to
    alike = [s for s in cps if s.name.split()[0] == ziip.name.split()[0]]
    if len(cps) > 1 and len(alike) != 1:
        raise LabError(f"station {ziip.name!r}: name the CPs of its LPAR by overflow, or begin both names alike")
    return (alike or cps)[0].name


def _sid(name: str, taken: list[str]) -> str:
    """Four upper-case characters of a name, other than those taken."""
    words = [word for word in name.replace("-", " ").replace("_", " ").split() if word.lower() not in (CP, "cps")]
    letters = "".join(c for c in "".join(words or name.split()).upper() if (c.isalnum() and c.isascii()) or c in "#$@")
    sid = (letters + "0000")[:4]
    for number in range(1, 100):
        if sid not in taken:
            break
        sid = f"{sid[: 4 - len(str(number))]}{number}"
    return sid

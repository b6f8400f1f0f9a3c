"""Random twins, growth and other engines asked at the peak: errors against the simulated truth, coverage, bottleneck.

`python -m benchmarks.twins [FIRST] [COUNT] [FAMILY ...]` draws twins of each family with the seeds FIRST and on. The
way is short: what records would say of each interval goes to calibration without being written as SMF.
"""

from __future__ import annotations

import sys
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence

import numpy as np

from model.calibration.devices import with_device_waits, with_neighbours
from model.calibration.history import Devices, History, SharedMachine
from model.calibration.lpar import NotCalibratable, calibrate_lpar
from model.capacity import ask, bundle
from model.lab.records.smf72_3 import BUCKET_LIMITS_PCT
from model.lab.twin import live, truth
from model.lab.twin.activity import Lived
from model.lab.twin.comparing import Compared, compare
from model.lab.twin.measured import Measured, measured
from model.lab.twin.random import FAMILIES, random_twin
from model.network import Network
from model.network.simulator.replication import SimulationError
from model.queueing.lpar_share import Sharer

METRICS = {"cpu_busy_pct": "busy", "machine_busy_pct": "machine", "response_ms": "response", "response_p90_ms": "p90"}


def history(lived: Lived, seen: Sequence[Measured], number: int) -> History:
    """One LPAR's intervals, as its records and marts would give them."""
    m, twin = seen[number], lived.twin
    intervals = len(m.starts)
    seconds = np.full(intervals, float(twin.interval_s))
    with np.errstate(divide="ignore", invalid="ignore"):
        response = np.where(m.ended > 0, 1e3 * m.elapsed_s / m.ended, np.nan)
    network = lived.network
    station = network.station(m.lpar.cp)
    none = np.zeros(intervals)
    machine = SharedMachine(m.lpar.smf_sid, float(station.servers), 1.0, 1.0, False, none, none)
    if station.lpar is not None:
        sharing = [s for s in network.stations if s.lpar is not None and s.lpar.cec == station.lpar.cec]
        machine = SharedMachine(
            name=station.lpar.cec,
            engines=float(next(c.engines for c in network.cecs if c.name == station.lpar.cec)),
            weight=station.lpar.weight,
            total_weight=sum(s.lpar.weight for s in sharing if s.lpar is not None),
            capped=station.lpar.cap == "share",
            others_s=sum((other.busy_s for i, other in enumerate(seen) if i != number), none),
            management_s=none,
            others=_sharers(network, seen, number),
            cap_engines=None if isinstance(station.lpar.cap, str) else float(station.lpar.cap),
        )
    sampled = np.random.default_rng(number)
    cores = network.station(m.lpar.ziip).servers if m.lpar.ziip else 0
    found = History(
        system_id=twin.system_id if len(seen) == 1 else m.lpar.smf_sid,
        smf_sid=m.lpar.smf_sid,
        cpc_type="",
        start_utc=np.array([start.replace(tzinfo=None) for start in m.starts], "datetime64[s]"),
        start_local=np.array([twin.local(start).replace(tzinfo=None) for start in m.starts], "datetime64[s]"),
        seconds=seconds,
        engines=np.full(intervals, float(station.servers)),
        busy_s=m.busy_s,
        ziips=np.full(intervals, float(cores)),
        ziip_busy_s=m.ziip_busy_s,
        density=m.density,
        classes=m.service_classes,
        importance=np.array(m.importances),
        workloads=m.workloads,
        ended=m.ended,
        idle_s=np.multiply(0.25, sampled.poisson(4.0 * m.idle_s)),
        cp_s=m.cp_s,
        ziip_s=m.ziip_s,
        ziip_on_cp_s=m.ziip_on_cp_s,
        response_ms=response,
        p90_ms=_percentile(m),
        machine=machine,
        waited_s={
            name: np.where(m.names[:, r], 0.25 * sampled.poisson(4.0 * m.resource_waiting_s[:, :, r]), np.nan)
            for r, name in enumerate(m.resources)
            if m.names[:, r].any()
        },
        samples=_samples(m, sampled),
        devices=_devices(m, network),
    )
    return with_device_waits(found, m.ios)


def _samples(m: Measured, random: np.random.Generator) -> dict[str, np.ndarray]:
    """Seconds that samples found work using engines and waiting for them, and what transaction managers report."""
    seconds = {
        "cp using": m.cp_s, "cp delay": m.cp_waiting_s, "ziip using": m.ziip_s, "ziip delay": m.ziip_waiting_s,
        "active": m.working_s * [subsystem != "" for subsystem in m.subsystems],
        "ready": m.ready_s * [subsystem != "" for subsystem in m.subsystems],
    }  # fmt: skip
    return {state: 0.25 * random.poisson(4.0 * np.maximum(found, 0.0)) for state, found in seconds.items()}


def _devices(m: Measured, network: Network) -> dict[str, Devices]:
    """Stations of volumes, each a storage group, and coupling facilities."""
    volumes = zip(m.devices, m.device_ios.T, m.device_using_s.T, m.device_waiting_s.T, strict=True)
    requested = zip(m.facilities, m.requests.T, m.facility_busy_s.T, strict=True)
    facilities = ((name, requests, busy, None) for name, requests, busy in requested)
    return {name: Devices(float(network.station(name).servers), *seen) for name, *seen in (*volumes, *facilities)}


def _sharers(network: Network, seen: Sequence[Measured], number: int) -> tuple[Sharer, ...]:
    """The other LPARs of the machine, with their parts of what they use in its busiest quarter."""
    used = {m.lpar.cp: m.busy_s for i, m in enumerate(seen) if i != number}
    total = np.sum(list(used.values()), axis=0)
    busy = total >= np.quantile(total, 0.75)
    found = []
    for name, seconds in used.items():
        station = network.station(name)
        if station.lpar is not None:
            part = float(seconds[busy].sum() / total[busy].sum())
            found.append(Sharer(station.servers, station.lpar.weight, station.lpar.cap == "share", part, name))
    return tuple(found)


def _percentile(m: Measured) -> np.ndarray:
    """(I, C) 90th percentile of response in ms from the buckets of the distribution, NaN beyond the last limit."""
    upper = np.array(BUCKET_LIMITS_PCT) / 100.0
    lower = np.append(0.0, upper[:-1])
    below = np.cumsum(m.buckets, axis=2)
    wanted = 0.9 * below[..., -1:]
    at = (below < wanted).sum(axis=2)
    inside = np.minimum(at, len(upper) - 1)
    total = below[..., -1]
    beyond = total - np.take_along_axis(below, inside[..., None], 2)[..., 0]
    longer = beyond + np.take_along_axis(m.buckets, inside[..., None], 2)[..., 0]
    with np.errstate(divide="ignore", invalid="ignore"):
        exponential = np.log(longer / (0.1 * total)) / np.log(longer / beyond)
        part = np.where(beyond > 0, exponential, (longer - 0.1 * total) / (longer - beyond))
    value = np.array(m.goals_ms) * (lower[inside] + (upper[inside] - lower[inside]) * part)
    return np.where((at < len(upper)) & (below[..., -1] > 0), value, np.nan)


def results(family: str, seed: int) -> Iterator[tuple[Compared, float]]:
    """What was asked of one twin, with the transactions of each class in an hour at the peak."""
    lived = live(random_twin(family, seed))
    seen = [measured(lived, lpar) for lpar in lived.lpars]
    systems = {}
    hourly = {}
    found = {f"{number}": history(lived, seen, number) for number in range(len(seen))}
    for h in (with_neighbours(one, found) for one in found.values()):
        systems[h.system_id] = calibrate_lpar(h)
        top = int(h.busy_s.argmax())
        hourly.update({name: float(3600 * h.ended[top, c] / h.seconds[top]) for c, name in enumerate(h.classes)})
    model = bundle.build(systems, data={}, validation={})
    for row in compare(lived.twin, dict(truth(lived)), lambda system, at: ask.predict(model, system, at).to_dict()):
        yield row, hourly.get(row.condition.removeprefix("class="), 0.0)


def main(arguments: Sequence[str]) -> None:
    """Print a line for each twin and the summary by question and metric."""
    first = int(arguments[0]) if arguments else 1
    count = int(arguments[1]) if len(arguments) > 1 else 1
    families = list(arguments[2:]) or list(FAMILIES)
    found: dict[tuple[str, str], list[Compared]] = defaultdict(list)
    for seed in range(first, first + count):
        for family in families:
            begun = time.monotonic()
            try:
                rows = list(results(family, seed))
            except (SimulationError, NotCalibratable, ValueError) as error:
                print(f"{family} {seed}: {error}", flush=True)
                continue
            for row, hourly in rows:
                question = "growth" if row.question == "growth30" else "change"
                if row.metric == "bottleneck":
                    found[question, "bottleneck"].append(row)
                elif row.metric in METRICS and (hourly >= 1000 or not row.condition):
                    found[question, METRICS[row.metric]].append(row)
                    off = row.error_pct is None or abs(row.error_pct) > (2 if "busy" in row.metric else 15)
                    if off or row.covered is False:
                        print(f"  {family} {seed} {row}", flush=True)
            print(f"{family} {seed}: {len(rows)} figures in {time.monotonic() - begun:.0f} s", flush=True)
    print("\nquestion  metric      n  median |error|  95 %  coverage  half-width  not answered")
    for (question, metric), rows in sorted(found.items()):
        if metric == "bottleneck":
            named = np.mean([bool(row.covered) for row in rows])
            print(f"{question:<9} {metric:<10} {len(rows):>3}  named as the truth's: {named:.0%}")
            continue
        known = [row for row in rows if row.truth is not None and row.error_pct is not None]
        errors = np.abs([_relative(row) for row in known]) if known else np.array([np.nan])
        both = [(row.lo, row.hi, row.truth) for row in known]
        widths = [50 * (hi - lo) / true for lo, hi, true in both if hi is not None and lo is not None]
        coverage = np.mean([bool(row.covered) for row in known if row.covered is not None]) if known else np.nan
        print(
            f"{question:<9} {metric:<10} {len(rows):>3}  {np.median(errors):>14.2f}  "
            f"{np.quantile(errors, 0.95):>4.1f}  "
            f"{coverage:>8.0%}  {np.median(widths) if widths else np.nan:>10.2f}  {len(rows) - len(known):>12}"
        )


def _relative(row: Compared) -> float:
    return 100.0 * ((row.predicted or 0.0) / (row.truth or np.nan) - 1.0)


if __name__ == "__main__":
    main(sys.argv[1:])

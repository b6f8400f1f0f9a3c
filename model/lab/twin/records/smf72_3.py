"""SMF 72.3: one record of each interval and service class, with goal, response distribution and state samples."""

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from model.lab.records.smf72_3 import (
    RATIO_ONE,
    SPEED_ONE,
    STATE_SAMPLING_MS,
    UNIT_US,
    class_control,
    ended_times,
    residency,
    response_goal,
    service_units,
)
from model.lab.twin.activity import BUCKET_LIMITS_PCT
from model.lab.twin.measured import Measured
from model.lab.twin.records.columns import Columns, Frame
from model.network import Network

SRB_SHARE, INTERRUPT_SHARE = 0.08, 0.02
"""Parts of a class's CP time that are accounted as SRB and I/O interrupt time; the rest is TCB time."""
IO_UNIT_US = 128
NO_LIMIT_PCT = 2**31 - 1
BEGIN_TO_END = 0x80
QUEUE_KINDS = ("region", "initiator")
NAMED_DELAYS, DELAY_NAME_LENGTH = 15, 16


@dataclass(frozen=True, slots=True)
class States:
    """Samples of work states: every 250 ms each transaction inside is found in one."""

    random: np.random.Generator

    def __call__(self, seconds: np.ndarray) -> np.ndarray:
        """Samples that find work in a state in which it spends `seconds` in all."""
        return self.random.poisson(np.maximum(seconds, 0) * 1000 / STATE_SAMPLING_MS)


def workload_activity(
    columns: Columns, frame: Frame, record: np.ndarray, network: Network, m: Measured, random: np.random.Generator
) -> None:
    """One record of each interval and class; `record` (I, C) says where."""
    rate = frame.setting.rate
    cp, ziip = network.station(m.lpar.cp), network.station(m.lpar.ziip) if m.lpar.ziip else None
    faster = round(SPEED_ONE * ziip.speeds[0] / cp.speeds[0]) if ziip is not None else SPEED_ONE
    gain = ziip.smt.gain if ziip is not None and ziip.smt is not None else 1.0
    shape, at = record.shape, record.ravel()
    frame.header(columns, "smf72_3", "smf72", (72, 3), record)

    def tiled(values: tuple[object, ...]) -> list[object]:
        return list(values) * shape[0]

    control = class_control(
        frame.setting, frame.spans[0].length_ms, tiled(m.service_classes),
        workload=tiled(tuple(w.upper() for w in m.workloads)), policy_description="Policy of the twin",
        ziip_speed=faster,
    )  # fmt: skip
    columns.add("smf72_3_control", at, control | {"r723mcfs": round(RATIO_ONE * gain)})
    units = {
        "ziip": m.ziip_s * rate.su_per_s,
        "on_cp": m.ziip_on_cp_s * rate.su_per_s,
        "srb": m.cp_s * SRB_SHARE * rate.su_per_s,
        "tcb": m.cp_s * (1 - SRB_SHARE - INTERRUPT_SHARE) * rate.su_per_s,
    }
    cpu = units["tcb"] + units["ziip"] * faster / SPEED_ONE
    queued = _waiting(network, m, QUEUE_KINDS)
    states = tuple(int(subsystem != "") for subsystem in m.subsystems)
    period = {
        "r723cper": 1, "r723crtx": 1, "r723cwmx": tiled(states), "r723cwmn": tiled(states),
        **response_goal(tiled(m.goals_ms), tiled(m.importances)), "r723rtdm": tiled(m.goals_ms),
        **service_units(cpu, units["srb"]), "r723csup": units["ziip"],
        "r723csuc": units["on_cp"], "r723ciit": m.cp_s * INTERRUPT_SHARE * 1e6,
        **ended_times(m.ended, m.elapsed_s * 1e6, m.squares_s2 * 1e12), **residency(m.elapsed_s * 1e6),
        "r723cqdtx": queued * 1e6, "r723cqdt": np.rint(queued * 1e6 / UNIT_US), "r723circ": np.rint(m.ios),
        "r723cict": m.io_using_s * 1e6 / IO_UNIT_US, "r723ciot": m.io_waiting_s * 1e6 / IO_UNIT_US,
        **_states(m, queued, States(random)),
    }  # fmt: skip
    flat = {name: value.ravel() if isinstance(value, np.ndarray) else value for name, value in period.items()}
    columns.add("smf72_3_period", at, flat)
    limits = [*BUCKET_LIMITS_PCT, NO_LIMIT_PCT]
    columns.add("smf72_3_response_distribution", at, {"r723trdb": _lists(np.tile(limits, (len(at), 1)))}, 0)
    counts = m.buckets.reshape(len(at), -1)
    columns.add("smf72_3_response_distribution", at, {"r723trdb": _lists(counts)}, 1)
    for c, subsystem in enumerate(m.subsystems):
        if subsystem:
            _reported(columns, record[:, c], c, m, States(random))


def _states(m: Measured, queued: np.ndarray, samples: States) -> dict[str, np.ndarray]:
    """Samples of the period section: using and delay by engine type and I/O, idle users, and their sums."""
    using = {
        "r723ccus": samples(m.cp_s), "r723supu": samples(m.ziip_s), "r723sucu": samples(m.ziip_on_cp_s),
        "r723ciou": samples(m.io_using_s),
    }  # fmt: skip
    delay = {
        "r723ccde": samples(m.cp_waiting_s), "r723supd": samples(m.ziip_waiting_s), "r723ciod": samples(m.io_waiting_s),
        "r723cq": samples(queued),
    }  # fmt: skip
    all_using = using["r723ccus"] + using["r723supu"] + using["r723ciou"]
    all_delay = sum(delay.values())
    unknown, idle = samples(m.elsewhere_s), samples(m.idle_s)
    return {
        **using, **delay, "r723ctou": all_using, "r723ctot": all_delay, "r723ctdq": all_delay, "r723cunk": unknown,
        "r723cidl": idle, "r723ctsa": (all_using + all_delay + unknown + idle).astype(float),
    }  # fmt: skip


def _reported(columns: Columns, at: np.ndarray, c: int, m: Measured, samples: States) -> None:
    """What its transaction manager says of a class's states: working, ready, and waiting for I/O or a limit by name.

    A subsystem names its limits in the records of all its classes; work of others has no such sections.
    """
    working, ready = samples(m.working_s[:, c]), samples(m.ready_s[:, c])
    io, other = samples(m.io_states_s[:, c]), samples(m.elsewhere_s[:, c])
    named = np.flatnonzero(m.names[c])[:NAMED_DELAYS]
    waits = [samples(m.resource_waiting_s[:, c, r]) for r in named]
    kind = m.subsystems[c]
    states = {
        "r723rtyp": kind, "r723rflg": BEGIN_TO_END, "r723ress": sum(waits, working + ready + io + other),
        "r723ract": working, "r723rrdy": ready, "r723rwio": io, "r723rwo": other,
        "r723rdnx": int(len(named) > 0), "r723rdnn": len(named),
        **{f"r723rw{i + 1:02d}": waited for i, waited in enumerate(waits)},
    }  # fmt: skip
    columns.add("smf72_3_resource_state", at, states)
    for i, r in enumerate(named):
        name = m.resources[r][:DELAY_NAME_LENGTH]
        columns.add("smf72_3_delay_name", at, {"r723dnst": kind, "r723dnnu": i + 1, "r723dnde": name}, i)


def _waiting(network: Network, m: Measured, kinds: tuple[str, ...]) -> np.ndarray:
    """Seconds of waiting for resources of these kinds, (I, C)."""
    chosen = [r for r, resource in enumerate(network.resources) if resource.kind in kinds]
    return m.resource_waiting_s[:, :, chosen].sum(axis=2)


def _lists(values: np.ndarray) -> pa.Array:
    flat = pa.array(values.ravel().astype(np.uint32))
    return pa.FixedSizeListArray.from_arrays(flat, values.shape[1])

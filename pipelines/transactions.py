"""Recorded transactions of a system in the published snapshot, CICS tasks or else IMS messages, and their replay."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from typing import Any

from model.names import sql_text
from pipelines.exits import EtalonError, Exit
from pipelines.home import Home

MOST = 500_000
# Tasks in which a business transaction began, as the marts tell them (macro `is_origin`).
CICS = f"""
with task as (
  select start_utc, written_local, upper(trim(service_class)) as class, cpu_us,
    date_diff('microsecond', start_utc, stop_utc) as response_us
  from staging.stg_smf110_1_performance
  where upper(smf_sid) in ({{sids}}) and coalesce(record_kind, '') in ('', 'T') and stop_utc > start_utc
    and coalesce(origin_applid, '') in ('', applid)
    and coalesce(origin_task_number, task_number) is not distinct from task_number
    and upper(trim(service_class)) in ({{classes}})
),
busiest as (
  select time_bucket(interval '15 minutes', start_utc) as begun from task group by all
  order by count(*) desc, begun limit 1
)
select epoch_us(start_utc) / 1e6 as arrival_s, class, cpu_us / 1e6 as cpu_s, response_us / 1e6 as response_s,
  written_local
from task, busiest
where start_utc >= begun and start_utc < begun + interval '15 minutes'
order by start_utc limit {MOST}
"""
IMS = f"""
with message as (
  select arrival_utc, upper(trim(transaction_code)) as class, response_us
  from intermediate.int_ims_message
  where response_us > 0 and upper(trim(transaction_code)) in ({{classes}})
),
busiest as (
  select time_bucket(interval '15 minutes', arrival_utc) as begun from message group by all
  order by count(*) desc, begun limit 1
)
select epoch_us(arrival_utc) / 1e6 as arrival_s, class, null::double as cpu_s, response_us / 1e6 as response_s,
  null::timestamp as written_local
from message, busiest
where arrival_utc >= begun and arrival_utc < begun + interval '15 minutes'
order by arrival_utc limit {MOST}
"""


# Whose an IMS message is, its log does not say: other systems with classes called as its transaction codes.
NAMESAKES = """
select distinct smf_sid from marts.fct_service_class
where upper(trim(class_name)) in ({classes}) and upper(smf_sid) not in ({sids}) and transactions_ended > 0
order by smf_sid
"""


def recorded(home: Home, system: str, classes: Sequence[str]) -> tuple[Any, datetime | None]:
    """The begin-to-end transactions of the busiest quarter of an hour, and the local time in the middle of it.

    CICS tasks are counted by service class, IMS messages by transaction code; the time is None where records have none.
    Raises EtalonError where nothing was recorded, and where IMS messages may be another system's.
    """
    import numpy as np

    from ingest import warehouse
    from model.validation.replay import Transactions

    names = {name.upper(): name for name in classes}
    named = f"{sql_text(system)} in (system_id, smf_sid, system_id || '/' || smf_sid)"
    sids = f"select upper(smf_sid) from marts.dim_system where {named}"
    values = {"sids": sids, "classes": ", ".join(map(sql_text, names))}
    for query in (CICS, IMS):
        table = warehouse.query(home.snapshot, query.format(**values))
        if table.num_rows:
            others = warehouse.query(home.snapshot, NAMESAKES.format(**values)) if query is IMS else table[:0]
            if others.num_rows:
                raise EtalonError(
                    f"IMS logs do not say whose messages they hold, and {', '.join(others['smf_sid'].to_pylist())} "
                    f"has classes of the same names as {system}: replay from a state folder with one of them",
                    Exit.NOT_READY,
                )
            local = sorted(filter(None, table["written_local"].to_pylist()))
            arrival = table["arrival_s"].to_numpy()
            return Transactions(
                arrival - arrival[0],
                np.array([names[name] for name in table["class"].to_pylist()]),
                table["cpu_s"].to_numpy(zero_copy_only=False).astype(float),
                table["response_s"].to_numpy(),
            ), (local[len(local) // 2] if local else None)
    raise EtalonError(
        f"no transactions of {', '.join(classes)} were recorded: load CICS monitoring records (SMF 110) whose service "
        "class is one of these, or IMS logs with such transaction codes",
        Exit.NOT_READY,
    )


def replayed(
    home: Home, bundle: Mapping[str, Any], system: str, at: Mapping[str, Any] | None = None, seed: int = 1
) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """The load, and recorded and replayed responses by class: at the load in question, or at the recorded time.

    Raises EtalonError as :func:`recorded`, QuestionError for the load, NothingToReplay where too few were recorded.
    """
    from model.capacity.bundle import system_entry
    from model.capacity.network_export import export_network
    from model.capacity.values import QuestionError
    from model.validation import replay

    parameters = system_entry(bundle, system)
    transactions, local = recorded(home, system, parameters.class_names)
    load = dict(at or {})
    if not load and local is not None and parameters.recorded is not None:
        load = {"when": local.isoformat(timespec="minutes")}
    try:
        network = export_network(bundle, system, load)
    except QuestionError:
        if at:
            raise
        # The transactions are from a time without a calibrated interval.
        network = export_network(bundle, system)
    return dict(network.load.at), replay.replayed(network, transactions, seed)


def agreements(home: Home, systems: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """By system with recorded transactions, how far the replayed responses are, as the gate keeps it."""
    from ingest.snapshot import SnapshotError
    from model.capacity.values import QuestionError
    from model.network import NetworkError
    from model.network.simulator import SimulationError
    from model.validation.replay import NothingToReplay, judged

    bundle = {"systems": systems, "model_version": "calibrated"}
    by_system = {}
    for name in sorted(systems):
        # A system of which nothing can be replayed is not judged by it.
        with suppress(EtalonError, SnapshotError, NetworkError, SimulationError, QuestionError, NothingToReplay):
            by_system[name] = judged(replayed(home, bundle, name)[1])
    return by_system

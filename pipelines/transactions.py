"""Recorded transactions of a system in the published snapshot: CICS tasks where there are any, else IMS messages."""

from datetime import datetime
from typing import Any

from pipelines.exits import EtalonError, Exit
from pipelines.home import Home

MOST = 500_000
CICS = f"""
with task as (
  select start_utc, written_local, upper(trim(service_class)) as class, cpu_us,
    date_diff('microsecond', start_utc, stop_utc) as response_us
  from staging.stg_smf110_1_performance
  where upper(smf_sid) in ({{sids}}) and coalesce(record_kind, '') in ('', 'T') and stop_utc > start_utc
    and coalesce(nullif(origin_applid, ''), applid) = applid
    and coalesce(nullif(origin_transaction_id, ''), transaction_id) = transaction_id
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


def recorded(home: Home, system: str, classes: list[str]) -> tuple[Any, datetime | None]:
    """The begin-to-end transactions of the busiest quarter of an hour, and the local time in the middle of it.

    CICS tasks are counted by service class, IMS messages by transaction code; the time is None where records have none.
    Raises EtalonError where nothing was recorded.
    """
    import numpy as np

    from ingest import warehouse
    from model.validation.replay import Transactions

    names = {name.upper(): name for name in classes}
    named = f"{_quoted(system)} in (system_id, smf_sid, system_id || '/' || smf_sid)"
    sids = f"select upper(smf_sid) from marts.dim_system where {named}"
    for query in (CICS, IMS):
        table = warehouse.query(
            home.snapshot, query.format(sids=sids, classes=", ".join(_quoted(name) for name in names))
        )
        if table.num_rows:
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


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"

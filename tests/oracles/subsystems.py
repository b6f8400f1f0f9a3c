"""What ready questions must answer of a night, worked out from what happened and not from its records."""

from collections.abc import Mapping
from typing import Any

from model.lab.subsystems import batch, machine, messages, requests, storage
from model.lab.subsystems.night import CONNECT_US, DATA_SETS, HOURS, QUOTES_PER_HOUR, SID, DataSet, Night

NIGHT_S = HOURS * 3_600
NEST_INTENSITY = 2.6 * (0.4 * 90 + 1.6 * 7 + 3.5 * 1 + 7.5 * 2) / 100
"""By the published weights of the z13, of where `machine.SOURCES_PCT` says that lines came from."""
Rows = list[dict[str, Any]]


def answers(night: Night) -> Mapping[str, Rows]:
    """By question of `dbt/questions/`, the rows of its answer with the figures that are known, not rounded."""
    return {
        "web-requests": _requests(night),
        "connection-protection": _connections(night),
        "db2-by-connection": _db2(night),
        **_messages(),
        "slow-data-sets": [_data_set(night, one) for one in DATA_SETS],
        "volume-cache": [_volume(night, one) for one in DATA_SETS],
        "page-data-sets": _paging(),
        "central-storage": _central_storage(),
        "busy-channels": _channels(night),
        "enqueue-contention": _contention(),
        "step-data-sets": _step_data_sets(),
        "long-batch-steps": _steps(night),
        "product-usage": _products(night),
        "hardware-counters": _counters(night),
        "system-events": [{"event": "records lost", "records_lost": machine.RECORDS_LOST}, {"event": "IPL"}],
    }


def _requests(night: Night) -> Rows:
    requested = {"requests": night.at_us.size}
    connect = {"server_kind": "z/OS Connect", "resource": requests.API, **requested}
    websphere = {"server_kind": "WebSphere", "resource": requests.CONFIRM_URI}
    confirmed = slice(None, None, requests.CONFIRM_EVERY)
    liberty = {"server_kind": "Liberty", "resource": requests.URI, **requested}
    return [
        liberty | {
            "response_ms": night.response_us.mean() / 1e3, "cpu_us_per_request": night.web_cpu_us.mean(),
            "offload_pct": 100 * night.web_ziip_us.sum() / night.web_cpu_us.sum(),
        },
        connect | {
            "response_ms": (night.response_us.mean() + 2 * requests.CONNECT_US) / 1e3,
            "backend_ms": night.backend_us.mean() / 1e3, "error_pct": 100 * night.failed.mean(),
        },
        websphere | {
            "requests": night.confirm_us[confirmed].size, "response_ms": night.confirm_us[confirmed].mean() / 1e3,
            "queue_ms": requests.QUEUE_US / 1e3, "cpu_us_per_request": night.confirm_cpu_us[confirmed].mean(),
            "offload_pct": 100 * night.confirm_ziip_us[confirmed].sum() / night.confirm_cpu_us[confirmed].sum(),
        },
    ]  # fmt: skip


def _connections(night: Night) -> Rows:
    ended = -(-night.at_us.size // requests.REQUESTS_PER_CONNECTION)
    plain = -(-ended // requests.PLAIN_EVERY)
    unprotected = {"port": requests.PLAIN_PORT, "port_of": "this end", "protection": "none", "connections": plain}
    return [{"record_kind": kind, **unprotected} for kind in ("detail", "summary")]


def _db2(night: Night) -> Rows:
    commits = int((~night.failed).sum())
    within = (night.db2_us * 9 // 10).sum()
    figures = {
        "commits": commits, "cpu_us_per_commit": night.db2_cpu_us.sum() / commits,
        "class2_cpu_us_per_commit": (night.db2_cpu_us * 4 // 5).sum() / commits,
        "class2_ms_per_commit": within / commits / 1e3, "io_wait_pct": 100 * night.db2_io_us.sum() / within,
        "lock_wait_pct": 0,
    }  # fmt: skip
    return [{"db2_subsystem": requests.DB2, "plan_name": requests.PLAN, **figures}]


def _messages() -> Mapping[str, Rows]:
    quotes = sum(QUOTES_PER_HOUR)
    requested = 2 * quotes * messages.PAGE_REQUESTS_PER_MESSAGE
    read = requested * messages.PAGES_READ_PCT // 100
    batches = sum(one // messages.MESSAGES_PER_BATCH for one in QUOTES_PER_HOUR)
    put = {"messages_put": quotes, "messages_got": 0, "cpu_us_per_message": messages.PUT_CPU_US}
    got = {"messages_put": 0, "messages_got": quotes, "cpu_us_per_message": messages.GET_CPU_US} | {
        "on_queue_ms": messages.ON_QUEUE_US / 1e3
    }
    first, second = messages.QUOTE_QUEUE, messages.PASSED_ON_QUEUE
    return {
        "mq-queue-managers": [
            {
                "queue_manager": messages.QUEUE_MANAGER, "puts": 2 * quotes, "gets": 2 * quotes,
                "puts_per_s": 2 * quotes / NIGHT_S, "puts_per_s_max": 2 * max(QUOTES_PER_HOUR) / 3_600,
                "persistent_pct": 100, "log_write_us_busiest": messages.LOG_WRITE_US,
            }
        ],
        "mq-queues": [
            {"connection_kind": "batch or TSO", "queue_name": first, **put},
            {"connection_kind": "CICS", "queue_name": first, **got},
            {"connection_kind": "CICS", "queue_name": second, **put},
            {"connection_kind": "channel", "queue_name": second, "channel_name": messages.CHANNEL, **got},
        ],
        "mq-channels": [
            {
                "channel_name": messages.CHANNEL, "messages": quotes, "messages_per_s": quotes / NIGHT_S,
                "bytes_per_message": messages.MESSAGE_BYTES, "messages_per_batch": quotes / batches,
            }
        ],
        "mq-buffer-pools": [
            {"buffer_pool": 3, "page_reads": read, "hit_pct": 100 - messages.PAGES_READ_PCT, "free_min_pct": 25}
        ],
    }  # fmt: skip


def _data_set(night: Night, data_set: DataSet) -> dict[str, Any]:
    used = [night.io(data_set, hour) for hour in range(HOURS)]
    ios = sum(one.ios for one in used)
    return {
        "data_set_name": data_set.name, "volume_serial": data_set.volume, "ios": ios,
        "response_ms": used[0].response_us / 1e3, "disconnect_ms": data_set.disconnect_us / 1e3,
        "cache_hit_pct": 100 * sum(one.read_hits + one.writes for one in used) / ios,
    }  # fmt: skip


def _volume(night: Night, data_set: DataSet) -> dict[str, Any]:
    used = [night.io(data_set, hour) for hour in range(HOURS)]
    return {
        "volume_serial": data_set.volume, "reads": sum(one.reads for one in used),
        "writes": sum(one.writes for one in used), "read_misses": sum(one.reads - one.read_hits for one in used),
        "response_ms": used[0].response_us / 1e3,
    }  # fmt: skip


def _paging() -> Rows:
    busy = storage.PAGING_SAMPLES / storage.INTERVAL_S
    return [
        {
            "data_set_name": storage.PAGE_DATA_SET, "used_max_pct": 100 * storage.SLOTS_USED_MAX / storage.SLOTS,
            "busy_max_pct": 100 * busy, "pages_per_s_max": storage.PAGES / storage.INTERVAL_S,
            "transfer_ms_then": 1e3 * busy * storage.INTERVAL_S / storage.PAGES,
        }
    ]  # fmt: skip


def _channels(night: Night) -> Rows:
    moved = [storage.moved(night, hour) for hour in range(HOURS)]
    own = [storage.WORK_UNITS_PER_IO * sum(one) / storage.INTERVAL_S / storage.WORK_UNITS_MAX_PER_S for one in moved]
    machine = 1 + storage.OTHERS
    mb_per_s = machine * storage.BYTES_PER_IO / storage.INTERVAL_S / 1e6
    return [
        {
            "channel_type": storage.DISK_CHANNEL_TYPE, "busy_pct": 100 * machine * sum(own) / HOURS,
            "own_busy_pct": 100 * sum(own) / HOURS, "busy_max_pct": 100 * machine * max(own),
            "read_max_mb_per_s": mb_per_s * max(reads for reads, _ in moved),
            "write_max_mb_per_s": mb_per_s * max(writes for _, writes in moved),
        },
        {
            "channel_type": storage.NETWORK_CHANNEL_TYPE,
            "busy_pct": 100 * storage.NETWORK_BUSY_US / storage.INTERVAL_S / 1e6,
            "own_busy_pct": 100 * storage.NETWORK_OWN_BUSY_US / storage.INTERVAL_S / 1e6,
        },
    ]  # fmt: skip


def _central_storage() -> Rows:
    available_min = storage.FRAMES_AVAILABLE_BATCH - storage.FRAMES_BELOW_MEAN
    page_ins = storage.PAGE_INS_BATCH + storage.BLOCK_PAGE_INS_BATCH
    return [
        {
            "smf_sid": SID, "frames": storage.FRAMES, "available_min_pct": 100 * available_min / storage.FRAMES,
            "fixed_max_pct": 100 * storage.FRAMES_FIXED / storage.FRAMES,
            "unreferenced_interval_min_s": storage.UIC_BATCH_S, "page_ins": page_ins,
            "page_ins_per_s_max": page_ins / storage.INTERVAL_S,
        }
    ]  # fmt: skip


def _contention() -> Rows:
    mean_s = storage.CONTENTION_US / 1e6
    waited = {"contentions": storage.CONTENTIONS, "contention_s": storage.CONTENTIONS * mean_s}
    return [{"major_name": "SYSDSN", "contention_mean_s": mean_s, "waiters_max": 2, **waited}]


def _step_data_sets() -> Rows:
    return [
        {
            "job_name": batch.JOB, "dd_name": one.dd_name, "data_set_name": one.name, "blocks": one.blocks,
            "connect_s": one.blocks * CONNECT_US / 1e6,
        }
        for one in DATA_SETS
        if one.step
    ]  # fmt: skip


def _steps(night: Night) -> Rows:
    start, end = batch.step(night)
    elapsed = {"elapsed_s": (end - start).total_seconds(), "cp_s": batch.CPU_US / 1e6}
    return [{"job_name": batch.JOB, "step_name": batch.STEP, **elapsed}]


def _products(night: Night) -> Rows:
    rows = []
    for name in machine.PRODUCTS:
        used = sum(machine.cp_us(night, name, hour) for hour in range(HOURS)) / 1e6
        offloaded = sum(machine.ziip_us(night, name, hour) for hour in range(HOURS)) / 1e6
        hours = {"cp_hours": used / 3_600, "cps_used": used / NIGHT_S, "offloaded_hours": offloaded / 3_600}
        rows.append({"product_name": name, **hours})
    return rows


def _counters(night: Night) -> Rows:
    rows = []
    for engine, processors in (("CP", machine.CPS), ("zIIP", (machine.ZIIP,))):
        for hour in range(HOURS):
            busy = sum(machine.busy_us(night, one, hour + 1) - machine.busy_us(night, one, hour) for one in processors)
            rows.append(
                {
                    "engine_type": engine, "hour_utc": night.hour(hour).hour, "active_s": busy / 1e6,
                    "cycles_per_instruction": machine.CYCLES_PER_INSTRUCTION,
                    "lost_in_caches": machine.LOST_IN_CACHES, "l1_miss_pct": sum(machine.L1_MISSES_PCT.values()),
                    "relative_nest_intensity": NEST_INTENSITY,
                }
            )  # fmt: skip
    return rows

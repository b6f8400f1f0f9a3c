"""Which metrics say a rate or a population, and which are work that grows with a rate."""

import re

RATES = ("etr_tps", "tran_rate_tps", "online_tran_rate_tps", "throughput")
"""Metrics that say the rate of the transactions that were measured."""
WHOLE_RATES = ("total_tps", *RATES)
"""The same, with that of all transactions of a system, where there are several sorts of them."""
POPULATIONS = ("users", "sessions", "clients", "terminals", "web_clients", "ims_connect_clients")
"""One population of users, under one name or another; a question may use any of these names."""
ITR, TRANSACTIONS = "itr_tps", "tran/s"
"""Transactions per second of engine time, which are none of a load; and the unit of rates."""
WORK_UNITS = ("1/s", "SU", "service units", "service units/s", "s/s", "MIPS", "MB/s", "KB/s")
OF_ENGINES = re.compile(r"pct of (one CP|\d+ CPs)")
"""The unit of a part of some engines."""


def is_work(metric: str, unit: str) -> bool:
    """Whether a metric grows with the transaction rate: engine time, I/O, requests, service."""
    if unit == "pct":
        return "busy" in metric or "util" in metric
    if unit == TRANSACTIONS:
        return metric not in (*WHOLE_RATES, ITR)
    return unit in WORK_UNITS or OF_ENGINES.fullmatch(unit) is not None

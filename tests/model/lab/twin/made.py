"""A small twin to try things on: two LPARs of one machine, one with zIIPs of two threads that overflow."""

import tomllib

from model.lab.twin import Twin
from model.network import Network

NETWORK = """
name = "two LPARs"
cecs = [{ name = "machine", engines = 5 }]

[[stations]]
name = "PRDA cp"
component = "cp"
servers = 4
scheduling = "ps"
lpar = { cec = "machine", weight = 700 }

[[stations]]
name = "PRDA ziip"
component = "ziip"
servers = 1
scheduling = "ps"
smt = { gain = 1.3 }
overflow = { to = "PRDA cp" }
source = "made up"

[[stations]]
name = "PRDB cp"
component = "cp"
servers = 2
scheduling = "ps"
lpar = { cec = "machine", weight = 300, cap = "share" }

[[stations]]
name = "dasd"
component = "dasd"
servers = 8

[[resources]]
name = "MXT"
kind = "mxt"
capacity = 50

[[classes]]
name = "inquiry"
arrivals = { rate_per_s = 100 }
route = [
  { acquire = "MXT" },
  { visit = "PRDA cp", service = { mean_ms = 8 } },
  { visit = "PRDA ziip", service = { mean_ms = 4 } },
  { visit = "dasd", service = { mean_us = 500 }, count = 2 },
  { release = "MXT" },
]

[[classes]]
name = "orders"
arrivals = { rate_per_s = 30 }
route = [{ visit = "PRDB cp", service = { mean_ms = 12 } }]
"""

TWIN = """
system_id = "shop"
network = "shop.network.toml"
start_utc = 2026-09-07T00:00:00Z
days = 2
interval_s = 3600
utc_offset_hours = 2
missing_days = [2026-09-08]

[classes.inquiry]
service_class = "CICSHI"
importance = 1
workload = "CICS"
rate_per_s = 100
hour_of_week = "office"
noise_cv = 0.05

[classes.orders]
service_class = "ORDERS"
importance = 2
workload = "ONLINE"
rate_per_s = 30

[uncaptured]
fixed_engines = 0.1
per_captured = 0.06

[ask.as-it-is]
system = "shop"
at = { when = "peak" }

[ask.more]
system = "PRDA"
at = { growth_pct.CICSHI = 20, engines = 5, limit.MXT = 60, when = "2026-09-07T12:00" }
"""


def twin(**changes: object) -> Twin:
    """The twin, with keys of its description changed."""
    return Twin.of({**tomllib.loads(TWIN), **changes}, Network.from_toml(NETWORK))

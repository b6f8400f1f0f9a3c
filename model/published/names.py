"""What the names of conditions, of rates and of configuration attributes stand for, as `names.toml` lists them."""

import tomllib
from pathlib import Path
from typing import Any

_NAMES: dict[str, Any] = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))

RELEASES = tuple(_NAMES["releases"])
ALTERNATIVES = (*RELEASES, *_NAMES["alternatives"])
RUN_LENGTHS = tuple(_NAMES["run_lengths"])
TRANSACTION_COUNTS = tuple(_NAMES["transaction_counts"])
CHANGES = tuple(_NAMES["changes"])
REQUESTED_RATE: str = _NAMES["requested_rate"]
UNPACED: str = _NAMES["unpaced"]
CLASS_LIMIT: str = _NAMES["class_limit"]
ENGINES = tuple(_NAMES["engines"])
CUSTOMERS = tuple(_NAMES["customers"])
SIZES = tuple(_NAMES["sizes"])
ASKING = tuple(_NAMES["asking"])
CARRIED = tuple(_NAMES["carried"])
SERVING = tuple(_NAMES["serving"])
SENT = tuple(_NAMES["sent"])
SENT_SIZES = tuple(_NAMES["sent_sizes"])
ELAPSED: str = _NAMES["elapsed"]
ENDINGS = tuple(_NAMES["endings"])

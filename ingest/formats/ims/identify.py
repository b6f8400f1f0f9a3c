"""How records of an IMS log are recognized: by a store clock in a suffix."""

from datetime import UTC, datetime

SUFFIX_BYTES = 16
SHORTEST = 6
_EPOCH = datetime(1900, 1, 1, tzinfo=UTC)


def _clock(year: int) -> int:
    return int((datetime(year, 1, 1, tzinfo=UTC) - _EPOCH).total_seconds() * 1_000_000) << 12


EARLIEST, LATEST = _clock(1985), _clock(2042)
"""Store clocks between which a suffix is taken for one; the clock's first epoch ends in 2042."""

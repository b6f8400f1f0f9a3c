"""Log-linear buckets of a time, from the number's own exponent and mantissa."""

from __future__ import annotations

from model.network.simulator import layout as L
from model.network.simulator.compiled import inlined


@inlined
def bucket_of(value, float_view, bits_view):
    """Bucket of a time in seconds; the views are of one number."""
    float_view[0] = value
    bucket = (bits_view[0] >> (52 - L.MANTISSA_BITS)) - ((1023 + L.LOWEST_EXPONENT) << L.MANTISSA_BITS)
    if bucket < 0:
        return 0
    return bucket if bucket < L.BUCKETS else L.BUCKETS - 1

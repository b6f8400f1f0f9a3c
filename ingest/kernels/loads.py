"""Big-endian loads for compiled loops: one machine instruction each, at any place of a byte array.

numba indexes arrays byte by byte with a test for negative places; that costs a loop over fields most of its speed.
These loads test nothing, so the place must have been proven to lie inside the array, with the bytes after it. With
NUMBA_BOUNDSCHECK=1 they do test.
"""

import os
from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from ingest.kernels.jit import inlined

_CHECKED = os.environ.get("NUMBA_BOUNDSCHECK", "0") not in ("", "0")


def _loader(kind: Any) -> Any:
    """The load of an unsigned integer of numba type `kind`."""

    def load(typing_context, array, place):
        def generate(context, builder, signature, arguments):
            base = context.make_array(signature.args[0])(context, builder, arguments[0]).data
            pointer = builder.bitcast(builder.gep(base, [arguments[1]]), ir.IntType(kind.bitwidth).as_pointer())
            value = builder.load(pointer, align=1)
            return value if kind.bitwidth == 8 else builder.bswap(value)

        return kind(array, types.int64), generate

    return intrinsic(load)


def _store(typing_context, array, place, value):
    """Store an unsigned integer big-endian."""

    def generate(context, builder, signature, arguments):
        base = context.make_array(signature.args[0])(context, builder, arguments[0]).data
        pointer = builder.bitcast(builder.gep(base, [arguments[1]]), ir.IntType(64).as_pointer())
        builder.store(builder.bswap(arguments[2]), pointer, align=1)
        return context.get_dummy_value()

    return types.none(array, types.int64, types.uint64), generate


def _count_trailing_zeros(typing_context, value):
    """Number of zero bits below the lowest one bit of an unsigned integer; 64 for zero."""

    def generate(context, builder, signature, arguments):
        return builder.cttz(arguments[0], ir.Constant(ir.IntType(1), 0))

    return types.int64(types.uint64), generate


_store_8: Any = intrinsic(_store)
trailing_zero_bits: Any = intrinsic(_count_trailing_zeros)
_load_1, _load_2, _load_4, _load_8 = (_loader(kind) for kind in (types.uint8, types.uint16, types.uint32, types.uint64))


@inlined
def load_1(data, place):
    """The byte at `place`."""
    if _CHECKED:
        _ = data[place]
    return _load_1(data, place)


@inlined
def load_2(data, place):
    """The two bytes at `place`, as an unsigned integer."""
    if _CHECKED:
        _ = data[place] + data[place + 1]
    return _load_2(data, place)


@inlined
def load_4(data, place):
    """The four bytes at `place`, as an unsigned integer."""
    if _CHECKED:
        _ = data[place] + data[place + 3]
    return _load_4(data, place)


@inlined
def load_8(data, place):
    """The eight bytes at `place`, as an unsigned integer."""
    if _CHECKED:
        _ = data[place] + data[place + 7]
    return _load_8(data, place)


@inlined
def store_8(data, place, value):
    """Write an unsigned integer as the eight bytes at `place`."""
    if _CHECKED:
        _ = data[place] + data[place + 7]
    _store_8(data, place, value)

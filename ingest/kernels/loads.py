"""Big-endian loads for compiled loops: one machine instruction each, at any place of a byte array.

numba indexes arrays byte by byte with a test for negative places; that costs a loop over fields most of its speed.
These loads test nothing, so the place must have been proven to lie inside the array, with the bytes after it. With
NUMBA_BOUNDSCHECK=1 they do test.
"""

import os
from typing import Any

from ingest.kernels.jit import Intrinsic, inlined

_CHECKED = os.environ.get("NUMBA_BOUNDSCHECK", "0") not in ("", "0")


def unsigned_load(bits: int, *, big_endian: bool = True) -> Intrinsic:
    """The load of an unsigned integer of so many bits, as an operation of compiled code."""

    def load(typing_context, array, place):
        from llvmlite import ir
        from numba import types

        def generate(context, builder, signature, arguments):
            base = context.make_array(signature.args[0])(context, builder, arguments[0]).data
            pointer = builder.bitcast(builder.gep(base, [arguments[1]]), ir.IntType(bits).as_pointer())
            value = builder.load(pointer, align=1)
            return builder.bswap(value) if big_endian and bits > 8 else value

        return getattr(types, f"uint{bits}")(array, types.int64), generate

    return Intrinsic(load)


def _store(typing_context, array, place, value):
    """Store an unsigned integer big-endian."""
    from llvmlite import ir
    from numba import types

    def generate(context, builder, signature, arguments):
        base = context.make_array(signature.args[0])(context, builder, arguments[0]).data
        pointer = builder.bitcast(builder.gep(base, [arguments[1]]), ir.IntType(64).as_pointer())
        builder.store(builder.bswap(arguments[2]), pointer, align=1)
        return context.get_dummy_value()

    return types.none(array, types.int64, types.uint64), generate


def _store_as_is(typing_context, array, place, value):
    """Store a number in the machine's own order."""
    from numba import types

    def generate(context, builder, signature, arguments):
        base = context.make_array(signature.args[0])(context, builder, arguments[0]).data
        pointer = builder.bitcast(builder.gep(base, [arguments[1]]), arguments[2].type.as_pointer())
        builder.store(arguments[2], pointer, align=1)
        return context.get_dummy_value()

    return types.none(array, types.int64, value), generate


def _count_trailing_zeros(typing_context, value):
    """Number of zero bits below the lowest one bit of an unsigned integer; 64 for zero."""
    from llvmlite import ir
    from numba import types

    def generate(context, builder, signature, arguments):
        return builder.cttz(arguments[0], ir.Constant(ir.IntType(1), 0))

    return types.int64(types.uint64), generate


_store_8: Any = Intrinsic(_store)
_keep: Any = Intrinsic(_store_as_is)
trailing_zero_bits: Any = Intrinsic(_count_trailing_zeros)
_load_1, _load_2, _load_4, _load_8 = (unsigned_load(bits) for bits in (8, 16, 32, 64))


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


@inlined
def keep(data, place, value):
    """Write a number of any type as the bytes from `place` on, in the machine's own order."""
    if _CHECKED:
        _ = data[place]
    _keep(data, place, value)

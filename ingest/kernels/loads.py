"""Big-endian loads for compiled loops: one machine instruction each, at any place of a byte array.

numba indexes arrays byte by byte with a test for negative places; that costs a loop over fields most of its speed.
These loads test nothing, so the place must have been proven to lie inside the array, with the bytes after it. With
NUMBA_BOUNDSCHECK=1 they do test every byte that they take or write, and so they do where loops are interpreted.
"""

import os
from typing import Any

import numpy as np
import numpy.typing as npt

from ingest.kernels.jit import Intrinsic

_CHECKED = os.environ.get("NUMBA_BOUNDSCHECK", "0") not in ("", "0")


def _pointer(context: Any, builder: Any, array_type: Any, kind: Any, size: int, array: Any, place: Any) -> Any:
    """A pointer to the value of `size` bytes at a place; an IndexError where places are checked and it is outside."""
    from llvmlite import ir
    from numba.core import cgutils

    view = context.make_array(array_type)(context, builder, array)
    if _CHECKED:
        last = builder.add(place, ir.Constant(place.type, size - 1))
        for each in (place, last):
            cgutils.do_boundscheck(context, builder, each, view.nitems)
    return builder.bitcast(builder.gep(view.data, [place]), kind.as_pointer())


def _inside(array: npt.NDArray[np.uint8], place: int, size: int) -> slice:
    """The bytes at a place of an array. Raises IndexError where they are not all inside."""
    if not 0 <= place <= array.size - size:
        raise IndexError(f"{size} bytes at place {place} of an array of {array.size}")
    return slice(int(place), int(place) + size)


def unsigned_load(bits: int, *, big_endian: bool = True) -> Intrinsic:
    """The load of an unsigned integer of so many bits, as an operation of loops."""

    def load(typing_context, array, place):
        from llvmlite import ir
        from numba import types

        def generate(context, builder, signature, arguments):
            kind = ir.IntType(bits)
            value = builder.load(_pointer(context, builder, signature.args[0], kind, bits // 8, *arguments), align=1)
            return builder.bswap(value) if big_endian and bits > 8 else value

        return getattr(types, f"uint{bits}")(array, types.int64), generate

    def interpreted(array, place):
        order = ">" if big_endian else "<"
        return np.dtype(f"u{bits // 8}").type(array[_inside(array, place, bits // 8)].view(f"{order}u{bits // 8}")[0])

    return Intrinsic(load, interpreted)


def _store(typing_context, array, place, value):
    """Store an unsigned integer big-endian."""
    from llvmlite import ir
    from numba import types

    def generate(context, builder, signature, arguments):
        pointer = _pointer(context, builder, signature.args[0], ir.IntType(64), 8, *arguments[:2])
        builder.store(builder.bswap(arguments[2]), pointer, align=1)
        return context.get_dummy_value()

    return types.none(array, types.int64, types.uint64), generate


def _store_interpreted(array, place, value):
    array[_inside(array, place, 8)] = np.frombuffer(int(value).to_bytes(8, "big"), np.uint8)


def _keep(typing_context, array, place, value):
    """Store a number in the machine's byte order."""
    from numba import types

    def generate(context, builder, signature, arguments):
        kind = arguments[2].type
        pointer = _pointer(context, builder, signature.args[0], kind, value.bitwidth // 8, *arguments[:2])
        builder.store(arguments[2], pointer, align=1)
        return context.get_dummy_value()

    return types.none(array, types.int64, value), generate


def _keep_interpreted(array, place, value):
    array[_inside(array, place, value.nbytes)] = np.frombuffer(value.tobytes(), np.uint8)


def _count_trailing_zeros(typing_context, value):
    """Number of zero bits below the lowest one bit of an unsigned integer; 64 for zero."""
    from llvmlite import ir
    from numba import types

    def generate(context, builder, signature, arguments):
        return builder.cttz(arguments[0], ir.Constant(ir.IntType(1), 0))

    return types.int64(types.uint64), generate


def _trailing_zeros_interpreted(value):
    return (int(value) & -int(value)).bit_length() - 1 if value else 64


load_1: Any = unsigned_load(8)
"""The byte at a place of an array."""

load_2: Any = unsigned_load(16)
load_4: Any = unsigned_load(32)
load_8: Any = unsigned_load(64)
"""The two, four, eight bytes at a place, as an unsigned integer."""

store_8: Any = Intrinsic(_store, _store_interpreted)
"""Write an unsigned integer as the eight bytes at a place."""

keep: Any = Intrinsic(_keep, _keep_interpreted)
"""Write a number of any type as the bytes from a place on, in the machine's byte order."""

trailing_zero_bits: Any = Intrinsic(_count_trailing_zeros, _trailing_zeros_interpreted)

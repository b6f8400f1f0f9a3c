"""Loops compiled to machine code, which is kept: a later process runs it without the compiler.

numba compiles a loop when it is first called with arguments of some types. Loading numba and what it keeps by itself
takes a second; machine code loaded with llvmlite alone takes hundredths. A loop therefore takes numbers, arrays and
tuples of them, allocates nothing, and returns numbers.
"""

import ctypes
import os
import threading
from collections.abc import Callable, Sequence
from functools import update_wrapper
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

if TYPE_CHECKING:
    from ingest.kernels import native

#: Meta-information and parent of an array made in Python, which compiled code never frees.
_NO_OWNER = (0, 0)


def kernel(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile a loop with numba, once per machine: see `state.kernels`. It runs without the interpreter lock."""
    return function if _interpreted() else Kernel(function)


def inlined(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile a function that loops call for every value, into the loop itself."""
    return function if _interpreted() else Kernel(function, forceinline=True)


def _interpreted() -> bool:
    return os.environ.get("NUMBA_DISABLE_JIT", "0") not in ("", "0")


class Intrinsic:
    """An operation of loops.

    define: what `numba.extending.intrinsic` takes, which runs when a loop is compiled; interpreted: the same in Python.
    """

    def __init__(self, define: Callable[..., Any], interpreted: Callable[..., Any]) -> None:
        self._define, self._interpreted = define, interpreted

    def __call__(self, *arguments: Any) -> Any:
        """Do it in Python."""
        return self._interpreted(*arguments)

    def for_numba(self) -> Any:
        """The intrinsic that compiled code calls."""
        from numba.extending import intrinsic

        return intrinsic(self._define)


class Kernel:
    """A compiled loop: called like the function it was made of, with one machine code for each kind of arguments."""

    def __init__(self, function: Callable[..., Any], *, forceinline: bool = False) -> None:
        update_wrapper(self, function)
        self._function, self._forceinline = function, forceinline
        self._codes: dict[tuple[Any, ...], native.Code] = {}
        self._lock = threading.Lock()
        self._dispatcher: Any = None
        self.compiled = 0

    def __call__(self, *arguments: Any) -> Any:
        """Run the loop. Raises IndexError where places are checked (NUMBA_BOUNDSCHECK) and one is outside its array."""
        kinds = tuple([_kind(argument) for argument in arguments])
        code = self._codes.get(kinds) or self._code(kinds, arguments)
        flat: list[Any] = []
        _flatten(arguments, flat)
        return code.run(flat)

    def for_numba(self) -> Any:
        """The function that other compiled loops call."""
        from ingest.kernels import native

        if self._dispatcher is None:
            self._dispatcher = native.dispatcher(self._function, forceinline=self._forceinline)
        return self._dispatcher

    def _code(self, kinds: tuple[Any, ...], arguments: tuple[Any, ...]) -> "native.Code":
        """The machine code for arguments of these kinds: kept from an earlier process, or compiled now."""
        from ingest.kernels import native

        with self._lock:
            if kinds not in self._codes:
                path = native.name(self._function, kinds)
                kept = native.kept(path)
                if kept is None:
                    kept = native.compiled(self.for_numba(), arguments)
                    self.compiled += 1
                    native.keep(path, kept)
                self._codes[kinds] = native.Code(kept, _passed(arguments))
            return self._codes[kinds]


def _kind(argument: Any) -> Any:
    """The type of an argument: each combination of types has its machine code."""
    if isinstance(argument, np.ndarray):
        flags = argument.flags
        return argument.dtype, argument.ndim, flags.c_contiguous, flags.writeable
    if isinstance(argument, tuple):
        return tuple([_kind(item) for item in argument])
    return type(argument)


def _flatten(arguments: Sequence[Any], flat: list[Any]) -> None:
    """Put the parts of arguments, as numba lays them out, behind one another."""
    for argument in arguments:
        if isinstance(argument, np.ndarray):
            flat += _NO_OWNER
            flat += (argument.size, argument.itemsize, _address(argument), *argument.shape, *argument.strides)
        elif isinstance(argument, tuple):
            _flatten(argument, flat)
        else:
            flat.append(argument)


def _address(array: npt.NDArray[Any]) -> int:
    """Where an array's values start; Arrow says it of values without gaps in a tenth of the time that NumPy takes."""
    return pa.py_buffer(array).address if array.flags.c_contiguous else array.ctypes.data


def _passed(arguments: Sequence[Any]) -> list[Any]:
    """How the parts of arguments are handed to machine code, as ctypes."""
    return [part for argument in arguments for part in _parts(argument)]


def _parts(argument: Any) -> list[Any]:
    if isinstance(argument, tuple):
        return _passed(argument)
    if isinstance(argument, np.ndarray):
        return (
            [ctypes.c_void_p] * 2 + [ctypes.c_ssize_t] * 2 + [ctypes.c_void_p] + [ctypes.c_ssize_t] * 2 * argument.ndim
        )
    kinds: dict[type, Any] = {int: ctypes.c_int64, bool: ctypes.c_uint8, float: ctypes.c_double}
    if type(argument) in kinds:
        return [kinds[type(argument)]]
    if isinstance(argument, np.generic):
        return [np.ctypeslib.as_ctypes_type(argument.dtype)]  # type: ignore[arg-type]
    raise TypeError(f"compiled loops take numbers, arrays and tuples of them, not {type(argument).__name__}")

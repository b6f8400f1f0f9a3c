"""Machine code of compiled loops: made by numba, kept in files, loaded by llvmlite.

Kept code is valid only for the processor, the version of Python and the version of llvmlite (which decides numba's)
for which it was compiled. A change in the sources of the loop's folder, or of this one, makes it invalid, too.
"""

import ctypes
import hashlib
import json
import os
import struct
import types
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any

import llvmlite.binding as llvm
import numpy as np

from state.kernels import folders, room_stamp

_HERE = Path(__file__).resolve().parent
_MOST_KEPT = 4
_RETURNS = {"bool": "?", "int8": "b", "uint8": "B", "int16": "h", "uint16": "H", "int32": "i", "uint32": "I"}
_RETURNS |= {"int64": "q", "uint64": "Q", "float64": "d"}


@dataclass(frozen=True)
class Kept:
    """An object file's content, the function to call in it, and what that returns in the signs of `struct`."""

    symbol: str
    returns: str
    single: bool
    content: bytes


class Code:
    """Machine code in memory. `passed` are the ctypes of the parts of its arguments, as numba lays them out."""

    def __init__(self, kept: Kept, passed: Sequence[Any]) -> None:
        llvm.initialize_native_target()
        llvm.initialize_native_asmprinter()
        self._engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), _machine())
        self._engine.add_object_file(llvm.ObjectFileRef.from_data(kept.content))
        self._engine.finalize_object()
        self._call = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_void_p, *passed)(
            self._engine.get_function_address(kept.symbol)
        )
        self._returns, self._single, self._symbol = struct.Struct(kept.returns), kept.single, kept.symbol

    def run(self, flat: Sequence[Any]) -> Any:
        """Call it with the parts of its arguments; what it returns. IndexError where a checked place is outside."""
        returned, failure = ctypes.create_string_buffer(self._returns.size or 1), ctypes.c_void_p()
        if self._call(ctypes.addressof(returned), ctypes.addressof(failure), *flat) not in (0, -2):
            raise IndexError(f"{self._symbol}: a place outside an array")
        values = self._returns.unpack_from(returned)
        return values[0] if self._single else values or None


def dispatcher(function: Callable[..., Any], *, forceinline: bool) -> Any:
    """A function as numba compiles it, with what it calls; nothing that only Python needs is compiled with it."""
    from numba import njit

    called = {name: function.__globals__[name] for name in function.__code__.co_names if name in function.__globals__}
    replacements = {name: value.for_numba() for name, value in called.items() if hasattr(value, "for_numba")}
    copy = types.FunctionType(
        function.__code__, function.__globals__ | replacements, function.__name__, function.__defaults__
    )
    copy.__module__, copy.__qualname__ = function.__module__, function.__qualname__
    options = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True, "_nrt": False}
    return njit(copy, forceinline=forceinline, **options)  # type: ignore[call-overload]


def compiled(loop: Any, arguments: Sequence[Any]) -> Kept:
    """Compile a function of `dispatcher` for arguments like these. Raises numba's errors for code it cannot compile."""
    from numba import typeof
    from numba.core.types import BaseTuple, none, unliteral

    kinds = tuple(typeof(argument) for argument in arguments)
    loop.compile(kinds)
    result = loop.overloads[kinds]
    returned = unliteral(result.signature.return_type)
    single = not isinstance(returned, BaseTuple)
    parts = [] if returned == none else [returned] if single else [unliteral(part) for part in returned]
    returns = "".join(_RETURNS[str(part)] for part in parts)
    content = _machine().emit_object(llvm.parse_assembly(result.library.get_llvm_str()))
    return Kept(result.fndesc.llvm_func_name, returns, single and bool(parts), content)


def name(function: Callable[..., Any], kinds: Sequence[Any]) -> str:
    """The file name of a loop's code for such arguments."""
    source = Path(function.__code__.co_filename).resolve().parent
    label = f"{function.__module__}.{function.__qualname__}{kinds}{_platform()}"
    parts = [hashlib.sha256(text.encode()).hexdigest()[:16] for text in (label, room_stamp(source) + room_stamp(_HERE))]
    return f"{function.__qualname__}-{'-'.join(parts)}.o"


def kept(file: str) -> Kept | None:
    """Code of that file name from any of the folders; None where there is none, or what there is was damaged."""
    for folder in folders():
        with suppress(OSError, ValueError, TypeError, KeyError):
            head, content = (folder / file).read_bytes().split(b"\n", 1)
            fields = json.loads(head)
            if fields.pop("sha256") == hashlib.sha256(content).hexdigest():
                return Kept(**fields, content=content)
    return None


def keep(file: str, code: Kept) -> None:
    """Keep code for later processes in the first folder that can be written; without one it is compiled again.

    Of what was compiled from earlier sources, the newest stay: several checkouts may use one installation.
    """
    fields = {**asdict(code), "sha256": hashlib.sha256(code.content).hexdigest()}
    del fields["content"]
    for folder in folders():
        with suppress(OSError):
            folder.mkdir(parents=True, exist_ok=True)
            temporary = folder / f"{file}.{os.getpid()}"
            temporary.write_bytes(json.dumps(fields).encode() + b"\n" + code.content)
            temporary.replace(folder / file)
            same = folder.glob(f"{file.rpartition('-')[0]}-*.o")
            for older in sorted(same, key=lambda path: path.stat().st_mtime_ns)[:-_MOST_KEPT]:
                older.unlink(missing_ok=True)
            return


@cache
def _machine() -> Any:
    """The processor that code is made for."""
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    return llvm.Target.from_default_triple().create_target_machine(
        cpu=llvm.get_host_cpu_name(), features=llvm.get_host_cpu_features().flatten(), opt=3, codemodel="jitdefault"
    )


@cache
def _platform() -> str:
    features = llvm.get_host_cpu_features().flatten()
    return f"{np.__version__} {llvm.get_host_cpu_name()} {features} {os.environ.get('NUMBA_BOUNDSCHECK')}"

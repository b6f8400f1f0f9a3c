"""Loops compiled with numba: their code is kept, and thrown away when a file of its room has changed.

Numba by itself keeps code in one folder that must be writable, beside a hash of the function's own file. A kernel also
holds what it takes from its neighbours: their constants, and functions built into it. Without the hash of the room, a
kernel compiled before a neighbour changed would go on computing with what that neighbour used to say.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any
from uuid import uuid4

from numba import njit
from numba.core.caching import CompileResultCacheImpl, FunctionCache, IndexDataCacheFile, _CacheLocator

from state.kernels import folders, room_stamp


def kernel(**options: Any) -> Callable[[Callable[..., Any]], Any]:
    """A decorator as `numba.njit` with these options, whose code later processes find in one of `folders`."""

    def decorate(function: Callable[..., Any]) -> Any:
        dispatcher: Any = njit(**options)(function)
        if dispatcher is not function:
            dispatcher._cache = _Cache(function)
        return dispatcher

    return decorate


class _Locator(_CacheLocator):
    """Names the kept code of a function for numba: by its room, and within that by its line."""

    def __init__(self, function: Callable[..., Any], file: str) -> None:
        self._py_file, self._line = file, function.__code__.co_firstlineno

    @classmethod
    def from_function(cls, py_func: Callable[..., Any], py_file: str) -> _Locator:
        return cls(py_func, py_file)

    def get_cache_path(self) -> str:
        return str(self.get_suitable_cache_subpath(self._py_file))

    def get_source_stamp(self) -> str:
        return room_stamp(Path(self._py_file).parent)

    def get_disambiguator(self) -> str:
        return str(self._line)

    def ensure_cache_path(self) -> None:
        """Nothing: `_Files` makes the folders that it writes to."""


class _Cache(FunctionCache):
    """Numba's cache of one function, over several folders."""

    class _impl_class(CompileResultCacheImpl):
        _locator_classes = [_Locator]  # noqa: RUF012 (numba's type)

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__(function)
        self._cache_file = _Files(self._cache_path, self._impl.filename_base, self._impl.locator.get_source_stamp())


class _Files(IndexDataCacheFile):
    """The kept code of one function in each of `folders`, which are asked for when it is used."""

    def __init__(self, room: str, *described: str) -> None:
        self._room, self._described = room, described

    def load(self, key: Any) -> Any:
        for file in self._files():
            with suppress(Exception):  # What is damaged is compiled anew, in whatever way it cannot be read.
                if (code := file.load(key)) is not None:
                    return code
        return None

    def save(self, key: Any, data: Any) -> None:
        for file in self._files():
            with suppress(OSError):
                Path(file._cache_path).mkdir(parents=True, exist_ok=True)
                file.save(key, data)
                return

    def _files(self) -> Sequence[_File]:
        return [_File(str(folder / self._room), *self._described) for folder in folders()]


class _File(IndexDataCacheFile):
    """The kept code in one folder; none where its index is damaged or names a type that the code no longer has."""

    def save(self, key: Any, data: Any) -> None:
        """Under a new name, before the index has it: what another process reads or writes meanwhile is never mixed up.

        Numba numbers the files and names them first, so that an index can name what is older, or of other types.
        """
        name = self._data_name(uuid4().int)
        self._save_data(name, data)
        index = {**self._load_index(), key: name}
        self._save_index(index)
        for file in Path(self._cache_path).glob(Path(self._index_name).stem + ".*.nbc"):
            if file.name not in index.values():
                file.unlink(missing_ok=True)

    def _load_index(self) -> dict[Any, Any]:
        try:
            return super()._load_index()
        except Exception:
            return {}

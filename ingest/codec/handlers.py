"""The interface of code for records that describe themselves: a layout names its handler.

A handler is made once per dump and sees the records of its layout in the order of the dump, so that it can keep
data of earlier ones. It yields further tables, and refuses records it cannot read.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ingest.layout import Layout


@dataclass(frozen=True)
class Problem:
    """A record that could not be decoded: its place among those given, a reason code, and what is wrong with it."""

    index: int
    reason: str
    detail: str


@dataclass
class Handled:
    """The result of a batch: tables with the keys of records but no `file_id`, and the records that failed.

    unknown_records: number of records whose data no table has, because no layout describes them.
    """

    tables: dict[str, pa.Table] = field(default_factory=dict)
    problems: Sequence[Problem] = ()
    unknown_records: int = 0


class Handler(Protocol):
    """Reads what a layout cannot say."""

    def decode(
        self,
        buffer: npt.NDArray[np.uint8],
        offset: npt.NDArray[np.int64],
        length: npt.NDArray[np.int64],
        record_seq: npt.NDArray[np.uint32],
    ) -> Handled:
        """Decode records that lie whole in `buffer`, from `offset[i]` on for `length[i]` bytes."""
        ...


Finisher = Callable[[Layout, Mapping[str, pa.Table], Sequence[int], Sequence[bytes]], list[bytes]]
"""Writes what a handler reads: layout, tables by section name, record_seq and bytes of each record → whole records."""

"""All state of a running engine, by name, and how its functions are compiled.

Reference counting of arrays is off: the engine makes none, and counting atomically at every inner call took half of
its time. `model.network.kernel_cache` keeps the code. A named tuple of arrays is a value to Numba: every ``t.name``
would copy all of it, which makes compiling slow, so compiled code has a reference to it.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba.core import cgutils, types
from numba.core.typing.templates import AttributeTemplate
from numba.extending import infer_getattr, intrinsic, lower_getattr_generic, models, register_model

from model.network.kernel_cache import kernel

_OPTIONS: dict[str, Any] = {"error_model": "numpy", "_nrt": False}

compiled: Any = kernel(**_OPTIONS)
"""A compiled function."""

inlined: Any = kernel(**_OPTIONS, forceinline=True)
"""A compiled function that is always part of its caller."""

released: Any = kernel(**_OPTIONS, nogil=True)
"""A compiled function that lets other threads run."""


class Tables(NamedTuple):
    """Everything the engine reads and writes; see :mod:`model.network.simulator.layout` for the columns."""

    op_i: np.ndarray
    op_f: np.ndarray
    branch_to: np.ndarray
    branch_p: np.ndarray
    dist_i: np.ndarray
    dist_f: np.ndarray
    dist_table: np.ndarray
    st_i: np.ndarray
    st_f: np.ndarray
    rates: np.ndarray
    costs: np.ndarray
    speeds: np.ndarray
    server: np.ndarray
    queue_head: np.ndarray
    queue_tail: np.ndarray
    lane_of: np.ndarray
    lane_i: np.ndarray
    lane_f: np.ndarray
    gr_i: np.ndarray
    gr_f: np.ndarray
    gr_stations: np.ndarray
    res_i: np.ndarray
    inst_i: np.ndarray
    cls_i: np.ndarray
    src_i: np.ndarray
    src_f: np.ndarray
    trace_time: np.ndarray
    trace_class: np.ndarray
    trace_work: np.ndarray
    trace_left: np.ndarray
    rng: np.ndarray
    control: np.ndarray
    freed: np.ndarray
    heap: np.ndarray
    clock: np.ndarray
    acc_v: np.ndarray
    acc_t: np.ndarray
    acc_q: np.ndarray
    acc_x: np.ndarray
    histogram: np.ndarray
    visit_histogram: np.ndarray
    parts: np.ndarray
    float_view: np.ndarray
    bits_view: np.ndarray
    # These grow with the number of transactions inside at once.
    cust_i: np.ndarray
    cust_f: np.ndarray
    cust_instance: np.ndarray
    cust_parts: np.ndarray
    times: np.ndarray
    owners: np.ndarray
    place: np.ndarray
    free: np.ndarray
    ready: np.ndarray
    lane_keys: np.ndarray
    lane_members: np.ndarray


class TablesReference(types.Type):
    """A pointer to a named tuple on the stack."""

    def __init__(self, tables: types.NamedTuple) -> None:
        self.tables = tables
        super().__init__(name=f"reference({tables})")


@register_model(TablesReference)
class _Pointer(models.PrimitiveModel):
    def __init__(self, manager: Any, reference: TablesReference) -> None:
        super().__init__(manager, reference, manager.lookup(reference.tables).get_value_type().as_pointer())


def _by_reference(typing: Any, tables: types.NamedTuple) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return cgutils.alloca_once_value(builder, arguments[0])

    return TablesReference(tables)(tables), generate


by_reference: Any = intrinsic(_by_reference)
"""A reference to the tables of the calling compiled function."""


@infer_getattr
class _Attributes(AttributeTemplate):
    key = TablesReference

    def generic_resolve(self, value: Any, attr: str) -> Any:  # type: ignore[override]
        tables = value.tables
        return tables[tables.fields.index(attr)] if attr in tables.fields else None


@lower_getattr_generic(TablesReference)
def _load(context: Any, builder: Any, reference: TablesReference, pointer: Any, name: str) -> Any:
    field = reference.tables.fields.index(name)
    return builder.load(cgutils.gep_inbounds(builder, pointer, 0, field))

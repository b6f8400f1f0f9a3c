"""The tables by reference inside compiled code.

A named tuple of arrays is a value to Numba: every ``t.name`` would copy all of it, which makes compiling slow.
"""

from __future__ import annotations

from typing import Any

from numba.core import cgutils, types
from numba.core.typing.templates import AttributeTemplate
from numba.extending import infer_getattr, intrinsic, lower_getattr_generic, models, register_model


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

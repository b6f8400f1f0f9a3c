"""The layouts of IMS log records in a registry."""

from ingest.layout import Layout
from ingest.registry import IMS_ROLE, Registry, RegistryError


def ims_layouts(registry: Registry) -> dict[tuple[int, int | None], Layout]:
    """(code, subcode or None for all) → layout. Raises RegistryError when two claim the same record."""
    found: dict[tuple[int, int | None], Layout] = {}
    for role, layout in registry.auxiliary.items():
        if role.startswith(IMS_ROLE):
            for subcode in layout.subtypes or (None,):
                other = found.setdefault((layout.type, subcode), layout)
                if other is not layout:
                    shown = f"{layout.type:02X}" + (f"{subcode:02X}" if subcode is not None else "")
                    raise RegistryError(f"{layout.path}: log record X'{shown}' is already described by {other.path}")
    return found


def layout_of(layouts: dict[tuple[int, int | None], Layout], code: int, subcode: int) -> Layout | None:
    """The layout of a record: that of its subcode before that of its code."""
    return layouts.get((code, subcode)) or layouts.get((code, None))

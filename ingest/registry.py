"""Every record layout that is in force: those that come with Etalon, and those of further folders."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property, partial
from pathlib import Path

from ingest.layout import Layout, Section
from ingest.layout_files import LOGS, RegistryError, read_head, read_layout, role_of

LAYOUT_DIR = Path(__file__).parent / "layouts"


@dataclass(frozen=True)
class LayoutFile:
    """A file with a layout, and the entries of its head. The layout is read on first use: reading all takes long."""

    path: Path
    role: str
    name: str
    type: int
    subtypes: tuple[int, ...]
    read: Callable[[], Layout]

    def __getstate__(self) -> dict[str, object]:
        """State for pickling: without the layout, which is read again."""
        return {name: value for name, value in vars(self).items() if name != "layout"}

    @cached_property
    def layout(self) -> Layout:
        """The layout. Raises RegistryError for a file that cannot be used."""
        return self.read()


@dataclass(frozen=True)
class Registry:
    """All layouts. files: by role, as `identification` or `ims:name`, or by the name of an SMF record."""

    files: Mapping[str, LayoutFile]

    def __getstate__(self) -> dict[str, object]:
        """State for pickling: the files only."""
        return {"files": self.files}

    @cached_property
    def record_files(self) -> tuple[LayoutFile, ...]:
        """The files of SMF records, in a fixed order."""
        files = (file for file in self.files.values() if not file.role)
        return tuple(sorted(files, key=lambda file: (file.type, file.subtypes, file.name)))

    @cached_property
    def layouts(self) -> tuple[Layout, ...]:
        """The layouts of all SMF records, in a fixed order."""
        return tuple(file.layout for file in self.record_files)

    @property
    def identification(self) -> Section:
        """The head by which records without a layout are identified."""
        return self.files["identification"].layout.header

    def layouts_for(self, record_type: int, subtype: int) -> list[Layout]:
        """The layouts of a record type and subtype; where there are several, their conditions tell them apart."""
        return [
            file.layout
            for file in self.record_files
            if file.type == record_type and (not file.subtypes or subtype in file.subtypes)
        ]

    def layout_for(self, record_type: int, subtype: int) -> Layout | None:
        """The first layout of a record type and subtype, or None."""
        return next(iter(self.layouts_for(record_type, subtype)), None)

    def tables(self) -> Iterator[tuple[Layout, Section]]:
        """Every raw table with its layout, in a fixed order."""
        for layout in self.layouts:
            for section in (*layout.sections, *layout.handled):
                yield layout, section

    def logged(self, log: str) -> dict[tuple[int, int | None], Layout]:
        """(code, subcode or None for all) → layout of the records of a log. Raises RegistryError for two of one."""
        layouts: dict[tuple[int, int | None], Layout] = {}
        for layout in (file.layout for role, file in self.files.items() if role.startswith(f"{log}:")):
            for subcode in layout.subtypes or (None,):
                other = layouts.setdefault((layout.type, subcode), layout)
                if other is not layout:
                    shown = f"{layout.type:0{2 * LOGS[log]}X}" + (f"{subcode:02X}" if subcode is not None else "")
                    raise RegistryError(f"{layout.path}: log record X'{shown}' is already described by {other.path}")
        return layouts

    def table(self, name: str) -> tuple[Layout, Section]:
        """Layout and section of a raw table. Raises KeyError."""
        for layout, section in self.tables():
            if section.table == name:
                return layout, section
        raise KeyError(f"no layout has a table {name}")


def built_in(name: str) -> Layout:
    """The layout in the file of this name among the built-in ones. Raises RegistryError."""
    return _read_once(LAYOUT_DIR / name)


def _read_once(path: Path) -> Layout:
    """A file that comes with Etalon: read again only when it has changed."""
    stat = path.stat()
    return _unchanged(path, stat.st_mtime_ns, stat.st_size)


@cache
def _unchanged(path: Path, modified_ns: int, size: int) -> Layout:
    del modified_ns, size
    return read_layout(path)[1]


def load(extra_dirs: Iterable[Path | str] = ()) -> Registry:
    """The built-in layouts and those of further directories.

    A layout of a further directory replaces a built-in one of the same name. Raises RegistryError for a file that
    cannot be used and for two layouts that claim the same record.
    """
    files = {file.role or file.name: file for file in map(_built_in, _files_of(LAYOUT_DIR))}
    further = [file for directory in extra_dirs for file in map(_further, _files_of(Path(directory)))]
    registry = Registry(files | {file.role or file.name: file for file in further})
    if further:
        refuse_overlaps(registry.layouts)
    return registry


def _files_of(directory: Path) -> list[Path]:
    if not directory.is_dir():
        raise RegistryError(f"{directory}: there is no such folder of layout files; check the path")
    paths = sorted(directory.glob("*.toml"))
    if not paths:
        raise RegistryError(f"{directory}: the folder holds no layout files; their names end with .toml")
    return paths


def _built_in(path: Path) -> LayoutFile:
    """A file that comes with Etalon, which tests have checked."""
    head = read_head(path)
    subtypes, read = tuple(head.get("subtypes", ())), partial(_read_once, path)
    return LayoutFile(path, role_of(head), head["name"], head.get("type", -1), subtypes, read)


def _further(path: Path) -> LayoutFile:
    """A file of an installation, checked at once."""
    role, layout = read_layout(path)
    return LayoutFile(path, role, layout.name, layout.type, layout.subtypes, partial(_same, layout))


def _same(layout: Layout) -> Layout:
    return layout


def refuse_overlaps(layouts: Sequence[Layout]) -> None:
    """Raise RegistryError where two layouts claim the same record or table."""
    claims: dict[tuple[int, int | None], list[Layout]] = {}
    tables: dict[str, Layout] = {}
    for layout in sorted(layouts, key=lambda item: item.path.parent != LAYOUT_DIR):
        whole = claims.get((layout.type, None), [])
        part = [other for (kind, _), claimants in claims.items() for other in claimants if kind == layout.type]
        for other in [*whole, *([] if layout.subtypes else part)]:
            if _are_distinct(layout, other):
                continue
            raise RegistryError(
                f"{layout.path}: record {layout.type} is already described, with all or some of its subtypes, by "
                f"{other.path}. Name the subtypes that are meant, or replace it with the name {other.name!r}"
            )
        for subtype in layout.subtypes or (None,):
            others = claims.setdefault((layout.type, subtype), [])
            for other in others:
                if _are_distinct(layout, other):
                    continue
                shown = layout.type if subtype is None else f"{layout.type}.{subtype}"
                raise RegistryError(
                    f"{layout.path}: record {shown} is already described by {other.path}; to replace it, give the "
                    f"record the name {other.name!r}"
                )
            others.append(layout)
        for section in (*layout.sections, *layout.handled):
            other = tables.setdefault(section.table, layout)
            if other is not layout:
                raise RegistryError(
                    f"{layout.path}: table {section.table} is already described by {other.path}; name the section "
                    "differently"
                )


def _are_distinct(one: Layout, other: Layout) -> bool:
    """True if records of one type and subtype cannot have both layouts: their conditions exclude each other."""
    if one.when is None or other.when is None or not one.when.excludes(other.when):
        return False
    first, second = one.header.by_name(one.when.selector), other.header.by_name(other.when.selector)
    return (first.offset, first.length) == (second.offset, second.length)

"""The files made from the registry and the report descriptions, written or compared with what is there."""

from pathlib import Path

from ingest.registry import Registry
from ingest.schema import reference


def generated_files(registry: Registry) -> dict[Path, str]:
    """Path from the project root → content of every generated file."""
    return {**reference.files(registry), **_pages(registry)}


def _pages(registry: Registry) -> dict[Path, str]:
    """The generated pages that stand among written ones."""
    from ingest.formats.dcollect.reference import reference as dcollect
    from ingest.formats.ims.reference import reference as ims_log
    from ingest.formats.rmf.reference import reference as rmf_tables

    return {
        Path("docs/dcollect.md"): dcollect(registry),
        Path("docs/ims-log.md"): ims_log(registry),
        Path("docs/rmf-tables.md"): rmf_tables(),
    }


def write(registry: Registry, root: Path) -> list[Path]:
    """Write every generated file that differs and remove those no longer made; returns the paths touched."""
    touched = drift(registry, root)
    wanted = generated_files(registry)
    for path in touched:
        target = root / path
        if path in wanted:
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(wanted[path], encoding="utf-8")
        else:
            target.unlink()
    return touched


def drift(registry: Registry, root: Path) -> list[Path]:
    """Paths of generated files that are missing, differ from the registry, or are no longer made."""
    wanted = generated_files(registry)
    folders = {path.parent for path in wanted.keys() - _pages(registry).keys()}
    present = {path.relative_to(root) for folder in folders for path in (root / folder).glob("*") if path.is_file()}
    differing = {
        path
        for path, text in wanted.items()
        if not (root / path).exists() or (root / path).read_text(encoding="utf-8") != text
    }
    return sorted(differing | (present - wanted.keys()))

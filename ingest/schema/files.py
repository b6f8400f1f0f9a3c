"""The files made from the registry, written or compared with what is there."""

from pathlib import Path

from ingest.registry import Registry
from ingest.schema import dbt_files, reference


def generated_files(registry: Registry) -> dict[Path, str]:
    """Path from the project root → content of every generated file."""
    return {**dbt_files.files(registry), **reference.files(registry)}


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
    folders = {path.parent for path in wanted}
    present = {path.relative_to(root) for folder in folders for path in (root / folder).glob("*") if path.is_file()}
    differing = {
        path
        for path, text in wanted.items()
        if path not in present or (root / path).read_text(encoding="utf-8") != text
    }
    return sorted(differing | (present - wanted.keys()))

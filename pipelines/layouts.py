"""Which record layouts are in force: the built-in ones, and those of an installation."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from pipelines.home import Home

Layouts = Annotated[
    list[Path] | None,
    typer.Option(
        "--layouts",
        metavar="DIR",
        help="Folder of your own layout files, in addition to ETALON_LAYOUTS and ETALON_HOME/layouts; may be repeated.",
    ),
]


def folders(home: Home, named: Sequence[Path] | None = None) -> list[Path]:
    """The folders of an installation's layouts; one that comes later replaces layouts of the same name.

    These are `layouts` in the state folder where it is there, the folders of ETALON_LAYOUTS (separated as in PATH), and
    those named.
    """
    kept = [home.layouts] if any(home.layouts.glob("*.toml")) else []
    listed = [Path(name).expanduser() for name in os.environ.get("ETALON_LAYOUTS", "").split(os.pathsep) if name]
    return [*kept, *listed, *(path.expanduser() for path in named or ())]


def registry(home: Home, named: Sequence[Path] | None = None) -> Any:
    """All layouts in force, as `ingest.registry.Registry`. Raises RegistryError for a file that cannot be used."""
    from ingest.registry import load

    return load(folders(home, named))

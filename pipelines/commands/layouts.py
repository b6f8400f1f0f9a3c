"""Layouts of an installation, made from the listings of its assemblies."""

from pathlib import Path
from typing import Annotated

import typer

from pipelines import layouts
from pipelines.exits import EtalonError, Exit
from pipelines.home import Home


def register(app: typer.Typer) -> None:
    """Add the commands to the application."""
    group = typer.Typer(no_args_is_help=True, help="Create your own record layouts.", rich_markup_mode=None)
    group.callback()(lambda: None)
    group.command("import")(import_listing)
    app.add_typer(group, name="layout")


def import_listing(
    listing: Annotated[Path, typer.Argument(metavar="LISTING", help="Assembly listing of a DSECT, as text.")],
    section: Annotated[
        str | None,
        typer.Option(metavar="LAYOUT.SECTION", help="Section to extend, such as smf101.accounting."),
    ] = None,
    record_type: Annotated[
        int | None, typer.Option("--type", min=0, max=2047, help="SMF type of a record that has no layout yet.")
    ] = None,
    subtype: Annotated[list[int] | None, typer.Option(min=0, help="Subtype of the record; may be repeated.")] = None,
    triplet: Annotated[
        int, typer.Option(min=24, help="Offset of the triplet that locates the DSECT in the record.")
    ] = 28,
    dsect: Annotated[str | None, typer.Option(help="Name of the DSECT, if the listing has several.")] = None,
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Output file. Default: a file in ETALON_HOME/layouts.")
    ] = None,
) -> None:
    """Make a layout file from the assembly listing of a DSECT.

    The file has the fields of the listing with their offsets and remarks, and names the listing and its digest as the
    source. `docs/how-to-add-a-record-type.md` explains what you can improve by hand.
    """
    from ingest.layout_files import read_layout
    from ingest.listings import extended, new_layout, origin_of, read_listing

    if (section is None) == (record_type is None):
        raise typer.BadParameter("name --section LAYOUT.SECTION, or --type N for records without a layout")
    home = Home.from_environment()
    try:
        dsects = read_listing(listing.read_text(encoding="utf-8", errors="replace"))
    except OSError as error:
        raise EtalonError(f"{listing}: cannot be read: {error.strerror}", Exit.NO_INPUT) from None
    except ValueError as error:
        raise EtalonError(f"{listing}: {error}", Exit.NO_INPUT) from None
    chosen = [each for each in dsects if dsect is None or each.name == dsect]
    if len(chosen) != 1:
        names = ", ".join(each.name for each in dsects)
        raise EtalonError(f"{listing}: holds {names}; name one with --dsect", Exit.NO_INPUT)
    try:
        if section is None:
            text = new_layout(chosen[0], record_type or 0, subtype or (), triplet, origin_of(listing))
            name = "_".join(["smf", str(record_type), *map(str, subtype or ())]) + ".toml"
        else:
            layout, part = _section(home, section)
            text, name = extended(layout, part, chosen[0], origin_of(listing)), layout.path.name
    except ValueError as error:
        raise EtalonError(f"{listing}: {error}", Exit.NO_INPUT) from None
    if out is None:
        home.require_writable()
        out = home.layouts / name
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(text, encoding="utf-8")
    read_layout(out)
    typer.echo(str(out))


def _section(home: Home, name: str) -> tuple:
    """The layout and section that LAYOUT.SECTION names."""
    registry = layouts.registry(home)
    wanted, _, part = name.partition(".")
    for layout in registry.layouts:
        if layout.name == wanted:
            for section in layout.sections:
                if section.name == part:
                    return layout, section
            names = ", ".join(f"{wanted}.{section.name}" for section in layout.sections)
            raise EtalonError(f"--section {name}: there are {names}", Exit.NO_INPUT)
    raise EtalonError(
        f"--section {name}: unknown layout {wanted!r}; docs/field-reference lists all layouts", Exit.NO_INPUT
    )

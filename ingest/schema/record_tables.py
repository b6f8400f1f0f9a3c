"""Tables of records that are not SMF's, in Markdown."""

from collections.abc import Iterable

from ingest.layout import Layout


def record_tables(layouts: Iterable[Layout]) -> list[str]:
    """Lines that list the fields of each layout: column, place, format, unit, meaning and confidence."""
    lines = []
    for layout in dict.fromkeys(layouts):
        section = layout.header
        lines += [f"### `raw.{section.table}`", "", f"{layout.title}.", ""]
        lines += ["| column | offset | length | format | unit | meaning | trust |", "|---|---|---|---|---|---|---|"]
        for item in section.fields:
            cells = [f"`{item.column}`", str(item.offset), str(item.length or "rest"), item.form.name, item.unit]
            lines.append("| " + " | ".join([*cells, item.meaning.replace("|", "\\|"), item.confidence]) + " |")
        lines.append("")
    return lines

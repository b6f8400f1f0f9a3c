"""Names of files in reports, tables and messages."""

import os
from pathlib import Path


def shown(name: str | Path) -> str:
    r"""A file's name as text for any table, page and terminal: what cannot be shown there is escaped (`\xff`).

    A backslash is doubled, so that no two files are called alike.
    """
    text = os.fsencode(name).replace(b"\\", rb"\\").decode("utf-8", "backslashreplace")
    return text if text.isprintable() else "".join(c if c.isprintable() else _escaped(c) for c in text)


def _escaped(character: str) -> str:
    return character.encode("unicode_escape").decode("ascii")

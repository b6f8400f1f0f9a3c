"""Makes generated HTML pages open without a network: nothing is loaded from, and nothing links to, another host."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

from lxml import etree, html

_REMOTE = ("http://", "https://", "//")
#: Attributes by which a page loads or opens something.
_ADDRESSES = ("src", "href", "srcset", "data", "action", "poster")
_REMOTE_STYLE = re.compile(r"""@import[^;]*//[^;]*;|url\(\s*['"]?(?:https?:)?//[^)]*\)""", re.IGNORECASE)


def make_offline(folder: Path, stylesheet: str, ways_back: Callable[[str], str] | None = None) -> int:
    """Strip remote scripts, styles, images and links from every page under `folder`; number of pages rewritten.

    The style sheet is written beside the pages and takes the place of the remote ones; what they folded away is shown.
    `ways_back` makes the links at a page's head, given the way up to the folder above `folder`.
    """
    for style in folder.rglob("*.css"):
        style.write_text(_REMOTE_STYLE.sub("", style.read_text(encoding="utf-8")), encoding="utf-8")
    sheet = folder / "offline.css"
    sheet.write_text(stylesheet, encoding="utf-8")
    pages = sorted(folder.rglob("*.html"))
    for page in pages:
        document = html.fromstring(page.read_bytes())
        _strip(document)
        head = document.find("head")
        if head is None:
            head = etree.SubElement(document, "head")
            document.insert(0, head)
        depth = len(page.relative_to(folder).parts) - 1
        etree.SubElement(head, "link", rel="stylesheet", href="../" * depth + sheet.name)
        body = document.find("body")
        if ways_back is not None and body is not None:
            body.insert(0, html.fragment_fromstring(ways_back("../" * (depth + 1))))
        page.write_bytes(html.tostring(document, doctype="<!DOCTYPE html>", encoding="utf-8"))
    return len(pages)


def _strip(document: html.HtmlElement) -> None:
    """Remove what needs a network, the scripts that would fail without it, and the generator's own advertisements."""
    for element in list(document.iter(etree.Element)):
        remote = [name for name in _ADDRESSES if element.get(name, "").strip().lower().startswith(_REMOTE)]
        if element.tag in ("script", "footer") or (
            remote and element.tag in ("link", "img", "iframe", "source", "video", "audio")
        ):
            element.drop_tree()
            continue
        for name in remote:
            del element.attrib[name]
        if element.tag == "style" and element.text:
            element.text = _REMOTE_STYLE.sub("", element.text)

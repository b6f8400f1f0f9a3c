"""Hooks of the documentation site: pages that stand in the root of the checkout, and links to its other files."""

import re
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

ROOT = Path(__file__).resolve().parents[1]
#: Files of the checkout that are pages of the site.
PAGES = {"CHANGELOG.md": "changelog.md", "CONTRIBUTING.md": "contributing.md"}
_OUTSIDE = re.compile(r"\[([^\]]*)\]\(\.\./((?!data-dictionary|field-reference)[^)#]*)(#[^)]*)?\)")


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages from the root of the checkout, with their links as seen from docs/."""
    for name, page in PAGES.items():
        text = (ROOT / name).read_text(encoding="utf-8").replace("](docs/", "](")
        for other, to in PAGES.items():
            text = text.replace(f"]({other}", f"]({to}")
        files.append(File.generated(config, page, content=text))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Lead links to the root of the checkout to their pages; name other files there."""
    if "/" in page.file.src_uri:
        return markdown

    def led(match: re.Match[str]) -> str:
        text, name, anchor = match[1], match[2], match[3] or ""
        if name in PAGES:
            return f"[{text}]({PAGES[name]}{anchor})"
        return f"{text} (`{name}`)" if text not in name else f"`{name}`"

    return _OUTSIDE.sub(led, markdown)

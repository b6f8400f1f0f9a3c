"""Where reference material beside the checkout is, for the tests that can use it."""

from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
SHARED = ROOT.parent / "shared"


def shared(relative: str) -> Path:
    """Path of a file or folder beside the checkout; skips the calling test, saying so, where it is absent."""
    path = SHARED / relative
    if not path.exists():
        pytest.skip(f"reference material not present: {path}")
    return path

"""Loading the service while the processes that evaluate are loaded beside it."""

from __future__ import annotations

import gc
from collections.abc import Callable
from typing import TYPE_CHECKING

from serve.evaluators import MAKER

if TYPE_CHECKING:
    from serve.settings import Settings


def loaded() -> tuple[Callable[..., Settings], Callable[[Settings], None]]:
    """The functions that read the settings and that serve, with all they take."""
    MAKER.start()
    # What is loaded stays, so that nothing is gained by looking for garbage in it.
    gc.disable()
    from serve.server import run
    from serve.settings import settings

    gc.freeze()
    gc.enable()
    return settings, run

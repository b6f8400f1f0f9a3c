"""Progress on standard error: moving bars on a terminal, plain lines anywhere else."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TextIO

Advance = Callable[[int, int], None]


class Reporter:
    """Reports the steps of a command as they run.

    On a terminal a step is a bar that ends as a ticked line; elsewhere it is one line when it ends, so that logs stay
    readable. Nothing is ever written to standard output.
    """

    def __init__(self, stream: TextIO | None = None) -> None:
        self.stream = stream or sys.stderr
        self.live = self.stream.isatty()
        self._notes: list[str] = []
        self._describe: Callable[[str], None] | None = None

    def show(self, text: str) -> None:
        """The present action, behind the title of a moving bar; nothing where there is none."""
        if self._describe is not None:
            self._describe(text)

    def note(self, text: str) -> None:
        """A result to stand at the end of the current step's line."""
        self._notes.append(text)

    @contextmanager
    def step(self, title: str) -> Iterator[Advance]:
        """Time one step; yields a function `(done, total)` that moves its bar."""
        self._notes.clear()
        started = time.monotonic()
        try:
            if self.live:
                with self._bar(title) as advance:
                    yield advance
            else:
                yield _ignore
        except BaseException:
            self._line("✗", title, started)
            raise
        self._line("✓", title, started)

    @contextmanager
    def _bar(self, title: str) -> Iterator[Advance]:
        from rich.console import Console
        from rich.markup import escape
        from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

        console = Console(file=self.stream)
        columns = (SpinnerColumn(), TextColumn("{task.description:<44}"), BarColumn(30), TimeElapsedColumn())
        with Progress(*columns, console=console, transient=True) as progress:
            task = progress.add_task(title, total=None)
            self._describe = lambda text: progress.update(task, description=escape(f"{title} {text}"))
            try:
                yield lambda done, total: progress.update(task, completed=done, total=total)
            finally:
                self._describe = None

    def _line(self, mark: str, title: str, started: float) -> None:
        note = f"  {'; '.join(self._notes)}" if self._notes else ""
        self.stream.write(f"{mark} {title:<44} {time.monotonic() - started:6.1f} s{note}\n")
        self.stream.flush()


@contextmanager
def compiling(subject: str) -> Iterator[None]:
    """Say on standard error when a block has numba compile `subject`: the first time, that takes tens of seconds."""
    from numba.core import event

    class CompileNotice(event.Listener):
        is_shown = False

        def on_start(self, event: object) -> None:
            if not self.is_shown:
                self.is_shown = True
                sys.stderr.write(f"compiling {subject}; this happens once and takes up to a minute\n")
                sys.stderr.flush()

        def on_end(self, event: object) -> None:
            """Nothing: the answer follows."""

    with event.install_listener("numba:compile", CompileNotice()):
        yield


def _ignore(done: int, total: int) -> None:
    del done, total

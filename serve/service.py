"""What the routes of one application share."""

from __future__ import annotations

from dataclasses import dataclass
from time import perf_counter
from typing import Any

from serve.answering import Kind
from serve.champion import Champion
from serve.definitions import Definitions
from serve.encoding import as_json
from serve.jobs import Jobs
from serve.settings import Settings
from serve.snapshot import Snapshot
from serve.telemetry import Telemetry
from serve.tokens import Tokens
from serve.work import Workers


@dataclass(frozen=True)
class Service:
    """State of one application: who may ask, what is answered from, and the threads that answer."""

    settings: Settings
    tokens: Tokens
    champion: Champion
    snapshot: Snapshot
    definitions: Definitions
    telemetry: Telemetry
    workers: Workers
    jobs: Jobs

    @classmethod
    def over(cls, settings: Settings) -> Service:
        """The service over one state folder."""
        champion, snapshot = Champion(settings.champion), Snapshot(settings.snapshot)
        token = settings.token.get_secret_value() if settings.token else None
        tokens = Tokens(settings.tokens, token)
        definitions = Definitions(snapshot)
        return cls(settings, tokens, champion, snapshot, definitions, Telemetry(champion, snapshot), Workers(), Jobs())

    async def answer(self, kind: Kind, question: Any) -> bytes:
        """The answer to a question as JSON, evaluated on one of the threads with the champion of this moment."""
        return await self.workers.run(self.evaluated, await self.champion.bundle(), kind, question)

    def evaluated(self, bundle: dict[str, Any], kind: Kind, question: Any) -> bytes:
        """The answer from this bundle as JSON, on the thread that asks."""
        started = perf_counter()
        found = kind.reply(self.definitions.beside(bundle), question)
        encoded = as_json(found)
        outside = found.get("extrapolated", False) if isinstance(found, dict) else found.extrapolated
        self.telemetry.answered(kind.name, question.system, outside, perf_counter() - started)
        return encoded

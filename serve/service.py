"""What the routes of one application share."""

from __future__ import annotations

from dataclasses import dataclass

from serve.champion import Champion
from serve.definitions import Definitions
from serve.evaluators import Asked, Evaluated, Evaluators
from serve.jobs import Jobs
from serve.questions import SystemQuestion
from serve.settings import Settings
from serve.snapshot import Snapshot
from serve.telemetry import Telemetry
from serve.tokens import Tokens
from serve.turns import Turns


@dataclass(frozen=True)
class Service:
    """State of one application: who may ask, what is answered from, and who is next."""

    settings: Settings
    tokens: Tokens
    champion: Champion
    snapshot: Snapshot
    definitions: Definitions
    telemetry: Telemetry
    turns: Turns
    jobs: Jobs

    @classmethod
    def over(cls, settings: Settings) -> Service:
        """The service over one state folder."""
        champion, snapshot = Champion(settings.champion), Snapshot(settings.snapshot)
        token = settings.token.get_secret_value() if settings.token else None
        tokens = Tokens(settings.tokens, token)
        definitions, telemetry = Definitions(settings.definitions), Telemetry(champion, snapshot)
        turns = Turns(settings.processes)
        return cls(settings, tokens, champion, snapshot, definitions, telemetry, turns, Jobs())

    async def ask(self, kind: str, question: bytes = b"{}", by: Evaluators | None = None) -> Evaluated:
        """The reply to a question in JSON, evaluated by these processes, or those of the champion of this moment."""
        evaluators = by or await self.champion.evaluators()
        return await self.turns.ask(evaluators, Asked(kind, question, self.definitions.published()))

    async def answer(self, question: SystemQuestion, by: Evaluators | None = None) -> Evaluated:
        """The reply to a question about a system, counted."""
        reply = await self.ask(question.kind, question.arguments(), by)
        if reply.status == 200:
            self.telemetry.answered(question.kind, question.system, reply.extrapolated, reply.seconds)
        return reply

    async def close(self) -> None:
        """End simulations, and the processes that evaluate."""
        await self.jobs.close()
        self.champion.close()

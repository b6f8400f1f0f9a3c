"""What the routes of one application share."""

from __future__ import annotations

from dataclasses import dataclass

from model.calendar import Calendar
from model.prices import Prices
from serve.champion import Champion
from serve.companions import Companion, calendar, definitions, machine_ratings, prices
from serve.encoding import as_json
from serve.jobs import Jobs
from serve.questions import SystemQuestion
from serve.settings import Settings
from serve.snapshot import Snapshot
from serve.telemetry import Telemetry
from serve.tokens import Tokens
from serve.workers import Evaluation, Workers


@dataclass(frozen=True)
class Service:
    """State of one application: settings, tokens, what it answers from, its counters and its simulations."""

    settings: Settings
    tokens: Tokens
    champion: Champion
    snapshot: Snapshot
    companions: tuple[Companion, ...]
    price_table: Companion
    telemetry: Telemetry
    jobs: Jobs

    @classmethod
    def over(cls, settings: Settings) -> Service:
        """The service over one state folder."""
        champion, snapshot = Champion(settings.champion, settings.processes), Snapshot(settings.snapshot)
        token = settings.token.get_secret_value() if settings.token else None
        tokens = Tokens(settings.tokens, token)
        files = (
            (settings.definitions, definitions),
            (settings.machines, machine_ratings),
            (settings.file, calendar),
        )
        companions = tuple(Companion(*file) for file in files)
        telemetry, price_table = Telemetry(champion, snapshot, settings.home), Companion(settings.prices, prices)
        return cls(settings, tokens, champion, snapshot, companions, price_table, telemetry, Jobs())

    def calendar(self) -> Calendar:
        """The shifts and holidays of the settings as they are now."""
        entries = next(one.entries() for one in self.companions if one.path == self.settings.file)
        return Calendar.of(entries.get("calendar"))

    def prices(self) -> Prices:
        """What an MSU and an hour of CPU cost, as the installation's table has it now."""
        return self.price_table.entries().get("prices", Prices())

    async def evaluate(self, kind: str, question: bytes = b"{}", workers: Workers | None = None) -> Evaluation:
        """The reply to a question in JSON, of these workers or those of the champion in force."""
        workers = workers or await self.champion.workers()
        entries = {key: value for companion in self.companions for key, value in companion.entries().items()}
        return await workers.evaluate(kind, question, as_json(entries))

    async def answer(self, question: SystemQuestion, workers: Workers | None = None) -> Evaluation:
        """The reply to a question about a system, counted."""
        reply = await self.evaluate(question.kind, question.arguments(), workers)
        if reply.status == 200:
            self.telemetry.answered(question.kind, question.system, reply.extrapolated, reply.seconds)
        return reply

    async def close(self) -> None:
        """End simulations and workers."""
        await self.jobs.close()
        self.champion.close()

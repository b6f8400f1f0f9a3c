"""What ``/metrics`` says: the service itself, and the last recorded intervals."""

from __future__ import annotations

import time
from functools import cache
from pathlib import Path

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4

from serve.champion import Champion
from serve.recorded_gauges import RecordedGauges
from serve.snapshot import Snapshot

BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1.0, 5.0)


class Telemetry:
    """Counters and gauges of one application, in a registry of its own."""

    content_type = CONTENT_TYPE_PLAIN_0_0_4

    def __init__(self, champion: Champion, snapshot: Snapshot, home: Path) -> None:
        self._champion, self._snapshot = champion, snapshot
        self._registry = CollectorRegistry()
        self._registry.register(RecordedGauges(snapshot, home))
        self._requests = Counter(
            "etalon_http_requests", "Requests answered", ["method", "route", "status"], registry=self._registry
        )
        self._seconds = Histogram(
            "etalon_http_request_seconds",
            "Time to answer",
            ["route"],
            buckets=BUCKETS,
            registry=self._registry,
        )
        self._evaluation = Histogram(
            "etalon_question_seconds",
            "Evaluation time of a question, without queueing",
            ["question"],
            buckets=BUCKETS,
            registry=self._registry,
        )
        self._extrapolated = Counter(
            "etalon_extrapolated_answers", "Answers outside the calibrated range", ["system"], registry=self._registry
        )
        self._model = Gauge("etalon_champion_info", "The model in service", ["model_version"], registry=self._registry)
        # A label is looked up under a lock, and there are few of them.
        self._of_route = cache(self._seconds.labels)
        self._of_reply = cache(self._requests.labels)
        self._of_question = cache(self._evaluation.labels)
        self._age = Gauge("etalon_snapshot_age_seconds", "Age of the published snapshot", registry=self._registry)

    def observe(self, method: str, route: str, status: int, seconds: float) -> None:
        """Count one request."""
        self._of_reply(method, route, str(status)).inc()
        self._of_route(route).observe(seconds)

    def answered(self, question: str, system: str, extrapolated: bool, seconds: float) -> None:
        """Count one evaluation, and whether it left the calibrated range."""
        self._of_question(question).observe(seconds)
        if extrapolated:
            self._extrapolated.labels(system).inc()

    def exposition(self) -> bytes:
        """The metrics in Prometheus text format."""
        self._model.clear()
        champion = self._champion.in_force
        self._model.labels(champion.model_version if champion else "none").set(1 if champion else 0)
        published = self._snapshot.published_at()
        self._age.set(float("nan") if published is None else time.time() - published.timestamp())
        return generate_latest(self._registry)

"""How many transactions of each class begin in each interval of a twin's days."""

from collections.abc import Sequence
from datetime import datetime, timedelta

import numpy as np

from model.lab.twin.description import ClassLoad, Twin
from model.network import Arrivals, Network


def arrivals(twin: Twin, network: Network, random: np.random.Generator) -> np.ndarray:
    """Transactions that begin, shape (intervals, classes of `network`): drawn around rate, growth, hour and noise.

    The number in an interval varies as the described arrivals do: Poisson, or with their variation and batches. A class
    that the twin does not name keeps its described rate.
    """
    starts = twin.starts
    counts = np.empty((len(starts), len(network.classes)))
    for k, cls in enumerate(network.classes):
        load = twin.classes.get(cls.name)
        if load is None:
            mean = np.full(len(starts), cls.arrivals.rate_per_s * twin.interval_s if cls.arrivals is not None else 0.0)
        else:
            sigma = np.sqrt(np.log1p(load.noise_cv**2))
            noise = np.exp(sigma * random.standard_normal(len(starts)) - sigma**2 / 2)
            mean = expected_per_s(twin, load, starts) * twin.interval_s * noise
        counts[:, k] = _drawn(mean, dispersion(cls.arrivals), random)
    return counts


def expected_per_s(twin: Twin, load: ClassLoad, moments: Sequence[datetime]) -> np.ndarray:
    """Transactions/s of a class at these moments (UTC), by its growth and the hour of the week."""
    weeks = np.array([(moment - twin.start_utc) / timedelta(weeks=1) for moment in moments])
    hours = np.array([local.weekday() * 24 + local.hour for local in map(twin.local, moments)])
    growth = (1 + load.growth_pct_per_week / 100) ** (weeks - 0.5)
    return np.asarray(load.rate_per_s * growth * load.hour_factors[hours])


def dispersion(stream: Arrivals | None) -> float:
    """Variance over mean of the number of arrivals in a long time; 1 for users.

    Renewal theory: the interarrival's squared variation for arrivals, times the mean batch, and what batches vary.
    """
    if stream is None:
        return 1.0
    batch = stream.batch
    return stream.interarrival.scv * batch.mean + (batch.second_moment - batch.mean**2) / batch.mean


def _drawn(mean: np.ndarray, spread: float, random: np.random.Generator) -> np.ndarray:
    if abs(spread - 1) < 1e-9:
        return random.poisson(mean).astype(float)
    return np.maximum(np.rint(mean + np.sqrt(mean * spread) * random.standard_normal(mean.shape)), 0.0)

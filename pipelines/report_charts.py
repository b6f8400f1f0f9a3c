"""Charts of a report as SVG that stands in a page: areas over time, a forecast with its band, a load curve."""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

import numpy as np
from matplotlib.dates import AutoDateLocator
from numpy.typing import NDArray

from model.drawing import COLOURS, drawing, label, svg

TARGET = "#a3201a"
HALF_YEAR = timedelta(days=182)


def engines_over_time(
    times: Sequence[datetime],
    groups: Mapping[str, Sequence[float]],
    peak: Sequence[float | None],
    online: Sequence[Any],
) -> str:
    """Engines in use by class group as a stack, the highest interval, and the engines there are."""
    figure, axes = drawing("engines")
    days = _moments(times)
    axes.stackplot(days, *groups.values(), labels=map(label, groups), colors=COLOURS, alpha=0.6, linewidth=0)
    axes.plot(days, _numbers(peak), color="#2b3a45", linestyle=":", linewidth=1.2, label="highest interval")
    axes.plot(days, _numbers(online), color="#6b7a86", linewidth=1.2, label="CPs online")
    # From month to month in even steps: the first of a month would stand on the last days of the one before.
    axes.xaxis.set_major_locator(AutoDateLocator(maxticks=7, interval_multiples=False))
    figure.autofmt_xdate(rotation=0, ha="center")
    return svg(figure)


def forecast(
    past: tuple[Sequence[datetime], Sequence[float | None]], headroom: Mapping[str, Any], target_pct: float
) -> str:
    """Recorded daily peaks, the forecast with its 90 % band, and the target.

    It ends half a year after the records, or later where these go back further or the first crossing is later.
    """
    figure, axes = drawing("CPU busy, %")
    weeks, (first, *_, last) = headroom["forecast"], [past[0][0], *past[0]]
    ahead = [HALF_YEAR, 2 * (last - first)]
    if headroom["first"] and headroom["first"]["value"]:
        ahead.append(1.25 * (datetime.fromisoformat(headroom["first"]["value"]) - last))
    times = _moments([datetime.fromisoformat(week["date"]) for week in weeks])
    value, low, high = ([week[side] for week in weeks] for side in ("value", "lo", "hi"))
    axes.fill_between(times, _numbers(low), _numbers(high), color=COLOURS[0], alpha=0.2, linewidth=0, label="90 % band")
    axes.plot(times, _numbers(value), color=COLOURS[0], label="forecast of the peak")
    axes.plot(_moments(past[0]), _numbers(past[1]), "o", color="#6b7a86", markersize=2.5, label="recorded daily peak")
    axes.axhline(target_pct, color=TARGET, linestyle="--", linewidth=1, label=f"target {target_pct:g} %")
    axes.set_xlim(*_moments([first, min(last + max(ahead), datetime.fromisoformat(weeks[-1]["date"]))]))
    axes.set_ylim(0, max(150.0, target_pct * 1.2))
    return svg(figure)


def load_curve(rates: Sequence[float], points: Sequence[dict[str, Any]], now_tps: float, target_pct: float) -> str:
    """Busy against the rate with its 90 % band, the recorded peak and the target."""
    figure, axes = drawing("CPU busy, %", "transactions per second")
    value, low, high = ([point[side] for point in points] for side in ("value", "lo", "hi"))
    axes.fill_between(rates, _numbers(low), _numbers(high), color=COLOURS[0], alpha=0.2, linewidth=0, label="90 % band")
    axes.plot(rates, _numbers(value), color=COLOURS[0], label="predicted")
    axes.axvline(now_tps, color=COLOURS[3], linestyle=":", linewidth=1.2, label="today's load")
    axes.axhline(target_pct, color=TARGET, linestyle="--", linewidth=1, label=f"target {target_pct:g} %")
    axes.set_ylim(bottom=0)
    return svg(figure)


def _moments(times: Sequence[datetime]) -> NDArray[np.datetime64]:
    return np.array(times, "datetime64[s]")


def _numbers(values: Sequence[float | None]) -> list[float]:
    return [float("nan") if value is None else value for value in values]

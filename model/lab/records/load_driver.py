"""What a load driver keeps: every outcome and response time, and the samples of its graphs.

`results`: a target's subject is a transaction (`GOC22C`) or a transaction in a phase of the run (`GOC22C steady`). It
writes `response_min_s`, `response_avg_s`, `response_max_s`, `response_stddev_s`, `response_p90_s`, `passed`, `failed`
and `stopped`; the subject `total` is left to the marts. The response times of the steady phase are part of the whole
run's. Options: `tick_ms` (resolution), `steady_share` (of the transactions that fall in the steady phase), `passed`
(how many there are of each transaction where no count is published). Response times need a mean, minimum and maximum:
of the whole run also `passed` and the 90th percentile, of the steady phase also the standard deviation.

`graphs`: a target's subject is a graph and series (`transactions per second Pass`). It writes `graph_minimum`,
`graph_average`, `graph_maximum`, `graph_median` and `graph_stddev`. Options: `ticks` (per unit of the value), `samples`
and `every_s`.
"""

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from datetime import timedelta

import numpy as np

from model.lab.errors import LabError
from model.lab.records.common import Setting
from model.lab.records.interface import Cell, Output, Target, Window, by_subject
from model.lab.samples import Moments, Ticks, mend, sample, with_median

STEADY = "steady"
RAMP = "ramp-up"
PERCENTILE = 0.9
CLOSE = 0.6
MORE_SAMPLES = 400
WHOLE = ("passed", "response_avg_s", "response_min_s", "response_max_s", "response_p90_s")
CALM = ("response_avg_s", "response_min_s", "response_max_s", "response_stddev_s")
SHARES_OF_BOUND = (0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3)
ROUGHLY = 0.02


def results(setting: Setting, window: Window, targets: Sequence[Target], random: np.random.Generator) -> Output:
    """Outcomes and response times of all transactions, as one row for all that have the same."""
    by_name = by_subject(targets)
    names = dict.fromkeys(subject.removesuffix(f" {STEADY}") for subject in by_name if subject != "total")
    options = {key: value for target in targets for key, value in target.options.items()}
    rows: list[dict[str, Cell]] = []
    for name in names:
        whole, steady = by_name.get(name, {}), by_name.get(f"{name} {STEADY}", {})
        timed = "response_avg_s" in whole
        if timed:
            _complete(name, whole, WHOLE)
        if steady:
            _complete(f"{name} {STEADY}", steady, CALM)
            _complete(name, options, ["steady_share" if timed else "passed"], "options")
        for phase, times in _times(random, whole, steady, options).items():
            rows += _rows(window, name, phase, "pass", times)
        for status in ("failed", "stopped"):
            if status in whole and whole[status].value:
                rows.append(_row(window, name, "", status, None, round(whole[status].value)))
        if "passed" in whole and not timed:
            rows.append(_row(window, name, "", "pass", None, round(whole["passed"].value)))
    return Output(rows={"load_results": rows})


def _complete(subject: str, known: Collection[str], needed: Sequence[str], what: str = "figures") -> None:
    """Raises LabError where not all is known that response times are made of."""
    missing = [name for name in needed if name not in known]
    if missing:
        remedy = f"give the {what}, or leave the response times out of the targets"
        raise LabError(f"response times of {subject} cannot be made without {', '.join(missing)}: {remedy}")


def graphs(setting: Setting, window: Window, targets: Sequence[Target], random: np.random.Generator) -> Output:
    """The samples of every graph, at regular times of the run."""
    rows: list[dict[str, Cell]] = []
    for subject, wanted in by_subject(targets).items():
        graph, _, series = subject.rpartition(" ")
        options = next(iter(wanted.values())).options
        values = random.permutation(_graph(random, wanted, int(options["ticks"]), int(options["samples"])))
        room = window.seconds / (len(values) + 1)
        every = min(float(options.get("every_s", room)), room)
        rows += [
            {
                "time_utc": (window.start + timedelta(seconds=every * (i + 0.5))).isoformat(timespec="milliseconds"),
                "graph": graph,
                "series": series,
                "value": value / int(options["ticks"]),
            }
            for i, value in enumerate(values.tolist())
        ]
    return Output(rows={"load_graphs": rows})


def _times(
    random: np.random.Generator, whole: Mapping[str, Target], steady: Mapping[str, Target], options: Mapping
) -> dict[str, Ticks]:
    """Response times in ticks by phase; an empty phase is the whole run."""
    per_s = 1000 / float(options.get("tick_ms", 1))
    if not steady:
        return {"": _rest(random, whole, per_s, np.zeros(0, np.int64))} if "response_avg_s" in whole else {}
    if "response_avg_s" not in whole:
        return {STEADY: _phase(random, steady, per_s, int(options["passed"]), math.inf, 0)}
    passed = round(whole["passed"].value)
    limit = whole["response_p90_s"].value * per_s
    size = round(passed * float(options["steady_share"]))
    calm = _phase(random, steady, per_s, size, limit, math.floor((1 - PERCENTILE) * passed * CLOSE))
    return {STEADY: calm, RAMP: _rest(random, whole, per_s, calm)}


def _phase(
    random: np.random.Generator, wanted: Mapping[str, Target], per_s: float, size: int, limit: float, above: int
) -> Ticks:
    mean, deviation = wanted["response_avg_s"].value * per_s, wanted["response_stddev_s"].value * per_s
    moments = Moments(
        size=size,
        total=round(mean * size),
        squares=deviation**2 * size,
        low=round(wanted["response_min_s"].value * per_s),
        high=round(wanted["response_max_s"].value * per_s),
        limit=limit,
        above=above,
    )
    half_unit = (wanted["response_stddev_s"].interval.hi - wanted["response_stddev_s"].value) * per_s
    return sample(random, moments, deviation * half_unit * size)


def _rest(random: np.random.Generator, whole: Mapping[str, Target], per_s: float, calm: Ticks) -> Ticks:
    """What has to be added to the times of the steady phase to give those of the whole run.

    As many lie above the percentile as it leaves room for; a few lie exactly on it, the others below.
    """
    passed = round(whole["passed"].value)
    low, high, mark = (
        round(whole[name].value * per_s) for name in ("response_min_s", "response_max_s", "response_p90_s")
    )
    count = passed - len(calm)
    total = round(whole["response_avg_s"].value * per_s * passed) - int(calm.sum())
    slower = passed - math.ceil(PERCENTILE * passed) - int((calm > mark).sum())
    if slower < 1 or slower + 2 > count:
        raise LabError(f"{passed} transactions leave no room above their 90th percentile")
    on_mark = 2
    faster = count - slower - on_mark
    usual = np.sort(random.choice(calm[calm <= mark], faster)) if len(calm) else np.full(faster, (low + mark) // 2)
    usual[:1] = low
    left = total - on_mark * mark - high - int(usual.sum())
    if slower == 1:
        return np.concatenate([mend(random, usual, int(usual.sum()) + left, low, mark), [mark] * on_mark, [high]])
    slow = _slow(slower - 1, left, mark + 1, high)
    missing = left - int(slow.sum())
    usual = mend(random, usual[1:], int(usual[1:].sum()) + missing, low, mark) if missing else usual[1:]
    return np.concatenate([np.array([low]), usual, np.full(on_mark, mark), slow, np.array([high])])


def _slow(count: int, total: int, low: int, high: int) -> Ticks:
    """`count` values between their bounds that add up to `total`, or as nearly as the bounds allow."""
    mean = min(max(total / count, low), high)
    ranks = (np.arange(count) + 1.0) / (count + 1)
    least, most = -9.0, 9.0
    values = np.full(count, mean)
    for _ in range(60):
        power = math.exp((least + most) / 2)
        values = low + (high - low) * ranks**power
        if values.mean() > mean:
            least = (least + most) / 2
        else:
            most = (least + most) / 2
    whole = np.clip(np.rint(values), low, high).astype(np.int64)
    total = min(max(total, count * low), count * high)
    return mend(np.random.default_rng(count), whole, total, low, high)


def _graph(random: np.random.Generator, wanted: Mapping[str, Target], ticks: int, samples: int) -> Ticks:
    """Samples of a series in ticks; a few more than asked for where the mean and the median need it."""
    low, high = (round(wanted[name].value * ticks) for name in ("graph_minimum", "graph_maximum"))
    if low == high:
        return np.full(samples, low, np.int64)
    reasons = ""
    for size in range(samples, samples + MORE_SAMPLES):
        total = round(wanted["graph_average"].value * ticks * size)
        middle = round(wanted["graph_median"].value * ticks * 2)
        mean, middles = total / size / ticks, (middle // 2, middle - middle // 2)
        if not _inside(wanted["graph_average"], mean) or not _inside(wanted["graph_median"], middle / 2 / ticks):
            continue
        if size % 2 and middles[0] != middles[1]:
            continue
        try:
            return _series(random, wanted, ticks, Moments(size, total, 0.0, low, high), middles)
        except LabError as error:
            reasons = str(error)
    raise LabError(f"no series of {samples} samples or more: {reasons}")


def _series(
    random: np.random.Generator, wanted: Mapping[str, Target], ticks: int, moments: Moments, middles: tuple[int, int]
) -> Ticks:
    """A series with the deviation printed, or, where none is, with one about as large as a series can have."""
    mean, size = moments.total / moments.size, moments.size
    if "graph_stddev" in wanted:
        deviation = wanted["graph_stddev"].value * ticks
        half_unit = (wanted["graph_stddev"].interval.hi - wanted["graph_stddev"].value) * ticks
        return with_median(random, replace(moments, squares=deviation**2 * size), middles, deviation * half_unit * size)
    bound = math.sqrt((moments.high - mean) * (mean - moments.low))
    for share in SHARES_OF_BOUND:
        try:
            squares = (share * bound) ** 2 * size
            return with_median(random, replace(moments, squares=squares), middles, ROUGHLY * squares)
        except LabError:
            continue
    raise LabError(f"no series between {moments.low} and {moments.high} has the mean {mean} and the median {middles}")


def _inside(target: Target, value: float) -> bool:
    return target.interval.lo <= value < target.interval.hi


def _rows(window: Window, name: str, phase: str, status: str, times: Ticks) -> list[dict[str, Cell]]:
    values, counts = np.unique(times, return_counts=True)
    return [
        _row(window, name, phase, status, int(value), int(count)) for value, count in zip(values, counts, strict=True)
    ]


def _row(window: Window, name: str, phase: str, status: str, response_ms: int | None, count: int) -> dict[str, Cell]:
    return {
        "start_utc": window.start.isoformat(),
        "transaction": name,
        "phase": phase,
        "status": {"failed": "fail", "stopped": "stop"}.get(status, status),
        "response_ms": response_ms,
        "count": count,
    }

"""Routes lowered to a flat list of elementary operations.

The simulator compiles these operations and the visit ratios are solved over them, so both read a route the same way.
Lowering also follows what a transaction holds at each operation; a route that reaches one point both with and without
a resource, or ends while holding one, is refused.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from model.network.distributions import Distribution
from model.network.elements import (
    Acquire,
    Call,
    CfRequest,
    Fork,
    Go,
    Release,
    Step,
    Switch,
    Visit,
)
from model.network.errors import RouteError

OpKind = Literal["visit", "acquire", "release", "go", "fork", "join", "switch", "free", "cf_decide", "end"]
Holdings = frozenset[tuple[str, int]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Op:
    """One elementary operation; which fields mean something depends on ``kind``.

    ``targets`` are positions in the list with probabilities (``go``: the rest falls through) or branch starts
    (``fork``); ``keep`` leaves the engine occupied after service until ``free``; ``retain`` says this visit happens
    while another engine is so kept; ``stays`` says that work goes on on its engine, in the visit that follows, and
    ``goes_on`` that it may come to this visit so; ``in_branch`` is true inside the branches of a fork; ``step`` is the
    index of the route's step, for messages and traces. ``holdings`` are the units held on reaching it; of a branch, by
    itself, and by what forked it ``outer_holdings``.
    """

    kind: OpKind
    name: str = ""
    service: Distribution | None = None
    extra: Distribution | None = None
    count: float = 1.0
    units: int = 1
    targets: tuple[tuple[int, float], ...] = ()
    keep: bool = False
    retain: bool = False
    stays: bool = False
    goes_on: bool = False
    observe: bool = False
    in_branch: bool = False
    threshold_s: float = 0.0
    size_bytes: float = 0.0
    step: int = 0
    holdings: Holdings = frozenset()
    outer_holdings: Holdings = frozenset()


MOST_STEPS = 10_000
"""Steps that a class may take, all that it calls and repeats counted: more is a network that nobody can solve."""


def lower(owner: str, route: Sequence[Step], procedures: dict[str, tuple[Step, ...]]) -> list[Op]:
    """Operations of one class's route, ending with ``end``."""
    return _Lowering(owner, procedures).run(route)


class _Lowering:
    def __init__(self, owner: str, procedures: dict[str, tuple[Step, ...]]) -> None:
        self.owner = owner
        self.procedures = procedures
        self.ops: list[Op] = []
        self.steps = 0

    def fail(self, step: int, text: str) -> RouteError:
        return RouteError(f"class {self.owner!r}, step {step + 1}: {text}")

    def count(self, step: int) -> None:
        """Count a step that is taken. Raises RouteError where there are too many."""
        self.steps += 1
        if self.steps > MOST_STEPS:
            raise self.fail(
                step,
                f"with all that is called and repeated the route has more than {MOST_STEPS:,} steps; repeat fewer, or "
                "write repeated work as one visit with a count",
            )

    def run(self, route: Sequence[Step]) -> list[Op]:
        self.sequence(route, "end", 0, ())
        self.stay_on_engines()
        self.follow_holdings()
        return self.ops

    def sequence(self, steps: Sequence[Step], closing: OpKind, step: int, calls: tuple[str, ...]) -> None:
        """Lower ``steps`` followed by ``closing``; labels are local to the sequence."""
        labels: dict[str, int] = {}
        jumps: list[tuple[int, Go, int]] = []
        self.body(steps, labels, jumps, step, calls, top=not calls and closing == "end")
        labels["end"] = len(self.ops)
        # A route ends with its last step; what a step consists of belongs to that step.
        ends = self.ops[-1].step if closing == "end" and self.ops else step
        self.ops.append(Op(kind=closing, step=ends))
        for at, go, where in jumps:
            unknown = [name for name, _ in go.to if name not in labels]
            if unknown:
                raise self.fail(where, f"goes to unknown label {unknown[0]!r}; labels here: {', '.join(labels)}")
            self.ops[at] = replace(self.ops[at], targets=tuple((labels[name], p) for name, p in go.to))

    def body(
        self,
        steps: Sequence[Step],
        labels: dict[str, int],
        jumps: list[tuple[int, Go, int]],
        outer: int,
        calls: tuple[str, ...],
        top: bool,
    ) -> None:
        for position, item in enumerate(steps):
            step = position if top else outer
            self.count(step)
            if item.label:
                if item.label in labels or item.label == "end":
                    raise self.fail(step, f"label {item.label!r} is already taken")
                labels[item.label] = len(self.ops)
            match item:
                case Visit():
                    self.visit(item, step)
                case CfRequest():
                    for _ in range(item.count):
                        self.count(step)
                        self.cf_request(item, step)
                case Acquire():
                    self.ops.append(Op(kind="acquire", name=item.resource, units=item.units, step=step))
                case Release():
                    self.ops.append(Op(kind="release", name=item.resource, units=item.units, step=step))
                case Go():
                    if any(p < 0 for _, p in item.to) or sum(p for _, p in item.to) > 1 + 1e-9:
                        raise self.fail(step, "probabilities must be non-negative and add up to at most 1")
                    jumps.append((len(self.ops), item, step))
                    self.ops.append(Op(kind="go", step=step))
                case Fork():
                    self.fork(item, step, calls)
                case Switch():
                    self.ops.append(Op(kind="switch", name=item.to, step=step))
                case Call():
                    if item.procedure not in self.procedures:
                        raise self.fail(step, f"calls unknown procedure {item.procedure!r}")
                    if item.procedure in calls:
                        raise self.fail(step, f"procedure {item.procedure!r} calls itself")
                    for _ in range(item.times):
                        self.count(step)
                        self.call(item, step, calls)

    def call(self, item: Call, step: int, calls: tuple[str, ...]) -> None:
        labels: dict[str, int] = {}
        jumps: list[tuple[int, Go, int]] = []
        steps = self.procedures[item.procedure]
        self.body(steps, labels, jumps, step, (*calls, item.procedure), top=False)
        labels["end"] = len(self.ops)
        for at, go, where in jumps:
            unknown = [name for name, _ in go.to if name not in labels]
            if unknown:
                raise self.fail(where, f"procedure {item.procedure!r} goes to unknown label {unknown[0]!r}")
            self.ops[at] = replace(self.ops[at], targets=tuple((labels[name], p) for name, p in go.to))

    def visit(self, item: Visit, step: int) -> None:
        if item.count < 0 or not math.isfinite(item.count):
            raise self.fail(step, f"a visit count must be zero or more, got {item.count}")
        if not item.holding:
            if item.count > 0:
                self.ops.append(
                    Op(
                        kind="visit",
                        name=item.station,
                        service=item.service,
                        count=item.count,
                        size_bytes=item.size_bytes,
                        step=step,
                    )
                )
            return
        whole = math.floor(item.count)
        for index in range(math.ceil(item.count)):
            self.count(step)
            if index == whole:
                skip = len(self.ops) + 2 * len(item.holding) + 2
                self.ops.append(Op(kind="go", targets=((skip, 1 - (item.count - whole)),), step=step))
            self.ops.extend(Op(kind="acquire", name=name, step=step) for name in item.holding)
            self.ops.append(
                Op(kind="visit", name=item.station, service=item.service, size_bytes=item.size_bytes, step=step)
            )
            self.ops.extend(Op(kind="release", name=name, step=step) for name in reversed(item.holding))

    def cf_request(self, item: CfRequest, step: int) -> None:
        answer = Op(
            kind="visit", name=item.station, service=item.service, observe=True, size_bytes=item.size_bytes, step=step
        )
        sync = [
            Op(kind="visit", name=item.engine, service=item.issue, keep=True, step=step),
            replace(answer, retain=True),
            Op(kind="free", name=item.engine, step=step),
        ]
        async_ = [
            Op(kind="visit", name=item.engine, service=item.issue, extra=item.async_issue, step=step),
            answer,
        ]
        if item.mode == "sync":
            self.ops.extend(sync)
        elif item.mode == "async":
            self.ops.extend(async_)
        elif item.mode != "heuristic":
            raise self.fail(step, f"mode must be one of sync, async, heuristic, got {item.mode!r}")
        else:
            start = len(self.ops)
            to_async = start + len(sync) + 2
            done = to_async + len(async_)
            decide = Op(
                kind="cf_decide",
                name=item.station,
                threshold_s=item.threshold_s,
                targets=((to_async, 0.0),),
                step=step,
            )
            self.ops.extend([decide, *sync, Op(kind="go", targets=((done, 1.0),), step=step), *async_])

    def fork(self, item: Fork, step: int, calls: tuple[str, ...]) -> None:
        if not item.branches:
            raise self.fail(step, "a fork needs branches")
        at = len(self.ops)
        self.ops.append(Op(kind="fork", step=step))
        skip = len(self.ops)
        self.ops.append(Op(kind="go", step=step))
        starts = []
        for branch in item.branches:
            starts.append(len(self.ops))
            self.sequence(branch, "join", step, (*calls, ""))
        if any(op.kind == "switch" for op in self.ops[skip:]):
            raise self.fail(step, "a branch of a fork cannot become another class")
        self.ops[starts[0] :] = [op if op.in_branch else replace(op, in_branch=True) for op in self.ops[starts[0] :]]
        self.ops[at] = replace(self.ops[at], targets=tuple((s, 1.0) for s in starts))
        self.ops[skip] = replace(self.ops[skip], targets=((len(self.ops), 1.0),))

    def stay_on_engines(self) -> None:
        """Let work that asks a coupling facility for something keep its engine: from the visit that ends in the request
        to the one that goes on with the answer."""
        for at, op in enumerate(self.ops):
            work = op.kind == "visit" and op.count == 1.0 and not op.keep and not op.retain
            if not work and op.kind != "free":
                continue
            following = [(i, self.ops[i]) for i in self.next_to(at + 1)]
            alike = all(to.kind == "visit" and to.name == op.name and to.count >= 1.0 for _, to in following)
            if alike and (op.kind == "free" or any(other.keep for _, other in following)):
                self.ops[at] = replace(self.ops[at], stays=True)
                for i, other in following:
                    self.ops[i] = replace(other, goes_on=True)

    def next_to(self, at: int) -> list[int]:
        """Operations that may come next from ``at`` on, behind jumps that are always taken and decisions how to ask a
        coupling facility."""
        op = self.ops[at]
        if op.kind == "cf_decide":
            return [at + 1, op.targets[0][0]]
        if op.kind == "go" and len(op.targets) == 1 and op.targets[0][1] == 1.0 and op.targets[0][0] > at:
            return self.next_to(op.targets[0][0])
        return [at]

    def follow_holdings(self) -> None:
        """Mark what is held on reaching each operation."""
        reached: dict[int, Holdings] = {}
        around: dict[int, Holdings] = {}
        pending: list[tuple[int, Holdings, Holdings]] = [(0, frozenset(), frozenset())]
        while pending:
            at, holdings, outer = pending.pop()
            if at in reached:
                if reached[at] != holdings:
                    names = ", ".join(sorted({n for n, _ in reached[at] ^ holdings}))
                    raise self.fail(self.ops[at].step, f"is reached both holding and not holding {names}")
                continue
            reached[at], around[at] = holdings, outer
            op = self.ops[at]
            if op.kind == "acquire":
                pending.append((at + 1, _changed(holdings, op.name, op.units), outer))
            elif op.kind == "release":
                if dict(holdings).get(op.name, 0) < op.units:
                    raise self.fail(op.step, f"gives back {op.name!r}, which is not held here")
                pending.append((at + 1, _changed(holdings, op.name, -op.units), outer))
            elif op.kind in ("end", "join", "switch"):
                if holdings:
                    names = ", ".join(sorted(n for n, _ in holdings))
                    raise self.fail(op.step, f"{op.kind} while still holding {names}")
            else:
                if op.kind == "fork":
                    both = frozenset((Counter(dict(outer)) + Counter(dict(holdings))).items())
                    pending.extend((target, frozenset(), both) for target, _ in op.targets)
                else:
                    pending.extend((target, holdings, outer) for target, _ in op.targets)
                if op.kind != "go" or sum(p for _, p in op.targets) < 1 - 1e-12:
                    pending.append((at + 1, holdings, outer))
        none: Holdings = frozenset()
        self.ops = [
            replace(op, holdings=reached.get(i, none), outer_holdings=around.get(i, none))
            for i, op in enumerate(self.ops)
        ]


def _changed(holdings: Holdings, name: str, units: int) -> Holdings:
    counts = Counter(dict(holdings))
    counts[name] += units
    return frozenset((n, u) for n, u in counts.items() if u)

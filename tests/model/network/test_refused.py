"""Descriptions that are refused, and what is said: the element, the field, what is allowed and what was found."""

import pytest

from model.network import Network, NetworkError

BASE = """
name = "t"
[[stations]]
name = "cp"
servers = 2
scheduling = "ps"
{station}
[[stations]]
name = "cf"
[[resources]]
name = "latch"
capacity = 1
{resource}
[[cecs]]
name = "machine"
engines = {engines}
[[classes]]
name = "work"
{load}
route = [{route}]
"""
PLAIN = {
    "station": "", "resource": "", "engines": "2", "load": "arrivals = { rate_per_s = 1 }",
    "route": '{ visit = "cp", service = 0.1 }',
}  # fmt: skip
LPAR = 'lpar = { cec = "machine", weight = 1, '
REFUSED = [
    ("station", 'capacity = 4\nwhen_full = "queue"', "'cp'.*when_full must be one of reject, block, got 'queue'"),
    ("station", 'source = "x"\nsmt = { gain = 1.2, packing = "tight" }', "packing must be one of spread, dense"),
    ("station", LPAR + 'polarity = "diagonal" }', "polarity must be one of horizontal, vertical"),
    ("station", LPAR + "cap = -1 }", "cap must be 'none', 'share' or a positive number of engines, got -1"),
    ("station", LPAR + "cap = true }", "cap must be .* got True"),
    ("station", LPAR + "cap = 2.5 }", "cap 2.5 is above the 2 engines it can use"),
    ("station", 'source = "x"\nsmt = { gain = 0.9 }', "smt gain is the rate of a core with two threads.* got 0.9"),
    ("station", 'source = "x"\nspeeds = [nan]', "'cp': speeds must be a finite number, got nan"),
    ("station", 'source = "x"\ncost_by_busy = [1, inf]', "'cp': cost_by_busy must be a finite number, got inf"),
    ("station", 'overflow = { to = "cf", waiting = -5 }', "overflow waiting must be zero or more"),
    ("resource", 'scheduling = "prio"', "'latch': scheduling must be one of fcfs, hol, got 'prio'"),
    ("engines", "0", "engines must be positive"),
    ("engines", "nan", "'machine': engines must be a finite number, got nan"),
    ("load", "arrivals = { rate_per_s = 1 }\nweight = nan", "'work': weight must be a finite number, got nan"),
    ("load", "arrivals = { rate_per_s = nan }", "'work' arrivals: rate_per_s must be a finite number, got nan"),
    ("route", '{ visit = "cp", service = inf }', "'work' step 1 service: mean_s must be a finite number, got inf"),
    ("load", 'arrivals = { rate_per_s = 1, on = { kind = "deterministic", value_s = 0 }, off = 1 }', "on periods"),
    ("load", "arrivals = { rate_per_s = 1, batch = true }", "'work' batch: .* got True"),
    ("route", '{ cf = "cf", engine = "cpu", issue = 1, service = 1 }', "'work': step 1 visits unknown station 'cpu'"),
    ("route", '{ visit = "cp", service = -0.5 }', "step 1 service: exponential: times must be zero or more, got -0.5"),
    ("route", '{ visit = "cp", service = true }', "'work' step 1 service: .* got True"),
    ("route", '{ visit = "cp", service = { kind = "erlang", mean_s = 1, phases = "2" } }', "phases must be a whole"),
    ("route", '{ visit = "cp", service = { kind = "scv", mean_s = 1, scv = "x" } }', "step 1 service: scv must be"),
    ("route", '{ visit = "cp", service = { mean_ms = 1, scv = 4 } }', "step 1 service: exponential: unknown key 'scv'"),
    ("route", '{ visit = "cp", service = { mean_s = 1, mean_ms = 2 } }', "give mean_s or mean_ms, not both"),
    ("route", '{ visit = "cp", service = 1, label = 3 }', "step 1: label must be a text in quotes, got 3"),
    ("route", '{ visit = "cp", service = 1, holding = [3] }', "step 1 holding: names in quotes"),
    ("route", "{ fork = 3 }", "step 1: fork takes a list of branches"),
    ("route", "", "'work': the route has no steps"),
    (
        "route",
        '{ cf = "cf", engine = "cp", service = 0.1, issue = 0.1, mode = "synch" }',
        "step 1: mode must be one of sync, async, heuristic, got 'synch'",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("part", "text", "message"), REFUSED, ids=[f"{p} {m[:40]}" for p, _, m in REFUSED])
def test_what_would_be_misread_is_refused(part: str, text: str, message: str) -> None:
    with pytest.raises(NetworkError, match=message):
        Network.from_toml(BASE.format(**{**PLAIN, part: text}))


def test_a_branch_of_a_fork_cannot_be_turned_away() -> None:
    latch = '{ acquire = "latch" }, { visit = "cp", service = 1 }, { release = "latch" }'
    route = "{{ fork = [[{}], [{}]] }}"
    taken = {**PLAIN, "route": route.format(latch, '{ visit = "cf", service = 1 }')}
    with pytest.raises(NetworkError, match="step 1: 'latch' turns away when full, which a branch of a fork cannot be"):
        Network.from_toml(BASE.format(**{**taken, "resource": "queue_limit = 2"}))
    assert Network.from_toml(BASE.format(**taken)).operations("work")
    with pytest.raises(NetworkError, match="'cp' turns away when full"):
        Network.from_toml(BASE.format(**{**taken, "station": "capacity = 3"}))


def test_the_plain_description_is_taken() -> None:
    assert Network.from_toml(BASE.format(**PLAIN)).station("cp").servers == 2


def test_a_set_of_latches_is_taken_one_at_a_time() -> None:
    take, give = '{ acquire = "latch" }', '{ release = "latch" }'
    text = BASE.format(**{**PLAIN, "resource": "instances = 50", "route": f"{take}, {take}, {give}, {give}"})
    with pytest.raises(NetworkError, match="step 2 takes 'latch' again"):
        Network.from_toml(text)

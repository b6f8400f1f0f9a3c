"""Descriptions of networks that nobody would write: refused in moments, with what is wrong."""

import pytest

from model.network import Network, NetworkError
from tests.fuzz.checks import bounded
from tests.model.lab.twin import made

LAUGHS = """
stations = [{ name = "s" }]
classes = [{ name = "c", arrivals = { rate_per_s = 1 }, route = [{ call = "p0" }] }]
[procedures]
""" + "".join(f'p{n} = [{{ call = "p{n + 1}" }}, {{ call = "p{n + 1}" }}]\n' for n in range(40))
ROUTE = """
stations = [{ name = "s" }]
procedures = { none = [] }
[[classes]]
name = "c"
arrivals = { rate_per_s = 1 }
"""


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a = " + 100_000 * "[", "nested more"),
        ("a = " + 100_000 * "{ a = ", "nested more"),
        (100_000 * "a." + "a = 1", "parts"),
        ("a = " + 10_000 * "9", "digits"),
        ("a = 0x" + 100_000 * "F", "a is a number of 400,000 bits; no number in a network is beyond 1e+12"),
        (made.NETWORK.replace("rate_per_s = 100", "rate_per_s = 1e999"), "rate_per_s must be a finite number, got inf"),
        (made.NETWORK.replace("rate_per_s = 100", "rate_per_s = nan"), "rate_per_s must be a finite number, got nan"),
        ("a = 99999-99-99", "not TOML"),
        (LAUGHS + 'p40 = [{ visit = "s", service = 0.001 }]', "more than 10,000 steps; repeat fewer"),
        (ROUTE + 'route = [{ call = "none", times = 9_000_000 }]', "more than 10,000 steps"),
        (made.NETWORK.replace("capacity = 50", "capacity = 1_000_000_000_000"), "at most 10,000,000"),
        (made.NETWORK.replace("rate_per_s = 100", "rate_per_s = 1e308"), "rate_per_s is 1e+308"),
    ],
)
def test_a_hostile_description_is_refused_with_what_is_wrong(text: str, said: str) -> None:
    with bounded(), pytest.raises(NetworkError) as raised:
        Network.from_toml(text)
    assert said in str(raised.value)
    assert len(str(raised.value)) < 1000

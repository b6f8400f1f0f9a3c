"""What a champion's file must be before it is put in service."""

import json

import pytest

from model.capacity import bundle as bundles
from serve import champion
from serve.problems import BundleRefused
from tests.serve.conftest import Client


def lacks_a_law(bundle):
    bundle["systems"]["shop"]["demands"].pop("lpar")


def lacks_draws(bundle):
    bundle["systems"]["shop"]["demands"]["web"]["noise"]["draws"].pop()


def uses_nothing(bundle):
    for law in bundle["systems"]["shop"]["demands"].values():
        law["scale"] = 0.0


def holds_nothing(bundle):
    bundle["systems"] = {}


def has_no_version(bundle):
    bundle["model_version"] = None


def has_no_n_way_effect(bundle):
    bundle["systems"]["shop"]["n_way"] = {}


def has_no_operating_point(bundle):
    bundle["systems"]["shop"]["operating_point"] = "99"


BREAKAGES = [
    lacks_a_law,
    lacks_draws,
    uses_nothing,
    holds_nothing,
    has_no_version,
    has_no_n_way_effect,
    has_no_operating_point,
]


@pytest.mark.parametrize("broken", BREAKAGES)
def test_a_champion_that_cannot_answer_its_own_records_does_not_displace_the_one_in_force(home, bundle, broken):
    client = Client(home)
    question = {"system": "shop", "at": {"etr_tps": 2000}}
    before = client.ask("/v1/predict", question).json()
    spoilt = json.loads(bundles.dumps(bundle))
    broken(spoilt)
    bundles.write(spoilt, home / "models" / "champion.json")
    assert client.ask("/v1/predict", question).json() == before
    ready = client("GET", "/readyz")
    assert ready.status_code == 200
    assert "cannot be used" in ready.json()["checks"]["champion"]
    assert Client(home).ask("/v1/predict", question).status_code == 503


def test_a_champion_with_figures_that_are_no_numbers_is_refused(home, bundle):
    path = home / "models" / "champion.json"
    spoilt = json.loads(bundles.dumps(bundle))
    spoilt["systems"]["shop"]["engines"] = float("nan")
    path.write_text(json.dumps(spoilt))
    assert Client(home).ask("/v1/predict", {"system": "shop"}).status_code == 503


def test_a_champion_that_is_too_large_is_not_read(home, monkeypatch):
    monkeypatch.setattr(champion, "MAX_BYTES", 1000)
    with pytest.raises(BundleRefused, match="at most 1,000"):
        champion.contents(home / "models" / "champion.json")

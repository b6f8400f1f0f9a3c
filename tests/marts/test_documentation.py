"""Every column of every mart is defined where it is made: meaning, unit and, where it is computed, formula."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from pipelines import contracts
from pipelines.home import DBT_PROJECT

MARTS = sorted((DBT_PROJECT / "models" / "marts").rglob("*.sql"))


def _columns(mart: str) -> list[dict[str, Any]]:
    [path] = (DBT_PROJECT / "models" / "marts").rglob(f"{mart}.yml")
    document = yaml.safe_load(path.read_text(encoding="utf-8"))
    [model] = document["models"]
    assert model["name"] == mart
    assert len(model["description"]) > 40
    return model["columns"]


@pytest.mark.parametrize("mart", [path.stem for path in MARTS])
def test_every_column_is_described_and_every_quantity_has_its_unit(mart: str) -> None:
    for column in _columns(mart):
        assert column["description"].strip().endswith((".", "`")), (mart, column["name"])
        meta = column.get("config", {}).get("meta", {})
        if column["data_type"] == "double" and column["name"] not in ("value", "value_se"):
            assert meta.get("unit"), (mart, column["name"])
            assert meta.get("formula") or meta.get("source") or column["name"] == "seconds", (mart, column["name"])


def test_units_in_names_are_the_units_described() -> None:
    endings = {"_tps": "tran/s", "_us_per_tran": "us/tran", "_ms": "ms"}
    for mart in (path.stem for path in MARTS):
        for column in _columns(mart):
            for ending, unit in endings.items():
                if column["name"].removesuffix("_se").endswith(ending):
                    assert column["config"]["meta"]["unit"] == unit, (mart, column["name"])


def test_intermediate_models_are_described() -> None:
    folder = DBT_PROJECT / "models" / "intermediate"
    described = {
        model["name"]
        for path in folder.glob("*.yml")
        for model in yaml.safe_load(path.read_text(encoding="utf-8")).get("models", [])
    }
    assert {path.stem for path in folder.glob("*.sql")} == described


def test_columns_of_contracts_that_are_metrics_say_what_the_registry_says() -> None:
    assert contracts.drift() == [], "run: python -m pipelines.contracts --write"

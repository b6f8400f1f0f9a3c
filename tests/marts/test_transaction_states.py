"""What transactions wait for, by the names their transaction manager gives: SMF 72.3 in seconds by class."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest

from model.lab.twin import live, write
from pipelines import steps
from pipelines.home import Home
from tests.model.lab.twin import made


@pytest.fixture(scope="module")
def states(tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[str, str, bool], float]:
    """Seconds by class, state and whether it is a resource that is named, of the records of a small twin."""
    home = Home(Path(tmp_path_factory.mktemp("states")))
    steps.ingest(home, write(live(made.twin()), home.lab))
    steps.build(home)
    with duckdb.connect(str(home.warehouse), read_only=True) as connection:
        rows = connection.execute(
            "select class_name, state, is_resource_type, sum(state_s), bool_and(state_s = 0.25 * samples) "
            "from marts.fct_transaction_state where phase = 'begin to end' group by all"
        ).fetchall()
    assert all(in_samples for *_, in_samples in rows)
    return {(name, state, named): seconds for name, state, named, seconds, _ in rows}


def test_a_resource_stands_under_its_name_even_where_nobody_waited_for_it(
    states: dict[tuple[str, str, bool], float],
) -> None:
    named = {(name, state): seconds for (name, state, is_named), seconds in states.items() if is_named}
    assert {state for _, state in named} == {"MXT"}
    assert sum(named.values()) >= 0.0


def test_states_of_every_subsystem_have_time_where_samples_found_any(
    states: dict[tuple[str, str, bool], float],
) -> None:
    plain = {state for (_, state, is_named) in states if not is_named}
    assert {"active", "io wait"} <= plain
    assert min(seconds for (_, _, is_named), seconds in states.items() if not is_named) > 0.0

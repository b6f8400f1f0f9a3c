"""A machine room that another program simulated: what its records let the model say, beside the truth."""

import json
import statistics
import tarfile
from pathlib import Path

import pyarrow as pa
import pytest

from ingest import warehouse
from model.calibration.history import History
from model.calibration.lpar import calibrate_lpar
from model.capacity.answer import Answer
from model.capacity.ask import predict
from model.capacity.bundle import build
from pipelines import histories, steps
from pipelines.home import Home
from tests.shared import shared

pytestmark = pytest.mark.slow

ROOM, DUMP, SYSTEM = "light", "light.LGT1.smf", "LGT1"
MARTS = (
    "dim_interval dim_system fct_interval_utilization fct_service_class fct_cpc_interval fct_transaction_cost "
    "fct_address_space_cost fct_transaction_state fct_served_class fct_device fct_facility_utilization"
)
"""What `pipelines.histories` reads."""
ONLINE = ("CICSHI", "CICSMED", "DDFHI", "TSO")
NEAR_PCT = 5.0
"""Points of utilization by which a resource may be behind the fullest and still be named as it."""


@pytest.fixture(scope="module")
def questions() -> dict[str, dict]:
    return json.loads(shared("rooms/questions.json").read_text(encoding="utf-8"))[ROOM]


@pytest.fixture(scope="module")
def recorded(tmp_path_factory) -> History:
    """The intervals of the room's LPAR, by way of its SMF records and the marts."""
    packed = shared("rooms/dumps.tar.zst")
    folder = tmp_path_factory.mktemp("room")
    with pa.CompressedInputStream(str(packed), "zstd") as stream, tarfile.open(fileobj=stream, mode="r|") as archive:
        for member in archive:
            if Path(member.name).name == DUMP:
                archive.extract(member, folder, filter="data")
    home = Home(folder / "home")
    steps.ingest(home, [next(folder.rglob(DUMP))])
    steps.build(home, select=MARTS)
    warehouse.publish(home.warehouse, home.snapshot)
    found, faults = histories.recent(home)
    assert not faults
    return found[SYSTEM]


@pytest.fixture(scope="module")
def answers(recorded, questions) -> dict[str, Answer]:
    bundle = build({SYSTEM: calibrate_lpar(recorded)}, data={}, validation={})
    return {name: predict(bundle, SYSTEM, asked["at"]) for name, asked in questions.items()}


def kind(resource: str) -> str:
    """What a resource is, as answers and truths name it."""
    name = resource.lower()
    if "machine" in name and "share of" not in name:
        return "machine"
    if "ziip" in name:
        return "ziip"
    return "cp" if "general-purpose" in name or name == "cp" else "limit"


def is_within(truth: tuple[float, float], output) -> bool:
    """Whether the 90 % interval holds a truth with a standard error."""
    value, error = truth
    lo = float("-inf") if output.lo is None else output.lo
    hi = float("inf") if output.hi is None else output.hi
    return lo - 1.65 * error <= value <= hi + 1.65 * error


def test_busy_of_the_lpar_is_near_the_truth_and_inside_its_interval(questions, answers):
    truths = {name: asked["figures"]["cpu_busy_pct"] for name, asked in questions.items()}
    busy = {name: answers[name].output("cpu_busy_pct") for name in truths}
    assert statistics.median(abs(busy[name].value - truth[0]) for name, truth in truths.items()) <= 0.6
    assert sum(is_within(truth, busy[name]) for name, truth in truths.items()) >= 0.8 * len(truths)


def test_responses_of_online_classes_are_inside_their_intervals(questions, answers):
    within = [
        is_within(asked["figures"][f"response_ms:{name}"], answers[question].output("response_ms", f"class={name}"))
        for question, asked in questions.items()
        for name in ONLINE
    ]
    assert sum(within) >= 0.8 * len(within)


def test_the_bottleneck_is_the_fullest_resource(questions, answers):
    right = 0
    for question, asked in questions.items():
        used = {name: value for name, value in asked["use"].items() if name != "ziip"}
        fullest = max(used.values())
        right += kind(answers[question].bottleneck.resource) in {
            kind(name) for name, value in used.items() if value >= fullest - NEAR_PCT
        }
    assert right >= len(questions) - 1


def test_a_recorded_interval_is_answered_with_what_was_recorded(recorded, questions, answers):
    [question] = [name for name, asked in questions.items() if set(asked["at"]) == {"when"}]
    at = list(recorded.start_local.astype("datetime64[m]").astype(str)).index(questions[question]["at"]["when"])
    busy = 100.0 * recorded.busy_s[at] / recorded.seconds[at] / recorded.engines[at]
    assert answers[question].output("cpu_busy_pct").value == pytest.approx(busy, rel=1e-5)
    assert busy == pytest.approx(questions[question]["recorded"]["cpu_busy_pct"], abs=0.01)

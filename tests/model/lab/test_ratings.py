"""An engine has two ratings, and the lab writes both apart, as machines do."""

import pytest

from ingest.formats.smf import decode_batches
from ingest.registry import load
from model.lab.rendering import render


@pytest.fixture(scope="module")
def controls(tmp_path_factory):
    """Control sections of 70.1 and 72.3 of a rendered system."""
    folder = tmp_path_factory.mktemp("ratings")
    render("ims14-ff-haldb-z14", folder)
    found = {"smf70_1_control": [], "smf72_3_control": []}
    for batch in decode_batches(folder / "ims14-ff-haldb-z14.smf", load()):
        for name, rows in found.items():
            if name in batch.tables:
                rows += batch.tables[name].to_pylist()
    return found


def test_service_becomes_cpu_time_at_one_rating_and_cpu_time_becomes_msu_at_another(controls):
    (software,) = {row["smf70cpa"] for row in controls["smf70_1_control"]}
    (hardware,) = {row["r723madj"] for row in controls["smf72_3_control"]}
    assert 1.4 < software / hardware < 1.6
    assert {row["smf70cpa_actual"] for row in controls["smf70_1_control"]} == {software}
    assert {row["r723cpa_actual"] for row in controls["smf72_3_control"]} == {software}

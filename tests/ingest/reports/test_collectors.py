"""Collector and load-driver tables are known by their headings and typed; times become UTC."""

import io
import re
from datetime import datetime
from pathlib import Path

import pytest

from ingest.formats.tables.tabular import identify_table, read_table, sources, utc

BLANK_IN_EXAMPLES = {
    "storage_use": {"job_name"},
    "ims_pa": {
        "program", "user_id", "lterm", "transaction_class", "shared_queue_s", "process_s", "output_queue_s", "cpu_s",
        "ziip_s", "completion_code",
    },
}  # fmt: skip

CASES = {
    "load_driver_results": (
        "load_driver_transaction",
        b"transaction,phase,status,response_ms,count\nBUY,steady,pass,31,4\nBUY,steady,fail,,1\n",
        {"transaction_name": "BUY", "phase": "steady", "status": "pass", "response_s": 0.031, "transactions": 4.0},
    ),
    "load_driver_graph": (
        "load_driver_sample",
        b"time_utc,graph,series,value\n2002-05-01T10:00:32,transactions per second,Pass,18.9375\n",
        {"sampled_utc": datetime(2002, 5, 1, 10, 0, 32), "series": "Pass", "value": 18.9375},
    ),
    "cics_pa_classes": (
        "cics_pa_class",
        b"Applid,Class kind,WLM class,Interval start,#Tasks,Response Average,Response Deviation,Response Maximum\n"
        b"CICS1,service class,HI,2002-05-01T10:00:00,12,.1712,.7568,15.8654\n",
        {"class_kind": "service class", "class_name": "HI", "tasks": 12.0, "deviation_s": 0.7568, "max_s": 15.8654},
    ),
    "storage_use": (
        "collector_storage",
        b"smf_sid,time_utc,job,area,location,used_kb\nSYSA,2011-09-01T08:00:10+02:00,,csm_ecsa,above,1146.88\n",
        {"smf_sid": "SYSA", "sampled_utc": datetime(2011, 9, 1, 6, 0, 10), "job_name": None, "used_kb": 1146.88},
    ),
    "buffer_use": (
        "collector_buffer",
        b"smf_sid,time_utc,product,pool,in_use,max_used\nSYSA,2011-09-01T08:00:10,VTAM,IO00,3,5\n",
        {"product": "VTAM", "pool": "IO00", "in_use": 3.0, "max_used": 5.0},
    ),
    "operation_phases": (
        "collector_phase",
        b"smf_sid,operation,phase,start_utc,end_utc\nSYSA,ONLINE CHANGE,PREPARE,2007-01-01T08:00:00,"
        b"2007-01-01T08:00:00.51\n",
        {"operation": "ONLINE CHANGE", "phase": "PREPARE", "end_utc": datetime(2007, 1, 1, 8, 0, 0, 510_000)},
    ),
    "data_set_statistics": (
        "collector_data_set",
        b"smf_sid,time_utc,data_set,rec_total,rec_inserted,free_space_bytes\nSYSA,2007-01-01T08:00:00,A.B,9,9,8192\n",
        {"data_set_name": "A.B", "records_inserted": 9.0, "free_space_bytes": 8192.0},
    ),
    "gauges": (
        "collector_gauge",
        b"smf_sid,start_utc,gauge,mean,minimum,maximum\nSYSA,2002-06-03T08:00:00,expanded csa,0,0,30\n",
        {"gauge": "expanded csa", "mean": 0.0, "maximum": 30.0},
    ),
    "capacity_ratings": (
        "collector_capacity",
        b"smf_sid,rating,capacity,source\nSYSA,MIPS,822,LSPR\n",
        {"smf_sid": "SYSA", "rating": "MIPS", "capacity": 822.0, "source": "LSPR"},
    ),
}


@pytest.mark.parametrize("kind", CASES)
def test_a_table_is_known_by_its_heading_and_its_known_columns_are_typed(kind):
    table, data, expected = CASES[kind]
    assert identify_table(data) == kind
    (batch,) = read_table(io.BytesIO(data))
    assert not batch.quarantined and batch.decoded_bytes + batch.framing_bytes == len(data)
    first = batch.tables[table].to_pylist()[0]
    assert {name: first[name] for name in expected} == expected


def test_a_time_that_is_none_is_left_out_and_an_offset_becomes_utc():
    assert utc("yesterday") is None and utc(None) is None and utc("") is None
    assert utc("2011-09-01T08:00:00Z") == datetime(2011, 9, 1, 8)


def test_every_example_of_the_documentation_is_of_the_kind_it_stands_for():
    page = (Path(__file__).parents[3] / "docs" / "collectors.md").read_text(encoding="utf-8")
    tables = {source.kind: source.table for source in sources()}
    found = []
    for example in re.findall(r"^```\n(.*?)^```$", page, flags=re.DOTALL | re.MULTILINE):
        data = example.encode()
        kind = identify_table(data)
        assert kind is not None, example
        (batch,) = read_table(io.BytesIO(data))
        assert not batch.quarantined and batch.decoded == len(example.splitlines()) - 1, example
        rows = batch.tables[tables[kind]].to_pylist()
        blank = [name for name in rows[0] if all(row[name] is None for row in rows)]
        assert set(blank) <= BLANK_IN_EXAMPLES.get(kind, set()), (kind, blank)
        found.append(kind)
    assert len(found) == len(set(found)) >= 10

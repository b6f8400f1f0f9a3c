"""Published tables as Delta tables, as delta-rs and DuckDB read them; skipped without deltalake."""

import importlib.util

import duckdb
import fsspec
import pytest

from ingest.running import Here
from ingest.warehouse import filled, merge_small, open_writer, waves
from pipelines import lake, steps
from pipelines.exits import EtalonError
from pipelines.home import Home
from tests.ingest.units.dumps import dump
from tests.marts import odd_days
from tests.pipelines.odd_builds import odd_warehouse
from tests.runners import Twice

HAS_DELTA = importlib.util.find_spec("deltalake") is not None
#: The number with a sign of the same bits.
SIGNED = '("{0}"::HUGEINT - CASE WHEN "{0}" >> 63 = 0 THEN 0 ELSE 1::HUGEINT << 64 END)::BIGINT AS "{0}"'
with_delta = pytest.mark.skipif(not HAS_DELTA, reason="deltalake is not installed: `make test-spark`")


def test_a_lake_without_deltalake_is_refused_with_what_to_install(tmp_path):
    if HAS_DELTA:
        pytest.skip("deltalake is installed")
    with pytest.raises(EtalonError, match="needs deltalake; install it"):
        lake.publish(tmp_path / "s.duckdb", tmp_path / "lake", tmp_path / "mirror")


def ingested(home, path):
    """Load a dump with its rows in parts, and publish."""
    steps.ingest(home, [path], runner=Twice(Here(), 60_000))
    steps.publish(home, force=True)


def compared(home, folder):
    """Tables of the lake that delta-rs and DuckDB read as the published snapshot has them."""
    from deltalake import DeltaTable

    equal = []
    with duckdb.connect(str(home.snapshot), read_only=True) as con:
        marts = con.execute("SELECT table_name FROM duckdb_tables() WHERE schema_name = 'marts'").fetchall()
        for schema, name in [*(("raw", name) for name in filled(con)), *(("marts", name) for (name,) in marts)]:
            table = DeltaTable(folder / schema / name)
            by_delta = table.to_pyarrow_table()
            kinds = con.execute(f'DESCRIBE {schema}."{name}"').fetchall()
            shown = [SIGNED.format(name) if kind == "UBIGINT" else f'"{name}"' for name, kind, *_ in kinds]
            paths = table.file_uris()
            ours = f'SELECT {", ".join(shown)} FROM {schema}."{name}"'
            columns = ", ".join(f'"{column}"' for column, *_ in kinds)
            for read in ("by_delta", *(["read_parquet($paths)"] if paths else [])):
                theirs = f"SELECT {columns} FROM {read}"
                values = {"paths": paths} if "$" in read else {}
                for one, other in ((ours, theirs), (theirs, ours)):
                    assert con.execute(f"{one} EXCEPT ALL {other} LIMIT 1", values).fetchall() == [], (name, read)
            equal.append((schema, name, len(by_delta)))
    return equal


@with_delta
@pytest.mark.timeout(900)
def test_delta_tables_of_a_lake_are_those_of_the_snapshot_after_every_publication(tmp_path, monkeypatch):
    from deltalake import DeltaTable

    monkeypatch.setattr(waves, "_PART_BYTES", 1)
    (tmp_path / "home").mkdir()
    home, folder = odd_warehouse(tmp_path / "home"), tmp_path / "lake"
    (home.root / "etalon.toml").write_text(f"[lake]\naddress = '{folder.as_uri()}'\n")
    (tmp_path / "a.smf").write_bytes(dump("rdw"))
    ingested(home, tmp_path / "a.smf")
    rows = {name: count for _, name, count in compared(home, folder)}
    assert rows["smf110_1_performance"] and rows["smf70_1_cpu"] and rows["fct_point"]
    loaded = DeltaTable(folder / "raw" / "smf110_1_performance")
    quiet = DeltaTable(folder / "marts" / "fct_point").version()
    steps.publish(home)
    assert DeltaTable(folder / "raw" / "smf110_1_performance").version() == loaded.version()
    (tmp_path / "b.smf").write_bytes(dump("rdw") + dump("rdw")[:-9])
    ingested(home, tmp_path / "b.smf")
    with open_writer(home.warehouse) as con:
        assert merge_small(con, most=1) > 0
    for forgotten in ("a.smf", "b.smf"):
        loaded = DeltaTable(folder / "raw" / "smf110_1_performance")
        steps.forget(home, [forgotten])
        steps.publish(home, force=True)
        compared(home, folder)
    assert DeltaTable(folder / "raw" / "smf110_1_performance").to_pyarrow_table().num_rows == 0
    assert all((folder / uri).exists() for uri in loaded.file_uris()), "who reads the version before goes on"
    steps.publish(home, force=True)
    assert not any((folder / uri).exists() for uri in loaded.file_uris())
    assert DeltaTable(folder / "marts" / "fct_point").version() == quiet


@with_delta
@pytest.mark.timeout(900)
def test_a_lake_in_memory_goes_on_where_the_folder_of_logs_was_lost(tmp_path):
    from deltalake import DeltaTable

    home = Home(tmp_path / "home")
    home.root.mkdir()
    odd_days.load_dumps(home.root, home.warehouse)
    steps.publish(home)
    lake.publish(home.snapshot, "memory://lake", tmp_path / "one")
    steps.forget(home, ["later.smf"])
    steps.publish(home, force=True)
    lake.publish(home.snapshot, "memory://lake", tmp_path / "two")
    files = fsspec.filesystem("memory")
    table = DeltaTable(tmp_path / "two" / "raw" / "smf70_1_cpu")
    with duckdb.connect(str(home.snapshot), read_only=True) as con:
        con.register_filesystem(files)
        paths = [f"memory://lake/raw/smf70_1_cpu/{uri.rpartition('/')[2]}" for uri in table.file_uris()]
        [found] = con.execute("SELECT count(*), count(DISTINCT file_id) FROM read_parquet(?)", [paths]).fetchall()
        assert found == con.execute("SELECT count(*), 1 FROM raw.smf70_1_cpu").fetchone()
    assert table.version() == 1
    assert files.exists("/lake/raw/smf70_1_cpu/_delta_log/00000000000000000001.json")

"""Settings every test shares."""

import gc
import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import is_hypothesis_test, settings

if TYPE_CHECKING:
    from ingest.registry import Registry

# Nothing that is made while tests are collected goes away: looking for it would be a third of collecting them.
gc.disable()

# Compiled kernels make the first example of a run slow: time is no property of the behaviour under test.
# A run of all tests draws the same examples each time, so that it fails only for what was changed; `make explore` draws
# new ones, and more of them.
settings.register_profile("etalon", deadline=None, print_blob=True, derandomize=True, max_examples=50)
settings.register_profile("explore", deadline=None, print_blob=True, derandomize=False)
settings.load_profile("etalon")

#: What is tested in one process, without marts.
_QUICK_FOLDERS = ("ingest", "model")
#: Folders of those in which every test takes a warehouse, a simulation or a calibration.
_LONGER_FOLDERS = ("ingest/warehouse", "model/network/simulator", "model/registry", "model/validation")
#: Folders whose files take minutes. They begin, in this order, so that no process is left alone with one of them at
#: the end, or waits for what another builds.
_FIRST_FOLDERS = ("expectations", "pipelines", "marts", "serve")
_LAYOUTS = ("rmf_reassembly", "smf_header", "smf_30", "smf_70_1", "smf_72_3", "smf_74_1", "smf_110_1")
#: A file system in memory, and how much of it has to be free: a database waits for a disk at every commit.
_MEMORY, _FREE_BYTES = Path("/dev/shm"), 6 << 30


def pytest_configure() -> None:
    """Have tests write into memory where there is enough of it, unless the environment says where."""
    if _MEMORY.is_dir() and shutil.disk_usage(_MEMORY).free > _FREE_BYTES:
        os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(_MEMORY))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests of the quick round: examples, not properties, of what needs neither dbt nor a process."""
    root = Path(__file__).parent
    folders = {item: item.path.relative_to(root).parent.as_posix() for item in items}
    for item, folder in folders.items():
        property_test = is_hypothesis_test(getattr(item, "obj", None))
        longer = folder.startswith(_LONGER_FOLDERS) or item.get_closest_marker("slow")
        if folder.startswith(_QUICK_FOLDERS) and not property_test and not longer:
            item.add_marker(pytest.mark.quick)
    order = {folder: place for place, folder in enumerate(_FIRST_FOLDERS)}
    items.sort(key=lambda item: order.get(folders[item].partition("/")[0], len(order)))


def pytest_collection_finish() -> None:
    """Collect garbage again, what stays for the whole run left out."""
    gc.freeze()
    gc.enable()


def pytest_unconfigure() -> None:
    """Let go of what stayed: DuckDB complains of what is left of it when Python ends."""
    gc.unfreeze()


@dataclass(frozen=True)
class FewLayouts:
    """Layouts of a few record types in a folder, which may take the place of `registry.LAYOUT_DIR`, and all of them."""

    folder: Path
    registry: "Registry"


@pytest.fixture(scope="session")
def few_layouts(tmp_path_factory: pytest.TempPathFactory) -> FewLayouts:
    """The layouts of the project that loading is tested with: opening a warehouse takes as long as it has tables."""
    from ingest import registry

    folder = tmp_path_factory.mktemp("layouts")
    shutil.copytree(registry.LAYOUT_DIR / "parts", folder / "parts")
    for path in (*registry.LAYOUT_DIR.glob("*.csv"), *(registry.LAYOUT_DIR / f"{name}.toml" for name in _LAYOUTS)):
        shutil.copyfile(path, folder / path.name)
    with pytest.MonkeyPatch.context() as changed:
        changed.setattr(registry, "LAYOUT_DIR", folder)
        return FewLayouts(folder, registry.load())


@pytest.fixture(scope="session")
def new_warehouse(tmp_path_factory: pytest.TempPathFactory, few_layouts: FewLayouts) -> Callable[[Path], Path]:
    """Makes a warehouse with the tables of few layouts and no rows at a path, by copying."""
    from ingest import warehouse

    empty = tmp_path_factory.mktemp("empty") / "etalon.duckdb"
    warehouse.prepare(empty, few_layouts.registry)

    def make(path: Path) -> Path:
        path.parent.mkdir(parents=True, exist_ok=True)
        return Path(shutil.copyfile(empty, path))

    return make

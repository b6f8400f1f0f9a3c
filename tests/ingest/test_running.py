"""What runs functions gives their results in order, here and in processes."""

import os
import signal
import subprocess
import sys
from concurrent.futures.process import BrokenProcessPool

import pytest

from ingest.running import Here, Processes


def negative(number: int) -> int:
    """A function that can be named in another process."""
    if number > 5:
        raise ValueError(f"{number} is too large")
    return -number


@pytest.fixture(params=["here", "processes"])
def runner(request):
    if request.param == "here":
        yield Here()
    else:
        with Processes(2) as runner:
            yield runner


def test_results_come_in_the_order_of_the_items(runner) -> None:
    assert list(runner.run(negative, range(5))) == [0, -1, -2, -3, -4]


def test_what_a_function_raises_is_raised(runner) -> None:
    with pytest.raises(ValueError, match="6 is too large"):
        list(runner.run(negative, [1, 6]))


def killed_at_first(marker: str) -> int:
    """Kills its process unless it did so before."""
    if not os.path.exists(marker):  # noqa: PTH110 (a path as it travels)
        open(marker, "w").close()  # noqa: PTH123
        os.kill(os.getpid(), signal.SIGKILL)
    return len(marker)


def killed(_: int) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def test_items_of_killed_processes_run_again_and_some_end_the_run(tmp_path) -> None:
    markers = [str(tmp_path / name) for name in ("a", "bb")]
    with Processes(1) as runner:
        assert list(runner.run(killed_at_first, markers)) == [len(marker) for marker in markers]
        with pytest.raises(BrokenProcessPool):
            list(runner.run(killed, [1]))
        assert list(runner.run(negative, [2])) == [-2]


def test_processes_end_with_a_killed_parent(tmp_path) -> None:
    script = tmp_path / "starts.py"
    script.write_text(
        "import os, time\nfrom ingest.running import Processes\n\n\ndef pid(_):\n    return os.getpid()\n\n\n"
        "if __name__ == '__main__':\n    with Processes(1) as runner:\n"
        "        print(*runner.run(pid, [0]), flush=True)\n        time.sleep(600)\n"
    )
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    with subprocess.Popen([sys.executable, str(script)], stdout=subprocess.PIPE, env=environment) as parent:
        assert int(parent.stdout.readline()) != parent.pid
        parent.send_signal(signal.SIGKILL)
        # The output ends when the last process that holds it has ended.
        assert parent.stdout.read() == b""

"""What runs functions gives their results in order, here and in processes."""

import os
import signal
import subprocess
import sys

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

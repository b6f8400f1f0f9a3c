"""What runs functions gives their results in order, here and in processes."""

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

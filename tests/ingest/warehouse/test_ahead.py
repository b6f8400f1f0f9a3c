"""Batches made ahead come as they would have come one by one, and nothing goes on when nobody takes them."""

import threading

import pytest

from ingest.files.ahead import made_ahead


def test_items_come_in_order_from_another_thread():
    def made():
        for number in range(50):
            yield number, threading.current_thread()

    found = list(made_ahead(made()))
    assert [number for number, _ in found] == list(range(50))
    assert {thread for _, thread in found}.isdisjoint({threading.current_thread()})


def test_what_goes_wrong_is_raised_behind_the_items_before_it():
    def made():
        yield 1
        raise KeyError("broken")

    items = made_ahead(made())
    assert next(items) == 1
    with pytest.raises(KeyError, match="broken"):
        next(items)


@pytest.mark.parametrize("taken", [0, 1, 3])
def test_closing_it_ends_the_thread_and_closes_the_source(taken: int):
    closed, threads = [], []

    def made():
        threads.append(threading.current_thread())
        try:
            yield from range(1000)
        finally:
            closed.append(True)

    items = made_ahead(made())
    assert [next(items) for _ in range(taken)] == list(range(taken))
    items.close()
    assert closed == [True] * bool(taken)
    assert not any(thread.is_alive() for thread in threads)

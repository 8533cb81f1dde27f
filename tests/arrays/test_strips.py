"""Strips of an array that threads share out among themselves."""

import multiprocessing
import os
import threading

import pytest

from plugplay.arrays.strips import share_out, strips


@pytest.mark.parametrize("rows", [1, 31, 32, 33, 100])
@pytest.mark.parametrize("height", [1, 7, 32])
def test_strips_cover_all_rows_once(rows, height):
    assert [row for first, stop in strips(rows, height) for row in range(first, stop)] == list(range(rows))


@pytest.mark.parametrize("workers", [1, 2, 3, 50])
def test_results_come_in_the_order_of_the_pieces(workers):
    assert share_out(lambda first, stop: (first, stop), strips(100, 7), workers) == strips(100, 7)
    assert share_out(lambda first, stop: 0, [], workers) == []


def test_several_threads_take_part():
    together = threading.Barrier(3, timeout=60)
    # Each piece waits until three are being worked on.
    assert len(set(share_out(lambda _: together.wait(), [(i,) for i in range(3)], 3))) == 3


@pytest.mark.parametrize("error", [ValueError, IndexError, KeyboardInterrupt])
@pytest.mark.parametrize("bad", [0, 4, 9])
def test_what_a_task_raises_is_raised(error, bad):
    def task(number):
        if number == bad:
            raise error("bad piece")

    for workers in (1, 2):
        with pytest.raises(error, match="bad piece"):
            share_out(task, [(number,) for number in range(10)], workers)
    assert share_out(abs, [(-1,), (-2,)], 2) == [1, 2]  # and the threads go on


def test_threads_may_share_out_in_turn():
    inner = [(number,) for number in range(4)]
    sums = share_out(lambda number: sum(share_out(lambda other: number * other, inner, 4)), inner, 4)
    assert sums == [0, 6, 12, 18]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_process_has_threads_of_its_own():
    share_out(abs, [(-1,), (-2,)], 2)  # the parent's threads exist
    context = multiprocessing.get_context("fork")
    with context.Pool(1) as pool:
        assert pool.apply_async(_in_child).get(timeout=60) == [1, 2, 3]


def _in_child():
    return share_out(abs, [(-1,), (-2,), (-3,)], 3)

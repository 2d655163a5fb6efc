"""Threads: answers in order, the first exception, and whose thread it is."""

from __future__ import annotations

import os
import threading
import time

import pytest

from dovetail import Aligner, InputError
from dovetail.pool import Pool

NUMBERS = [(number,) for number in range(20)]


@pytest.mark.parametrize("threads", [1, 3])
def test_answers_come_in_the_order_of_the_tasks(threads):
    def late(number):
        time.sleep(0.001 * (number % 3))
        return number * number

    pool = Pool(threads)
    assert pool.map(late, NUMBERS) == [number * number for (number,) in NUMBERS]
    assert pool.map(late, []) == []


@pytest.mark.parametrize("threads", [1, 3])
def test_an_exception_reaches_the_caller_and_ends_the_rest(threads):
    done = []

    def fails(number):
        if number == 5:
            raise ValueError("five")
        time.sleep(0.002)
        done.append(number)

    with pytest.raises(ValueError, match="five"):
        Pool(threads).map(fails, [(number,) for number in range(200)])
    assert len(done) < 200


@pytest.mark.parametrize("threads", [1, 3])
def test_no_task_runs_in_the_main_thread(threads):
    found = Pool(threads).map(lambda number: threading.current_thread(), NUMBERS)
    assert threading.main_thread() not in found
    assert len(set(found)) <= threads


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
def test_a_forked_process_has_threads_of_its_own():
    pool = Pool(1)
    pool.map(abs, [(-1,)])
    child = os.fork()
    if child == 0:
        os._exit(7 if pool.map(abs, [(-3,)]) == [3] else 1)
    for _ in range(200):
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            break
        time.sleep(0.05)
    else:
        os.kill(child, 9)
        pytest.fail("the child hangs")
    assert os.waitstatus_to_exitcode(status) == 7


@pytest.mark.parametrize("threads", [0, -1, 1.5, True, "2"])
def test_a_number_of_threads_that_cannot_be_is_refused(threads):
    with pytest.raises(InputError, match="at least 1"):
        Aligner(threads=threads)

"""Threads: answers in order, the first exception, and whose thread it is."""

from __future__ import annotations

import os
import threading
import time
import weakref

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


def test_within_a_task_work_is_done_in_turn_and_in_the_same_thread():
    pool = Pool(2)

    def outer(number):
        return {threading.current_thread(), *pool.map(lambda _: threading.current_thread(), NUMBERS)}

    assert all(len(threads) == 1 for threads in pool.map(outer, NUMBERS))


def test_parts_of_parts_are_answered_although_all_threads_are_taken():
    pool = Pool(2)
    answers: list[list[int]] = []

    def run() -> None:
        answers.extend(pool.stream(lambda part: list(pool.stream(lambda n: n * n, range(part))), range(6)))

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(30)
    assert answers == [[n * n for n in range(part)] for part in range(6)]


def test_threads_without_a_part_help_with_the_last_one():
    pool, met = Pool(2), threading.Barrier(2)

    def part(number):
        if number < 2:  # both threads have a part
            met.wait(10)
            return number
        return sum(pool.map(task, [(n,) for n in range(2)]))

    def task(number):
        met.wait(10)  # alone, a thread would wait in vain
        return number + 1

    assert list(pool.stream(part, range(3))) == [0, 1, 3]


def test_what_goes_wrong_where_another_thread_helps_reaches_the_caller():
    pool, helped = Pool(2), threading.Event()

    def task(number):
        if number == 0:
            assert helped.wait(10)
            return number
        helped.set()
        raise RuntimeError("no answer")

    with pytest.raises(RuntimeError, match="no answer"):
        list(pool.stream(lambda part: pool.map(task, [(n,) for n in range(2)]), range(1)))


def test_where_another_thread_fails_no_further_task_begins():
    pool, failing, done = Pool(2), threading.Event(), []

    def task(number):
        if threading.current_thread() is not begun[0]:
            failing.set()
            raise RuntimeError("no answer")
        assert failing.wait(10)
        time.sleep(0.05)
        done.append(number)

    def part(_):
        begun.append(threading.current_thread())
        pool.map(task, NUMBERS)

    begun: list[threading.Thread] = []
    with pytest.raises(RuntimeError, match="no answer"):
        list(pool.stream(part, range(1)))
    assert len(done) <= 1  # which had begun


def test_what_tasks_were_handed_is_let_go_although_all_threads_are_taken():
    pool, begun, handed, left = Pool(2), threading.Barrier(2), [], []

    def part(_):
        begun.wait(10)  # no thread is free to help, and each asks for help all the time
        for _ in range(30):
            shared = threading.Event()
            handed.append(weakref.ref(shared))
            pool.map(lambda number, shared: None, NUMBERS, shared)
            left.append(sum(own() is not None for own in handed))

    list(pool.stream(part, range(2)))
    assert len(handed) == 60
    assert max(left) <= 4


@pytest.mark.parametrize("threads", [1, 3])
def test_parts_are_answered_in_order_and_few_are_held(threads):
    taken, answered = [], 0

    def parts():
        for number in range(30):
            taken.append(number)
            yield number

    def late(number):
        time.sleep(0.001 * (number % 3))
        return number * number

    for answer in Pool(threads).stream(late, parts()):
        assert answer == answered * answered
        answered += 1
        assert len(taken) <= answered + threads + 2
    assert answered == 30


@pytest.mark.parametrize("threads", [1, 3])
def test_an_answer_does_not_wait_for_the_next_part(threads):
    answered = threading.Event()

    def parts():
        yield 1
        assert answered.wait(10)
        yield 2

    answers = Pool(threads).stream(lambda number: -number, parts())
    assert next(answers) == -1
    answered.set()
    assert list(answers) == [-2]


@pytest.mark.parametrize("threads", [1, 3])
def test_what_goes_wrong_with_parts_comes_behind_the_answers_before_it(threads):
    def parts():
        yield from range(5)
        raise ValueError("no more")

    found = []
    with pytest.raises(ValueError, match="no more"):
        found.extend(Pool(threads).stream(abs, parts()))
    assert found == list(range(5))

    def fails(number):
        return 1 // (3 - number)

    with pytest.raises(ZeroDivisionError):
        list(Pool(threads).stream(fails, range(1000)))


def test_a_part_that_nobody_wants_any_more_is_given_up():
    pool, done = Pool(2), []

    def slow(number):
        pool.map(lambda task: done.append(task) or time.sleep(0.01 if number else 0), NUMBERS)

    answers = pool.stream(slow, range(1000))
    next(answers)
    answers.close()
    pool.executor.shutdown()
    assert len(done) < 3 * len(NUMBERS)


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


def test_parts_side_by_side_are_answered_in_order_and_few_are_held():
    pool, met, held = Pool(3), threading.Barrier(2), []

    def part(number):
        held.append(number)
        if number < 2:
            met.wait(10)  # alone, a part would wait in vain
        return sum(pool.map(lambda n: number * n, NUMBERS))

    answers = pool.side_by_side(part, range(8))
    for number, answer in enumerate(answers):
        assert answer == 190 * number
        assert max(held) <= number + 2


def test_one_thread_gets_one_part_done_after_the_other():
    pool, caller = Pool(1), threading.current_thread()
    assert list(pool.side_by_side(lambda number: (number, threading.current_thread()), range(3))) == [
        (number, caller) for number in range(3)
    ]


def test_what_goes_wrong_in_a_part_stops_those_beside_it():
    pool, begun, tasks = Pool(2), threading.Event(), []

    def task(number):
        begun.set()
        time.sleep(0.01)
        tasks.append(number)

    def part(number):
        if number == 0:
            assert begun.wait(10)
            raise ValueError("full")
        pool.map(task, [(n,) for n in range(1000)])

    with pytest.raises(ValueError, match="full"):
        list(pool.side_by_side(part, range(5)))
    ended = len(tasks)
    assert ended < 100
    time.sleep(0.1)
    assert len(tasks) <= ended + 2  # tasks that had begun


def test_parts_side_by_side_end_when_nobody_wants_more_of_them():
    pool, tasks = Pool(2), []

    def part(number):
        if number:
            pool.map(lambda n: (time.sleep(0.01), tasks.append(n)), [(n,) for n in range(1000)])

    answers = pool.side_by_side(part, range(3))
    next(answers)
    answers.close()
    ended = len(tasks)
    time.sleep(0.1)
    assert len(tasks) <= ended + 2 < 100

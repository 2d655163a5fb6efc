"""Workers of a Ray cluster learn and align to the same bytes as threads, whatever becomes of them."""

from __future__ import annotations

import os
import pickle
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from importlib.resources import files
from pathlib import Path

import pytest

import same_bytes
from dovetail import Aligner, InputError
from dovetail import trained as trained_module
from dovetail.bitext import shards
from dovetail.engines import Threads, engine_of
from dovetail.engines.ray import AHEAD, Ray, _connected
from folders import contents
from test_cli import dovetail  # noqa: F401
from test_sharding import cut_into

ray = pytest.importorskip("ray", reason="needs the extra ray")
LONG = "DOVETAIL_KILLS" in os.environ  # `make kills`
CASES = [
    ("hmm", {}),
    ("hmm-symmetric", {}),
    ("hmm-fertility-hard", {"samples": 2}),
    ("graca2010-bijective", {"longest_pair": 14}),
    ("hmm-bayes", {"chains": 1, "samples": 2}),
    ("mermer2011", {"burn_in": 3, "samples": 3, "lag": 2}),
    ("joint-best", {"sample": 4000}),
]


@pytest.fixture(scope="module")
def demo():
    return same_bytes.demo().part(0, 400)


@pytest.fixture(autouse=True)
def small(monkeypatch):
    monkeypatch.setattr(shards, "BLOCK_CELLS", 4000)
    cut_into(monkeypatch, 4000)
    monkeypatch.setattr(trained_module, "CHUNK_PAIRS", 70)


@pytest.fixture(scope="module")
def cluster():
    ray.init(address="local", num_cpus=4, include_dashboard=False, log_to_driver=False, logging_level="ERROR")
    yield
    ray.shutdown()


def bytes_of(aligner: Aligner, folder: Path) -> dict[str, bytes]:
    aligner.save(folder)
    return contents(folder)


def engine(workers: int):
    return Ray(workers=workers, threads=1)


def test_an_address_where_nobody_answers_is_refused_at_once():
    with socket.socket() as taken:  # a port that nobody listens at
        taken.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        with pytest.raises(InputError, match=f"no Ray cluster answers at {address}"):
            _connected(address, None, None)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("recipe", "options", "workers"),
    [(*case, workers) for case in CASES for workers in (1, 2, 4) if LONG or workers == 2 or case is CASES[0]],
)
@pytest.mark.usefixtures("cluster")
def test_workers_learn_what_threads_do(recipe, options, workers, demo, tmp_path):
    alone = Aligner(recipe, threads=2, **options).fit(demo)
    crew = engine(workers)
    together = Aligner(recipe, engine=crew, **options).fit(demo)
    assert bytes_of(together, tmp_path / "ray") == bytes_of(alone, tmp_path / "threads")
    assert same_bytes.hashes(together.align(demo)) == same_bytes.hashes(alone.align(demo))
    crew.close()


@pytest.mark.slow
@pytest.mark.usefixtures("cluster")
def test_a_worker_that_is_killed_costs_nothing_but_time(demo, tmp_path):
    alone = Aligner("joint-best", threads=2, sample=4000).fit(demo)
    crew, kills = engine(2), int(os.environ.get("DOVETAIL_KILLS", "2"))
    killed, reports = [], 0

    def progress(now) -> None:
        nonlocal reports
        reports += 1
        if len(killed) < kills and reports % 4 == 0 and now.total > now.done:  # twenty times and more
            worker = crew.workers[len(killed) % 2]
            killed.append(ray.get(worker.process.remote()))
            os.kill(killed[-1], signal.SIGKILL)

    together = Aligner("joint-best", engine=crew, sample=4000).fit(demo, progress)
    assert len(set(killed)) == kills
    assert bytes_of(together, tmp_path / "ray") == bytes_of(alone, tmp_path / "threads")
    crew.close()


KILLED_RUN = """
import os, signal, sys
import dovetail, same_bytes
from dovetail import fitting
from dovetail.bitext import shards
from dovetail.engines.ray import Ray

shards.BLOCK_CELLS = fitting.WHOLE_CELLS = fitting.SHARD_CELLS = 4000

def progress(now):
    if now.stage == "hmm" and now.done > 1000:  # in the midst of the third iteration
        os.kill(os.getpid(), signal.SIGKILL)

crew = Ray(workers=2, threads=1)
dovetail.Aligner("hmm", engine=crew).fit(same_bytes.demo().part(0, 400), progress, work=sys.argv[1])
"""


@pytest.mark.slow
@pytest.mark.usefixtures("cluster")
def test_a_training_that_was_killed_goes_on_with_other_workers(demo, tmp_path):
    path = os.pathsep.join([str(Path(__file__).parent), *sys.path])
    command = [sys.executable, "-c", KILLED_RUN, str(tmp_path / "work")]
    killed = subprocess.run(command, env={**os.environ, "PYTHONPATH": path}, capture_output=True, timeout=100)
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    crew, done = engine(1), []
    crew.sum = lambda *arguments: done.append(1) or Ray.sum(crew, *arguments)
    resumed = Aligner("hmm", engine=crew).fit(demo, work=tmp_path / "work")
    alone = Aligner("hmm", threads=2).fit(demo)
    assert len(done) == len(alone.history) - 7  # five of IBM Model 1 and two were done
    assert bytes_of(resumed, tmp_path / "ray") == bytes_of(alone, tmp_path / "threads")
    crew.close()


@pytest.mark.slow
@pytest.mark.usefixtures("cluster")
def test_answers_come_in_the_order_of_their_parts():
    crew = engine(2)
    assert list(crew.map(lambda number: number * number, iter(range(25)))) == [number**2 for number in range(25)]
    assert list(crew.map(len, iter([]))) == []
    crew.close()


@pytest.mark.slow
@pytest.mark.usefixtures("cluster")
def test_an_answer_does_not_wait_for_the_next_part():
    answered = threading.Event()

    def parts():
        yield 1
        assert answered.wait(20)
        yield 2

    crew = engine(2)
    answers = crew.map(lambda number: -number, parts())
    assert next(answers) == -1
    answered.set()
    assert list(answers) == [-2]
    crew.close()


@pytest.mark.slow
@pytest.mark.usefixtures("cluster")
def test_no_more_parts_are_taken_than_workers_can_do():
    crew, taken = engine(2), []
    answers = crew.map(abs, (taken.append(number) or number for number in range(50)))
    for answered in range(1, 51):
        assert next(answers) == answered - 1
        assert len(taken) <= answered + AHEAD * 2 + 1  # one more waits for room
    crew.close()


@pytest.mark.slow
@pytest.mark.usefixtures("cluster")
def test_a_fault_in_a_worker_is_told_as_anywhere():
    def fault(part):
        raise InputError("broken", path="x.en", line=part)

    crew = engine(1)
    with pytest.raises(InputError) as found:
        list(crew.map(fault, [3]))
    assert str(found.value) == "x.en, line 3: broken"
    crew.close()


@pytest.mark.slow
@pytest.mark.usefixtures("cluster")
def test_a_worker_of_more_threads_than_any_node_has_cores_does_not_wait_for_them():
    crew = Ray(threads=5)
    assert list(crew.map(abs, [-1])) == [1]
    assert crew.threads == 5
    crew.close()


@pytest.mark.slow
@pytest.mark.usefixtures("cluster")
def test_more_workers_than_the_cluster_has_cores_for_are_refused():
    with pytest.raises(InputError, match=r"cores for 4 workers of 1 threads, not for 5\. Ask for fewer"):
        engine(5)


class Sending(Threads):
    """Sends parts as Ray does."""

    local = False

    def map(self, function, parts):
        sent = [pickle.dumps(part) for part in parts]
        self.bytes = list(map(len, sent))
        return map(function, map(pickle.loads, sent))


def test_parts_are_sent_without_the_words_that_all_of_them_share(demo):
    alone, crew = Aligner("ibm1", threads=1).fit(demo), Sending(1)
    together = Aligner("ibm1", engine=crew).fit(demo)
    text = demo.part(0, 399)  # not the one that it was fitted to
    assert same_bytes.hashes(together.align(text)) == same_bytes.hashes(alone.align(text))
    numbers = sum(side.ids.nbytes + side.offsets.nbytes for side in (text.source, text.target))
    assert len(crew.bytes) == 6
    assert sum(crew.bytes) < numbers + 1000 * len(crew.bytes)


@pytest.mark.slow
@pytest.mark.usefixtures("cluster")
def test_a_text_of_one_shard_needs_no_worker(demo, monkeypatch):
    cut_into(monkeypatch, 1 << 40)
    crew = engine(1)
    crew.close()
    together = Aligner("ibm1", engine=crew).fit(demo)
    assert same_bytes.hashes(together.align(demo)) == same_bytes.hashes(Aligner("ibm1").fit(demo).align(demo))


@pytest.mark.slow
@pytest.mark.usefixtures("cluster")
def test_the_command_line_takes_an_engine(dovetail):  # noqa: F811
    data = files("dovetail") / "data"
    command = ["align", data / "demo.en", data / "demo.fr", "--recipe", "ibm1", "--quiet"]
    alone, together, wrong = (
        dovetail(*command, *more) for more in ([], ["--engine", "ray"], ["--address", "127.0.0.1:6379"])
    )
    assert (alone.status, together.status, wrong.status) == (0, 0, 2)
    assert together.out == alone.out
    assert "Choose the engine ray, too." in wrong.err


@pytest.mark.slow
@pytest.mark.usefixtures("cluster")
def test_many_files_get_the_links_that_threads_give_them(dovetail, tmp_path):  # noqa: F811
    for suffix in ("en", "fr"):
        lines = (files("dovetail") / "data" / f"demo.{suffix}").read_text("utf-8").splitlines(keepends=True)
        for n in range(5):
            (tmp_path / f"{n}.{suffix}").write_text("".join(lines[n * n : n * n + 10 + n]), "utf-8")
    command = ["align", tmp_path / "*.en", tmp_path / "*.fr", "--recipe", "ibm1"]
    for engine_name in ("threads", "ray"):
        (tmp_path / engine_name).mkdir()
        done = dovetail(*command, "--engine", engine_name, "-o", tmp_path / engine_name / "*.links")
        assert "5 files, 60 pairs" in done.err
    assert contents(tmp_path / "ray") == contents(tmp_path / "threads")


OWN_SESSION = """
import os, sys, time
from pathlib import Path
from dovetail.engines.ray import Ray

def answer(number, died=Path(sys.argv[1])):
    if number == 3 and not died.exists():
        died.touch()
        os.kill(os.getpid(), 9)
    return number

crew = Ray()
for number in crew.map(answer, range(6)):
    print(number, flush=True)
time.sleep(1)  # Ray tells of a death when it finds the time
"""


@pytest.mark.slow
def test_ray_writes_nothing_between_our_links_when_a_worker_dies(tmp_path):
    command = [sys.executable, "-c", OWN_SESSION, str(tmp_path / "died")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=100)
    assert (tmp_path / "died").exists()
    assert (done.returncode, done.stdout) == (0, "0\n1\n2\n3\n4\n5\n"), done.stderr


INTERRUPTED = """
import os, signal, sys
from dovetail import fitting
from dovetail.bitext import sharding, shards
from dovetail.engines.ray import Ray
from dovetail.__main__ import main

fitting.WHOLE_CELLS = fitting.SHARD_CELLS = 4000
shards.BLOCK_CELLS = 1000
begun, number = Ray._in_order, int(sys.argv.pop())

def interrupted(self, method, tasks):
    for count, answer in enumerate(begun(self, method, tasks)):
        if count == 2:
            print("busy", file=sys.stderr, flush=True)
            os.kill(os.getpid(), number)
        yield answer

Ray._in_order = interrupted
main()
"""


@pytest.mark.slow
@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_an_end_from_outside_comes_soon_and_leaves_nothing(tmp_path, number, status):
    data = files("dovetail") / "data"
    texts = [str(data / "demo.en"), str(data / "demo.fr")]
    arguments = ["align", *texts, "--recipe", "ibm1", "--engine", "ray", "--quiet", "-o", str(tmp_path / "links")]
    process = subprocess.Popen(
        [sys.executable, "-c", INTERRUPTED, *arguments, str(int(number))],
        stderr=subprocess.PIPE,
        env={**os.environ, "TMPDIR": str(tmp_path), "RAY_TMPDIR": tempfile.gettempdir()},
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    assert process.stderr.readline() == b"busy\n"
    began = time.monotonic()
    assert process.wait(60) == status
    assert time.monotonic() - began < 5  # a second, on a machine that does nothing else
    assert list(tmp_path.iterdir()) == []


def test_engines_go_by_name():
    assert engine_of("threads", 3).pool.threads == 3
    assert engine_of(own := Threads(2)) is own
    with pytest.raises(InputError, match="no engine 'thread'"):
        Aligner("ibm1", engine="thread")
    with pytest.raises(InputError, match="address without"):
        engine_of(None, address="auto")

"""The benchmark measures what it says, and scores the lines that belong to test."""

from __future__ import annotations

import json
import lzma
import os
import stat
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

BENCHMARKS = Path(__file__).resolve().parents[1] / "benchmarks"
sys.path.insert(0, str(BENCHMARKS))

import aligners  # noqa: E402
import commits  # noqa: E402
import dictionary  # noqa: E402
import environments  # noqa: E402
import house  # noqa: E402
import loaded_model  # noqa: E402
import overview  # noqa: E402
import peers  # noqa: E402
import projection  # noqa: E402
import quality  # noqa: E402
import same_speed  # noqa: E402
import serial  # noqa: E402
import threads  # noqa: E402
from aligners import COMBINATIONS, OWN, PEERS, Peer, Recipe  # noqa: E402
from dovetail.alignments.alignments import Alignments  # noqa: E402
from dovetail.errors import InputError  # noqa: E402
from measure import CommandError, Measurement, machine_facts, medians, run  # noqa: E402
from report import results_table, section, spread_line  # noqa: E402
from results import Result, paired  # noqa: E402
from same_speed import Block, Cost, Turn  # noqa: E402
from texts import Task, find_set, read_test_links, write_text  # noqa: E402

MEGABYTE = 1_000_000


def python(code: str, *arguments: str) -> list[str]:
    return [sys.executable, "-I", "-S", "-c", code, *arguments]


# What a command costs


def test_wall_time_is_the_time_that_passes_and_sleep_costs_no_cpu():
    cost = run(python("import time; time.sleep(0.5)"))
    assert 0.5 <= cost.wall < 5
    assert cost.cpu < 0.4


BUSY = "import time\nwhile time.process_time() < 0.4: pass"


def test_cpu_time_counts_what_grandchildren_used():
    code = f"import subprocess, sys; subprocess.run([sys.executable, '-I', '-S', '-c', {BUSY!r}], check=True)"
    assert 0.4 <= run(python(code)).cpu < 2


def test_peak_memory_is_the_childs_and_not_the_callers():
    held = np.ones(300 * MEGABYTE // 8)  # every page touched: this process is now large
    assert run(python("pass")).peak_memory < 60 * MEGABYTE
    assert held[0] == 1


def test_peak_memory_is_the_largest_process_of_the_tree():
    allocate = "b = bytearray(b'x') * 100_000_000"
    code = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {allocate!r}], check=True)"
    assert 100 * MEGABYTE <= run(python(code)).peak_memory < 200 * MEGABYTE


def test_a_command_that_fails_is_reported_with_its_last_words():
    with pytest.raises(CommandError, match="status 3: no such corpus"):
        run(python("import sys; print('no such corpus', file=sys.stderr); sys.exit(3)"))


def test_a_command_that_does_not_exist_is_reported():
    with pytest.raises(CommandError, match="could not be started"):
        run(["/no/such/program"])


def test_a_command_that_takes_too_long_is_stopped_with_its_children(tmp_path):
    alive = tmp_path / "alive"
    beat = "import sys, time\nwhile True: open(sys.argv[1], 'a').write('x'); time.sleep(0.05)"
    code = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {beat!r}, sys.argv[1]])"
    with pytest.raises(CommandError, match="stopped after 1 seconds"):
        run(python(code, str(alive)), timeout=1)
    size = alive.stat().st_size
    time.sleep(0.3)
    assert alive.stat().st_size == size


def test_a_terminated_benchmark_takes_its_command_along(tmp_path):
    alive = tmp_path / "alive"
    beat = "import sys, time\nwhile True: open(sys.argv[1], 'a').write('x'); time.sleep(0.05)"
    words = python(beat, str(alive))
    code = f"import measure; measure.exit_when_terminated(); measure.run({words!r})"
    benchmark = subprocess.Popen([sys.executable, "-c", code], cwd=BENCHMARKS)
    while not alive.exists():
        assert benchmark.poll() is None
        time.sleep(0.05)
    benchmark.terminate()
    assert benchmark.wait(timeout=20) == 143
    size = alive.stat().st_size
    time.sleep(0.3)
    assert alive.stat().st_size == size


def test_environment_reaches_the_command():
    run(
        python("import os; assert os.environ['OMP_NUM_THREADS'] == '3'"),
        environment=aligners.thread_settings(3),
    )


def test_medians_are_taken_number_by_number():
    runs = [Measurement(1.0, 9.0, 30), Measurement(3.0, 7.0, 10), Measurement(2.0, 8.0, 20)]
    assert medians(runs) == Measurement(2.0, 8.0, 20)


def test_machine_facts_name_cores_and_cpu():
    facts = machine_facts()
    assert facts["cores"] >= 1
    assert facts["cpu"]


# The text


@pytest.fixture
def task(tmp_path) -> Task:
    """Three training pairs, of which one has an empty side, one dev pair, two test pairs."""
    folder = tmp_path / "data" / "en-fr-tiny"
    folder.mkdir(parents=True)
    with lzma.open(folder / "train.en.xz", "wt", encoding="utf-8") as handle:
        handle.write("the house\n\nthe ||| flower\n")
    with lzma.open(folder / "train.fr.xz", "wt", encoding="utf-8") as handle:
        handle.write("la maison\nvide\nla fleur\n")
    (folder / "dev.en").write_text("a house\n")
    (folder / "dev.fr").write_text("une maison\n")
    (folder / "test.en").write_text("the  flower\na house now\n")
    (folder / "test.fr").write_text("la\u00a0fleur bleue\nune maison\n", encoding="utf-8")
    (folder / "test.gold").write_text("0-0 1?1\n0-0 1-1\n")
    return find_set("en-fr-tiny", tmp_path / "data")


def test_test_lines_come_last_and_keep_their_words(task, tmp_path):
    text = write_text(task, tmp_path)
    assert text.source.read_text().splitlines() == [
        "the house",
        "the | flower",
        "a house",
        "the flower",
        "a house now",
    ]
    assert text.target.read_text().splitlines()[3] == "la_fleur bleue"
    assert text.joined.read_text().splitlines()[1] == "the | flower ||| la fleur"
    assert (text.pairs, text.train_pairs, text.lines) == (5, 2, [3, 4])
    assert text.lengths == [(2, 2), (3, 2)]
    assert len(text.gold) == 2


def test_only_the_first_pairs_are_trained_on(task, tmp_path):
    text = write_text(Task(task.name, task.train, task.test, task.gold, None, pairs=1), tmp_path)
    assert text.source.read_text().splitlines() == ["the house", "the flower", "a house now"]
    assert text.lines == [1, 2]


def test_a_test_pair_with_an_empty_side_counts_but_is_not_aligned(task, tmp_path):
    task.test[1].write_text("la fleur\n\n")
    task.gold.write_text("0-0 1?1\n\n")
    text = write_text(task, tmp_path)
    assert text.lines == [3, None]
    (tmp_path / "links").write_text("\n\n\n0-0 1-1\n")
    assert [pair.links for pair in read_test_links(tmp_path / "links", text)] == [[(0, 0), (1, 1)], []]


def test_sides_of_different_length_are_refused(task, tmp_path):
    task.test[0].write_text("the flower\na house\nand more\n")
    with pytest.raises(InputError, match=r"test.en, line 3: no matching line in test.fr"):
        write_text(task, tmp_path)


@pytest.mark.parametrize(
    ("lines", "problem"),
    [
        ("0-0\n" * 4, "4 lines of links for 5 pairs"),
        ("0-0\n" * 4 + "3-0\n", r"line 5: link 3-0 outside a pair of 3 x 2 words"),
        ("0-0\n" * 3 + "0:0\n0-0\n", r"line 4: '0:0' is not a link"),
    ],
)
def test_links_that_cannot_belong_to_the_text_are_refused(task, tmp_path, lines, problem):
    text = write_text(task, tmp_path)
    (tmp_path / "links").write_text(lines)
    with pytest.raises(InputError, match=problem):
        read_test_links(tmp_path / "links", text)


def test_a_set_uses_its_sample_as_long_as_that_suffices(tmp_path):
    folder = tmp_path / "en-fr-x"
    folder.mkdir()
    (folder / "sample100k.en.xz").touch()
    assert find_set("en-fr-x:100000", tmp_path).train[0].name == "sample100k.en.xz"
    assert find_set("en-fr-x:100001", tmp_path).train[0].name == "train.en.xz"
    assert find_set("en-fr-x", tmp_path).train[1].name == "train.fr.xz"
    assert find_set("en-fr-x:5", tmp_path).pairs == 5
    for number in ("many", "-5", "0"):
        with pytest.raises(InputError, match=f"'{number}' in 'en-fr-x:{number}' is not a number of pairs"):
            find_set(f"en-fr-x:{number}", tmp_path)
    with pytest.raises(InputError, match=r"no set 'en-de-x'. Sets there: none\.$"):
        find_set("en-de-x:5", tmp_path)
    with pytest.raises(InputError, match=r"Sets there: none. Or go home\.$"):
        find_set("en-de-x:5", tmp_path, " Or go home.")


# The aligners

DIAGONAL = """
import sys
source, target, forward, reverse = sys.argv[1:]
for name, shift in ((forward, 0), (reverse, 1)):
    with open(source) as one, open(target) as other, open(name, "w") as out:
        for a, b in zip(one, other):
            n = min(len(a.split()), len(b.split()))
            out.write(" ".join(f"{i}-{i}" for i in range(shift, n)) + "\\n")
"""

# Stands in for the command line of dovetail: links on the diagonal; refuses `--combine union`, as a recipe
# that has no two directions would.
PROGRAM = f"""#!{sys.executable}
import argparse, pathlib, sys
parser = argparse.ArgumentParser()
for name in ("align", "source", "target"):
    parser.add_argument(name)
for name in ("--recipe", "--combine", "--threads", "--save", "--load", "--option"):
    parser.add_argument(name)
parser.add_argument("-o")
parser.add_argument("--quiet", action="store_true")
options = parser.parse_args()
assert options.threads == "2"
if options.save:
    assert options.recipe == "default"
    pathlib.Path(options.save).mkdir()
elif options.load:
    assert pathlib.Path(options.load).is_dir()
if options.combine == "union":
    sys.exit("no two directions to combine")
with open(options.source) as one, open(options.target) as other, open(options.o, "w") as out:
    for a, b in zip(one, other):
        n = min(len(a.split()), len(b.split()))
        out.write(" ".join(f"{{i}}-{{i}}" for i in range(n)) + "\\n")
"""


@pytest.fixture
def diagonal() -> Peer:
    def command(environment, text, folder):
        return python(DIAGONAL, str(text.source), str(text.target), str(folder / "forward"), str(folder / "reverse"))

    return Peer("diagonal", "none", command, ("forward", "reverse"), "a stand-in", environment=Path())


@pytest.fixture
def program(tmp_path) -> str:
    path = tmp_path / "dovetail"
    path.write_text(PROGRAM)
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return str(path)


def test_a_peers_two_directions_are_combined_and_scored(task, tmp_path, diagonal):
    text = write_text(task, tmp_path)
    links = diagonal.align(text, tmp_path, threads=2, timeout=60).links
    assert set(links) == set(COMBINATIONS)
    assert links["forward"][0].links == [(0, 0), (1, 1)]
    assert links["intersection"][1].links == [(1, 1)]
    assert links["union"][1].links == [(0, 0), (1, 1)]
    result = Result("diagonal", "none 1")
    result.add(diagonal.align(text, tmp_path, 2, 60), text.gold)
    assert result.value("forward", "aer") == 0
    # |A| = 2, |S| = 3, of which one sure link of the two is found, both are possible.
    assert result.value("intersection", "aer") == pytest.approx(1 - (1 + 2) / (2 + 3))
    assert result.best() == "forward"


def test_a_recipe_runs_through_the_command_line_and_leaves_out_what_it_cannot_combine(task, tmp_path, program, capsys):
    text = write_text(task, tmp_path)
    recipe = Recipe("default", program)
    recipe.warm(text, 2)
    links = recipe.align(text, tmp_path, 2, 60).links
    assert set(links) == {OWN, *COMBINATIONS} - {"union"}
    assert "no output for union" in capsys.readouterr().err


def test_retraining_never_loads_a_model(task, tmp_path, program, monkeypatch):
    commands = []
    monkeypatch.setattr(aligners, "run", lambda command, **rest: (commands.append(command), run(command, **rest))[1])
    recipe = Recipe("default", program, retrain=True)
    assert recipe.align(write_text(task, tmp_path), tmp_path, 2, 60).links
    assert len(commands) == 1 + len(COMBINATIONS)
    assert all("--load" not in command and "--recipe" in command for command in commands)


def test_the_whole_command_writes_tables_and_json(task, tmp_path, diagonal, program, monkeypatch, capsys):
    monkeypatch.setitem(PEERS, "diagonal", diagonal)
    monkeypatch.setattr(diagonal, "prepare", lambda offline: "diagonal 1", raising=False)
    page, numbers = tmp_path / "page.md", tmp_path / "numbers.json"
    files = {
        "--source": task.train[0],
        "--target": task.train[1],
        "--test-source": task.test[0],
        "--test-target": task.test[1],
        "--gold": task.gold,
        "--output": page,
        "--json": numbers,
        "--dovetail": program,
    }
    options = [str(word) for pair in files.items() for word in pair]
    assert peers.main([*options, "--peers", "diagonal", "--recipes", "default", "--repeat", "2", "--pairs", "2"]) == 0
    assert page.read_text() == capsys.readouterr().out
    assert "| dovetail default against |" in page.read_text()
    report = json.loads(numbers.read_text())["tasks"][0]
    assert report["train_pairs"] == 1  # of the first two, one has an empty side
    assert [aligner["name"] for aligner in report["aligners"]] == ["diagonal", "dovetail default"]
    assert [len(aligner["runs"]) for aligner in report["aligners"]] == [2, 2]
    assert report["comparisons"][0]["difference"] == 0


def test_one_aligners_failure_does_not_lose_the_others(task, tmp_path, diagonal):
    broken = Peer("broken", "none", lambda *_: python("raise SystemExit('out of luck')"), (OWN,), "", Path())
    settings = peers.Settings(repeat=2)
    versions = {"broken": "0", "diagonal": "1"}
    text, results = peers.compare_aligners(task, [broken, diagonal], versions, settings)
    assert "out of luck" in results[0].failure
    assert len(results[1].measurements) == 2
    assert "failed" in section(task, text, results, settings)


def test_usage_errors_say_what_to_do(capsys):
    assert peers.main(["--peers", "--recipes"]) == 2
    assert "Pass --set NAME:PAIRS" in capsys.readouterr().err
    assert peers.main(["--source", "x.en"]) == 2
    assert "needs five files" in capsys.readouterr().err


def test_a_missing_peer_is_refused_offline(tmp_path):
    with pytest.raises(InputError, match="Run once without --offline"):
        environments.ensure("eflomal", offline=True, root=tmp_path)


def test_our_own_constraints_do_not_choose_a_peers_version(tmp_path, monkeypatch):
    monkeypatch.setenv("PIP_CONSTRAINT", "constraints.txt")
    monkeypatch.setattr(environments.venv, "create", lambda *arguments, **options: None)
    told = []

    def installed(command, **options):
        told.append(options["env"])
        return subprocess.CompletedProcess(command, 1, "", "no network")

    monkeypatch.setattr(environments, "installed_version", lambda package, home: None)
    monkeypatch.setattr(environments.subprocess, "run", installed)
    with pytest.raises(InputError, match="could not install"):
        environments.ensure("eflomal", root=tmp_path)
    assert "PIP_CONSTRAINT" not in told[0]
    assert "PATH" in told[0]


def test_the_stem_variant_of_eflomal_cuts_words_to_five_letters(task, tmp_path):
    text = write_text(task, tmp_path)
    command = PEERS["eflomal-stem"].command(Path("home"), text, tmp_path)
    assert command[:3] == [Path("home/bin/eflomal-align"), "-s", text.source]
    assert command[-4:] == ["--source-prefix", "5", "--target-prefix", "5"]


# The tables


def result(name: str, aers: list[float], wall: float = 1.0) -> Result:
    """An aligner whose union has these AERs, one a round: so many of 100 links and sure links are right."""
    made = Result(name, "1", [Measurement(wall, 2 * wall, 50 * MEGABYTE)] * len(aers))
    right = [round(100 * (1 - aer)) for aer in aers]
    made.counts["union"] = [np.array([[50, 50, n // 2, n // 2], [50, 50, n - n // 2, n - n // 2]]) for n in right]
    made.counts["forward"] = [np.array([[50, 50, 0, 0]] * 2)] * len(aers)
    return made


def test_the_table_shows_medians_and_the_best_output_in_bold():
    table = results_table([result("peer", [0.10, 0.30, 0.12])]).splitlines()
    assert table[0].startswith("| aligner | wall s | CPU s | peak MB | own | forward |")
    assert table[2].startswith("| peer | 1.0 | 2.0 | 50 | – | 100.0 (0.0/0.0) | – | – | **12.0** (88.0/88.0) |")
    assert len({line.count("|") for line in table}) == 1


def test_the_round_with_the_median_stands_for_all_in_the_paired_test():
    judged, other = result("judged", [0.05]), result("other", [0.10, 0.30, 0.12])
    ((_, comparison),) = paired(judged, [other])
    assert (comparison.first, comparison.second) == (pytest.approx(0.05), pytest.approx(0.12))


def test_the_spread_is_told_only_where_there_is_one():
    assert spread_line([result("still", [0.1, 0.1])]) is None
    assert "moving 10.0 to 30.0" in spread_line([result("still", [0.1]), result("moving", [0.1, 0.3])])


# The peers themselves, where they are installed


@pytest.mark.slow
@pytest.mark.parametrize("name", list(PEERS))
def test_an_installed_peer_finds_the_links_of_a_word_for_word_text(name, tmp_path):
    """And so that its positions count from 0 and its links are source first: the text is not symmetric."""
    peer = PEERS[name]
    if environments.installed_version(peer.package, environments.ENVIRONMENTS / peer.package) is None:
        pytest.skip(f"{peer.package} is not installed: python benchmarks/peers.py installs it")
    peer.prepare(offline=True)
    text = write_text(word_for_word(tmp_path), tmp_path)
    done = Result(name, "")
    done.add(peer.align(text, tmp_path, threads=2, timeout=120), text.gold)
    assert done.value(done.best(), "aer") < 0.1


def word_for_word(folder: Path, pairs: int = 60, test_pairs: int = 20) -> Task:
    """Sentences of made-up words with one translation each; the last source word comes first."""
    generator = np.random.default_rng(1)
    source, target, gold = [], [], []
    for _ in range(pairs + test_pairs):
        words = generator.choice(25, size=generator.integers(3, 7), replace=False).tolist()
        n = len(words)
        source.append(" ".join(f"s{word}" for word in words))
        target.append(" ".join(f"t{word}" for word in [words[-1], *words[:-1]]))
        gold.append(" ".join([*(f"{i}-{i + 1}" for i in range(n - 1)), f"{n - 1}-0"]))
    files = {}
    for side, lines in (("source", source), ("target", target), ("gold", gold)):
        for part, chosen in (("train", lines[:pairs]), ("test", lines[pairs:])):
            files[part, side] = folder / f"{part}.{side}"
            files[part, side].write_text("".join(f"{line}\n" for line in chosen))
    train = files["train", "source"], files["train", "target"]
    return Task("made-up", train, (files["test", "source"], files["test", "target"]), files["test", "gold"])


def test_the_overview_gives_the_share_of_a_peers_error_and_of_its_time(tmp_path, capsys, monkeypatch):
    def aligner(name, cpu, **outputs):
        best = min(outputs, key=outputs.get)
        return {
            "name": name,
            "median": {"cpu": cpu},
            "best": best,
            "outputs": {output: {"aer": [aer]} for output, aer in outputs.items()},
        }

    task = {
        "name": "made-up",
        "train_pairs": 1000,
        "aligners": [
            aligner("eflomal", 20.0, union=0.20, intersection=0.10),
            aligner("dovetail default", 5.0, own=0.06, union=0.05),
            {"name": "dovetail best", "median": None, "outputs": {}},
        ],
    }
    report = tmp_path / "report.json"
    report.write_text(json.dumps({"tasks": [task]}), encoding="utf-8")
    monkeypatch.setattr(sys, "argv", ["overview.py", str(report), "--plots", str(tmp_path / "plots")])
    overview.main()
    printed = capsys.readouterr().out
    assert "| made-up, 1,000 pairs | 10.0 | 20.0 | – | – | – | 6.0 | 40% | 0.25 | – | – | – |" in printed
    picture = (tmp_path / "plots" / "made-up-1000-pairs.svg").read_text(encoding="utf-8")
    assert "<svg" in picture


# Annotation carried over links


TREES = """# text = the old dogsleeps .
1\tthe\t_\tDET\t_\t_\t3\tdet\t_\t_
2\told\t_\tADJ\t_\t_\t3\tamod\t_\t_
3-4\tdogsleeps\t_\t_\t_\t_\t_\t_\t_\t_
3\tdog\t_\tNOUN\t_\t_\t4\tnsubj\t_\t_
4\tsleeps\t_\tVERB\t_\t_\t0\troot\t_\t_
5\t.\t_\tPUNCT\t_\t_\t4\tpunct\t_\t_

1\tyes\t_\tINTJ\t_\t_\t0\troot\t_\t_
"""


def trees_in(tmp_path):
    path = tmp_path / "trees.conllu"
    path.write_text(TREES, encoding="utf-8")
    return projection.read_trees(path)


def test_parts_and_heads_come_over_right_links_only(tmp_path):
    trees = trees_in(tmp_path)
    lengths = [(5, 5), (1, 1)]

    def score(*links, **options):
        found = projection.carry(Alignments.from_links(links, lengths=lengths), trees, trees, **options)
        return projection.score(found).tallies

    diagonal = score([(k, k) for k in range(5)], [(0, 0)])
    assert diagonal["upos"].there == 5  # without the full stop
    assert diagonal["upos"].f1 == diagonal["heads"].f1 == 1
    # "old" is linked to "the" as well as to itself; "dog", its head, to nothing; "sleeps" is the root.
    partial = score([(0, 1), (1, 1), (3, 3)], [])
    assert (partial["upos"].carried, partial["upos"].right) == (2, 1)
    assert (partial["heads"].carried, partial["heads"].right) == (1, 1)
    filtered = score([(0, 1), (1, 1), (3, 3)], [], compatible=True)
    assert (filtered["upos"].carried, filtered["upos"].right) == (2, 2)
    assert score([(1, 1)], [], keep=lambda probability: probability > 1)["upos"].carried == 0


def test_trees_become_a_text_whose_pairs_are_all_looked_at(tmp_path):
    trees = trees_in(tmp_path)
    text = projection.write_trees(trees, trees, tmp_path)
    assert text.joined.read_text(encoding="utf-8").splitlines()[1] == "yes ||| yes"
    assert (text.pairs, text.lines, text.lengths) == (2, [0, 1], [(5, 5), (1, 1)])
    with pytest.raises(InputError, match="no partner"):
        projection.write_trees(trees, trees[:1], tmp_path)


# Pairs that were spoilt on purpose


def test_the_asked_share_of_pairs_is_spoilt_and_no_other():
    pairs = [([f"s{n}", "x"], [f"t{n}", "y", "z", "w"]) for n in range(20)]
    for kind in quality.SPOIL:
        found, bad = quality.spoil(pairs, 0.25, kind, seed=1)
        assert bad.sum() == 5
        assert [pair != other for pair, other in zip(found, pairs, strict=True)] == bad.tolist()
        assert [pair[0] for pair in found] == [pair[0] for pair in pairs]
    shuffled, bad = quality.spoil(pairs, 0.25, "shuffled", seed=1)
    assert sorted(pair[1] for pair in shuffled) == sorted(pair[1] for pair in pairs)


def test_the_area_counts_good_pairs_above_bad_ones():
    scores, bad = np.array([0.9, 0.2, 0.5, 0.5, 0.1]), np.array([False, True, False, True, False])
    # of (good, bad): 0.9 beats both, 0.5 beats 0.2 and ties, 0.1 beats none
    assert quality.area(scores, bad) == pytest.approx(3.5 / 6)


# The code beside an earlier commit


# Stands in for the package: links that the text, the recipe and the letter in its source decide.
PACKAGE = """
import argparse, sys
parser = argparse.ArgumentParser()
for name in ("align", "source", "target"):
    parser.add_argument(name)
for name in ("--recipe", "--threads", "--seed", "--option", "-o"):
    parser.add_argument(name)
parser.add_argument("--quiet", action="store_true")
options = parser.parse_args()
if options.recipe == "broken":
    sys.exit("out of luck")
with open(options.source) as lines, open(options.o, "w") as out:
    for line in lines:
        out.write(f"{options.recipe} {len(line)}" + (" LETTER" if options.recipe == "changing" else "") + "\\n")
"""


@pytest.fixture
def repository(tmp_path, monkeypatch) -> Path:
    """A repository with one commit, and a working tree where the recipe `changing` writes something else."""
    root = tmp_path / "repository"
    package = root / "src" / "dovetail"
    package.mkdir(parents=True)
    (package / "__init__.py").touch()
    (package / "__main__.py").write_text(PACKAGE.replace("LETTER", "a"))
    who = ["-c", "user.name=Nobody", "-c", "user.email=nobody@example.org", "-c", "commit.gpgsign=false"]
    for words in (["init", "-q"], ["add", "."], ["commit", "-q", "-m", "First"], ["tag", "first"]):
        subprocess.run(["git", "-C", root, *who, *words], check=True)
    (package / "__main__.py").write_text(PACKAGE.replace("LETTER", "b"))
    monkeypatch.setattr(commits, "ROOT", root)
    return root


@pytest.fixture
def hansards(tmp_path) -> Path:
    folder = tmp_path / "data" / same_speed.SET
    folder.mkdir(parents=True)
    for language in ("en", "fr"):
        with lzma.open(folder / f"sample100k.{language}.xz", "wt", encoding="utf-8") as handle:
            handle.writelines(f"word {k}\n" for k in range(100))
    return folder.parent


def test_two_threads_are_compared_without_the_start_up(hansards, tmp_path, monkeypatch, capsys):
    def run(command, environment):
        whole, threads_asked = "50.source" in " ".join(command), int(command[command.index("--threads") + 1])
        return SimpleNamespace(wall=1.0 + (12.0 / threads_asked if whole else 0.0))

    monkeypatch.setattr(threads, "run", run)
    page = tmp_path / "page.md"
    options = ["--pairs", "50", "--rounds", "2", "--recipe", "fast", "--output", str(page)]
    assert threads.main(["--data", str(hansards), *options]) == 0
    rows = [line for line in page.read_text().splitlines() if line.startswith(("| fast", "| a saved"))]
    cells = "1.00 | 12.00 | 6.00 | 2.00 | 2.00 to 2.00 | 2.00"
    assert rows == [f"| fast | {cells} |", f"| a saved `default` | {cells} |"]
    assert threads.main(["--data", str(hansards), "--pairs", "1000"]) == 2
    assert "not 1,000" in capsys.readouterr().err


def test_what_threads_wait_for_counts_as_serial():
    stages = {"read": 0.1, "write": 0.2, loaded_model.LOOK_UP: 1.0, "gather": 8.7, loaded_model.WAITING: 0.4}
    table = loaded_model._stages_table(stages, 1_000_000)
    assert "| look words up | 1.00 | 0.40 |" in table
    assert "| all | 10.00 |" in table
    assert "0.8 of 11.3 seconds are serial, which allows 32 cores to be 10.1 times as fast" in table


def test_tasks_go_to_the_core_that_is_free_first():
    assert serial.makespan([3.0, 1.0, 1.0, 1.0, 2.0], 2) == 5.0  # 3 + 2 beside 1 + 1 + 1
    assert serial.makespan([], 2) == 0.0


def test_shared_seconds_are_dealt_to_cores_and_serial_ones_are_not():
    stages = {"read": serial.Spent(1.0), "E-steps": serial.Spent(0.0, 31.0, 2.0)}
    page = serial.table(stages)
    assert "| read | 1.00 | 0.00 | 1.00 |" in page
    assert "| all | 1.00 | 31.00 | 3.00 |" in page
    assert (
        "1.0 of 32.0 seconds are serial, which allows 32 cores to be 16.3 times as fast as one, and\n10.7 times" in page
    )


def test_parts_side_by_side_are_as_late_as_the_longest_line_or_whoever_takes_their_answers():
    assert serial.SIDE_BY_SIDE == 4
    assert serial._less([1.0] * 8, [0.0]) == 6.0  # two in each line
    assert serial._less([1.0] * 8, [0.5] * 8) == 12.0 - 3.5 - 0.5  # the last answer comes at the end
    assert serial._less([], [0.0]) == 0.0


def test_what_threads_are_given_is_told_from_what_is_serial(hansards, tmp_path, capsys):
    for pairs in (serial.FEW, 90):
        same_speed.write_pairs(hansards, pairs, tmp_path)
    found = serial._measured("fast", 90, tmp_path)
    assert found["E-steps"].shared > 0
    assert found["M-steps"].serial > 0
    assert all(0 <= own.on_cores <= own.shared + 1e-9 for own in found.values())
    page = tmp_path / "page.md"
    assert serial.main(["--data", str(hansards), "--pairs", "90", "--recipe", "fast", "--output", str(page)]) == 0
    assert "## fast" in page.read_text()
    assert serial.main(["--data", str(hansards), "--pairs", "1000"]) == 2
    assert "not 1,000" in capsys.readouterr().err


def test_two_workers_are_put_beside_two_threads(hansards, tmp_path, monkeypatch):
    pytest.importorskip("ray", reason="needs the extra ray")

    def run(command, environment):
        threads_asked = int(command[command.index("--threads") + 1])
        assert threads_asked == (1 if "ray" in command else 2)
        return SimpleNamespace(wall=11.0 if "ray" in command else 10.0)

    monkeypatch.setattr(threads, "run", run)
    page = tmp_path / "page.md"
    options = ["--ray", "--pairs", "50", "--rounds", "2", "--recipe", "best", "--output", str(page)]
    assert threads.main(["--data", str(hansards), *options]) == 0
    assert "| best | 10.0 | 11.0 | 1.10 | 1.10 to 1.10 |" in page.read_text()


def test_both_sides_run_in_turns_and_finished_runs_are_not_run_again(repository, hansards, tmp_path, capsys):
    page, work = tmp_path / "page.md", tmp_path / "work"
    files = ["--data", str(hansards), "--work", str(work), "--output", str(page)]
    options = ["--against", "first", "--pairs", "5:2", "--recipe", "still", "--recipe", "changing", "--compiling", "1"]
    assert same_speed.main([*files, *options]) == 0
    shown = capsys.readouterr()
    assert page.read_text() == shown.out
    rows = [line.strip("| ").split(" | ") for line in shown.out.splitlines() if line.startswith("| ")]
    assert [(row[0], row[-1]) for row in rows[2:4]] == [("still", "yes"), ("changing", "**no**")]
    record = (work / "runs.jsonl").read_text()
    runs = [json.loads(line) for line in record.splitlines()]
    assert [run["side"] for run in runs[:8]] == ["before", "after"] * 2 + ["after", "before"] * 2
    assert [run["cold"] for run in runs] == [False] * 8 + [True] * 4
    assert (work / "5.source").read_text() == "".join(f"word {k}\n" for k in range(5))

    assert same_speed.main([*files, *options]) == 0
    again = capsys.readouterr()
    assert (again.err, (work / "runs.jsonl").read_text()) == ("", record)
    (repository / "src" / "dovetail" / "__main__.py").write_text(PACKAGE.replace("LETTER", "a"))
    fewer = ["--against", "first", "--pairs", "5:1", "--recipe", "changing", "--compiling", "0"]
    assert same_speed.main([*files, *fewer]) == 0
    assert "| changing | 5 | 1 |" in capsys.readouterr().out  # other code: its runs are its own


def test_a_recipe_that_fails_is_named_and_the_others_go_on(repository, hansards, capsys):
    options = ["--data", str(hansards), "--against", "first", "--pairs", "5:1", "--compiling", "0"]
    assert same_speed.main([*options, "--recipe", "broken", "--recipe", "still"]) == 1
    shown = capsys.readouterr().out
    assert "broken failed before: " in shown
    assert "out of luck" in shown
    assert "| still | 5 | 1 |" in shown


@pytest.mark.parametrize(
    ("options", "problem"),
    [(["--against", "second"], "no commit 'second'"), (["--pairs", "101:1"], "100 lines, not 101")],
)
def test_a_commit_or_text_that_is_not_there_is_refused(repository, hansards, capsys, options, problem):
    assert same_speed.main(["--data", str(hansards), "--against", "first", "--pairs", "5:1", *options]) == 2
    assert problem in capsys.readouterr().err


def test_pairs_without_rounds_are_refused(capsys):
    with pytest.raises(SystemExit):
        same_speed.main(["--pairs", "10000"])
    assert "like 10000:7" in capsys.readouterr().err


def test_speed_is_told_by_medians_of_the_rounds_that_both_sides_finished():
    before, after = [10.0, 20.0, 12.0, 99.0], [11.0, 10.0, 12.0]
    runs = {Turn(False, 1000, "hmm", n, "before"): Cost(cpu, 100 * MEGABYTE, "x") for n, cpu in enumerate(before)}
    runs |= {Turn(False, 1000, "hmm", n, "after"): Cost(cpu, 90 * MEGABYTE, "x") for n, cpu in enumerate(after)}
    runs |= {Turn(True, 100, "hmm", 0, side): Cost(cpu, 0, "") for side, cpu in (("before", 8.0), ("after", 10.0))}
    blocks = [Block(1000, 5), Block(100, 1, cold=True)]
    speed = same_speed.speed_table(runs, blocks, ["hmm", "not run yet"]).splitlines()
    assert speed[2:] == ["| hmm | 1,000 | 3 | 12.00 | 11.00 | 0.917 | 1.000 | 100 | 90 | yes |"]
    assert len({line.count("|") for line in speed}) == 1
    assert same_speed.compiling_table(runs, blocks, ["hmm"]).endswith("| hmm | 1 | 8.0 | 10.0 | 1.250 |")
    runs[Turn(False, 1000, "hmm", 1, "after")] = Cost(10.0, 0, "y")
    assert same_speed.speed_table(runs, blocks, ["hmm"]).endswith("| **no** |")


# The inside of the package

ROOM = '''"""Two lines
of docstring."""

# A comment alone.
from typing import Any, ClassVar, NamedTuple


class Wide(NamedTuple):
    """Thirteen fields."""

FIELDS


@dataclasses.dataclass(frozen=True)
class Narrow:
    kind: ClassVar[str] = "narrow"
    field: "dict[str, Any]"  # behind code


def many(ARGUMENTS, *rest: Any, last=None) -> Any:
    """One line."""
    text = """a string
    of two lines"""
    return isinstance(text, str) and model.isinstance(text)
'''


@pytest.fixture
def room() -> house.Module:
    fields = "\n".join(f"    field{k}: int" for k in range(13))
    return house.Module(
        "models/room.py", ROOM.replace("FIELDS", fields).replace("ARGUMENTS", ", ".join(f"a{k}" for k in range(13)))
    )


def test_lines_of_code_are_those_without_docstrings_comments_and_blanks(room):
    lines = room.text.splitlines()
    code = [lines[number - 1] for number in sorted(house.code_lines(room))]
    assert code[0].startswith("from typing")
    assert len(code) == 1 + 1 + 13 + 4 + 4
    assert '    of two lines"""' in code
    comments = house.comment_lines(room)
    assert [lines[number - 1].partition("#")[2] for number in sorted(comments)] == [" A comment alone.", " behind code"]
    assert len(comments - house.code_lines(room)) == 1


def test_arguments_fields_and_annotations_are_counted_in_the_source(room):
    assert list(house.argument_counts(room)) == [("`many` in models/room.py", 15)]
    assert list(house.field_counts(room)) == [("Wide", 13), ("Narrow", 1)]
    assert house.any_count(room) == 3
    assert house.call_count(room, "isinstance") == 1


def test_figures_of_two_states_stand_side_by_side(room, repository, monkeypatch, capsys):
    monkeypatch.setattr(house, "duplicates", lambda source: house.NOT_MEASURED)
    models = repository / "src" / "dovetail" / "models"
    models.mkdir()
    (models / "room.py").write_text(room.text)
    assert house.main(["--against", "first"]) == 0
    shown = capsys.readouterr().out
    assert "| Python files | 2 | 3 |" in shown
    assert "| functions with 15 or more arguments | 0 | 1 |" in shown
    assert "| most arguments | 0 | 15: `many` in models/room.py |" in shown
    assert "| 0 | 1: Wide (13) |" in shown
    assert "| not measured | not measured |" in shown
    assert house.main(["--against", "second"]) == 2


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        ("84 pairs of places (214 files read), each sharing\nD1 a.py:1-9 ~ b.py:1-9\n", "84"),
        ("1 pair of places (2 files read)\nincomplete: time\n", "1 (not all files read)"),
        ("no duplicates (2 files read)\n", "0"),
        ("incomplete: usage\n", "not measured"),
    ],
)
def test_the_number_of_duplicates_is_read_from_the_first_line(said, shown):
    assert house.pairs_counted(said) == shown


# Looking words up


@pytest.mark.slow
def test_words_are_looked_up_in_less_than_200_milliseconds(capsys):
    """In a text of 3,000 pairs here; DOVETAIL_DICTIONARY_PAIRS=1130000 asks for as many as one has time for."""
    pairs = int(os.environ.get("DOVETAIL_DICTIONARY_PAIRS", "3000"))
    assert dictionary.main(["--pairs", str(pairs)]) == 0
    said = capsys.readouterr().out.splitlines()
    assert said[0].startswith(f"{pairs:,} pairs")
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in said[4:]]
    assert len(rows) == 10
    assert max(float(row[2]) for row in rows) < 200, "medians: other programs may keep this machine busy"


def test_a_made_up_text_has_frequent_and_rare_words(tmp_path):
    source, target, links = dictionary.make_up(tmp_path, 300)
    pairs = list(zip(*(path.read_text().splitlines() for path in (source, target, links)), strict=True))
    assert len(pairs) == 300
    for one, other, linked in pairs:
        assert len(one.split()) == len(other.split()) == len(linked.split())
    ranked = dictionary.by_frequency(source)
    assert ranked[0] == "s1"
    assert len(ranked) > 1000

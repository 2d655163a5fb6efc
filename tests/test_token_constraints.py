"""Constraints on tokens: what hangs on a pair's number, tags and trees from CoNLL-U, in Python and from a file."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from dovetail import Aligner, Bitext, InputError, Limit, PairConstraint, TokenPairs
from dovetail.cli import dovetail
from dovetail.models.constraints import read_constraints
from test_cli import command

TEXT = [
    (["a", "light", "house"], ["une", "maison", "claire"]),
    (["the", "light", "is", "on"], ["la", "lumière", "est", "allumée"]),
    (["the", "house"], ["la", "maison"]),
    (["a", "light"], ["une", "lumière"]),
] * 3
TAGS = {"light": "ADJ", "claire": "ADJ", "lumière": "NOUN", "house": "NOUN", "maison": "NOUN"}


def tagged(side, nouns=()):
    """Every token with its tag; in pairs with these numbers `light` is a noun."""
    return [
        [(word, "NOUN" if word == "light" and n in nouns else TAGS.get(word, "X")) for word in pair[side]]
        for n, pair in enumerate(TEXT)
    ]


def write_conllu(path, sentences, roots=None):
    lines = ["# a comment"]
    for n, sentence in enumerate(sentences):
        root = roots[n] if roots is not None else 0
        lines.append("1-2\tcontracted" + "\t_" * 8)
        for t, (word, tag) in enumerate(sentence):
            head, relation = (0, "root") if t == root else (root + 1, "dep")
            lines.append("\t".join([str(t + 1), word, word, tag, "_", "_", str(head), relation, "_", "_"]))
        lines.append("")
    path.write_text("\n".join(lines) + "\n", "utf-8")
    return str(path)


def light_to_adjective(aligner, n):
    forward, reverse = aligner.directional_posteriors(*TEXT[n])
    i, j = TEXT[n][0].index("light"), [k for k, word in enumerate(TEXT[n][1]) if TAGS.get(word) == "ADJ"]
    return max(forward[i, j].sum(), reverse[i, j].sum())


class OnlyInPair(PairConstraint):
    """No link of the first words of one pair."""

    name = "only in pair"

    def __init__(self, number):
        self.number, self.seen = number, []

    def limits(self, source, target, number):
        self.seen.append((number, len(source)))
        if number == self.number:
            yield Limit({(0, 0): 1.0}, at_most=0.01)


def test_limits_get_the_pairs_number_in_the_text_that_is_aligned(monkeypatch):
    text = Bitext.from_pairs(TEXT)
    rule = OnlyInPair(6)
    aligner = Aligner("hmm-constrained", threads=1).fit(text, constraints=[rule])
    assert rule.seen[: len(TEXT)] == [(n, len(pair[0])) for n, pair in enumerate(TEXT)]
    linked = [(0, 0) in alignment.links for alignment in aligner.align(text)]
    assert not linked[6]
    assert linked[2] and linked[10]  # noqa: PT018 (the same words elsewhere)
    monkeypatch.setattr("dovetail.trained.CHUNK_PAIRS", 5)
    again = aligner.align(Bitext.from_pairs(TEXT))
    assert [(0, 0) in alignment.links for alignment in again] == linked


def test_limits_without_a_number_go_on_as_they_were():
    class Old(PairConstraint):
        name = "old"

        def limits(self, source, target):
            yield Limit({(0, len(target) - 1): 1.0}, at_most=0.05)

    aligner = Aligner("hmm-constrained", threads=1).fit(Bitext.from_pairs(TEXT), constraints=[Old()])
    assert aligner.directional_posteriors(*TEXT[0])[0][0, 2] <= 0.06


def test_a_words_tag_may_differ_from_sentence_to_sentence():
    text = Bitext.from_pairs(TEXT)
    free = Aligner("hmm-constrained", threads=1).fit(text)
    assert light_to_adjective(free, 0) > 0.5
    as_noun = TokenPairs(tagged(0, nouns=range(12)), tagged(1), [("NOUN", "ADJ")], at_most=0.05)
    as_adjective = TokenPairs(tagged(0), tagged(1), [("NOUN", "ADJ")], at_most=0.05)
    bound = Aligner("hmm-constrained", threads=1).fit(text, constraints=[as_noun])
    assert light_to_adjective(bound, 0) <= 0.06
    loose = Aligner("hmm-constrained", threads=1).fit(text, constraints=[as_adjective])
    assert light_to_adjective(loose, 0) > 0.5


def test_the_same_words_may_have_other_tags_in_another_pair():
    """Pairs 0, 4 and 8 are the same words; only in pair 4 `house` is another word's kind."""
    source = tagged(0)
    source[4] = [(word, "ODD" if word == "house" else tag) for word, tag in source[4]]
    rule = TokenPairs(source, tagged(1), [("ODD", "NOUN")], at_most=0.05)
    cells = {n: [link for limit in rule.limits(*TEXT[n], n) for link in limit.links] for n in (0, 4, 8)}
    assert cells == {0: [], 4: [(2, 1)], 8: []}
    assert not list(rule.limits(*TEXT[4], 5))  # sentence 5 has other words, and the first with these has other tags
    text = Bitext.from_pairs(TEXT)
    aligner = Aligner("hmm-constrained", threads=1).fit(text, constraints=[rule])
    linked = [(2, 1) in alignment.links for alignment in aligner.align(text)]
    assert (linked[0], linked[4], linked[8]) == (True, False, True)


def test_roots_of_trees_can_be_held_together_from_a_file(tmp_path):
    source = write_conllu(tmp_path / "en.conllu", tagged(0), [len(pair[0]) - 1 for pair in TEXT])
    target = write_conllu(tmp_path / "fr.conllu", tagged(1))
    rules = [
        {"name": "tokens", "source": source, "target": target, "pairs": [["root", "root"]], "at_least": 0.9}
        | {"feature": "deprel"}
    ]
    (tmp_path / "rules.json").write_text(json.dumps(rules))
    for side, name in enumerate(("text.en", "text.fr")):
        (tmp_path / name).write_text("".join(" ".join(pair[side]) + "\n" for pair in TEXT), "utf-8")
    arguments = [
        "align",
        str(tmp_path / "text.en"),
        str(tmp_path / "text.fr"),
        "--recipe",
        "hmm-constrained",
        "--quiet",
    ]
    arguments += ["--constraints", str(tmp_path / "rules.json"), "--save", str(tmp_path / "model")]
    result = CliRunner().invoke(dovetail, arguments)
    assert result.exit_code == 0
    lines = result.stdout.splitlines()
    assert all(f"{len(pair[0]) - 1}-0" in line.split() for pair, line in zip(TEXT, lines, strict=True))
    loaded = Aligner.load(tmp_path / "model", threads=1)
    assert [str(a) for a in loaded.align(Bitext.from_pairs(TEXT))] == lines  # the trees are in the model
    assert loaded.align_pair("never seen", "jamais vu") is not None


def test_the_tag_of_the_head_is_a_feature(tmp_path):
    path = write_conllu(tmp_path / "en.conllu", [[("big", "ADJ"), ("house", "NOUN")]], [1])
    rule = TokenPairs(path, path, [("root", "root")], at_most=0.5, feature="head")
    assert rule.source == ((("big", "NOUN"), ("house", "root")),)


def test_files_may_be_paths(tmp_path):
    places = [write_conllu(tmp_path / name, tagged(side)) for side, name in enumerate(("en.conllu", "fr.conllu"))]
    rules = [TokenPairs(*map(kind, places), [("X", "X")], at_most=0.5) for kind in (str, Path)]
    assert rules[0] == rules[1]
    (tmp_path / "bad.conllu").write_text("1\thouse\n\n")
    with pytest.raises(InputError, match=r"bad\.conllu, line 1"):
        TokenPairs(tmp_path / "bad.conllu", [], [], at_most=1.0)


def test_bounds_count_the_cells_of_their_kinds():
    text = Bitext.from_pairs(TEXT)
    aligner = Aligner("hmm-constrained", threads=1)
    rule = TokenPairs(tagged(0), tagged(1), [("ADJ", "NOUN"), ("ADJ", "X")], at_most=0.2)
    aligner.fit(text, constraints=[rule])
    for source, target in TEXT[:4]:
        cells = np.array([[(TAGS.get(s, "X"), TAGS.get(t, "X")) in rule._wanted for t in target] for s in source])
        for posterior in aligner.directional_posteriors(source, target):
            assert posterior[cells].sum() <= 0.21


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"feature": "colour"}, "feature is 'colour'.*upos"),
        ({"at_most": None}, "neither at_most nor at_least"),
        ({"at_least": 2.0}, "at_least is 2.0"),
        ({"pairs": ["ab"]}, "not a pair of words"),
        ({"source": 3}, "source is 3"),
        ({"source": [[("a", 1)]]}, "source, sentence 1 has"),
    ],
)
def test_bad_values_are_named(change, says):
    values = {"source": tagged(0), "target": tagged(1), "pairs": [("X", "X")], "at_most": 0.1}
    with pytest.raises(InputError, match=says):
        TokenPairs(**{**values, **change})


def test_features_of_another_text_are_refused():
    text = Bitext.from_pairs(TEXT)
    for source, says in (
        (tagged(0)[:-1], "11 sentences.*12 pairs"),
        (tagged(0)[::-1], "sentence 1: features of"),
    ):
        rule = TokenPairs(source, tagged(1), [("X", "X")], at_most=0.1)
        with pytest.raises(InputError, match=says):
            Aligner("hmm-constrained").fit(text, constraints=[rule])


def test_a_line_that_is_no_token_is_named(tmp_path):
    (tmp_path / "bad.conllu").write_text("1\thouse\thouse\tNOUN\n\n")
    with pytest.raises(InputError, match=r"bad\.conllu, line 1: 4 columns, not the 10 of CoNLL-U"):
        TokenPairs(str(tmp_path / "bad.conllu"), [], [], at_most=1.0)
    (tmp_path / "rules.json").write_text(
        json.dumps(
            [{"name": "tokens", "source": str(tmp_path / "bad.conllu"), "target": [], "pairs": [], "at_most": 1}]
        )
    )
    with pytest.raises(InputError, match=r"bad\.conllu, line 1"):
        read_constraints(tmp_path / "rules.json")


def test_a_value_that_a_constraint_does_not_have_is_named_with_those_it_has(tmp_path):
    (tmp_path / "rules.json").write_text('[{"name": "fertility", "defaults": 2}]')
    with pytest.raises(InputError, match=r"no value 'defaults'. It takes source, target, default"):
        read_constraints(tmp_path / "rules.json")


def test_values_that_a_constraint_lacks_are_named(tmp_path):
    (tmp_path / "rules.json").write_text('[{"name": "tags", "source_tags": {}}]')
    with pytest.raises(InputError, match=r"constraint 1, tags: .* lacks target_tags and pairs. It takes source_tags"):
        read_constraints(tmp_path / "rules.json")


@pytest.mark.parametrize(
    ("values", "says"),
    [
        ({"direction": "forwards"}, "direction is 'forwards'. Choose from: forward, reverse, each, mean"),
        ({"direction": ["each"]}, "direction is .*Choose from"),
        ({"at_most": float("nan")}, "at_most is nan. It must be a number"),
        ({"at_most": float("-inf")}, "at_most is -inf"),
        ({"at_most": "0.1"}, "at_most is '0.1'"),
        ({"at_least": float("nan")}, "at_least is nan"),
        ({"at_least": float("inf")}, "at_least is inf"),
        ({"at_least": True}, "at_least is True"),
        ({"at_most": None}, "neither at_most nor at_least is given. Give one"),
        ({"at_least": 0.8}, "at_most is 0.1, less than at_least, 0.8. Raise the one"),
        ({"links": [(0, 0)]}, r"links is \[\(0, 0\)\]. It maps links"),
        ({"links": {(0, 0): float("nan")}}, "the weight of 0-0 is nan"),
        ({"links": {(0, 0): float("inf")}}, "the weight of 0-0 is inf"),
        ({"links": {(0, 0): None}}, "the weight of 0-0 is None"),
        ({"links": {3: 1.0}}, "links has 3. A link is a pair of positions"),
        ({"links": {(0.5, 0): 1.0}}, r"links has \(0.5, 0\)"),
    ],
)
def test_a_limit_that_says_nothing_is_refused(values, says):
    with pytest.raises(InputError, match=says):
        Limit(**{"links": {(0, 0): 1.0}, "at_most": 0.1, **values})


def test_bounds_may_be_equal_negative_of_numpy_or_no_bound_at_all():
    Limit({(0, 0): -1.0, (1, 0): 1}, at_most=-0.5, at_least=-0.5)
    Limit({(np.int64(0), np.int32(1)): np.float32(0.5)}, at_most=np.float64(0.5))
    Limit({}, at_most=float("inf"), at_least=float("-inf"))


@pytest.mark.parametrize(
    ("given", "says"),
    [
        (lambda: None, "the constraint odd, pair 1: limits gives None. It yields Limits"),
        (lambda: 3, "limits gives 3"),
        (lambda: Limit({(0, 0): 1.0}, at_most=0.1), "limits gives Limit"),
        (lambda: [{(0, 0): 1.0}], "limits gives {"),
        (lambda: [Limit({(0, 0): 1.0})], "the constraint odd, pair 1: neither at_most"),
        (
            lambda: [Limit({(0, 9): 1.0}, at_most=0.1)],
            "the constraint odd, pair 1: .*the link 0-9 in a pair of 3 and 3",
        ),
    ],
)
def test_what_limits_must_not_give_is_told_with_the_pair(given, says):
    class Odd(PairConstraint):
        name = "odd"

        def limits(self, source, target):
            return given()

    with pytest.raises(InputError, match=says):
        Aligner("hmm-constrained", threads=1).fit(Bitext.from_pairs(TEXT), constraints=[Odd()])


def test_bounds_that_contradict_each_other_are_refused_in_a_file(tmp_path):
    for side, name in enumerate(("text.en", "text.fr")):
        (tmp_path / name).write_text("".join(" ".join(pair[side]) + "\n" for pair in TEXT), "utf-8")
    rule = {"name": "tokens", "source": tagged(0), "target": tagged(1), "pairs": [["X", "X"]]}
    (tmp_path / "rules.json").write_text(json.dumps([rule | {"at_most": 0.2, "at_least": 0.8}]))
    options = ["--recipe", "hmm-constrained", "--quiet", "--constraints", tmp_path / "rules.json"]
    result = command("align", tmp_path / "text.en", tmp_path / "text.fr", *options)
    assert (result.status, result.out) == (2, "")
    (line,) = result.err.splitlines()
    assert "constraint 1, tokens: at_most is 0.2, less than at_least, 0.8. Raise the one, or lower the other." in line

"""Equations made as the papers' were: the seeds, the rules, the changes, the labels, and the sets of them."""

import csv
import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest

pytest.importorskip("pyarrow", reason="the train extra is not installed")
pytest.importorskip("sympy", reason="the train extra is not installed")

from dgltree import Equation, Tree, read_equation
from dgltree.equations.truth.evaluator import Truth, numeric_truth
from tasks.equations import store
from tasks.equations.__main__ import main
from tasks.equations.canonical import digest
from tasks.equations.generator import generate as program
from tasks.equations.generator.generate import write_sets
from tasks.equations.generator.places import Places
from tasks.equations.generator.presets import PAPER_TRAIN, Part, part_of
from tasks.equations.generator.published.judge import judgements
from tasks.equations.generator.published.labels import Labeller
from tasks.equations.generator.published.process import PUBLISHED, Process
from tasks.equations.generator.published.rules import PatternTree
from tasks.equations.generator.published.run import EquationGrowth, GrownEquation, mutate, operate
from tasks.equations.generator.published.seeds import FAULTS, seeds
from tasks.equations.generator.rewrite import LETTERS, in_growing
from tasks.equations.leaves import with_leaves
from tasks.equations.words import SINGLE, VARIABLES, Word, tree

TINY: Mapping[Part, Process] = {
    "train": Process(4, 120, 13, PAPER_TRAIN.scaled(200)),
    "test": Process(3, 400, 19, 20),
}


def places(text: str) -> Places:
    return Places(in_growing(read_equation(text)))


def equation_of(word: Word) -> Equation:
    found = Places(word)
    return Equation(*map(tree, found.sides()))


def rules(*texts: str, checked: bool = False) -> PatternTree:
    found = PatternTree(checked)
    for text in texts:
        found.add(places(text))
    return found


def rewritten(known: PatternTree, text: str, place: int) -> set[str]:
    """All that many draws make of a place, as text."""
    drawn = {known.rewritten(places(text), place, Random(seed)) for seed in range(40)}
    return {str(equation_of(word)) for word in drawn if word is not None}


def as_text(*texts: str) -> set[str]:
    return {str(equation_of(places(text).word)) for text in texts}


def test_seeds_are_true_but_for_the_faults() -> None:
    flagged = set(seeds()).difference(seeds(faults=()))
    assert len(seeds()) == 147
    assert len(flagged) == 5
    assert len(seeds(["root"])) == 146
    assert {numeric_truth(equation_of(seed)) for seed in flagged} == {Truth.FALSE}
    assert Truth.FALSE not in {numeric_truth(equation_of(seed)) for seed in seeds(faults=())}


def test_seeds_are_those_of_the_published_generator(published: Path) -> None:
    names = {Tree("Symbol", token=f"v{number}"): letter for number, letter in enumerate(LETTERS[:3])}
    with (published / "equations" / "axioms.tsv").open() as file:
        rows = list(csv.DictReader(file, delimiter="\t"))
    given = [(read_equation(row["identity"]), row["note"]) for row in rows]
    words = {in_growing(Equation(*(with_leaves(side, names) for side in each))): note for each, note in given}
    assert words.keys() == set(seeds())
    kept = {fault: set(seeds(FAULTS)).difference(seeds([f for f in FAULTS if f != fault])) for fault in FAULTS[:2]}
    assert {word for word, note in words.items() if note == "root"} == kept["root"]
    assert {word for word, note in words.items() if note == "typo"} == kept["misprint"]


def test_a_rule_goes_in_both_directions_and_a_bare_variable_fits_variables_only() -> None:
    known = rules("x + 0 = x")
    assert rewritten(known, "sin(y) + 0 = y", 1) == as_text("sin(y) = y")
    assert rewritten(known, "sin(y) = y", 1) == set()
    assert rewritten(known, "sin(y) = y", 2) == as_text("sin(y + 0) = y")
    assert rewritten(known, "2 = y", 1) == set()


def test_a_variable_that_a_pattern_lacks_keeps_its_name() -> None:
    assert rewritten(rules("0*y = 0"), "x = 0", 2) == as_text("x = 0*y")


def test_repeated_variables_are_compared_only_where_rules_are_checked() -> None:
    square = "sin(x)^2 + cos(x)^2 = x"
    assert rewritten(rules(square), "sin(y)^2 + cos(z)^2 = 1", 1) == as_text("y = 1", "z = 1")
    assert rewritten(rules(square, checked=True), "sin(y)^2 + cos(z)^2 = 1", 1) == set()
    assert rewritten(rules(square, checked=True), "sin(y)^2 + cos(y)^2 = 1", 1) == as_text("y = 1")


def test_two_children_of_a_node_are_equal_exactly_where_those_of_the_rule_are() -> None:
    known = rules("x + y = y + x", "x + x = 2*x")
    assert rewritten(known, "z + z = 1", 1) == as_text("2*z = 1")
    assert rewritten(known, "z + y = 1", 1) == as_text("y + z = 1")


def fits(pattern: Word, equation: Places, place: int) -> bool:
    """The same as of ``PatternTree``, one rule at a time."""
    rule = Places(pattern)
    if pattern[0] in VARIABLES:
        return equation.word[place] in VARIABLES
    pairs = [(0, place)]
    while pairs:
        own, other = pairs.pop()
        if pattern[own] in VARIABLES:
            continue
        if pattern[own] != equation.word[other]:
            return False
        children = rule.children(own), equation.children(other)
        if len(children[0]) == 2:
            twins = [each.at(at[0]) == each.at(at[1]) for each, at in zip((rule, equation), children, strict=True)]
            if twins[0] != twins[1]:
                return False
        pairs += zip(*children, strict=True)
    return True


def test_thousands_of_rules_are_found_as_one_at_a_time() -> None:
    equations = [candidate.equation for candidate in EquationGrowth("rules", 200, 9).run() if candidate.grown]
    known = PatternTree(checked=False)
    both = []
    for equation in equations:
        known.add(equation)
        left, right = equation.sides()
        both += [(left, right), (right, left)]
    asked = [(equation, place) for equation in equations[-40:] for place in range(1, len(equation.word))]
    counts = Counter[bool]()
    for equation, place in asked:
        expected = Counter(rule for rule in both if fits(rule[0], equation, place))
        found = Counter(rule for group in known.fitting(equation, place) for rule in group)
        assert found == expected
        counts[bool(found)] += 1
    assert min(counts.values()) > 10
    assert len(counts) == 2


def test_the_same_is_done_to_both_sides() -> None:
    made = {operate(places("sin(x) = y"), Random(seed)) for seed in range(3000)}
    texts = {str(equation_of(word)) for word in made if word is not None}
    assert as_text("sin(x) + z = y + z", "z*sin(x) = z*y", "(-1)^sin(x) = (-1)^y", "sin(x)^10 = y^10") <= texts
    last = Places(places("x = x").word.replace(SINGLE[0], SINGLE[4]))  # there is no sixth variable
    assert None in {operate(last, Random(seed)) for seed in range(20)}


def test_a_change_is_of_one_node_below_the_root() -> None:
    base = places("sin(x)*2 = y")
    made = Counter(mutate(base, Random(seed)) for seed in range(3000))
    assert base.word not in made
    texts = {str(equation_of(word)) for word in made}
    grown = as_text("cos(sin(x)*2) = y", "sin(x)*2 = y^x", "(sin(x) + pi)*2 = y")
    assert grown | as_text("sin(x) = y", "x*2 = y", "2 = y") <= texts  # shrunk
    assert (
        as_text("cos(x)*2 = y", "sin(x) + 2 = y", "sin(y)*2 = y", "sin(x)*pi = y", "sin(x)*2 = x") <= texts
    )  # replaced
    assert not as_text("sin(x)*4 = y", "sin(x)*2 = 1") & texts  # a constant of its own kind, a constant for a variable
    assert all(len(word) - len(base.word) in (-2, -1, 0, 1, 2, -3) for word in made)


def test_sympy_says_what_is_true_and_what_is_too_large_has_no_answer() -> None:
    asked = ["x + x = 2*x", "sin(x) = cos(x)", "10^(10^10) = x", "x^(2^(pi^x)^pi) = 1", "pi^(pi^(pi^pi)) = 1"]
    assert judgements([places(text).word for text in asked]) == [True, False, None, False, None]


def test_a_changed_equation_is_wrong_unless_sympy_or_numbers_say_true() -> None:
    texts = ["sin(x)^2 + cos(x)^2 = 1", "x + x = 2*x", "x = 2", "10^(10^10) = x"]
    candidates = [GrownEquation(places(text), grown=False) for text in texts]
    candidates.append(GrownEquation(places("sin(x) = sqrt(1 - cos(x)^2)"), grown=True))
    counts = Counter[str]()
    made, truths = Labeller(sympy=True, counts=counts).labelled(candidates)
    assert [one.text for one in made][:2] == [
        "sin(var_0)^2 + cos(var_0)^2 = 1",
        "var_0 = 2",
    ]  # SymPy sees no Pythagoras
    assert [one.label for one in made] == [0] * (len(made) - 1) + [1]
    assert truths[:2] == [True, False]
    assert truths[-1] is False
    assert counts["true for SymPy after the change"] == 1
    assert counts["too large for SymPy"] == 1
    made, truths = Labeller(sympy=False, counts=counts).labelled(candidates)
    assert [one.text for one in made if not one.label] == ["var_0 = 2"]


@pytest.fixture(scope="module")
def sets(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("published")
    write_sets("tiny", TINY, folder, seed=1)
    return folder


def test_a_training_set_has_the_published_counts_and_a_test_set_both_labels_alike(sets: Path) -> None:
    train, test = (store.read(sets / f"{part}.parquet") for part in ("train", "test"))
    quotas = PAPER_TRAIN.scaled(200).quotas()
    found = Counter((row.label, row.depth) for row in train)
    card = json.loads((sets / "train.json").read_text())
    assert all(found[kind] <= number for kind, number in quotas.items())
    assert sum(quotas.values()) - len(train) == sum(card["missing"].values()) < 20
    by_kind = Counter((row.label, row.depth) for row in test)
    assert all(by_kind[0, depth] == by_kind[1, depth] <= 20 for _, depth in by_kind)
    assert max(row.depth for row in test) > 10
    assert card["process"] == {"runs": 4, "correct": 120, "limit": 13, "faults": list(FAULTS)}


def test_no_equation_of_a_test_set_is_in_training_up_to_names_and_sides(sets: Path) -> None:
    train, test = (store.read(sets / f"{part}.parquet") for part in ("train", "test"))
    keys = [{digest(row.equation) for row in rows} for rows in (train, test)]
    assert not keys[0] & keys[1]
    assert [len(found) for found in keys] == [len(train), len(test)]
    for part, rows in (("train", train), ("test", test)):
        assert {part_of(row.digest, row.depth) for row in rows} == {part}


def test_each_row_has_its_truth_and_its_run(sets: Path) -> None:
    table = store.load(sets / "test.parquet")
    truths = table.column("truth").to_pylist()
    assert set(truths) <= {0, 1, None}
    assert set(table.column("run").to_pylist()) == {0, 1, 2}
    known = [row for row, truth in zip(store.rows(table), truths, strict=True) if truth is not None]
    by_truth = store.read(sets / "test.parquet", label="truth")
    assert [row.label for row in by_truth] == [truth for truth in truths if truth is not None]
    assert [row.digest for row in by_truth] == [row.digest for row in known]
    assert [row.label for row in known] != [row.label for row in by_truth]  # the faults


def test_without_faults_labels_are_true(tmp_path: Path) -> None:
    clean = {part: process.without(FAULTS) for part, process in TINY.items()}
    write_sets("tiny", clean, tmp_path, seed=1)
    for part in clean:
        table = store.load(tmp_path / f"{part}.parquet")
        pairs = Counter(zip(table.column("label").to_pylist(), table.column("truth").to_pylist(), strict=True))
        assert not pairs[1, 0] + pairs[0, 1] + pairs[0, None]
        assert min(pairs[1, 1], pairs[0, 0]) > 20


@pytest.mark.slow
def test_a_seed_means_the_same_for_any_workers_and_after_an_interruption(
    sets: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_sets("tiny", {"train": TINY["train"]}, tmp_path / "two", seed=1, workers=2)
    stopped = Counter[str]()
    real = EquationGrowth.run

    def stop(self: EquationGrowth):  # type: ignore[no-untyped-def]
        stopped["runs"] += 1
        if stopped["runs"] == 3:
            raise KeyboardInterrupt
        return real(self)

    monkeypatch.setattr(EquationGrowth, "run", stop)
    with pytest.raises(KeyboardInterrupt):
        write_sets("tiny", TINY, tmp_path / "again", seed=1)
    write_sets("tiny", TINY, tmp_path / "again", seed=1)
    assert stopped["runs"] == 3 + (4 - 2) + 3
    for part, other in (("train", "two"), ("train", "again"), ("test", "again")):
        assert (tmp_path / other / f"{part}.parquet").read_bytes() == (sets / f"{part}.parquet").read_bytes()
        assert (tmp_path / other / f"{part}.json").read_bytes() == (sets / f"{part}.json").read_bytes()


def test_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setitem(PUBLISHED, "published-test", {"test": replace(TINY["test"], runs=1)})
    arguments = ["--preset", "published-test", "--out", str(tmp_path)]
    program.main([*arguments, "--without", "root"])
    assert "true for SymPy after the change" in capsys.readouterr().out
    assert json.loads((tmp_path / "test.json").read_text())["process"]["faults"] == ["misprint", "matching", "sympy"]
    with pytest.raises(ValueError, match=r"belongs to another run: process.faults: .*'root'"):
        program.main(arguments)
    with pytest.raises(SystemExit):
        program.main(["--preset", "small", "--out", str(tmp_path), "--without", "root"])
    assert "--without is for published-train, published-test, published-clean" in capsys.readouterr().err


def test_accuracy_over_some_depths_and_by_the_numbers(sets: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = str(sets / "test.parquet")
    main(["accuracy", "--data", file, "--depths", "8", "19"])
    *_, eight, last = capsys.readouterr().out.splitlines()
    sizes = Counter(row.depth for row in store.read(file))
    assert last.split()[:4] == ["8", "to", "19", str(sum(size for depth, size in sizes.items() if depth >= 8))]
    assert int(eight.split()[0]) == max(sizes)
    main(["accuracy", "--data", file, "--labels", "truth"])
    assert f" {len(store.read(file, label='truth'))} " in capsys.readouterr().out
    with pytest.raises(SystemExit, match=r"has no equations of depth 30 to 31"):
        main(["accuracy", "--data", file, "--depths", "30", "31"])

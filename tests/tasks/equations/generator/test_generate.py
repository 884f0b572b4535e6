"""The training equations: labels, keys, what is held out, and that a seed means the same whatever the workers."""

import json
import os
import re
import statistics
import subprocess
import sys
from collections import Counter
from pathlib import Path
from random import Random

import numpy as np
import pytest

pytest.importorskip("pyarrow", reason="the train extra is not installed")

from dgltree.equations.truth import Evaluator, Truth
from dgltree.read.infix import read_equation, read_infix, write_equation, write_infix
from dgltree.read.preorder import read_candidates
from dgltree.trees.equation import Equation, substitute
from dgltree.trees.tree import Tree
from tasks.equations.canonical import canonical_key, digest, word_digest
from tasks.equations.fillers import CONSTANTS, LEAVES, LITERALS, depth_one, fillers
from tasks.equations.generator import generate as program
from tasks.equations.generator.chunk import USUAL, Chunk
from tasks.equations.generator.generate import Generator, generate, write_sets
from tasks.equations.generator.held_out import held_out, textbook_candidates
from tasks.equations.generator.held_out import published as published_equations
from tasks.equations.generator.places import Places
from tasks.equations.generator.presets import PAPER_TEST, PAPER_TRAIN, PRESETS, part_of
from tasks.equations.generator.rewrite import LETTERS, Rules, in_growing, match
from tasks.equations.generator.values import Values
from tasks.equations.leaves import variables, with_leaves
from tasks.equations.store import Made, Row, read
from tasks.equations.words import NAMES, equation_word, tree, word

ROOT = Path(__file__).parents[4]


SHAPE = PAPER_TRAIN.scaled(1200)


@pytest.fixture(scope="module")
def examples() -> list[Row]:
    return generate(SHAPE.quotas(), seed=3, chunk=500)


def test_labels_are_what_the_values_say(examples: list[Row]) -> None:
    evaluator = Evaluator()  # in other names than while they grew, so at other points, where a few are undecided
    decided = [(Truth(made.label), evaluator.truth(made.equation)) for made in examples]
    assert all(truth in (label, Truth.UNDECIDED) for label, truth in decided)
    assert sum(truth is Truth.UNDECIDED for _, truth in decided) < 0.01 * len(examples)


def test_labels_and_depths_are_those_asked_for(examples: list[Row]) -> None:
    assert Counter((made.label, made.depth) for made in examples) == Counter(SHAPE.quotas())


def test_no_two_are_equal_up_to_names_and_sides(examples: list[Row]) -> None:
    keys = [canonical_key(made.equation) for made in examples]
    assert len(set(keys)) == len(keys) == 1200
    assert [digest(made.equation) for made in examples] == [made.digest for made in examples]


def test_equations_have_about_the_size_of_published_ones(examples: list[Row]) -> None:
    sizes = [made.equation.left.size + made.equation.right.size for made in examples if made.equation.depth == 8]
    assert 22 < statistics.median(sizes) < 36  # published: 27


def test_no_equation_is_held_out_or_of_the_other_part(examples: list[Row]) -> None:
    tests = generate(PAPER_TEST.scaled(300).quotas(), seed=3, part="test", chunk=300)
    assert not held_out() & {made.digest for made in (*examples, *tests)}
    assert not {made.digest for made in examples} & {made.digest for made in tests}
    assert {part_of(made.digest, made.depth) for made in examples} == {"train"}
    assert {part_of(made.digest, made.depth) for made in tests} == {"test"}


@pytest.mark.parametrize(
    "text",
    ["sin(x)^2 + cos(x)^2 = 1", "1 = sin(y)^2 + cos(y)^2", "cos(z) = cos(-z)", "x + 0 = x", "sin(x)^2 + x = 1"],
)
def test_textbook_equations_are_held_out_in_any_names_and_order(text: str) -> None:
    assert digest(read_equation(text)) in held_out()


def test_other_true_equations_are_not_held_out() -> None:
    assert digest(read_equation("cos(x)^2 = 1 - sin(x)^2")) not in held_out()


def test_every_candidate_of_the_textbook_lines_is_held_out() -> None:
    assert {digest(equation) for equation in textbook_candidates()} <= held_out()


def test_the_file_of_digests_is_that_of_the_textbook_and_the_published_equations(published: Path) -> None:
    equations = published_equations(published / "equations" / "blanks")
    digests = {digest(equation) for equation in equations}
    assert digests <= held_out()
    assert len(held_out()) == len(digests | {digest(equation) for equation in textbook_candidates()})


def test_leaves_are_published_tokens_and_mostly_the_first_four_names(examples: list[Row]) -> None:
    leaves = {n for made in examples for side in made.equation for n in side.preorder() if not n.children}
    assert leaves <= {*LITERALS, *NAMES}
    assert leaves >= set(NAMES)
    usual = [{v for side in made.equation for v in variables(side)} <= set(NAMES[:USUAL]) for made in examples]
    assert sum(usual) > 0.8 * len(examples)


def test_a_seed_means_the_same_whatever_the_number_of_workers() -> None:
    quotas = PAPER_TRAIN.scaled(300).quotas()
    one, two = (generate(quotas, seed=7, workers=workers, chunk=100) for workers in (1, 2))
    assert one == two
    assert generate(quotas, seed=8, chunk=100) != one


def test_the_command_writes_the_same_whatever_the_salt_of_hashes_and_reports(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(PRESETS, "small", {"train": PAPER_TRAIN.scaled(100), "test": PAPER_TEST.scaled(100)})
    program.main(["--preset", "small", "--out", str(tmp_path / "sets"), "--seed", "1"])
    out = capsys.readouterr().out
    assert "train: {" in out
    assert re.search(r"  depth 5: 2\d, 5\d\.\d% correct\n", out)
    code = (
        "from tasks.equations.generator.generate import generate;"
        "from tasks.equations.generator.presets import PAPER_TRAIN;"
        "print(*[m.digest for m in generate(PAPER_TRAIN.scaled(100).quotas(), seed=1)])"
    )
    environment = {**os.environ, "PYTHONHASHSEED": "1"}
    done = subprocess.run([sys.executable, "-c", code], env=environment, cwd=ROOT, capture_output=True, check=True)
    assert done.stdout.split() == [str(row.digest).encode() for row in read(tmp_path / "sets" / "train.parquet")]


def small_sets(folder: Path, seed: int = 1, name: str = "small") -> dict:
    return write_sets(name, {"train": PAPER_TRAIN.scaled(200)}, folder, seed, chunk=50)


def test_a_card_says_what_the_set_holds(tmp_path: Path) -> None:
    card = small_sets(tmp_path)["train"]
    rows = read(tmp_path / "train.parquet")
    assert card == json.loads((tmp_path / "train.json").read_text()) | {k: card[k] for k in ("depths", "correct")}
    assert card["equations"] == len(rows) == 200
    assert card["splits"] == dict(Counter(row.split for row in rows))
    shallow = [row for row in rows if row.depth <= 7]
    assert [row.split for row in shallow] == ["validation" if i % 10 == 0 else "train" for i in range(len(shallow))]
    assert {row.split for row in rows if row.depth > 7} == {"train"}
    assert card["depths"] == dict(sorted(Counter(row.depth for row in rows).items()))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["train.json", "train.parquet"]


def test_an_interrupted_run_continues_from_its_finished_chunks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    small_sets(tmp_path / "whole")
    finished: list[str] = []

    def counted(self: Chunk) -> list[Made]:
        if len(finished) == 2:
            raise KeyboardInterrupt
        finished.append("chunk")
        return run(self)

    run = Chunk.run
    with monkeypatch.context() as patch:
        patch.setattr(Chunk, "run", counted)
        with pytest.raises(KeyboardInterrupt):
            small_sets(tmp_path / "part")
    assert not (tmp_path / "part" / "train.parquet").exists()
    with monkeypatch.context() as patch:
        patch.setattr(Chunk, "run", lambda self: finished.append("chunk") or run(self))
        small_sets(tmp_path / "part")
    assert read(tmp_path / "part" / "train.parquet") == read(tmp_path / "whole" / "train.parquet")
    with monkeypatch.context() as patch:
        patch.setattr(Chunk, "run", lambda self: finished.append("all"))
        small_sets(tmp_path / "whole")
    assert "all" not in finished, "a set that is there is not made again"


def test_sets_of_different_runs_are_not_mixed(tmp_path: Path) -> None:
    small_sets(tmp_path)
    with pytest.raises(ValueError, match=r"train.json is of another run: seed: 1 there, 2 now. Give another --out"):
        small_sets(tmp_path, seed=2)
    parts = tmp_path / "other" / ".train-parts"
    parts.mkdir(parents=True)
    (parts / "plan.json").write_text(json.dumps({"preset": "large", "seed": 1}))
    with pytest.raises(ValueError, match=r"plan.json is of another run: preset: 'large' there, 'small' now; chunk"):
        small_sets(tmp_path / "other")


def test_what_does_not_exist_is_reported_as_missing() -> None:
    generator = Generator({(1, 1): 500, (0, 1): 5}, "train", seed=0)
    made = generator.run()
    assert 5 < len(made) < 100
    assert generator.missing == {(1, 1): 505 - len(made)}


@pytest.mark.parametrize("wrong", [{"quotas": {}}, {"workers": 0}, {"chunk": 0}])
def test_numbers_under_one_are_refused(wrong: dict) -> None:
    with pytest.raises(ValueError, match="at least 1"):
        generate(**{"quotas": {(1, 3): 1}, "seed": 1, **wrong})


def test_keys_are_the_same_up_to_names_and_sides_and_else_different():
    def key(text):
        return canonical_key(read_equation(text))

    assert key("x + y = y + x") == key("b + a = a + b") == key("var_1 + var_0 = var_0 + var_1")
    assert key("sin(x)^2 + cos(x)^2 = 1") == key("1 = sin(y)^2 + cos(y)^2")
    assert key("x = y") == key("y = x")
    different = [
        "x + y = x",
        "y + x = x",
        "x + x = x",
        "x*y = x",
        "x + 2 = x",
        "x + (-2) = x",
        "x = x + y + y",
        "x = y",
    ]
    assert len({key(text) for text in different}) == len(different)
    assert key("x + pi = x") != key("x + y = x")


def test_the_fillers_are_the_published_1216_and_the_common_forms():
    listed = fillers()
    assert 1500 <= len(listed) <= 2000
    assert len(set(listed)) == len(listed)
    assert len(LEAVES) == 19
    assert listed[:1216] == [*LEAVES, *depth_one(LEAVES)]
    assert max(filler.depth for filler in listed) <= 3
    for text in ("sin(var_0)^2", "-cos(var_1)", "2*tan(var_2)", "sec(var_3)^-1", "cot(-var_4)", "sin(2*var_0)"):
        assert read_infix(text) in listed
    for text in ("-var_0^2", "2*var_0*var_1", "var_0 - var_1", "cos(var_0)*sin(var_1)", "var_0/var_1", "1/var_0"):
        assert read_infix(text) in listed


def test_every_filler_is_read_back_from_its_text():
    for filler in fillers():
        assert read_infix(write_infix(filler)) == filler


def test_the_constants_are_what_the_reader_makes_of_their_texts():
    for leaf in (*CONSTANTS, *LITERALS):
        assert read_infix(leaf.token) == leaf


@pytest.mark.data
@pytest.mark.skipif("DGLTREE_DATA" not in os.environ, reason="DGLTREE_DATA, the folder of published data, is unset")
def test_the_first_1216_fillers_are_the_published_ones():
    published = read_candidates(Path(os.environ["DGLTREE_DATA"]) / "equations" / "candidate_classes.json")
    assert {candidate.filler for candidate in published} == set(fillers()[:1216])


def in_words(text: str) -> Places:
    return Places(in_growing(read_equation(text)))


def in_letters(word_: bytes) -> Equation:
    places = Places(word_)
    names = dict(zip(NAMES, LETTERS, strict=False))
    return Equation(*(with_leaves(tree(side), names) for side in places.sides()))


def test_words_say_where_their_subtrees_end():
    equation = read_equation("sin(var_3)*(var_1 + 2) = var_0^-1 + var_1")
    places = Places(equation_word(equation))
    nodes = list(Tree("=", equation).preorder())
    assert [tree(places.at(place)) for place in range(1, len(nodes))] == nodes[1:]
    assert [places.children(place) for place in (0, 2, 3)] == [[1, 7], [3], []]
    assert Equation(*map(tree, places.sides())) == equation
    assert (places.depth, places.variables) == (equation.depth, [3, 1, 0])
    assert Places(equation_word(Equation(NAMES[0], NAMES[1]))).depth == 1


def test_a_replaced_place_leaves_the_rest():
    places = in_words("sin(x)*(x + 2) = y")
    for place in range(1, len(places.word)):
        assert places.replaced(place, places.at(place)) == places.word
    changed = places.replaced(places.word.index(word(read_infix("2"))), word(read_infix("sin(3)")))
    assert in_letters(changed) == read_equation("sin(x)*(x + sin(3)) = y")


def test_a_pattern_binds_a_variable_to_one_subtree_only():
    pattern = in_words("x*y + x = 0").sides()[0]
    bound = match(pattern, in_words("sin(z)*2 + sin(z) = z"), 1)
    assert bound == {0: word(read_infix("sin(var_2)")), 1: word(read_infix("2"))}
    assert match(pattern, in_words("sin(z)*2 + cos(z) = z"), 1) is None


def test_rules_rewrite_in_both_directions():
    rules = Rules([in_growing(read_equation("sin(x + pi) = -sin(x)"))])
    random = Random(1)

    def reached(text):
        words = [rules.rewrite(in_words(text), random, widening=0.1, literal=0.3) for _ in range(200)]
        return {in_letters(word) for word in words if word is not None}

    assert reached("sin(y^2 + pi) = z") == {read_equation("-sin(y^2) = z")}
    assert reached("-sin(y^2) = z") == {read_equation("sin(y^2 + pi) = z")}


@pytest.fixture(scope="module")
def considered() -> list[Places]:
    """Some thousand equations that chunks decided, correct, wrong and undecided ones."""
    with pytest.MonkeyPatch.context() as patch:
        equations: list[Places] = []
        truths = Values.truths
        patch.setattr(Values, "truths", lambda self, asked: equations.extend(asked) or truths(self, asked))
        Chunk(PAPER_TRAIN.scaled(1500).quotas(), "train", "decisions").run()
        Chunk(PAPER_TEST.scaled(500).quotas(), "test", "decisions").run()
    return equations


def test_many_decisions_at_once_are_those_of_the_evaluator(
    considered: list[Places], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tasks.equations.generator.values.CACHED", 5000)  # so that some are forgotten on the way
    values, evaluator = Values(), Evaluator()
    found = []
    with np.errstate(all="ignore"):
        for start in range(0, len(considered), 100):
            found += values.truths(considered[start : start + 100])
    assert found == [evaluator.truth(Equation(*map(tree, equation.sides()))) for equation in considered]
    assert {*Truth} == {*found}
    assert len(found) > 3000


def test_digests_of_words_are_those_of_their_equations(considered: list[Places]) -> None:
    for equation in considered[::4]:
        assert word_digest(*equation.sides()) == digest(Equation(*map(tree, equation.sides())))


def test_texts_say_what_the_ids_say() -> None:
    made = Chunk(PAPER_TEST.scaled(300).quotas(), "test", "texts").run()
    assert [one.text for one in made] == [write_equation(one.equation) for one in made]


def test_leaves_are_replaced_as_by_substitute():
    tree = read_infix("sin(x)*(x + 2) + y^x")
    replacements = {read_infix("x"): read_infix("y + 1"), read_infix("y"): read_infix("x")}
    assert with_leaves(tree, replacements) == substitute(tree, replacements)
    assert with_leaves(tree, {}) is tree

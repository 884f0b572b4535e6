"""The worlds beyond the papers': their identities, schoolbook lines, chains and data sets."""

from pathlib import Path
from random import Random

import pytest

pytest.importorskip("pyarrow", reason="the train extra is not installed")

from dgltree.equations.truth.evaluator import Evaluator, Truth
from dgltree.read.infix import read_equation, read_infix
from dgltree.read.infix_writer import write_equation, write_infix
from dgltree.trees.equation import Equation
from tasks.equations import store
from tasks.equations.fillers import fillers, further_fillers
from tasks.equations.generator import chains
from tasks.equations.generator.growth import grammar
from tasks.equations.generator.held_out import held_out
from tasks.equations.generator.identities import WORLDS, World, identities
from tasks.equations.generator.rewrite import in_growing
from tasks.equations.generator.school import polynomial, school, school_text
from tasks.equations.words import PAPER_SYMBOLS, SYMBOLS, tree, word


@pytest.mark.parametrize("identity", identities("elementary"), ids=write_equation)
def test_every_elementary_identity_is_true_and_of_our_symbols(identity: Equation) -> None:
    assert Evaluator().truth(identity) is Truth.TRUE
    in_growing(identity)


@pytest.mark.parametrize("identity", identities("positive"), ids=write_equation)
def test_every_positive_identity_holds_for_positive_numbers_only(identity: Equation) -> None:
    assert Evaluator("positive").truth(identity) is Truth.TRUE
    assert Evaluator("complex").truth(identity) is not Truth.TRUE
    in_growing(identity)


def test_no_identity_stands_twice() -> None:
    everything = [identity for world in WORLDS[1:] for identity in identities(world)]
    assert len(set(everything)) == len(everything)


def test_new_symbols_stand_behind_those_of_the_papers() -> None:
    assert SYMBOLS[: len(PAPER_SYMBOLS)] == PAPER_SYMBOLS
    assert len(PAPER_SYMBOLS) == 38
    assert len(SYMBOLS) < 250, "a symbol is a byte"
    assert tree(word(read_infix("log(exp(var_0), 10) + 2/3"))) == read_infix("log(exp(var_0), 10) + 2/3")


def test_lines_of_schoolbooks_are_true() -> None:
    random, evaluator = Random(1), Evaluator()
    texts = {school_text(random) for _ in range(600)}
    assert len(texts) > 400
    wrong = [text for text in texts if evaluator.truth(read_equation(text)) is not Truth.TRUE]
    assert not wrong
    assert school(Random(2)) == school(Random(2))


@pytest.mark.parametrize(
    ("coefficients", "text"),
    [((1, -5, 6), "x^2 - 5*x + 6"), ((-1, 0, 1), "-x^2 + 1"), ((3, 0), "3*x"), ((0, -2), "-2"), ((0, 0), "0")],
)
def test_polynomials_are_written_in_falling_powers(coefficients: tuple[int, ...], text: str) -> None:
    assert polynomial(coefficients, "x") == text


@pytest.mark.parametrize("world", WORLDS[1:])
def test_chains_beyond_the_papers_world_are_true_and_stored_with_their_symbols(world: World, tmp_path: Path) -> None:
    chains.write(tmp_path / "train.parquet", 150, "train", seed=3, world=world)
    rows = store.read(tmp_path / "train.parquet")
    assert len(rows) > 120
    assert any(symbol >= len(PAPER_SYMBOLS) for row in rows for symbol in row.left)
    evaluator = Evaluator("complex" if world == "elementary" else "positive")
    truths = [evaluator.truth(row.equation) for row in rows]
    false = truths.count(Truth.FALSE)
    assert false == 0 if world == "elementary" else false < 0.2 * len(rows)
    assert truths.count(Truth.TRUE) > 0.6 * len(rows)
    assert not {row.digest for row in rows} & held_out(world)


def test_sets_of_the_papers_world_name_its_symbols_alone(tmp_path: Path) -> None:
    chains.write(tmp_path / "paper.parquet", 20, "train", seed=3)
    chains.write(tmp_path / "elementary.parquet", 20, "train", seed=3, world="elementary")
    headers = [store.load(tmp_path / f"{world}.parquet").schema.metadata[store.KEY] for world in WORLDS[:2]]
    assert [b'"exp"' in header for header in headers] == [False, True]


def test_worlds_build_on_each_other() -> None:
    counts = [len(grammar(world).identities) for world in WORLDS]
    assert counts == sorted(set(counts))
    assert grammar("paper").atoms.functions == grammar("elementary").atoms.functions[:6]


def test_further_fillers_are_read_back_and_none_is_known_before() -> None:
    further = further_fillers()
    assert not set(further) & set(fillers())
    assert len(set(further)) == len(further) > 2500
    for filler in further[::7]:
        assert read_infix(write_infix(filler)) == filler
        word(filler)


def test_an_identity_begins_as_often_as_its_length_its_functions_and_its_world_say() -> None:
    """Beyond the papers' world those of the latest world alone begin more often; of waves twice as often."""
    paper, elementary, positive = (grammar(world) for world in WORLDS)
    assert positive.weights[: len(elementary.weights)] != elementary.weights
    assert positive.weights[: len(paper.weights)] == elementary.weights[: len(paper.weights)] == paper.weights
    waves = {word(read_infix(f"{name}(var_0)"))[0] for name in ("sin", "cos", "tan", "sinh", "exp", "log", "asin")}
    for found, known, factor in (
        (paper, 0, 1),
        (elementary, len(paper.seeds), 2),
        (positive, len(elementary.seeds), 12),
    ):
        for seed, weight in zip(found.seeds[known:], found.weights[known:], strict=True):
            plain = len(seed.word) * factor
            assert weight in (plain, 2 * plain)
            assert weight == 2 * plain or not waves & set(seed.word)

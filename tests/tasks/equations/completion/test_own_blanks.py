"""Blanks of our own in the published form."""

from collections import Counter
from pathlib import Path
from random import Random
from types import SimpleNamespace

import pytest
import torch

pytest.importorskip("pyarrow", reason="the train extra is not installed")

from dgltree.equations.truth.evaluator import Evaluator, Truth
from dgltree.read.infix import read_equation, read_infix
from dgltree.read.preorder import read_candidates
from tasks.equations.blanks import read_folder
from tasks.equations.completion import own_blanks, train
from tasks.equations.completion.ranks import Ranks
from tasks.equations.generator import chains
from tasks.equations.generator.generate import write_sets
from tasks.equations.generator.presets import PAPER_TEST
from tasks.equations.store import read


def test_blanks_and_candidates_read_as_the_published_ones(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    chains.write(tmp_path / "test.parquet", 300, "test", seed=0)
    arguments = ["--data", str(tmp_path / "test.parquet"), "--out", str(tmp_path / "own"), "--per-depth", "5"]
    own_blanks.main([*arguments, "--depths", "6", "9"])
    assert capsys.readouterr().out.startswith("20 blanks, ")
    blanks, candidates = read_folder(tmp_path / "own" / "blanks"), read_candidates(tmp_path / "own" / "candidates.json")
    assert sorted({blank.example.depth for blank in blanks}) == [6, 7, 8, 9]
    ranks, evaluator = Ranks(candidates), Evaluator()
    everything = SimpleNamespace(index=torch.arange(len(candidates)))
    for blank in blanks:
        filled = blank.example.equation.fill(blank.example.filler)
        assert filled.depth == blank.example.depth
        assert evaluator.truth(filled) is Truth.TRUE
        ranks.of(blank, everything)  # its filler is a candidate


def test_candidates_of_equal_value_are_of_one_class(tmp_path: Path) -> None:
    own_blanks.write([], tmp_path, 1)
    classes = {candidate.filler: candidate.class_id for candidate in read_candidates(tmp_path / "candidates.json")}
    of = {text: classes[read_infix(text)] for text in ("1", "1^pi", "2 + -1", "cos(0)", "var_0", "var_0*1", "2")}
    assert of["1"] == of["1^pi"] == of["2 + -1"] == of["cos(0)"]
    assert of["var_0"] == of["var_0*1"] != of["1"]
    assert of["2"] != of["1"]
    texts = ("0.7 + 1/2", "3*(2/5)", "var_0*var_1", "var_1*var_0", "4 + -2", "0.7^-2")
    of = {text: classes[read_infix(text)] for text in texts}
    assert of["0.7 + 1/2"] == of["3*(2/5)"], "they differ by rounding"
    assert of["var_0*var_1"] == of["var_1*var_0"]
    assert of["4 + -2"] != of["0.7^-2"], "2 and 2.04"
    undefined = [classes[read_infix(text)] for text in ("0^-1", "cot(0)", "csc(0)")]
    assert len(set(undefined)) == 3, "what has no value is like nothing else"


def test_wrong_equations_are_not_blanked(tmp_path: Path) -> None:
    write_sets("tiny", {"test": PAPER_TEST.scaled(100)}, tmp_path, seed=1)
    rows = read(tmp_path / "test.parquet")
    assert {row.label for row in rows} == {0, 1}
    arguments = ["--data", str(tmp_path / "test.parquet"), "--out", str(tmp_path / "own"), "--depths", "1", "19"]
    own_blanks.main(arguments)
    correct = {row.equation for row in rows if row.label}
    blanks = [blank.example for blank in read_folder(tmp_path / "own" / "blanks")]
    assert blanks
    assert {example.equation.fill(example.filler) for example in blanks} <= correct


def test_leaves_and_subtrees_of_depth_one_are_blanked_as_often_as_published() -> None:
    equation, random = read_equation("var_0*sin(var_1) = sin(var_1)*var_0"), Random(0)
    fillers = set(own_blanks.candidates())
    places = Counter(own_blanks.draw_blank(equation, fillers, random) for _ in range(2000))
    leaves, shallow = {2, 4, 7, 8}, {3, 6}
    assert places.keys() == {*leaves, *shallow}, "every one of them, and no whole side"
    assert sum(places[place] for place in leaves) / 2000 == pytest.approx(0.76, abs=0.03)
    assert max(places[place] for place in leaves) < 1.3 * min(places[place] for place in leaves)


def test_what_is_no_filler_is_not_blanked() -> None:
    equation, random = read_equation("var_0*sin(var_1) = sin(var_1)*var_0"), Random(0)
    fillers = {read_infix("var_0"), read_infix("sin(var_1)")}
    assert {own_blanks.draw_blank(equation, fillers, random) for _ in range(200)} == {2, 3, 6, 8}
    assert own_blanks.draw_blank(equation, {read_infix("var_7")}, random) is None


def test_a_seed_gives_the_same_blanks_and_another_one_others(tmp_path: Path) -> None:
    equation = read_equation("var_0*sin(var_1) = sin(var_1)*var_0")

    def written(name: str, seed: int) -> bytes:
        assert own_blanks.write([(2, equation)] * 30, tmp_path / name, 30, seed) == 30
        return (tmp_path / name / "blanks" / "own_0.json").read_bytes()

    assert written("a", 1) == written("b", 1) != written("c", 2)


def test_equations_of_depth_8_and_more_are_blanked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [SimpleNamespace(depth=depth, equation=depth) for depth in (5, 7, 8, 9, 12)]
    blanked: list[int] = []
    monkeypatch.setattr(train.chains, "write", lambda *_: None)
    monkeypatch.setattr(train, "read", lambda _: rows)
    monkeypatch.setattr(train.own_blanks, "write", lambda given, *_: blanked.extend(depth for depth, _ in given))
    train._blanks(tmp_path, 5, 0, 1)
    assert blanked == [8, 9, 12]


def test_equations_of_one_seed_are_made_once_and_not_taken_for_those_of_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[int] = []

    def write(file: Path, equations: int, part: str, seed: int, *_: object) -> None:
        file.write_text(str(seed), encoding="utf-8")
        made.append(seed)

    monkeypatch.setattr(train.chains, "write", write)
    found = [train._grown(tmp_path, "paper", 5, seed, 1).read_text(encoding="utf-8") for seed in (0, 1, 0)]
    assert (found, made) == (["0", "1", "0"], [0, 1])

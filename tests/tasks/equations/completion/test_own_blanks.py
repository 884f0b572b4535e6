"""Blanks of our own in the published form."""

from pathlib import Path
from types import SimpleNamespace

import pytest
import torch

pytest.importorskip("pyarrow", reason="the train extra is not installed")

from dgltree.equations.truth import Evaluator, Truth
from dgltree.read.infix import read_infix
from dgltree.read.preorder import read_candidates
from tasks.equations.blanks import read_folder
from tasks.equations.completion import own_blanks
from tasks.equations.completion.ranks import Ranks
from tasks.equations.generator import chains


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
    undefined = [classes[read_infix(text)] for text in ("0^-1", "cot(0)", "csc(0)")]
    assert len(set(undefined)) == 3, "what has no value is like nothing else"

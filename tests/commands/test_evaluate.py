"""``dgltree evaluate``."""

import json
import re
from pathlib import Path

import numpy as np
import pytest
from own_trees import QUIET, table

from dgltree.commands.main import main

pytest.importorskip("lightning", reason="the train extra is not installed")

pytestmark = QUIET


def test_evaluation_counts_labels_that_the_model_never_saw_as_errors(
    fitted: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    path = tmp_path / "test.tsv"
    path.write_text(table(50, seed=7) + "x\tx+y\tother\n", encoding="utf-8")
    assert main(["evaluate", str(fitted / "model"), str(path)]) == 0
    out = capsys.readouterr().out.splitlines()
    start = next(i for i, line in enumerate(out) if line.startswith("label"))
    assert out[start].split("\t") == ["label (rows), prediction (columns)", "neg", "pos", "(other)"]
    counts = np.array([[int(count) for count in line.split("\t")[1:]] for line in out[start + 1 :]])
    assert counts.sum() == 51
    assert counts[2].sum() == 1
    accuracy = float(re.findall(r"accuracy ([\d.]+)", out[0])[0])
    assert accuracy == pytest.approx(np.trace(counts) / 51, abs=1e-4)
    assert main(["evaluate", str(fitted / "model"), str(path), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["accuracy"] == pytest.approx(accuracy, abs=1e-4)


def test_json_holds_no_nan(fitted_numbers: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "test.tsv"
    path.write_text("tree\tlabel\nx+y\t1.5\ny\tnan\ny\t1_0\n", encoding="utf-8")
    assert main(["evaluate", str(fitted_numbers), str(path), "--json"]) == 0
    found = json.loads(capsys.readouterr().out, parse_constant=pytest.fail)
    assert (found["examples"], found["left_out"], found["r2"]) == (1, 2, None)


def test_examples_without_a_label_are_left_out_and_said(
    fitted: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    path = tmp_path / "test.tsv"
    path.write_text("tree\tlabel\nx\tpos\n" + "y\t\n" * 12 + "sin(x)\tpos\n", encoding="utf-8")
    arguments = ["evaluate", str(fitted / "model"), str(path)]
    assert main(arguments) == 0
    out, err = capsys.readouterr()
    assert "1 examples, 13 left out" in out
    assert err.count("no label") == 10
    assert f"{path}: 3 more could not be read" in err  # not 13
    assert main([*arguments, "--strict"]) == 1
    assert f"{path}, line 3: no label" in capsys.readouterr().err
    path.write_text("tree\tlabel\ny\t\n", encoding="utf-8")
    assert main(arguments) == 1
    assert (
        "no example can be used: line 2: no label (labels are read from the column 'label'" in capsys.readouterr().err
    )

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
    found = json.loads(capsys.readouterr().out)
    assert found["accuracy"] == pytest.approx(accuracy, abs=1e-4)
    assert found["confusion"] == {"classes": ["neg", "pos", "(other)"], "labels_in_rows": counts.tolist()}


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
    assert f"{path}: 3 more records could not be read" in err  # not 13
    assert main([*arguments, "--strict"]) == 1
    assert f"{path}, line 3: no label" in capsys.readouterr().err
    path.write_text("tree\tlabel\ny\t\n", encoding="utf-8")
    assert main(arguments) == 1
    assert (
        "no example can be used: line 2: no label (labels are read from the column 'label'" in capsys.readouterr().err
    )


@pytest.mark.parametrize("name", ["validation", "test"])
def test_a_split_of_the_training_gets_the_metrics_of_its_card(
    fitted: Path, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    evaluation = ["evaluate", str(fitted / "model"), str(fitted / "trees.tsv"), "--json"]
    assert main([*evaluation, "--split", name]) == 0
    out, err = capsys.readouterr()
    found = json.loads(out)
    metrics = json.loads((fitted / "model" / "card.json").read_text(encoding="utf-8"))["metrics"][name]
    assert found["accuracy"] == pytest.approx(metrics["accuracy"], abs=1e-6)
    rows = (fitted / "model" / "split.tsv").read_text(encoding="utf-8").splitlines()
    assert found["examples"] == sum(row.startswith(f"{name}\t") for row in rows)
    assert "warning" not in err


def test_a_split_that_the_training_lacks_and_a_file_without_it_are_refused(
    fitted: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    model = str(fitted / "model")
    assert main(["evaluate", model, str(fitted / "trees.tsv"), "--split", "part"]) == 1
    assert "split.tsv has no split 'part'; its splits are train, validation, test" in capsys.readouterr().err
    other, some = tmp_path / "other.tsv", tmp_path / "some.tsv"
    other.write_text("tree\tlabel\nx+x+x+x\tpos\n", encoding="utf-8")
    assert main(["evaluate", model, str(other), "--split", "test"]) == 1
    assert "none of the 1 examples is in the test split" in capsys.readouterr().err
    lines = (fitted / "trees.tsv").read_text(encoding="utf-8").splitlines()
    some.write_text("\n".join(lines[:200]) + "\n", encoding="utf-8")
    assert main(["evaluate", model, str(some), "--split", "train"]) == 0
    warning = r"warning: .*some.tsv contains only \d+ of the \d+ examples of the train split\n$"
    assert re.match(warning, capsys.readouterr().err)
    with pytest.raises(SystemExit, match="2"):
        main(["evaluate", model, str(some), "--split", "test", "--against", model])
    assert "--split cannot be combined with --against or --ray" in capsys.readouterr().err

"""A file whose notation was detected by chance is not learnt from."""

from pathlib import Path

import pytest
from own_trees import QUIET, SMALL

from dgltree.commands.main import main

pytest.importorskip("lightning", reason="the train extra is not installed")

pytestmark = QUIET


def file_of(folder: Path, good: int, bad: int) -> Path:
    """Infix, of which some lines lack something."""
    path = folder / "trees.tsv"
    trees = [f"x+y{k}\t{'ab'[k % 2]}" for k in range(good)] + ["x+\ta"] * bad
    path.write_text("tree\tlabel\n" + "".join(f"{line}\n" for line in trees), encoding="utf-8")
    return path


def test_a_tenth_of_unreadable_records_is_left_out_and_more_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "model"
    arguments = [*SMALL, "--epochs", "1", "--no-baseline", "--no-cache", "--out"]
    path = file_of(tmp_path, 70, 8)
    assert main(["fit", str(path), *arguments, str(out)]) == 1
    assert capsys.readouterr().err.splitlines()[-1] == (
        f"dgltree: {path}: 8 of 78 records (10.3%) could not be read as infix, the detected notation; "
        "first line 72: tree: not a valid infix tree: line 1, column 3: "
        "unexpected end of the text; expected a number, a name, '(' or '-'. Name the right notation, or give "
        "--notation infix to leave these records out"
    )
    assert not out.exists()
    assert main(["fit", str(path), *arguments, str(out), "--notation", "infix"]) == 0
    assert main(["fit", str(file_of(tmp_path, 72, 8)), *arguments, str(tmp_path / "other")]) == 0

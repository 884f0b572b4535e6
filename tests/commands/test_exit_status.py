"""The exit status says whether a record was left without an answer, whatever it could not be read by."""

from pathlib import Path

import pytest
from own_trees import QUIET

from dgltree.commands.main import main

pytest.importorskip("lightning", reason="the train extra is not installed")

pytestmark = QUIET
BAD = {
    "nothing": ("", 0),
    "a text that is no tree": ("x+\n", 1),
    "a function that the model lacks": ("sin(x)\n", 1),
    "a function at an arity that the model lacks": ("Add(x, y, z)\n", 1),
    "a line that is empty": ("\n", 1),
}


@pytest.mark.parametrize("command", ["predict", "encode", "explain"])
@pytest.mark.parametrize("bad", BAD)
def test_a_record_that_has_no_answer_makes_the_status_1(
    bad: str, command: str, fitted: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    line, status = BAD[bad]
    path = tmp_path / "new.tsv"
    path.write_text(f"tree\nx+y\n{line}z\n", encoding="utf-8")
    more = ["--out", str(tmp_path / "v.npy")] if command == "encode" else []
    assert main([command, str(fitted / "model"), str(path), *more]) == status
    assert (f"dgltree: {path}, line 3: " in capsys.readouterr().err) == bool(status)

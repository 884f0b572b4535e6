"""Every network that joins neighbours trains on own trees, goes on where it stopped, is loaded, and predicts."""

from pathlib import Path

import pytest
import torch
from own_trees import QUIET, table

from dgltree import TrainedModel
from dgltree.commands.main import main
from dgltree.encoders import SEQUENCE_ENCODERS
from dgltree.encoders.latent.joining_core import JoiningCore

pytest.importorskip("lightning", reason="the train extra is not installed")

pytestmark = QUIET
JOINING = [name for name, core in SEQUENCE_ENCODERS.items() if issubclass(core, JoiningCore)]
TINY = ["--hidden-size", "6", "--epochs", "2", "--batch-nodes", "400", "--no-baseline"]


@pytest.mark.slow
@pytest.mark.parametrize("name", JOINING)
def test_it_trains_resumes_and_predicts(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from dgltree.training.stepping.module import TreeTraining

    path = tmp_path / "trees.tsv"
    path.write_text(table(60), encoding="utf-8")
    options = "{version: first, dropout: 0.2}" if name == "crvnn" else "{dropout: 0.2, cell_dropout: 0.1}"
    arguments = ["fit", str(path), "--encoder", name, "--options", options, *TINY, "--out"]
    assert main([*arguments, str(tmp_path / "whole")]) == 0, capsys.readouterr().err
    step, left = TreeTraining.training_step, [3]

    def interrupted(self: TreeTraining, batch: object, index: int) -> torch.Tensor:
        left[0] -= 1
        if not left[0]:
            raise OSError("the disk is gone")
        return step(self, batch, index)

    monkeypatch.setattr(TreeTraining, "training_step", interrupted)
    assert main([*arguments, str(tmp_path / "halves")]) == 1
    monkeypatch.setattr(TreeTraining, "training_step", step)
    assert main([*arguments, str(tmp_path / "halves")]) == 0
    whole, halves = (TrainedModel.load(tmp_path / of) for of in ("whole", "halves"))
    weights = halves.model.state_dict()
    assert all(torch.equal(tensor, weights[key]) for key, tensor in whole.model.state_dict().items())
    texts = ["x+y", "x*(y-z)", "x"]
    together, alone = whole.answers_to(texts), torch.cat([whole.answers_to([text]) for text in texts])
    torch.testing.assert_close(together, alone, rtol=0, atol=1e-5)
    with pytest.raises(ValueError, match="tree 1"):
        whole.answers_to([""])

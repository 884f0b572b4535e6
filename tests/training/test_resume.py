"""A training that stopped goes on; what is damaged or hostile is refused."""

import json
import random
import signal
from pathlib import Path

import pytest
import torch
from own_trees import QUIET, SMALL, expression, table

from dgltree import TrainedModel, TreeDataset
from dgltree.commands.main import main
from dgltree.commands.signals import Terminated
from dgltree.support.files import OWNER

pytest.importorskip("lightning", reason="the train extra is not installed")

pytestmark = QUIET


def test_a_training_goes_on_where_it_stopped_and_is_not_done_twice(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "trees.tsv"
    path.write_text(table(120), encoding="utf-8")
    arguments = ["fit", str(path), *SMALL, "--dropout", "0.3", "--no-baseline", "--out"]
    assert main([*arguments, str(tmp_path / "whole")]) == 0
    from dgltree.training.stepping.module import TreeTraining

    step, left = TreeTraining.training_step, [12]

    def interrupted(self: TreeTraining, batch: object, index: int) -> torch.Tensor:
        left[0] -= 1
        if left[0] == 0:
            raise OSError("the disk is gone")
        return step(self, batch, index)

    monkeypatch.setattr(TreeTraining, "training_step", interrupted)
    assert main([*arguments, str(tmp_path / "halves")]) == 1
    assert "the disk is gone" in capsys.readouterr().err
    assert not (tmp_path / "halves" / "card.json").exists()
    monkeypatch.setattr(TreeTraining, "training_step", step)
    assert main([*arguments, str(tmp_path / "halves")]) == 0
    assert "epoch 0" not in capsys.readouterr().out  # it goes on after the first epoch
    whole, halves = (TrainedModel.load(tmp_path / name).model.state_dict() for name in ("whole", "halves"))
    assert all(torch.equal(whole[name], halves[name]) for name in whole)
    assert main([*arguments, str(tmp_path / "halves")]) == 0
    assert "is already finished; nothing to do" in capsys.readouterr().err
    assert main([*arguments, str(tmp_path / "halves"), "--seed", "1"]) == 1
    assert "holds another training run (seed 0); give another --out" in capsys.readouterr().err


@pytest.mark.parametrize("length", [["--epochs", "3"], ["--epochs", "30", "--patience", "1"]])
def test_what_is_chosen_at_the_end_is_chosen_again_without_an_epoch(length: list[str], tmp_path: Path) -> None:
    (tmp_path / "trees.tsv").write_text(table(120), encoding="utf-8")
    out = tmp_path / "run"
    arguments = ["fit", str(tmp_path / "trees.tsv"), *SMALL, *length, "--no-baseline", "--out", str(out)]

    def left(threshold: str) -> tuple[int, str]:
        assert main([*arguments, "--threshold", f"pos={threshold}"]) == 0
        card = json.loads((out / "card.json").read_text(encoding="utf-8"))
        assert card["options"]["threshold"] == f"pos={threshold}"
        return len((out / "epochs.jsonl").read_text().splitlines()), json.dumps(card["metrics"])

    first, second, third = (left(each) for each in ("f1", "0.999999", "f1"))
    assert first == third
    assert second[0] == first[0], "no epoch was trained"
    assert second[1] != first[1]
    arguments[arguments.index("--no-baseline")] = "--baseline=fast"
    assert left("f1")[0] == first[0]
    assert json.loads((out / "card.json").read_text(encoding="utf-8"))["baseline"]


@pytest.mark.slow
def test_a_resumed_training_halves_its_rate_when_the_whole_one_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where validation does not rise, what the schedule knows must be in the checkpoint."""
    from dgltree.training.stepping.module import TreeTraining

    rng = random.Random(5)
    rows = [f"{expression(rng, 3)}+{i}\t{rng.choice('ab')}" for i in range(80)]
    path = tmp_path / "noise.tsv"
    path.write_text("tree\tlabel\n" + "\n".join(rows) + "\n", encoding="utf-8")
    arguments = ["fit", str(path), *SMALL, "--epochs", "8", "--patience", "8", "--out"]
    assert main([*arguments, str(tmp_path / "whole")]) == 0
    start = TreeTraining.on_train_epoch_start

    def interrupted(self: TreeTraining) -> None:
        if self.current_epoch in stops:
            stops.remove(self.current_epoch)
            raise OSError("the disk is gone")
        start(self)

    stops = [1, 2, 3, 4, 5, 6, 7]
    monkeypatch.setattr(TreeTraining, "on_train_epoch_start", interrupted)
    assert [main([*arguments, str(tmp_path / "parts")]) for _ in range(8)] == [1] * 7 + [0]
    whole, parts = (torch.load(tmp_path / name / "last.ckpt", weights_only=True) for name in ("whole", "parts"))
    assert whole["optimizer_states"][0]["param_groups"][0]["lr"] < 0.01  # it was halved
    assert all(torch.equal(whole["state_dict"][name], parts["state_dict"][name]) for name in whole["state_dict"])
    for name in ("whole", "parts"):
        epochs = [json.loads(line)["epoch"] for line in (tmp_path / name / "epochs.jsonl").read_text().splitlines()]
        assert epochs == list(range(8))


def test_a_checkpoint_that_is_none_is_named_and_never_executed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "trees.tsv"
    path.write_text(table(100), encoding="utf-8")
    arguments = ["fit", str(path), "--no-baseline", "--out", str(tmp_path / "model"), *SMALL, "--epochs", "1"]
    assert main(arguments) == 0
    (tmp_path / "model" / "card.json").unlink()

    class Hostile:
        def __reduce__(self) -> tuple:
            return (Path.touch, (tmp_path / "mark",))

    torch.save({"state_dict": Hostile()}, tmp_path / "hostile")
    for content in (b"", b"no checkpoint", (tmp_path / "hostile").read_bytes()):
        (tmp_path / "model" / "last.ckpt").write_bytes(content)
        capsys.readouterr()
        assert main(arguments) == 1
        assert "last.ckpt: not a checkpoint of a training, or damaged" in capsys.readouterr().err
    assert not (tmp_path / "mark").exists()
    reading = tmp_path / "model" / "reading.json"
    reading.write_text(json.dumps({"columns": 5, "files": json.loads(reading.read_text())["files"]}))
    assert main(["predict", str(tmp_path / "model"), str(path)]) == 1
    assert "columns is 5; it must be a string" in capsys.readouterr().err


def test_ctrl_c_says_interrupted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from dgltree.training.stepping.module import TreeTraining

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(TreeTraining, "training_step", interrupted)
    path = tmp_path / "trees.tsv"
    path.write_text(table(100), encoding="utf-8")
    handler = signal.getsignal(signal.SIGINT)
    assert main(["fit", str(path), "--out", str(tmp_path / "model"), *SMALL]) == 130
    signal.signal(signal.SIGINT, handler)  # which Lightning has let go
    said = capsys.readouterr().err
    assert "dgltree: interrupted" in said
    assert "stopped before the first training step: there is no model in" in said
    assert main(["predict", str(tmp_path / "model"), str(path)]) == 1
    assert (
        "this folder contains no model yet; its training is in the first epoch, or was stopped there. The same"
        in capsys.readouterr().err
    )


@pytest.mark.slow
@pytest.mark.parametrize("error", [KeyboardInterrupt, Terminated, OSError])
def test_a_training_that_stops_in_its_first_epoch_leaves_a_model_and_starts_again(
    error: type[BaseException], tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from dgltree.training.stepping.module import TreeTraining

    path, out = tmp_path / "trees.tsv", tmp_path / "model"
    path.write_text(table(100), encoding="utf-8")
    arguments = ["fit", str(path), "--no-baseline", *SMALL, "--out"]
    step, handler = TreeTraining.training_step, signal.getsignal(signal.SIGINT)

    def interrupted(self: TreeTraining, batch: object, index: int) -> torch.Tensor:
        if self.global_step == 2:
            raise error
        return step(self, batch, index)

    monkeypatch.setattr(TreeTraining, "training_step", interrupted)
    assert main([*arguments, str(out)]) in (1, 130, 143)
    signal.signal(signal.SIGINT, handler)
    assert "stopped in the first epoch: the model in" in capsys.readouterr().err
    with pytest.warns(UserWarning, match="not finished; this is the model of an unfinished first epoch"):
        assert main(["predict", str(out), str(path)]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 101
    monkeypatch.setattr(TreeTraining, "training_step", step)
    assert main([*arguments, str(out)]) == 0
    assert main([*arguments, str(tmp_path / "whole")]) == 0
    assert (out / "model.safetensors").read_bytes() == (tmp_path / "whole" / "model.safetensors").read_bytes()


def test_a_folder_in_which_nothing_was_learnt_takes_other_settings(tmp_path: Path) -> None:
    from dgltree.training.folder import WEIGHTS, is_finished
    from dgltree.training.options import FitOptions

    assert not is_finished(tmp_path, FitOptions(hidden_size=3), "data")
    assert not is_finished(tmp_path, FitOptions(hidden_size=4), "data")
    (tmp_path / WEIGHTS).touch()
    with pytest.raises(ValueError, match=r"holds another training run \(hidden_size 4\)"):
        is_finished(tmp_path, FitOptions(hidden_size=3), "data")


@pytest.mark.slow
@pytest.mark.parametrize(("label", "more"), [("class", ["--input-size", "6", "--input-dropout", "0.1"]), ("value", [])])
def test_a_training_that_was_stopped_has_left_the_best_epoch_so_far(
    label: str, more: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from dgltree.training.stepping.callbacks import check_checkpoint
    from dgltree.training.stepping.module import TreeTraining

    path, out = tmp_path / "trees.tsv", tmp_path / "model"
    path.write_text(table(120, label), encoding="utf-8")
    arguments = ["fit", str(path), *SMALL, *more, "--epochs", "6", "--patience", "6", "--out"]
    assert main([*arguments, str(tmp_path / "whole")]) == 0
    start = TreeTraining.on_train_epoch_start

    def interrupted(self: TreeTraining) -> None:
        if self.current_epoch in stops:
            raise OSError("the disk is gone")
        start(self)

    stops = [1, 3, 5]

    monkeypatch.setattr(TreeTraining, "on_train_epoch_start", interrupted)
    while stops:
        assert main([*arguments, str(out)]) == 1
        stops.pop(0)
        capsys.readouterr()
        with pytest.warns(UserWarning, match="its training is not finished; this is the best epoch so far"):
            assert main(["predict", str(out), str(path)]) == 0
        assert len(capsys.readouterr().out.splitlines()) == 121
        with pytest.warns(UserWarning, match="not finished"):
            left = TrainedModel.load(out)
        weights = {f"model.{name}": weight for name, weight in left.model.state_dict().items()}
        best = check_checkpoint(out / "best.ckpt")["state_dict"]
        kept = {name for name in best if "linear2" not in name}  # which gives numbers in the unit of the labels
        assert all(torch.equal(weights[name], best[name]) for name in kept)
    assert main([*arguments, str(out)]) == 0
    assert TrainedModel.load(out).answers_to(TreeDataset.from_file(path)).isfinite().all()
    for name in ("model.safetensors", "reading.json", "baseline.skops", "split.tsv"):
        assert (tmp_path / "whole" / name).read_bytes() == (out / name).read_bytes()
    assert {p.name for p in out.iterdir()} == {p.name for p in (tmp_path / "whole").iterdir()}


def test_a_training_owns_its_folder_while_it_runs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    path, out = tmp_path / "trees.tsv", tmp_path / "model"
    path.write_text(table(60), encoding="utf-8")
    arguments = ["fit", str(path), *SMALL, "--epochs", "1", "--out", str(out)]
    from dgltree.training import pipeline

    inner, refused = pipeline.step, []

    def meanwhile(*given: object) -> object:
        monkeypatch.setattr(pipeline, "step", inner)
        refused.append(main([*arguments, "--dropout", "0.2"]))
        return inner(*given)

    monkeypatch.setattr(pipeline, "step", meanwhile)
    assert main(arguments) == 0
    assert refused == [1]
    assert f"another run writes to {out} (process " in capsys.readouterr().err
    assert not (out / OWNER).exists()

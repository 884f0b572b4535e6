"""Which epoch, seed, split and rate a training uses."""

import json
import math
import random
from pathlib import Path
from types import SimpleNamespace
from typing import Any, get_args

import pytest
import torch
from own_trees import QUIET, SMALL, built, expression, table

import dgltree
from dgltree import TrainedModel, Tree, TreeDataset
from dgltree.commands.main import main

pytest.importorskip("lightning", reason="the train extra is not installed")

import lightning
from lightning.pytorch.trainer.states import TrainerFn

from dgltree.read.bracket import read_sst
from dgltree.training.objectives.classes import Classes, classes_of
from dgltree.training.options import FitOptions, OptimizerName
from dgltree.training.stepping.callbacks import HalvedRate, Patience, check_checkpoint
from dgltree.training.stepping.module import TreeTraining, optimizer_of, seed_step

pytestmark = QUIET


@pytest.fixture
def noise(tmp_path: Path) -> Path:
    """Trees whose labels are drawn by chance."""
    rng = random.Random(1)
    rows = [f"{expression(rng, 3)}+{i}\t{rng.choice('ab')}" for i in range(80)]
    path = tmp_path / "noise.tsv"
    path.write_text("tree\tlabel\n" + "\n".join(rows) + "\n", encoding="utf-8")
    return path


def test_the_best_epoch_is_kept_also_where_it_is_not_the_last_one(noise: Path, tmp_path: Path) -> None:
    out = tmp_path / "model"
    by_heart = ["--input-size", "0", "--dropout", "0", "--no-baseline"]
    assert main(["fit", str(noise), *SMALL, *by_heart, "--epochs", "8", "--patience", "8", "--out", str(out)]) == 0
    accuracies = [json.loads(line)["accuracy"] for line in (out / "epochs.jsonl").read_text().splitlines()]
    assert max(accuracies) > accuracies[-1], "the best epoch must not be the last one"
    best, last = (check_checkpoint(out / f"{name}.ckpt")["state_dict"] for name in ("best", "last"))
    left = {f"model.{name}": weight for name, weight in TrainedModel.load(out).model.state_dict().items()}
    scaled = [name for name in left if "readout" in name]  # by the temperature of the validation set
    ratios = torch.cat([(left.pop(name) / best[name]).flatten() for name in scaled])
    torch.testing.assert_close(ratios, ratios[:1].expand(len(ratios)))
    assert all(torch.equal(weight, best[name]) for name, weight in left.items())
    assert not all(torch.equal(weight, last[name]) for name, weight in left.items())


def test_gradients_are_clipped_at_a_norm_of_5(noise: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    step, configure, norms = TreeTraining.training_step, TreeTraining.configure_optimizers, []

    def steep(self: TreeTraining, batch: Any, index: int) -> torch.Tensor:
        return step(self, batch, index) * (1e4 if index else 1e-4)

    def watched(self: TreeTraining) -> torch.optim.Optimizer:
        optimizer = configure(self)
        parameters = list(self.parameters())
        gradients = lambda: [p.grad.flatten() for p in parameters if p.grad is not None]  # noqa: E731
        optimizer.register_step_post_hook(lambda *_: norms.append(float(torch.cat(gradients()).norm())))
        return optimizer

    monkeypatch.setattr(TreeTraining, "training_step", steep)
    monkeypatch.setattr(TreeTraining, "configure_optimizers", watched)
    assert main(["fit", str(noise), *SMALL, "--epochs", "1", "--no-baseline", "--out", str(tmp_path / "model")]) == 0
    assert len(norms) > 2
    assert norms[0] < 0.01, "a small gradient is left as it is"
    assert norms[1:] == pytest.approx([5.0] * (len(norms) - 1), rel=1e-3)


class BegunError(Exception):
    """A training that would begin."""


def begun(data: TreeDataset, out: Path, monkeypatch: pytest.MonkeyPatch, **options: Any) -> tuple[Any, Any]:
    """The module and the data with which a training begins."""
    caught = []

    def fit(self: Any, module: Any, data: Any, **_: Any) -> None:
        caught.extend([module, data])
        raise BegunError

    monkeypatch.setattr(lightning.Trainer, "fit", fit)
    with pytest.raises(BegunError):
        dgltree.fit(data, out=out, hidden_size=6, batch_nodes=100, dropout=0.5, **options)
    return caught[0], caught[1]


def test_a_seed_decides_on_weights_splits_order_and_dropout(
    noise: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = TreeDataset.from_file(noise, cached=False)
    (one, its), (again, same), (two, other) = (
        begun(data, tmp_path / name, monkeypatch, seed=seed) for name, seed in (("a", 1), ("b", 1), ("c", 2))
    )

    def weights(module: Any) -> torch.Tensor:
        return torch.cat([p.detach().flatten() for p in module.model.readout.parameters()])

    def orders(splits: Any) -> list[list[int]]:
        place = {"current_epoch": 3, "global_rank": 0, "world_size": 1}
        splits.trainer = type("At", (), {**place, "lightning_module": one})()
        return list(splits.train_dataloader().batch_sampler)

    def dropped(module: Any) -> torch.Tensor:
        module.trainer = lightning.Trainer(logger=False, enable_checkpointing=False, enable_progress_bar=False)
        module.on_train_batch_start(None, 0)
        return torch.nn.functional.dropout(torch.ones(100), 0.5)

    for of, first, second, third in (
        (weights, one, again, two),
        (dropped, one, again, two),
    ):
        assert torch.equal(of(first), of(second))
        assert not torch.equal(of(first), of(third))
    assert its.train.lines == same.train.lines != other.train.lines
    assert its.validation.lines == same.validation.lines != other.validation.lines
    assert orders(its) == orders(same)
    other.train = its.train
    assert orders(its) != orders(other)


@pytest.mark.parametrize(
    ("labels", "given", "found"),
    [
        (["a", "b"], {}, (6, 0.5, 0.3, 40.0)),
        ([0.5, 1.5], {}, (6, 0.0, 0.0, 0.0)),
        (["a", "b"], {"dropout": 0.0, "input_dropout": 0.1, "input_size": 3, "token_dropout": 0.0}, (3, 0.0, 0.1, 0.0)),
        (["a", "b"], {"encoder": "lstm"}, (None, 0.5, 0.0, 0.0)),
        (["a", "b"], {"input_size": 0}, (0, 0.5, 0.0, 0.0)),
    ],
)
def test_dropout_and_token_embeddings_follow_from_the_task_and_the_encoder(
    labels: list[Any], given: dict[str, Any], found: tuple[Any, ...]
) -> None:
    trees = [dgltree.read_infix(text) for text in ("x+y", "x*y")]
    module, options = built(TreeDataset(trees * 4, labels * 4), FitOptions(hidden_size=6, **given))
    assert (options.input_size, options.dropout, options.input_dropout, options.token_dropout) == found
    assert (module.token_dropout is not None) == bool(found[-1])
    pairs = TreeDataset([(trees[0], trees[1]), (trees[1], trees[0])], ["a", "b"])
    assert built(pairs, FitOptions(hidden_size=6)).options.dropout == 0.0


def test_the_masks_of_dropout_are_those_of_seed_epoch_step_and_rank() -> None:
    class At:
        device, current_epoch, global_rank = torch.device("cpu"), 1, 0

    def drawn(seed: int, index: int, **place: int) -> tuple[float, ...]:
        module = At()
        for name, value in place.items():
            setattr(module, name, value)
        seed_step(module, seed, index)  # type: ignore[arg-type]
        return tuple(torch.rand(4).tolist())

    found = [drawn(1, 2), drawn(2, 2), drawn(1, 3), drawn(1, 2, current_epoch=2), drawn(1, 2, global_rank=1)]
    assert len(set(found)) == len(found)
    assert drawn(1, 2) == found[0]


@pytest.mark.slow
def test_without_a_test_split_the_confusions_are_those_of_validation(tmp_path: Path) -> None:
    train, valid, out = tmp_path / "train.tsv", tmp_path / "valid.tsv", tmp_path / "model"
    for path, count, seed in ((train, 100, 0), (valid, 30, 1)):
        path.write_text(table(count, seed=seed), encoding="utf-8")
    few = [*SMALL, "--epochs", "1", "--no-baseline", "--out", str(out)]
    assert main(["fit", str(train), "--validation", str(valid), *few]) == 0
    _, *rows = [line.split("\t") for line in (out / "confusion.tsv").read_text().splitlines()]
    assert sum(int(number) for _, *numbers in rows for number in numbers) == 30


def test_files_of_trees_and_of_pairs_are_not_mixed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    trees, pairs = tmp_path / "trees.tsv", tmp_path / "pairs.tsv"
    trees.write_text(table(40), encoding="utf-8")
    pairs.write_text("left\tright\tlabel\n" + "x\ty\tpos\nx\tx\tneg\n" * 20, encoding="utf-8")
    for first, second in ((trees, pairs), (pairs, trees)):
        for split in ("--validation", "--test"):
            out = tmp_path / "model"
            assert main(["fit", str(first), split, str(second), *SMALL, "--out", str(out)]) == 1
            assert "some files hold single trees and others pairs of trees; give one kind" in capsys.readouterr().err
            assert not out.exists()


def test_a_folder_of_another_training_is_refused_by_what_differs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whether it is done or was stopped; what is in the folder stays."""
    path, valid, out = tmp_path / "trees.tsv", tmp_path / "valid.tsv", tmp_path / "model"
    path.write_text(table(60), encoding="utf-8")
    valid.write_text(table(20, seed=1), encoding="utf-8")
    few = [*SMALL, "--epochs", "1", "--no-baseline", "--out", str(out)]
    arguments = ["fit", str(path), "--validation", str(valid), *few]
    assert main(arguments) == 0
    for name in ("card.json", ""):
        if name:
            (out / name).unlink()
        before = (out / "last.ckpt").read_bytes()
        valid.write_text(table(20, seed=4), encoding="utf-8")
        assert main(arguments) == 1
        assert "holds another training run (other data); give another --out" in capsys.readouterr().err
        valid.write_text(table(20, seed=1), encoding="utf-8")
        assert main([*arguments, "--dropout", "0.25"]) == 1  # by default it follows from the data
        assert "holds another training run (dropout 0.5); give another --out" in capsys.readouterr().err
        assert (out / "last.ckpt").read_bytes() == before
        assert main(arguments) == 0  # from now on it is done
    (out / "fit.json").write_text("{", encoding="utf-8")
    assert main(arguments) == 1
    assert "fit.json: damaged; delete the folder to start again" in capsys.readouterr().err


def halved_by(values: list[float], patience: int, **further: float) -> list[float]:
    """The rates of the epochs with these values of validation."""
    optimizer = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=1.0)
    state = type("State", (), {"fn": "fit"})
    trainer: Any = type("At", (), {"optimizers": [optimizer], "state": state, "sanity_checking": False})()
    module: Any = None
    halved, rates = HalvedRate("accuracy", patience, **further), []
    halved.on_fit_start(trainer, module)
    for value in values:
        trainer.callback_metrics = {"accuracy": torch.tensor(value, dtype=torch.float64)}
        halved.on_validation_end(trainer, module)
        rates.append(optimizer.param_groups[0]["lr"])
    return rates


def test_any_rise_keeps_the_rate_however_small_and_none_halves_it() -> None:
    assert halved_by([0.5 + i * 1e-7 for i in range(6)], patience=1) == [1.0] * 6
    assert halved_by([0.5] * 6, patience=1) == [1.0, 1.0, 0.5, 0.5, 0.25, 0.25]
    assert halved_by([0.5, 0.4, 0.6, 0.5, 0.5, 0.5], patience=2) == [1.0, 1.0, 1.0, 1.0, 1.0, 0.5]


def test_the_rate_stays_before_anything_is_learnt() -> None:
    assert halved_by([-0.2, 0.05, -0.1, 0.0, 0.3, 0.2, 0.2], patience=1, nothing=0.05) == [1.0] * 6 + [0.5]
    assert halved_by([0.06, -0.1, -0.1, -0.1], patience=1, nothing=0.05) == [1.0, 1.0, 0.5, 0.5]


def epochs_until_it_ends(values: list[float], patience: int, nothing: float) -> int:
    """With these values of validation, in two parts: the second goes on from a checkpoint of the first."""
    trainer: Any = SimpleNamespace(
        strategy=SimpleNamespace(reduce_boolean_decision=lambda stop, all: stop),
        state=SimpleNamespace(fn=TrainerFn.FITTING),
        should_stop=False,
        sanity_checking=False,
        fast_dev_run=False,
        current_epoch=0,
    )
    kept: dict[str, Any] | None = None
    for count, value in enumerate(values, 1):
        one = Patience("r2", patience, nothing)
        one._check_on_train_epoch_end = True
        if kept is not None:
            one.load_state_dict(kept)
        trainer.callback_metrics = {"r2": torch.tensor(value)}
        one.on_train_epoch_end(trainer, None)  # type: ignore[arg-type]
        if trainer.should_stop:
            return count
        kept = one.state_dict()
    return 0


def test_patience_counts_no_epochs_before_anything_is_learnt() -> None:
    assert epochs_until_it_ends([0.01, *[-0.1] * 9], patience=3, nothing=0.05) == 0
    assert epochs_until_it_ends([0.01, *[-0.1] * 9], patience=3, nothing=-math.inf) == 4
    assert epochs_until_it_ends([0.01, -0.1, -0.1, -0.1, 0.2, 0.1, 0.1, 0.0], patience=3, nothing=0.05) == 8


def test_nothing_is_learnt_of_classes_before_they_are_better_than_the_most_frequent_one(tmp_path: Path) -> None:
    """The same answer to all trees has the share of a class in validation, 6 of 9 at most."""
    rows = [f"(f x)\t{'ab'[i % 3 == 0]}\t{part}" for part, n in (("train", 30), ("validation", 9)) for i in range(n)]
    file, out = tmp_path / "alike.tsv", tmp_path / "model"
    file.write_text("\n".join(["tree\tlabel\tsplit", *rows]) + "\n", encoding="utf-8")
    assert main(["fit", str(file), *SMALL, "--epochs", "8", "--patience", "2", "--out", str(out)]) == 0
    assert len((out / "epochs.jsonl").read_text().splitlines()) == 8
    nothing = Classes(("a", "b")).nothing(torch.tensor([0, 0, 1, -1, -100]))
    assert 2 / 5 < nothing < 3 / 5, "of all examples, those of unknown classes among them"
    assert Classes(("a", "b")).nothing(torch.tensor([-1])) == -math.inf


def test_the_classes_of_nodes_are_those_of_all_nodes() -> None:
    data = TreeDataset([read_sst("(3 (2 a) (0 b))"), read_sst("(1 (2 c) (4 d))")])
    assert classes_of(data) == ["1", "3"]
    assert classes_of(data, nodes=True) == ["0", "1", "2", "3", "4"]


@pytest.mark.parametrize("share", [0.25, 0.8])
def test_tokens_vectors_are_dropped_by_the_given_share_in_training_alone(share: float) -> None:
    trees = [Tree("f", (Tree("x", token=f"t{k}"), Tree("x", token="a"))) for k in range(300)]
    how: dict[str, Any] = {"encoder": "tree_lstm", "input_size": 20, "hidden_size": 4, "min_count": 1}
    options = FitOptions(input_dropout=share, token_dropout=0.0, **how)
    module = built(TreeDataset(trees, ["a", "b"] * 150), options).module
    embedding, tokens = module.model.encoder.cell.input_embedding, torch.arange(300)
    vectors = embedding.eval()(tokens, None)
    torch.manual_seed(0)
    dropped = embedding.train()(tokens, None)
    kept = dropped != 0
    assert float(kept.double().mean()) == pytest.approx(1 - share, abs=0.02)
    torch.testing.assert_close(dropped[kept], vectors[kept] / (1 - share))


def test_a_token_is_dropped_by_how_often_it_occurs() -> None:
    trees = [dgltree.read_infix("x+y"), *[dgltree.read_infix("x")] * 9]  # x ten times, y once
    how: dict[str, Any] = {"encoder": "tree_lstm", "input_size": 5, "hidden_size": 4, "min_count": 1}
    options = FitOptions(input_dropout=0.0, token_dropout=5.0, **how)
    module = built(TreeDataset(trees, ["a", "b"] * 5), options).module
    cell = module.model.encoder.cell
    tokens = torch.tensor([cell.vocabulary.tokens.index(name) for name in "xy"]).repeat_interleave(4000)
    vectors = cell.input_embedding.eval()(tokens, None)
    torch.manual_seed(0)
    found = cell.input_embedding.train()(tokens, None)
    dropped = (found == 0).all(1)
    assert dropped[:4000].double().mean() == pytest.approx(5 / 15, abs=0.03)
    assert dropped[4000:].double().mean() == pytest.approx(5 / 6, abs=0.03)
    assert torch.equal(found[~dropped], vectors[~dropped])
    assert not module.shares_in(training=True)
    assert module.shares_in(training=False)


def test_words_of_tokens_are_dropped_by_how_often_a_node_has_them() -> None:
    names = ["user_name", *["file_name"] * 9]
    trees = [Tree("f", (Tree("x", token=name), Tree("x", token=name))) for name in names]
    how: dict[str, Any] = {
        "encoder": "tree_lstm",
        "input_size": 5,
        "hidden_size": 4,
        "min_count": 1,
        "token_parts": True,
    }
    options = FitOptions(input_dropout=0.0, token_dropout=5.0, **how)
    module = built(TreeDataset(trees, ["a", "b"] * 5), options).module
    cell = module.model.encoder.cell
    assert cell.vocabulary.tokens == ("<unk>", "<part:name>", "file_name", "user_name")
    expected = torch.tensor([5 / 5, 5 / (5 + 20), 5 / (5 + 18), 5 / (5 + 2)])
    torch.testing.assert_close(module.token_dropout, expected)
    own, word = cell.input_embedding.weight[3], cell.input_embedding.weight[1]
    torch.manual_seed(0)
    found = cell.input_embedding.train()(torch.full((4000,), 3), None)
    for kept, vector in ((0.0, own * 0), (5 / 7 * 0.8, word), (2 / 7 * 0.2, own), (2 / 7 * 0.8, own + word)):
        share = torch.isclose(found, vector).all(1).double().mean()
        assert share == pytest.approx(kept or 5 / 7 * 0.2, abs=0.03)
    vectors = cell.input_embedding.eval()(torch.tensor([3]), None)
    torch.testing.assert_close(vectors[0], own + word)


@pytest.mark.parametrize("name", get_args(OptimizerName))
def test_an_optimizer_is_that_of_its_name_and_lowers_the_loss(name: OptimizerName) -> None:
    torch.manual_seed(0)
    module = torch.nn.Linear(3, 1)
    x = torch.randn(50, 3)
    y = x @ torch.tensor([[1.0], [-2.0], [0.5]]) + 1
    options = FitOptions(optimizer=name, weight_decay=0.01, beta1=0.8)
    optimizer = optimizer_of(module, options, 0.05, fused=True)
    assert type(optimizer).__name__.lower() == name.replace("_", "")
    losses = []
    for _ in range(60):
        losses.append(torch.nn.functional.mse_loss(module(x), y))
        optimizer.zero_grad()
        losses[-1].backward()
        optimizer.step()
    assert losses[-1] < 0.6 * losses[0]
    of = [group["weight_decay"] for group in optimizer.param_groups]
    assert of == ([0.01] if name == "adam" else [0.01, 0.0])
    assert optimizer.defaults.get("momentum", 0.8 if name != "rmsprop" else 0) == (0 if name == "rmsprop" else 0.8)
    assert optimizer.defaults.get("betas", (0.8, 0.999)) == (0.8, 0.999)
    decoupled = name in ("radam", "radam_lookahead", "nadam", "adamw")
    assert optimizer.defaults.get("decoupled_weight_decay", decoupled) == decoupled

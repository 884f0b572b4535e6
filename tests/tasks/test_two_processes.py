"""Training by two processes is training by one."""

import json
import os
import random
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("lightning", reason="the train extra is not installed")

import losses
from language.sample import SMALL as LANGUAGE
from language.sample import write_text
from own_trees import table

from tasks.equations.generator.generate import write_sets
from tasks.equations.generator.presets import PAPER_TRAIN
from tasks.equations.verification.data import LabelledEquations
from tasks.logic import generate
from tasks.logic.files import write_pairs

ROOT = Path(__file__).parents[2]
FIT = ["--hidden-size", "8", "--epochs", "3", "--lr", "0.01", "--batch-nodes", "150", "--device", "cpu"]
FIT += ["--dropout", "0", "--input-dropout", "0", "--token-dropout", "0"]
NAMES = ["classes", "nodes", "numbers", "verification", "logic", "listops", "sentiment", "language"]


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("data")
    (folder / "classes.tsv").write_text(table(60), encoding="utf-8")
    (folder / "numbers.tsv").write_text(table(60, "value"), encoding="utf-8")
    write_sets("tiny", {"train": PAPER_TRAIN.scaled(60)}, folder, seed=5)
    for (part, k), pairs in generate.pairs(seed=0, scale=0.002).items():
        write_pairs(folder, part, k, pairs)
    write_text(folder)
    rng = random.Random(0)
    for part, count in (("train", 30), ("dev", 12), ("test", 8)):
        (folder / f"{part}.txt").write_text("".join(phrase(rng, 3) + "\n" for _ in range(count)), encoding="utf-8")
    return folder


def phrase(rng: random.Random, depth: int) -> str:
    if depth == 0 or rng.random() < 0.2:
        return f"({rng.randrange(5)} {rng.choice(['good', 'film', 'bad'])})"
    return f"({rng.randrange(5)} {phrase(rng, depth - 1)} {phrase(rng, depth - 1)})"


def jobs(data: Path, out: Path, devices: int) -> list[tuple[str, str, list[str]]]:
    """Trainings without dropout, most of them with batches that two processes cannot share evenly."""

    def fit(name: str, file: str, *more: str) -> tuple[str, str, list[str]]:
        given = [str(data / file), "--out", str(out / name), f"--devices={devices}", *FIT, *more]
        return name, "dgltree.commands.main", ["fit", *given]

    def task(name: str, module: str, config: str, **options: Any) -> tuple[str, str, list[str]]:
        given = {"config": ROOT / "tasks" / config, "trainer.max_epochs": 2, "trainer.default_root_dir": out / name}
        given |= {key.replace("__", "."): value for key, value in options.items()}
        given |= {"trainer.accelerator": "cpu", "trainer.devices": devices, "trainer.enable_progress_bar": "false"}
        return name, module, ["fit", *(f"--{key}={value}" for key, value in given.items())]

    def road(name: str, *configs: str, **options: Any) -> tuple[str, str, list[str]]:
        given = {"fit.hidden_size": 8, "fit.device": "cpu", "fit.devices": devices, "fit.epochs": 2, "out": out / name}
        given |= {key.replace("__", "."): value for key, value in options.items()}
        files = [f"--config={ROOT / 'tasks' / config}" for config in configs]
        return name, f"tasks.{name}.__main__", ["fit", *files, *(f"--{key}={value}" for key, value in given.items())]

    small: dict[str, Any] = {"model__hidden_size": 8}
    sets = {"data__train": data / "train.parquet", "data__batch_size": 15, "trainer__max_epochs": 1}
    dropped = {f"model__{part}_dropout": 0 for part in ("word", "input", "layer", "output", "weight")}
    words = {"data__folder": data, **LANGUAGE, "data.batch_size": 5, "trainer.max_epochs": 1}
    verification = "tasks.equations.verification.cli"
    return [
        fit("classes", "classes.tsv", "--class-weights", "balanced"),
        fit("nodes", "train.txt", "--validation", str(data / "dev.txt"), "--nodes", "--batch-nodes", "40"),
        fit("numbers", "numbers.tsv", "--batch-nodes", "20"),  # of which one tree may have more
        task("verification", verification, "equations/verification/configs/tree_lstm.yaml", **small, **sets),
        road("logic", "logic/configs/tree_lstm.yaml", data__folder=data, data__train_pairs=50, fit__batch_size=19),
        road(
            "listops",
            "listops/configs/tree_lstm.yaml",
            data__count=80,
            data__longest=30,
            fit__batch_size=25,
            fit__epochs=1,
        ),
        road(
            "sentiment",
            "sentiment/configs/constituency_tree_lstm.yaml",
            data__folder=data,
            fit__batch_size=7,
            fit__input_size=5,
            fit__dropout=0,
            fit__input_dropout=0,
        ),
        task("language", "tasks.language.cli", "language/configs/reduced.yaml", **words, **dropped),
        *([fit("killed", "classes.tsv", "--class-weights", "balanced")] if devices > 1 else []),
    ]


def start(out: Path, given: list[tuple[str, str, list[str]]]) -> subprocess.Popen:
    out.mkdir(exist_ok=True)
    (out / "jobs.json").write_text(json.dumps(given), encoding="utf-8")
    path = os.pathsep.join(map(str, (ROOT, ROOT / "tests", Path(losses.__file__).parent)))
    environment = {**os.environ, "PYTHONPATH": path, "OMP_NUM_THREADS": "1"}
    command = [sys.executable, losses.__file__, str(out), str(out / "jobs.json")]
    with (out / "output").open("w") as output:
        return subprocess.Popen(command, env=environment, stdout=output, stderr=output)


def recorded(folder: Path, name: str, rank: int = 0) -> list[float]:
    return [float(line) for line in (folder / f"{name}-{rank}").read_text().splitlines()]


def epochs(folder: Path) -> list[dict[str, float]]:
    rows = [json.loads(line) for line in (folder / "epochs.jsonl").read_text().splitlines()]
    return [{name: value for name, value in row.items() if name != "seconds"} for row in rows]


def check_losses_and_figures(name: str, trained: dict[int, Path]) -> None:
    one, (first, second) = recorded(trained[1], name), (recorded(trained[2], name, rank) for rank in (0, 1))
    assert len(one) > 2, name
    assert [(a + b) / 2 for a, b in zip(first, second, strict=True)] == pytest.approx(one, abs=1e-5), name
    assert first != pytest.approx(second, abs=1e-5), f"{name}: each has examples of its own"
    rows = {devices: epochs(folder / name) for devices, folder in trained.items()}
    for row, expected in zip(rows[2], rows[1], strict=True):
        assert row == pytest.approx(expected, abs=1e-5), name
    figures = [
        folder / name / ("test.json" if name in ("verification", "language") else "card.json")
        for folder in trained.values()
    ]
    read = [json.loads(file.read_text()) for file in figures]
    expected, found = (each.get("metrics", {"test": each}) for each in read)
    assert found.keys() == expected.keys(), name
    for split, metrics in expected.items():
        assert found[split] == pytest.approx(metrics, abs=1e-5), name


def check_said_once(trained: dict[int, Path]) -> None:
    said = {devices: (folder / "output").read_text() for devices, folder in trained.items()}
    said[2] = said[2][: said[2].rindex("classes.tsv: ")]  # before the training that is killed
    for text in ("test: ", "the model is in", "examples, ", "epoch 0: "):
        assert said[1].count(text) == said[2].count(text) > 0, text


def check_goes_on(data: Path, folder: Path) -> None:
    killed, whole = folder / "killed", folder / "classes"
    assert [row["epoch"] for row in epochs(killed)] == [0, 1]
    assert not (killed / "card.json").exists()
    again = start(folder, jobs(data, folder, devices=2)[-1:])
    assert again.wait(timeout=900) == 0, (folder / "output").read_text()
    for row, expected in zip(epochs(killed), epochs(whole), strict=True):
        assert row == pytest.approx(expected, abs=1e-6)
    metrics = [json.loads((out / "card.json").read_text())["metrics"] for out in (killed, whole)]
    assert metrics[0] == metrics[1]


@pytest.mark.slow
def test_two_processes_train_as_one_and_go_on_after_one_was_killed(data: Path, tmp_path: Path) -> None:
    """In one test, because its three programs take half a minute."""
    trained = {devices: tmp_path / str(devices) for devices in (1, 2)}
    runs = {folder: start(folder, jobs(data, folder, devices)) for devices, folder in trained.items()}
    for folder, run in runs.items():
        status = run.wait(timeout=400)
        assert bool(status) == (folder / "dead").exists() == (folder is trained[2]), (folder / "output").read_text()
    for name in NAMES:
        check_losses_and_figures(name, trained)
    check_said_once(trained)
    check_goes_on(data, trained[2])


def test_the_order_is_the_same_in_every_process_and_differs_by_epoch_and_seed(data: Path) -> None:
    def batches(seed: int, epoch: int, rank: int, ranks: int = 2) -> list[list[int]]:
        equations = LabelledEquations(data / "train.parquet", batch_size=10, seed=seed)
        equations.trainer = SimpleNamespace(
            current_epoch=epoch, global_rank=rank, world_size=ranks, lightning_module=None
        )
        return list(equations.train_dataloader().batch_sampler)

    whole = batches(0, 0, 0, ranks=1)
    assert [sorted(a + b) for a, b in zip(batches(0, 0, 0), batches(0, 0, 1), strict=True)] == list(map(sorted, whole))
    assert batches(0, 0, 0) == batches(0, 0, 0)
    assert len({str(batches(seed, epoch, 0)) for seed, epoch in ((0, 0), (0, 1), (1, 0))}) == 3

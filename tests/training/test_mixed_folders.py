"""A folder that lacks a file of its model, or has one of another model or a changed one, is refused in one line."""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

import dgltree
from dgltree import TrainedModel, TreeDataset
from dgltree.commands.main import main
from dgltree.training.embedding import embed
from dgltree.training.unlabelled_model import UnlabelledModel

TEXTS = [f"({f} {a} {b})" for f in ("add", "mul") for a in "xyz" for b in "uvwxy"]
LABELS = ["sum" if text.startswith("(add") else "product" for text in TEXTS]
CHANGES = ("is missing", "is another model's", "has a changed byte")


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[Path, Path]]:
    """By kind two models, which have the same files and different contents."""
    found = {}
    data = TreeDataset.from_iterable(zip(TEXTS, LABELS, strict=True))
    ages = {"age": [str(i % 7) for i in range(len(TEXTS))]}
    with_age = TreeDataset([data[i][0] for i in range(len(data))], LABELS, features=ages)
    for kind in ("classes", "columns", "vectors"):
        both = tmp_path_factory.mktemp(kind)
        for seed, folder in enumerate((both / "one", both / "two")):
            if kind == "vectors":
                embed(data, out=folder, hidden_size=4 + seed, epochs=1, encoder="tree_lstm")
                continue
            some = with_age if kind == "columns" else data
            rows = some.select([*range(seed, 30, 2)] * 2)
            threshold = f"{('sum', 'product')[seed]}=0.{4 + seed}"
            dgltree.fit(rows, validation=rows, out=folder, hidden_size=4, epochs=1, seed=seed, threshold=threshold)
        found[kind] = (both / "one", both / "two")
    return found


def files_of(folder: Path) -> list[str]:
    return list(json.loads((folder / "reading.json").read_text())["files"])


def changed(folders: dict[str, tuple[Path, Path]], place: Path) -> Iterator[tuple[str, str, str, Path]]:
    """Each file of each kind changed in each way, in a copy."""
    for kind, (one, two) in folders.items():
        for name in files_of(one):
            for change in CHANGES:
                copy = place / f"{kind}-{name}-{CHANGES.index(change)}"
                shutil.copytree(one, copy)
                if change == "is missing":
                    (copy / name).unlink()
                elif change == "is another model's":
                    if (one / name).read_bytes() == (two / name).read_bytes():
                        continue
                    shutil.copy(two / name, copy / name)
                else:
                    content = bytearray((copy / name).read_bytes())
                    content[-2] ^= 1
                    (copy / name).write_bytes(content)
                yield kind, name, change, copy


def test_the_names_of_all_files_are_kept(folders: dict[str, tuple[Path, Path]]) -> None:
    names = {kind: set(files_of(one)) for kind, (one, _) in folders.items()}
    usual = {"model.safetensors", "baseline.skops", "threshold.json", "largest_class.json"}
    assert names == {
        "classes": usual,
        "columns": usual | {"features.json"},
        "vectors": {"model.safetensors", "context.safetensors"},
    }


def test_a_lost_foreign_or_changed_file_is_refused_by_name(
    folders: dict[str, tuple[Path, Path]], tmp_path: Path
) -> None:
    seen = set()
    for kind, name, change, copy in changed(folders, tmp_path):
        load = UnlabelledModel.load if kind == "vectors" else TrainedModel.load
        with pytest.raises((ValueError, FileNotFoundError)) as caught:
            load(copy)
        assert name in str(caught.value) and "\n" not in str(caught.value), (kind, name, change)
        seen.add((kind, name, change))
    assert len(seen) >= 3 * (4 + 5 + 2) - 3, "few files of two models are equal"


def test_a_file_of_another_model_that_this_one_has_not_is_refused(
    folders: dict[str, tuple[Path, Path]], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    one, _ = folders["classes"]
    model = TrainedModel.load(one)
    model.average = None
    model.predict_from(None)
    for name in ("baseline.skops", "threshold.json"):
        model.save(tmp_path / name)
        assert name not in files_of(tmp_path / name)
        shutil.copy(one / name, tmp_path / name / name)
        (tmp_path / "trees.tsv").write_text("tree\n(add x y)\n")
        assert main(["predict", str(tmp_path / name), str(tmp_path / "trees.tsv")]) == 1
        line = (
            f"dgltree: {tmp_path / name / name}: was not saved with the other files of the model; copy all files of one"
        )
        assert capsys.readouterr().err.startswith(line)


def test_a_training_does_not_begin_with_a_mixed_folder(folders: dict[str, tuple[Path, Path]], tmp_path: Path) -> None:
    shutil.copytree(folders["classes"][0], tmp_path / "mixed")
    shutil.copy(folders["classes"][1] / "model.safetensors", tmp_path / "mixed")
    data = TreeDataset.from_iterable(zip(TEXTS, LABELS, strict=True))
    with pytest.raises(ValueError, match=r"model\.safetensors: was not saved with the other files of the model"):
        dgltree.fit(data, validation=data, epochs=1, from_=str(tmp_path / "mixed"))


def test_a_folder_without_digests_is_refused_and_a_saved_copy_is_not(
    folders: dict[str, tuple[Path, Path]], tmp_path: Path
) -> None:
    for kind in ("classes", "columns"):
        one, _ = folders[kind]
        TrainedModel.load(one).save(tmp_path / kind)
        TrainedModel.load(tmp_path / kind)
        reading = json.loads((tmp_path / kind / "reading.json").read_text())
        del reading["files"]
        (tmp_path / kind / "reading.json").write_text(json.dumps(reading))
        with pytest.raises(
            ValueError,
            match=r"reading\.json: the digests of the model's other files are missing; copy this file again, or",
        ):
            TrainedModel.load(tmp_path / kind)

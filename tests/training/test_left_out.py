"""What a training leaves out is counted: records that cannot be read, have no label, or are unknown to the model."""

import json
from pathlib import Path

import pytest
from own_trees import QUIET, written

from dgltree import TreeDataset

pytest.importorskip("lightning", reason="the train extra is not installed")
from dgltree.training.deciding import decide
from dgltree.training.options import FitOptions

pytestmark = QUIET
SPLITS = ("train", "train", "train", "validation", "test")


def table(count: int, unlabelled: int, unreadable: int, unknown: int) -> str:
    """Labelled trees, then those that are left out for each of the reasons; no two trees are equal."""
    known = ["x" + " + y" * (k + 1) for k in range(count + unlabelled)]
    lines = [f"{tree}\t{'ab'[k % 2] if k < count else ''}" for k, tree in enumerate(known)]
    lines += [f"x + {'(' * (k + 1)}\ta" for k in range(unreadable)]
    lines += [f"sin(x{' + y' * k})\tb" for k in range(unknown)]
    return "tree\tlabel\n" + "".join(f"{line}\n" for line in lines)


def test_every_record_is_in_a_split_or_counted_as_left_out(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    left = {"train": (40, 3, 2, 0), "validation": (12, 1, 0, 4), "test": (9, 0, 5, 2)}
    files = {
        name: TreeDataset.from_file(written(tmp_path, f"{name}.tsv", table(*counts)), cached=False, notation="infix")
        for name, counts in left.items()
    }
    decision = decide(files, FitOptions(hidden_size=4, unk=False))
    assert {name: len(data) for name, data in decision.splits.items()} == {
        name: counts[0] for name, counts in left.items()
    }
    assert decision.left_out == {name: sum(counts[1:]) for name, counts in left.items()}
    assert decision.refused == {name: counts[3] for name, counts in left.items()}
    said = capsys.readouterr().err
    for name, (_, *counts) in left.items():
        told = [
            int(line.split()[1]) for line in said.splitlines() if f"{name}: " in line and "could not be read" in line
        ]
        assert sum(told) == sum(counts), name


BAD_ROWS = {
    "trees.tsv": "bad\t{split}\tx + (\ta\nempty\t{split}\t\ta\nnothing\t{split}\tx\t\ng0\t{split}\tx\ta\n",
    "trees.jsonl": '{{"id": "bad", "split": "{split}", "tree": "x + (", "label": "a"}}\n'
    '{{"id": "list", "split": "{split}", "tree": ["x"], "label": "a"}}\n'
    '{{"id": "nothing", "split": "{split}", "tree": "x", "label": ""}}\n'
    '{{"id": "g0", "split": "{split}", "tree": "x", "label": "a"}}\n',
}
"""By format: a tree with no end, none at all, no label, and an id that was used before."""


def split_table(kind: str) -> str:
    """Sixty good rows with splits, after them four bad ones of the test set."""
    rows = [(f"g{k}", SPLITS[k % 5], "x" + " + y" * (k + 1), "ab"[k % 2]) for k in range(60)]
    names = ("id", "split", "tree", "label")
    if kind == "trees.tsv":
        good = "".join("\t".join(row) + "\n" for row in (names, *rows))
    else:
        good = "".join(json.dumps(dict(zip(names, row, strict=True))) + "\n" for row in rows)
    return good + BAD_ROWS[kind].format(split="Dev")


@pytest.mark.parametrize("cached", [False, True])
@pytest.mark.parametrize("kind", BAD_ROWS)
def test_rows_that_cannot_be_read_are_counted_in_the_split_that_they_name(
    kind: str, cached: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = written(tmp_path, kind, split_table(kind))
    for _ in range(1 + cached):
        data = TreeDataset.from_file(path, cached=cached, notation="infix")
    assert [bad.split for bad in data.bad] == ["Dev"] * 3
    decision = decide({"train": data}, FitOptions(hidden_size=4))
    assert decision.left_out == {"train": 0, "validation": 4, "test": 0}
    said = capsys.readouterr().err
    assert "validation: 4 could not be read:\n" in said
    assert "train: " not in said.split("could not be read")[0]


def test_rows_of_a_split_that_cannot_be_read_are_in_none(tmp_path: Path) -> None:
    path = written(tmp_path, "trees.tsv", split_table("trees.tsv") + "b\tmay\tx + (\ta\nc\t\tx + (\ta\n")
    data = TreeDataset.from_file(path, cached=False, notation="infix")
    decision = decide({"train": data}, FitOptions(hidden_size=4))
    assert decision.left_out == {"train": 0, "validation": 4, "test": 0, "no split": 2}


def test_what_chance_never_sent_anywhere_is_in_no_split(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = written(tmp_path, "trees.tsv", table(60, 2, 3, 0))
    decision = decide({"train": TreeDataset.from_file(path, cached=False, notation="infix")}, FitOptions(hidden_size=4))
    assert decision.left_out == {"train": 0, "validation": 0, "test": 0, "no split": 5}
    assert "no split: 5 could not be read:\n" in capsys.readouterr().err


def test_sentences_that_cannot_be_read_are_counted_in_their_split(tmp_path: Path) -> None:
    def sentence(name: str, split: str, head: int) -> str:
        lines = [f"1\tdog{name}\tdog\tNOUN\t_\t_\t0\troot\t_\t_", f"2\tbarks\tbark\tVERB\t_\t_\t{head}\tdep\t_\t_"]
        return "\n".join([f"# sent_id = {split}-{name}", f"# label = {'ab'[int(name) % 2]}", *lines]) + "\n\n"

    good = "".join(sentence(str(k), SPLITS[k % 5], 1) for k in range(30))
    path = written(tmp_path, "trees.conllu", good + sentence("30", "test", 7))
    data = TreeDataset.from_file(path, cached=False, split_from="sent_id:^[a-z]+")
    assert decide({"train": data}, FitOptions(hidden_size=4)).left_out == {"train": 0, "validation": 0, "test": 1}


def test_files_of_a_folder_that_cannot_be_read_are_counted_in_its_split(tmp_path: Path) -> None:
    for k in range(30):
        folder = tmp_path / "sources" / SPLITS[k % 5]
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{'ab'[k % 2]}{k}.py").write_text(f"x{k} = {k}\n", encoding="utf-8")
    (tmp_path / "sources" / "test" / "a99.py").write_text("x = (\n", encoding="utf-8")
    reading = {"split_from": "folder", "label_from": "file:([ab])[0-9]+"}
    data = TreeDataset.from_file(tmp_path / "sources", cached=False, **reading)
    assert decide({"train": data}, FitOptions(hidden_size=4)).left_out == {"train": 0, "validation": 0, "test": 1}

"""Labels as texts: missing, the same in another spelling, numbers that are not written as such."""

import json
import unicodedata
from pathlib import Path

import pandas as pd
import pytest
from own_trees import QUIET, written

import dgltree
from dgltree import Tree, TreeDataset
from dgltree.commands.main import main
from dgltree.datasets import UNSEEN, Reading, label_numbers
from dgltree.datasets.labels import (
    MAX_NAMED_LABELS,
    absent,
    check_known,
    check_spelling,
    present,
    select_labelled,
    unify_labels,
)
from dgltree.datasets.settings import ColumnPattern
from dgltree.datasets.splitting import count_contradicted

pytestmark = QUIET
LEAF = Tree("x")
COMPOSED = "caf\u00e9"
DECOMPOSED = unicodedata.normalize("NFD", COMPOSED)


def data_of(*labels: str | float | bool | None) -> TreeDataset:
    trees = [Tree("f", (Tree(f"x{i}"),)) for i in range(len(labels))]
    return TreeDataset(trees, list(labels), reading=Reading())


@pytest.mark.parametrize("text", ["NA", "N/A", "NaN", "nan", "None", "NULL", "null", "<NA>", " NA "])
def test_known_spellings_of_missing_labels_are_missing(text: str) -> None:
    data = data_of("a", text, "b", None)
    kept, bad = select_labelled(data, numbers=False)
    assert kept is not None
    assert (kept.labels, present(data)) == (["a", "b"], ["a", "b"])
    assert [each.message for each in bad] == [f"the label {text!r} stands for a missing label (--missing)", "no label"]


@pytest.mark.parametrize(("further", "rest"), [(-1, ""), (0, ""), (1, " and 1 more"), (2, " and 2 more")])
def test_a_message_names_some_labels_and_counts_the_others(further: int, rest: str) -> None:
    labels, classes = (
        [f"l{i}" for i in range(MAX_NAMED_LABELS + further)],
        [f"c{i}" for i in range(MAX_NAMED_LABELS + further)],
    )
    shown = [", ".join(map(repr, names[:MAX_NAMED_LABELS])) + rest for names in (labels, classes)]
    with pytest.raises(ValueError) as refused:
        check_known(labels, classes)
    assert f"the labels are {shown[0]}, the classes are {shown[1]};" in str(refused.value)


@pytest.mark.parametrize(
    ("place", "text", "label"),
    [
        ("name:^([a-z]*)[0-9]", "ab5", "ab"),
        ("name:^([a-z]*)[0-9]", "5", None),  # a group that matches nothing is no label
        ("name:^([a-z]*)[0-9]", "ab", None),
        ("name:[0-9]+", "ab57", "57"),
        ("name:(?P<low>[0-4])|(?P<high>[5-9])", "a7", "high"),
        ("name", "ab5", "ab5"),
    ],
)
def test_a_label_is_what_a_pattern_finds_in_a_column(place: str, text: str, label: str | None) -> None:
    assert ColumnPattern.of("--label-from", place)({"name": text}) == label


def test_which_labels_are_missing_is_a_setting_and_is_reported(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = str(written(tmp_path, "t.tsv", "tree\tlabel\nx+y\tNone\nx*y\tsome\nx-y\t?\nx\tNone\n"))
    assert main(["inspect", path]) == 0
    told = capsys.readouterr().out
    assert "labels: 1 different labels" not in told
    assert "labels read as missing: None (2); --missing sets these labels" in told
    assert main(["inspect", path, "--missing", "?,-"]) == 0
    assert "labels read as missing: ? (1)" in capsys.readouterr().out
    assert absent(TreeDataset.from_file(path, missing="")) == ""


@pytest.mark.parametrize(
    ("label", "name"),
    [("0", "0.0"), ("1.50", "1.5"), ("1e1", "10"), (" pos", "pos"), (DECOMPOSED, COMPOSED), ("True", "true")],
)
def test_labels_that_are_the_same_are_one_class(label: str, name: str) -> None:
    assert label_numbers([label, name, "other", None], ["x", name]).tolist() == [1, 1, UNSEEN, UNSEEN]
    found, told = unify_labels({"train": data_of(name, name, name, label), "test": data_of(label)}, [])
    assert ([*found["train"].labels], [*found["test"].labels]) == ([name] * 4, [name])
    assert told == f"different spellings of a label are read as one class: {label!r} as {name!r}"
    assert unify_labels({"train": data_of(name, "other")}, [])[1] == ""


def test_texts_that_python_gives_are_labels_as_they_are() -> None:
    data = TreeDataset([LEAF, LEAF], ["None", "NA"])
    assert present(data) == ["None", "NA"]
    assert select_labelled(data, numbers=False) == (data, [])


def test_given_classes_keep_their_texts() -> None:
    found, told = unify_labels({"train": data_of("0", "0.0", "0.00")}, ["0.0", "0"])
    assert ([*found["train"].labels], told) == (
        ["0", "0.0", "0.0"],
        "different spellings of a label are read as one class: '0.00' as '0.0'",
    )


def test_an_exact_name_of_a_class_comes_first() -> None:
    assert label_numbers(["0", "0.0", "0.00"], ["0.0", "0"]).tolist() == [1, 0, 0]


@pytest.mark.parametrize(
    ("labels", "how"),
    [
        (["1,5", "2,25", "3"], "a decimal comma"),
        (["10%", "12.5 %"], "a percent sign"),
        (["1,234.5", "2,000.5"], "thousands set apart"),
        (["1 234,5"], "thousands set apart"),
    ],
)
def test_numbers_in_other_spellings_are_asked_about(labels: list[str], how: str) -> None:
    with pytest.raises(ValueError, match=f"are numbers with {how}, such as '{labels[0]}'; write numbers as 1234.5"):
        check_spelling(data_of(*labels))
    _, bad = select_labelled(data_of("1.5", *labels), numbers=True)
    assert f"it has {how}; write numbers as in 1234.5" in bad[0].message


@pytest.mark.parametrize("labels", [["1.5", " 2 "], ["a,b", "1,5"], ["1,2,3"], ["a", "NA"], [None]])
def test_other_labels_are_not_asked_about(labels: list[str | None]) -> None:
    check_spelling(data_of(*labels))


def test_fit_asks_about_numbers_in_other_spellings(tmp_path: Path) -> None:
    data = TreeDataset([LEAF] * 20, ["1,5", "2,5"] * 10)
    with pytest.raises(ValueError, match="2 of 2 different labels are numbers with a decimal comma"):
        dgltree.fit(data, out=tmp_path / "model")


def test_booleans_are_labels(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    pd.DataFrame({"tree": ["x+y", "x*y", "x"], "label": [True, False, None]}).to_parquet(path)
    assert TreeDataset.from_file(path).labels == ["true", "false", None]
    lines = [{"tree": "x+y", "label": True}, {"tree": "x", "label": False}]
    path = written(tmp_path, "t.jsonl", "\n".join(map(json.dumps, lines)))
    assert TreeDataset.from_file(path).labels == ["true", "false"]
    assert TreeDataset.from_file(path, label_from="label:^t").labels == ["t", None]


def test_equal_trees_with_different_labels_are_counted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    trees = [Tree("f", (LEAF,)), LEAF, LEAF, LEAF, Tree("g", (LEAF,)), Tree("g", (LEAF,))]
    assert count_contradicted(TreeDataset(trees, ["a", "a", "b", None, "0", "0.0"])) == 2
    path = written(tmp_path, "t.tsv", "tree\tlabel\nx+y\ta\nx+y\tb\nx*y\ta\n")
    assert main(["inspect", str(path)]) == 0
    assert "2 examples have trees that occur with different labels" in capsys.readouterr().out


def test_an_evaluation_on_labels_none_of_which_is_known_is_an_error(
    fitted: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = written(tmp_path, "t.tsv", "tree\tlabel\nx+y\t0\nx*y\t1\n")
    assert main(["evaluate", str(fitted / "model"), str(path)]) == 1
    message = "none of the labels is a class of the model: the labels are '0', '1', the classes are 'neg', 'pos'; name"
    assert message in capsys.readouterr().err


def test_fit_says_what_it_did_with_labels(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = [f"x+{i}\t{'0' if i % 2 else '1.0'}" for i in range(30)]
    lines += ["x*y\t0.0", "x*y\t1", "x*x\tNA", "y*y\tNone"]
    path = written(tmp_path, "t.tsv", "tree\tlabel\n" + "\n".join(lines) + "\n")
    arguments = ["fit", str(path), "--out", str(tmp_path / "model"), "--hidden-size", "4", "--epochs", "1"]
    assert main(arguments) == 0
    out, err = capsys.readouterr()
    told = out + err
    assert "different spellings of a label are read as one class: '0.0' as '0', '1' as '1.0'" in told
    assert "2 examples have trees that occur with different labels" in told
    assert "the label 'NA' stands for a missing label (--missing)" in told
    model = dgltree.TrainedModel.load(tmp_path / "model")
    assert model.classes == ("0", "1.0")
    test = TreeDataset([dgltree.read_infix("x+1"), dgltree.read_infix("x+2")], ["0.00", "1"])
    assert model.evaluate(test).names == ("0", "1.0")

"""``dgltree similar``: nearest neighbours by the vectors of a model."""

from dataclasses import replace
from pathlib import Path

import pytest
from own_trees import rows_of, written

from dgltree import TrainedModel, Tree
from dgltree.commands.main import main
from dgltree.read.text import brief

pytest.importorskip("sklearn")


def test_a_tree_is_most_like_itself_and_bad_records_are_reported(
    fitted: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = written(tmp_path, "some.tsv", "id\ttree\tlabel\na\tx+y\tpos\nb\tx*y*z\tneg\nc\tx+\tpos\nd\tz-y\tpos\n")
    assert main(["similar", str(fitted / "model"), str(path), "--query", "x*y*z", "z-y", "--top", "2"]) == 0
    out, err = capsys.readouterr()
    header, *rows = rows_of(out)
    assert header == ["query", "id", "similarity", "label", "tree"]
    assert [row[0] for row in rows] == ["1", "1", "2", "2"]
    assert [line for line in err.splitlines() if line.startswith("query ")] == ["query 1: x*y*z", "query 2: z-y"]
    assert [rows[0][1:4], rows[2][1:4]] == [["b", "1.0000", "neg"], ["d", "1.0000", "pos"]]
    assert float(rows[0][2]) >= float(rows[1][2])
    assert "line 4: tree: not a valid infix tree" in err
    assert main(["similar", str(fitted / "model"), str(path), "--queries", str(path), "--top", "9"]) == 0
    rows = rows_of(capsys.readouterr().out)[1:]
    assert len(rows) == 9  # three queries, three trees
    assert rows[0][:2] == ["a", "a"]


@pytest.mark.parametrize("share", [0.0, 0.05])
def test_vectors_of_a_network_without_a_share_in_the_answers_are_reported(
    share: float, fitted: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model = TrainedModel.load(fitted / "model")
    assert model.average is not None
    model.average = replace(model.average, weight=share)
    model.save(tmp_path / "model")
    assert main(["similar", str(tmp_path / "model"), str(fitted / "trees.tsv"), "--query", "x+y", "--top", "1"]) == 0
    err = capsys.readouterr().err
    assert (
        "warning: the vectors come from the network, but all predictions of this model come from the baseline (" in err
    ) == (share == 0)
    assert (model.average.baseline.what in err) == (share == 0)


def test_what_cannot_be_asked_is_refused(fitted: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["similar", str(fitted / "model"), str(fitted / "trees.tsv"), "--query"]
    assert main([*arguments, "x+"]) == 1
    assert "tree 1: not a valid infix tree" in capsys.readouterr().err
    assert main([*arguments, "x", "--top", "0"]) == 1
    assert "top is 0; it must be 1 or more" in capsys.readouterr().err
    assert main([*arguments, str(fitted / "trees.tsv")]) == 1
    assert f"this is a file; compare with its trees by --queries {fitted / 'trees.tsv'}" in capsys.readouterr().err
    with pytest.raises(SystemExit, match="2"):
        main(arguments[:-1])


def test_texts_are_read_in_the_notation_of_the_training_file(fitted: Path) -> None:
    model = TrainedModel.load(fitted / "model")
    texts = model.answers_to(["x+y", "x*z"])
    from dgltree import read_infix

    assert texts.tolist() == model.answers_to([read_infix("x+y"), read_infix("x*z")]).tolist()
    with pytest.raises(ValueError, match="tree 2: not a valid infix tree"):
        model.answers_to(["x", "x+"])
    with pytest.raises(ValueError, match="found a single tree; give a list of trees or of strings"):
        model.answers_to("x+y")
    with pytest.raises(ValueError, match="the model reads single trees"):
        model.answers_to([("x", "y")])


def test_a_tree_in_brief_is_one_line_that_ends() -> None:
    leaf = Tree("w", token="a")
    assert brief(Tree("f", (leaf, Tree("g", (leaf,), token="t"), Tree("n", value=2.5)))) == "(f a (g:t a) 2.5)"
    deep = leaf
    for _ in range(10_000):
        deep = Tree("f", (deep,))
    assert len(brief(deep)) < 200

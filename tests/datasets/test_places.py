"""Labels, splits and groups that stand in other places than columns of their own; leaves that are taken out."""

from pathlib import Path

import pytest
from own_trees import written

from dgltree import Tree, TreeDataset
from dgltree.datasets import Reading
from dgltree.read.infix import read_infix

ROW = "1\tcats\t_\tNOUN\t_\t_\t0\troot\t_\t_\n2\t{mark}\t_\tPUNCT\t_\t_\t1\tpunct\t_\t_\n\n"


def sentence(name: str, mark: str) -> str:
    return f"# sent_id = {name}\n# text = cats{mark}\n" + ROW.format(mark=mark)


def test_a_label_is_read_from_a_comment_by_a_regular_expression(tmp_path: Path) -> None:
    path = written(tmp_path, "t.conllu", sentence("email-a-1", "?") + sentence("blog-b-1", ".") + sentence("7", "?"))
    data = TreeDataset.from_file(path, label_from="sent_id:^[a-z]+", group_by="sent_id:(.*)-")
    assert (data.labels, data.groups) == (["email", "blog", None], ["email-a", "blog-b", None])
    named = TreeDataset.from_file(path, label_from="text:(?P<question>[?]$)|(?P<other>$)", drop="[?]")
    assert named.labels == ["question", "other", "question"]
    leaf = Tree("punct", token=".")
    assert [tree.children for tree, _ in (named[i] for i in range(3))] == [(), (leaf,), ()]
    with pytest.raises(ValueError, match="the tree is empty without the leaves"):
        TreeDataset([Tree("leaf", token="x")], reading=Reading(drop="x"))


def test_a_sentence_is_named_by_the_comment_that_id_names_or_else_by_its_own(tmp_path: Path) -> None:
    path = written(tmp_path, "t.conllu", "# key = k\n" + sentence("a", ".") + sentence("b", "?"))
    assert TreeDataset.from_file(path).ids == ["a", "b"]
    assert TreeDataset.from_file(path, id="key").ids == ["k", "b"]


def test_a_label_is_read_from_a_file_or_folder_and_a_column_of_that_name_comes_first(tmp_path: Path) -> None:
    for name in ("train/a.conllu", "dev/b.conllu"):
        (tmp_path / name).parent.mkdir()
        written((tmp_path / name).parent, Path(name).name, sentence(name[0], "."))
    data = TreeDataset.from_file(tmp_path, label_from="file:([ab])[.]", split_from="folder")
    assert (data.labels, data.splits) == (["b", "a"], ["dev", "train"])
    table = written(tmp_path, "t.csv", "tree,kind,file\nx+y,sum-1,f\nx*y,product-2,g\n")
    data = TreeDataset.from_file(table, label_from="kind:[a-z]+", group_by="file")
    assert (data.labels, data.groups) == (["sum", "product"], ["f", "g"])
    assert data[0][0] == read_infix("x+y")
    whole = TreeDataset.from_file(table, label_from="file", group_by="kind")
    assert (whole.labels, whole.groups) == (["f", "g"], ["sum-1", "product-2"])
    folder = TreeDataset.from_file(written(tmp_path, "bare.txt", "x+y\n"), label_from="folder")
    assert folder.labels == [tmp_path.name]


def test_the_folder_of_a_file_is_the_first_below_the_one_that_was_given(tmp_path: Path) -> None:
    names = ["a.conllu", "x/b.conllu", "x/y/c.conllu", "y/x/d.conllu", "y/x/z/e.conllu"]
    for name in names:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        written((tmp_path / name).parent, Path(name).name, sentence(Path(name).stem, "."))
    data = TreeDataset.from_file(tmp_path, label_from="folder", group_by="file", cached=False)
    folders = dict(zip(data.groups, data.labels, strict=True))
    assert folders == dict(zip(names, [None, "x", "x", "y", "y"], strict=True))
    assert {group: name for group, name in zip(data.groups, data.ids, strict=True) if group} == {
        name: Path(name).stem for name in names
    }
    below = TreeDataset.from_file(tmp_path / "y", label_from="folder", group_by="file", cached=False)
    assert (below.labels, below.groups) == (["x", "x"], ["x/d.conllu", "x/z/e.conllu"])


@pytest.mark.parametrize(
    ("name", "text", "settings", "message"),
    [
        (
            "t.txt",
            "(1 (2 a) (3 b))\n",
            {"split": "kind"},
            r"no column 'kind' \(--split\); each line or record is one tree",
        ),
        (
            "t.txt",
            "(1 (2 a) (3 b))\n",
            {"label": "kind"},
            r"no column 'kind' \(--label\); .* only tables \(.tsv, .csv, .jsonl\)",
        ),
        ("t.mrg", "(S (NP a)\n (VP b))\n", {"group_by": "kind"}, r"no column 'kind' \(--group-by\)"),
        ("t.mrg", "(S (NP a)\n (VP b))\n", {"id": "name"}, r"no column 'name' \(--id\)"),
        ("t.py", "x = 1\n", {"label": "kind"}, r"no column 'kind' \(--label\); there are 'id', 'function', 'label'"),
        (
            "t.jsonl",
            '{"tree": "x+y"}\n',
            {"split": "kind"},
            "--split is 'kind', which no record has; give a column or a",
        ),
        (
            "t.conllu",
            sentence("a", "."),
            {"group_by": "doc"},
            "--group-by is 'doc', which no record has; give COLUMN",
        ),
        ("t.txt", "x+y\n", {"split_from": "file:dev"}, "--split-from is 'file:dev', which no record has"),
    ],
)
def test_a_place_that_a_kind_of_file_does_not_have_is_refused(
    name: str, text: str, settings: dict[str, str], message: str, tmp_path: Path
) -> None:
    path = written(tmp_path, name, text)
    with pytest.raises(ValueError, match=message):
        TreeDataset.from_file(path, **settings)
    assert len(TreeDataset.from_file(path)) == 1
    with pytest.raises(ValueError, match=message):  # kept for the next time, or not
        TreeDataset.from_file(path, **settings)
    assert len(TreeDataset.from_file(path, named=False, **settings)) == 1


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"label": "kind"}, r"no column 'kind' \(--label\); there are 'tree', 'class'"),
        ({"label_from": "kind:x"}, r"no column 'kind' \(--label-from\)"),
        ({"group_by": "kind"}, r"no column 'kind' \(--group-by\)"),
        ({"label_from": "class:("}, r"label_from is 'class:\(': '\(' is not a regular expression"),
        ({"drop": "["}, r"drop is 'token:\[': '\[' is not a regular expression"),
        ({"drop": "a{99999999999}"}, r"drop is 'token:a.*': 'a.*' is not a regular expression \(the repetition number"),
        ({"drop": "(" * 5000 + "a" + ")" * 5000}, r"drop is 'token:\(+\.\.\.': .* is not a regular expression"),
    ],
)
def test_a_place_that_is_not_there_is_refused(settings: dict[str, str], message: str, tmp_path: Path) -> None:
    path = written(tmp_path, "t.tsv", "tree\tclass\nx+y\ta\n")
    with pytest.raises(ValueError, match=message):
        TreeDataset.from_file(path, **settings)

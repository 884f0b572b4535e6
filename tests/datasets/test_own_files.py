"""Files of trees: every format and notation, and what is bad about a record."""

import json
import warnings
from pathlib import Path

import pytest
from own_trees import TABLE, written

from dgltree import Tree, TreeDataset
from dgltree.datasets.formats import open_format, source
from dgltree.datasets.settings import Reading
from dgltree.read.infix import read_infix


def test_a_table_gives_trees_labels_splits_and_ids(tmp_path: Path) -> None:
    data = TreeDataset.from_file(written(tmp_path, "trees.tsv", TABLE))
    assert data.reading.notation == "infix"
    assert [data[i] for i in range(3)] == [
        (read_infix("x+y"), "sum"),
        (read_infix("x*y"), "product"),
        (read_infix("sin(x)"), "sine"),
    ]
    assert data.splits == ["train", "test", "valid"]
    assert (data.ids, data.lines, data.bad) == (["a", "b", "c"], [2, 3, 4], [])


@pytest.mark.parametrize("name", ["trees.jsonl", "trees.parquet", "trees.txt"])
def test_json_lines_parquet_and_a_table_of_another_suffix_say_the_same(name: str, tmp_path: Path) -> None:
    table = TreeDataset.from_file(written(tmp_path, "trees.tsv", TABLE))
    header, *lines = (line.split("\t") for line in TABLE.splitlines())
    rows = [dict(zip(header, line, strict=True)) for line in lines]
    path = tmp_path / name
    if name == "trees.parquet":
        pyarrow = pytest.importorskip("pyarrow")
        pytest.importorskip("pyarrow.parquet").write_table(pyarrow.Table.from_pylist(rows), path)
    else:
        path.write_text(TABLE if name == "trees.txt" else "".join(json.dumps(row) + "\n" for row in rows))
    data = TreeDataset.from_file(path)
    assert [data[i] for i in range(3)] == [table[i] for i in range(3)]
    assert (data.splits, data.ids) == (table.splits, table.ids)


def test_columns_go_by_other_names_and_without_a_header(tmp_path: Path) -> None:
    named = written(tmp_path, "named.tsv", "kind\tcode\nsum\tx+y\n")
    data = TreeDataset.from_file(named, tree="code", label="kind")
    assert data[0] == (read_infix("x+y"), "sum")
    bare = written(tmp_path, "bare.txt", "sum\tx+y\nsine\tsin(x)\n")
    data = TreeDataset.from_file(bare, columns="label,tree")
    assert data.labels == ["sum", "sine"]


def test_pairs_are_two_trees_an_example(tmp_path: Path) -> None:
    path = written(tmp_path, "pairs.tsv", "left\tright\tlabel\nx\ty\t<\nx+y\ty\t>\n")
    data = TreeDataset.from_file(path)
    assert (len(data), data.each) == (2, 2)
    assert data[1] == ((read_infix("x+y"), read_infix("y")), ">")


@pytest.mark.parametrize(
    ("text", "notation", "label"),
    [
        ("(3 (2 The) (4 Rock))", "sst", "3"),
        ("(question (WP what) (VBZ is))", "treebank", "question"),
        ("( not ( e ( or f ) ) )", "brackets", None),
        ("(+ x (sin y))", "sexpr", None),
        ('{"label": "add", "children": [{"label": "x"}, {"label": "2"}]}', "json", None),
    ],
)
def test_bare_trees_have_the_label_of_their_root(text: str, notation: str, label: str | None, tmp_path: Path) -> None:
    data = TreeDataset.from_file(written(tmp_path, "trees.txt", f"{text}\n{text}\n"))
    assert (data.reading.notation, data.labels) == (notation, [label, label])
    tree = data[0][0]
    assert isinstance(tree, Tree)
    assert notation != "treebank" or tree.function == "ROOT"  # the label must not stand in the tree


def test_json_trees_in_records_and_under_other_keys(tmp_path: Path) -> None:
    record = {"tree": {"type": "add", "args": [{"type": "x"}, {"type": "y"}]}, "label": 1}
    path = written(tmp_path, "trees.jsonl", json.dumps(record) + "\n")
    data = TreeDataset.from_file(path, keys="type,args,name")
    assert data[0] == (Tree("add", (Tree("leaf", token="x"), Tree("leaf", token="y"))), "1")


def test_a_dependency_treebank(tmp_path: Path) -> None:
    words = [("cats", "2", "nsubj", "NOUN"), ("sleep", "0", "root", "VERB")]
    rows = [f"{i}\t{w}\t_\t{pos}\t_\t_\t{head}\t{rel}\t_\t_" for i, (w, head, rel, pos) in enumerate(words, 1)]
    text = "# sent_id = s1\n# label = calm\n" + "\n".join(rows) + "\n\n1\tbroken\n\n"
    data = TreeDataset.from_file(written(tmp_path, "trees.conllu", text), node="upos")
    assert data[0] == (Tree("VERB", (Tree("NOUN", token="cats"),), token="sleep"), "calm")
    assert data.ids == ["s1"]
    assert data.bad[0].line == 6


def test_a_folder_of_sources_by_file_and_by_function(tmp_path: Path) -> None:
    folder = tmp_path / "sources"
    for name in ("good", "bad", ".hidden", "site-packages"):
        (folder / name).mkdir(parents=True)
    written(folder / "good", "a.py", "def f(x):\n    return x\n\ndef g():\n    pass\n")
    written(folder / "good", "latin.py", b"# \xe9\n")
    written(folder / "good", "latin_declared.py", "# coding: latin-1\nx = 'é'\n".encode("latin-1"))
    written(folder / "bad", "b.py", "def f(:\n")
    written(folder / ".hidden", "c.py", "x = 1\n")
    written(folder / "site-packages", "d.py", "x = 1\n")
    files = TreeDataset.from_file(folder, cached=False)
    assert (files.ids, files.labels) == (["good/a.py", "good/latin_declared.py"], ["good", "good"])
    assert Tree("str", token="'é'") in files[1][0].preorder()
    assert [bad.where for bad in files.bad] == ["bad/b.py", "good/latin.py"]
    functions = TreeDataset.from_file(folder, unit="function", cached=False)
    assert functions.ids == ["good/a.py:1:f", "good/a.py:4:g"]


def test_numbers_and_two_children_at_most_on_request(tmp_path: Path) -> None:
    path = written(tmp_path, "trees.txt", "(f 1.5 x 2 3)\n")
    data = TreeDataset.from_file(path, numbers=True, binarize="right")
    tree = data[0][0]
    assert isinstance(tree, Tree)
    assert max(len(node.children) for node in tree.preorder()) == 2
    assert [node.value for node in tree.preorder() if node.value is not None] == [1.5, 2, 3]


def test_words_that_merely_sound_like_numbers_stay_words() -> None:
    from dgltree.datasets import Reading

    words = ["nan", "inf", "Infinity", "1e999", "1_000", "12"]
    data = TreeDataset([Tree("leaf", token=word) for word in words], reading=Reading(numbers=True))
    assert [node.value for node in (data[i][0] for i in range(6))] == [None, None, None, None, None, 12]


def test_mixed_notations_are_read_as_the_first_ones_are(tmp_path: Path) -> None:
    path = written(tmp_path, "trees.txt", "(3 (2 a) (4 b))\n(1 c)\nsin(x)\n")
    data = TreeDataset.from_file(path)
    assert data.labels == ["3", "1"]
    assert data.bad[0].line == 3
    assert "not a valid sst tree" in data.bad[0].message


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("trees.tsv", "", "the file is empty"),
        ("trees.tsv", "tree\tlabel\n", "no trees"),
        ("trees.tsv", "code\tlabel\nx\t1\n", "no column 'tree', or 'left' and 'right'; there are 'code', 'label'"),
        ("trees.tsv", "left\tlabel\nx\t1\n", "no column 'tree', or 'left' and 'right'"),
        ("trees.parquet", "no table", "not a Parquet file"),
        ("trees.tsv", "tree\ttree\tlabel\nx\ty\t1\n", "two columns are called 'tree'"),
        ("trees.tsv", "tree\tlabel\nx\n", "expected 2"),
        ("trees.jsonl", '{"ast": "x"}\n', "no column 'tree', only 'ast'; name the column of the trees with --tree"),
        ("trees.txt", "$$ (\n", "none of 1 strings is in a known notation"),
        ("one.json", '{"a": 1, "b": [1, 2]}', "a lone JSON object: if it is one document, name --notation json_object"),
        ("trees.jsonl", "[1]\n{\n", "no trees at the beginning of the file"),
    ],
)
def test_a_file_without_trees_is_refused(name: str, text: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError) as error:
        TreeDataset.from_file(written(tmp_path, name, text))
    assert message in str(error.value)
    assert str(tmp_path) in str(error.value)


def test_a_missing_file_and_settings_that_cannot_be() -> None:
    with pytest.raises(FileNotFoundError, match=r"nothing\.tsv: no such file or folder"):
        TreeDataset.from_file("nothing.tsv")
    for options, message in (
        ({"notation": "lisp"}, "the notation is 'lisp'; it must be one of node_link,"),
        ({"keys": "a,b"}, "keys is 'a,b'; give three names, such as 'type,args,name'"),
        ({"max_line": 0}, "max_line is 0"),
        ({"max_line": "5"}, "max_line is '5'; it must be a whole number"),
        ({"node": "foo"}, "a CoNLL-U file has no column 'foo'"),
    ):
        with pytest.raises(ValueError, match=message):
            TreeDataset.from_file("nothing.tsv", **options)


def test_several_processes_read_the_same_in_the_same_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source, "CHUNK", 200)
    lines = [f"{i}\t{'+'.join(['x'] * (i % 7 + 1))}\t{i % 3}" for i in range(200)]
    path = written(tmp_path, "trees.tsv", "\n".join(["id\ttree\tlabel", *lines, "200\tx+\t0"]))
    alone = TreeDataset.from_file(path, workers=0, cached=False)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of forks beside threads, from Python 3.12 on
        together = TreeDataset.from_file(path, workers=2, cached=False)
    assert alone.ids == together.ids == [str(i) for i in range(200)]
    assert alone.lines == together.lines == list(range(2, 202))
    assert alone.bad == together.bad
    assert [alone[i] for i in range(200)] == [together[i] for i in range(200)]
    assert alone.trees.vocabulary == together.trees.vocabulary


def test_a_folder_without_sources_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(
        ValueError,
        match=r"no files of trees in this folder; \.conllu, \.py, \.c, \.cpp, \.java, \.js, \.xml, \.html, \.nwk",
    ):
        open_format(tmp_path, Reading())


def test_a_folder_of_documents_says_how_to_write_them(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text('{"a": 1}')
    with pytest.raises(
        ValueError, match=r"it holds 1 \.json; write JSON documents into one \.jsonl file, one per line"
    ):
        TreeDataset.from_file(tmp_path, cached=False)

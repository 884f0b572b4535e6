"""Files of trees: every format and notation, and what is bad about a record."""

import json
import re
import tracemalloc
import warnings
from collections.abc import Iterator
from pathlib import Path

import pytest
from own_trees import TABLE, written

from dgltree import Tree, TreeDataset
from dgltree.datasets.formats import chunks, conllu, open_format, source
from dgltree.datasets.formats.chunks import cut
from dgltree.datasets.reading import Reading
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
    assert [message.split(":")[0] for _, message in files.bad] == ["bad/b.py", "good/latin.py"]
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


def test_bad_records_are_kept_with_their_lines_and_the_rest_is_read(tmp_path: Path) -> None:
    lines = [
        b"id\ttree\tlabel",
        b"a\tx\t1",
        b"b\tx+\t1",
        b"c\tx",
        b"",
        b"d\t\xff\t1",
        b"e\t\t1",
        b"a\ty\t1",
        b"f\ty\t1",
    ]
    path = written(tmp_path, "trees.tsv", b"\n".join([*lines, b"g\t" + b"x+" * 200 + b"x\t1"]))
    data = TreeDataset.from_file(path, max_line=100)
    assert data.ids == ["a", "f"]
    messages = dict(data.bad)
    assert sorted(messages) == [3, 4, 5, 6, 7, 8, 10]
    for line, part in {
        3: "tree: no infix tree: line 1, column 3",
        4: "2 columns, separated by tabs; expected 3",
        5: "the line is empty",
        6: "byte 0xff in column 3 is not UTF-8",
        7: "no 'tree'; expected a tree",
        8: "the id 'a' stands on line 2 already",
        10: "longer than 100 bytes, the limit (--max-line)",
    }.items():
        assert part in messages[line]
    with pytest.raises(ValueError, match=r"trees.tsv, line 3: tree: no infix tree"):
        TreeDataset.from_file(path, max_line=100, strict=True)


def test_a_record_of_another_kind_than_the_first_is_bad(tmp_path: Path) -> None:
    records = [{"tree": "x"}, {"left": "x", "right": "y"}, {"tree": "y"}, {"tree": 3}]
    path = written(tmp_path, "trees.jsonl", "".join(json.dumps(record) + "\n" for record in records))
    data = TreeDataset.from_file(path)
    assert (len(data), data.each, data.lines) == (2, 1, [1, 3])
    assert [bad[0] for bad in data.bad] == [2, 4]
    assert "found a int; expected text" in data.bad[1].message


def test_labels_that_would_break_a_line_of_answers_are_refused(tmp_path: Path) -> None:
    labels = ("fine", "a\tb", "a\nb", "\ud800", "\x1b[31m", "a\x00", "\x7f", "a\u2028b", 3)
    records = [{"tree": "x", "label": label} for label in labels]
    data = TreeDataset.from_file(written(tmp_path, "t.jsonl", "".join(json.dumps(r) + "\n" for r in records)))
    assert data.labels == ["fine", "3"]
    assert len(data.bad) == 7
    assert all("another control character or half of a character" in bad.message for bad in data.bad)
    assert all(bad.message.isprintable() for bad in data.bad)
    tree = written(tmp_path, "t.txt", "(a\x1b[31m (b c))\n(a (b c))\n")
    data = TreeDataset.from_file(tree, notation="treebank")
    assert (data.labels, [bad.line for bad in data.bad]) == (["a"], [1])  # also one that stands in a tree


@pytest.mark.parametrize("column", ["label", "id", "split"])
@pytest.mark.parametrize("value", ["true", "false", '["l"]', "{}", "NaN", "-Infinity", "1e999"])
def test_what_is_no_text_and_no_finite_number_is_no_label(column: str, value: str, tmp_path: Path) -> None:
    path = written(tmp_path, "t.jsonl", f'{{"tree": "x"}}\n{{"tree": "y", "{column}": {value}}}\n')
    data = TreeDataset.from_file(path)
    assert data.lines == [1]
    assert re.search(r"expected a (text or a )?finite number$", data.bad[0].message)
    assert f"found {value.replace('1e999', 'Infinity')}" in data.bad[0].message


def test_a_message_is_one_line_with_what_it_quotes_cut(tmp_path: Path) -> None:
    text = f"x {'y' * 100_000}\nx\nx\x1b+\n"
    data = TreeDataset.from_file(written(tmp_path, "t.txt", text), notation="infix")
    assert data.lines == [2]
    assert all(len(bad.message) < 700 and bad.message.isprintable() for bad in data.bad)
    columns = "\t".join(f"c{i}" for i in range(50_000))
    with pytest.raises(ValueError, match="no column 'tree'") as error:
        TreeDataset.from_file(written(tmp_path, "t.tsv", columns + "\nx\n"))
    assert len(str(error.value)) < 1000


def test_a_source_file_whose_name_would_break_a_line_is_bad(tmp_path: Path) -> None:
    for name in ("a.py", "b\n.py"):
        written(tmp_path, name, "x = 1\n")
    data = TreeDataset.from_file(tmp_path, cached=False)
    assert data.ids == ["a.py"]
    assert data.bad[0].message.startswith("b\\n.py: the name of the file:")


def test_a_broken_byte_in_a_dependency_treebank_loses_one_sentence(tmp_path: Path) -> None:
    good = b"1\tx\t_\t_\t_\t_\t0\troot\t_\t_\n\n"
    text = good + good.replace(b"x", b"\xff") + b"# caf\xe9\n" + good
    data = TreeDataset.from_file(written(tmp_path, "t.conllu", text))
    assert data.lines == [1, 5]
    assert [tuple(bad) for bad in data.bad] == [(3, "line 3: byte 0xff in column 3 is not UTF-8")]


def test_a_sentence_without_an_end_is_bad_and_never_held(tmp_path: Path) -> None:
    row = "1\tx\t_\t_\t_\t_\t0\troot\t_\t_\n"
    comments = "# no word\n" * 10
    path = written(tmp_path, "t.conllu", f"{row}\n{row * 200}\n\n{row}\n{comments}\n")
    data = TreeDataset.from_file(path, max_line=1000)
    assert data.lines == [1, 205]
    assert [tuple(bad) for bad in data.bad] == [
        (3, "line 3: a sentence of more than 1,000 bytes, the limit (--max-line)"),
        (207, "line 207: found a sentence without words; expected at least one"),
    ]
    exact = TreeDataset.from_file(path, max_line=len(row) - 1)
    assert exact.lines == [1, 205]

    def endless() -> Iterator[bytes]:
        for _ in range(300_000):
            yield row.encode() + b""  # an object of its own

    tracemalloc.start()
    try:
        [chunk] = cut(conllu._sentences(endless(), 1000), lambda sentence: sum(map(len, sentence[1])))
        assert tracemalloc.get_traced_memory()[1] < 100_000
    finally:
        tracemalloc.stop()
    assert chunk.raw == [(1, [conllu.LONG_SENTENCE])]


def test_one_bad_comment_of_a_sentence_loses_that_sentence_alone(tmp_path: Path) -> None:
    row = "1\tx\t_\t_\t_\t_\t0\troot\t_\t_\n\n"
    path = written(tmp_path, "t.conllu", f"# label = a\x1b\n{row}# label = b\n{row}")
    data = TreeDataset.from_file(path)
    assert (data.labels, [bad.line for bad in data.bad]) == (["b"], [1])


def test_mixed_notations_are_read_as_the_first_ones_are(tmp_path: Path) -> None:
    path = written(tmp_path, "trees.txt", "(3 (2 a) (4 b))\n(1 c)\nsin(x)\n")
    data = TreeDataset.from_file(path)
    assert data.labels == ["3", "1"]
    assert data.bad[0].line == 3
    assert "no sst tree" in data.bad[0].message


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("trees.tsv", "", "the file is empty"),
        ("trees.tsv", "tree\tlabel\n", "no trees"),
        ("trees.tsv", "code\tlabel\nx\t1\n", "no column 'tree', or 'left' and 'right'; there are 'code', 'label'"),
        ("trees.tsv", "left\tlabel\nx\t1\n", "no column 'tree', or 'left' and 'right'"),
        ("trees.parquet", "no table", "no Parquet file"),
        ("trees.tsv", "tree\ttree\tlabel\nx\ty\t1\n", "two columns are called 'tree'"),
        ("trees.tsv", "tree\tlabel\nx\n", "expected 2"),
        ("trees.jsonl", '{"ast": "x"}\n', "no 'tree' among 'ast'; --tree names another column"),
        ("trees.txt", "$$ (\n", "none of 1 texts is in a known notation"),
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
        ({"notation": "lisp"}, "the notation is 'lisp'; it is one of node_link,"),
        ({"keys": "a,b"}, "keys is 'a,b'; it has three names"),
        ({"max_line": 0}, "max_line is 0"),
        ({"max_line": "5"}, "max_line is '5', a str"),
        ({"node": "foo"}, "a CoNLL-U file has no column 'foo'"),
    ):
        with pytest.raises(ValueError, match=message):
            TreeDataset.from_file("nothing.tsv", **options)


def test_several_processes_read_the_same_in_the_same_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chunks, "CHUNK", 200)
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


def test_a_line_over_the_limit_is_never_held() -> None:
    import io

    taken: list[int] = []

    class Counted(io.BytesIO):
        def readline(self, size: int | None = -1, /) -> bytes:
            taken.append(size or 0)
            return super().readline(size)

    file = Counted(b"short\n" + b"x" * 1_000_000 + b"\nlast")
    assert list(source.lines_of(file, 100)) == [b"short", source.TOO_LONG, b"last"]
    assert max(taken) <= 101


def test_a_folder_without_sources_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="no Python files"):
        open_format(tmp_path, Reading())

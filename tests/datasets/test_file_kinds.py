"""Kinds of files as users have them: each is read, or refused with what would be right; none is guessed at."""

import bz2
import codecs
import gzip
import json
import lzma
from pathlib import Path

import pytest
from own_trees import written

from dgltree import TreeDataset, read_infix
from dgltree.commands.main import main
from dgltree.datasets.formats import FORMATS, Bad, Format, open_format
from dgltree.datasets.formats.code import CodeSources
from dgltree.datasets.formats.format import in_order
from dgltree.datasets.formats.markup import HTMLSources
from dgltree.datasets.formats.parquet import Parquet
from dgltree.datasets.formats.tree_lines import SMILESLines
from dgltree.datasets.settings import Reading

TWO = [{"tree": "x+y", "label": "a"}, {"tree": "x*y", "label": "b"}]
PENN = "( (S\n    (NP (DT The) (NN cat))\n    (VP (VBZ sleeps))))\n\n( (SBARQ (WHNP (WP What))\n   (SQ (VBZ is))))\n"
ROW = "1\tcats\t_\tNOUN\t_\t_\t0\troot\t_\t_\n\n"
CONLLU = f"# sent_id = a-1\n# text = cats\n{ROW}# sent_id = b-1\n# text = cats?\n{ROW}"
LISP = "(add\n  (mul x y)\n  z)\n(add x\n     y)\n"

READ: dict[str, tuple[str | bytes, int, str | None, list[str | None] | None]] = {
    "table.tsv": ("tree\tlabel\nx+y\ta\nx*y\tb\n", 2, "infix", ["a", "b"]),
    "table.tab": ("label\ttree\na\tx+y\nb\tx*y\n", 2, "infix", ["a", "b"]),
    "table.txt": ("tree\tlabel\nx+y\ta\nx*y\tb\n", 2, "infix", ["a", "b"]),
    "windows.tsv": (b"\xef\xbb\xbftree\tlabel\r\nx+y\ta\r\nx*y\tb\r\n", 2, "infix", ["a", "b"]),
    "table.csv": ("tree,label\nx+y,a\nx*y,b\n", 2, "infix", ["a", "b"]),
    "quoted.csv": ('label,tree\na,"(f ""x, y"" z)"\nb,"(f ""x"")"\n', 2, "sexpr", ["a", "b"]),
    "lines.csv": ('label,tree\na,"(f\n x y)"\nb,(g x y)\n', 2, "sexpr", ["a", "b"]),
    "semicolons.csv": ("tree;label\nx+y;1,5\nx*y;2,5\n", 2, "infix", ["1,5", "2,5"]),
    "tabs.csv": ("tree\tlabel\nx+y\ta\nx*y\tb\n", 2, "infix", ["a", "b"]),
    "document.xml": ("<a><b/></a>", 1, None, [None]),
    "documents/a/one.xml": ("<a><b/></a>", 1, None, ["a"]),
    "csv.txt": ("tree,label\nx+y,a\nx*y,b\n", 2, "infix", ["a", "b"]),
    "sentiment.csv": ("label,tree\n1,(3 (2 a) (4 b))\n0,(1 c)\n", 2, "sst", ["1", "0"]),
    "pairs.csv": ("left,right,label\nx,y,<\ny,x,>\n", 2, "infix", ["<", ">"]),
    "lines.jsonl": ("".join(json.dumps(row) + "\n" for row in TWO), 2, "infix", ["a", "b"]),
    "lines.ndjson": ("".join(json.dumps(row) + "\n" for row in TWO), 2, "infix", ["a", "b"]),
    "lines.json": ("".join(json.dumps(row) + "\n" for row in TWO), 2, "infix", ["a", "b"]),
    "array.json": (json.dumps(TWO), 2, "infix", ["a", "b"]),
    "indented.json": (json.dumps(TWO, indent=2), 2, "infix", ["a", "b"]),
    "array.txt": (json.dumps(TWO, indent=2), 2, "infix", ["a", "b"]),
    "pairs.json": (json.dumps([{"left": "x+y", "right": "y", "label": "<"}] * 2), 2, "infix", ["<", "<"]),
    "texts.json": (json.dumps(["x+y", "x*y"]), 2, "infix", [None, None]),
    "trees.json": (json.dumps([{"label": "f", "children": [{"label": "x"}]}] * 2), 2, "json", None),
    "tree.json": (json.dumps({"label": "f", "children": [{"label": "x"}]}, indent=1), 1, "json", None),
    "table.tsv.gz": (gzip.compress(b"tree\tlabel\nx+y\ta\nx*y\tb\n"), 2, "infix", ["a", "b"]),
    "table.csv.bz2": (bz2.compress(b"tree,label\nx+y,a\nx*y,b\n"), 2, "infix", ["a", "b"]),
    "lines.jsonl.xz": (lzma.compress(json.dumps(TWO[0]).encode()), 1, "infix", ["a"]),
    "array.json.gz": (gzip.compress(json.dumps(TWO).encode()), 2, "infix", ["a", "b"]),
    "bank.conllu.gz": (gzip.compress(CONLLU.encode()), 2, None, None),
    "bank.conllu": (CONLLU, 2, None, [None, None]),
    "bank.txt": (CONLLU, 2, None, [None, None]),
    "wsj.mrg": (PENN, 2, "treebank", ["S", "SBARQ"]),
    "wsj.txt": (PENN, 2, "treebank", ["S", "SBARQ"]),
    "one_a_line.mrg": ("(S (NP a))\n(X (NP b))\n", 2, "treebank", ["S", "X"]),
    "sst.txt": ("(3 (2 The) (4 Rock))\n(1 bad)\n", 2, "sst", ["3", "1"]),
    "trees.lisp": (LISP, 2, "sexpr", [None, None]),
    "trees": ("(add x y)\n(mul x y)\n", 2, "sexpr", [None, None]),
    "infix.txt": ("x+y\nsin(x)\n", 2, "infix", [None, None]),
    "trees.nwk": ("(a:1,b:2)c;(a,\n 'x;y'[a ; comment]\n,b);\n\n(a,b)\n", 3, "newick", [None, None, None]),
    "paml.tre": ("  3  1\n\n((a, b)$1,\n c);\n", 1, "newick", None),
    "no_ends.nw": ("(a,b)\n(a,(b,c))\n", 2, "newick", None),
    "one_without_end.nhx": ("(a,\n(b:1[&&NHX:S=x],\nc))\n", 1, "newick", None),
    "module.py": ("def f(x):\n    return x\n", 1, None, [None]),
    "folder/a/one.conllu": (CONLLU.replace("a-1", "c-1").replace("b-1", "d-1"), 2, None, None),
    "penn/00/wsj.mrg": (PENN, 2, "treebank", ["S", "SBARQ"]),
    "species/fish/a.nwk": ("(a,\nb);", 1, "newick", [None]),
    "sources/good/a.py": ("x = 1\n", 1, None, ["good"]),
}
"""Name to text, and what is read: how many trees, in which notation, with which labels (None: not looked at)."""

REFUSED: dict[str, tuple[str | bytes, str]] = {
    "sheet.xlsx": (b"PK\x03\x04", "a .xlsx file is a spreadsheet; save the sheet as CSV"),
    "model.pkl": (b"\x80\x04", "never unpickled"),
    "trees.zip": (b"PK\x03\x04", "an archive; unpack it"),
    "page.yaml": ("- x", "markup, which is not supported as a notation"),
    "main.rs": ("fn main() {}", "source code of an unsupported language"),
    "notes.md": ("# Notes\nx+y\n", "text without trees"),
    "book.ipynb": ("{}", "a notebook; save it as a Python file"),
    "words.txt": ("hello\nworld\n", "single words or numbers, not trees"),
    "words.tsv": ("tree\tlabel\nhello\ta\nworld\tb\n", "single words or numbers, not trees"),
    "mathjson.json": ('["Add", 1, ["Power", "x", 2]]', "these are MathJSON, lists that begin with"),
    "twice.json": ('[{"tree": "x+y", "tree": "x*y"}]', 'the key "tree" occurs twice in an object'),
    "numbers.txt": ("1\n2.5\n", "single words or numbers, not trees"),
    "prose.txt": ("The cat sleeps.\nIt rains.\n", "is in a known notation"),
    "script.txt": (
        "x = 1\nprint(x)\nimport os\n",
        "no notation for trees was recognized in it; name the format by a suffix",
    ),
    "headless.csv": ("x+y,a\nx*y,b\n", "no column 'tree'"),
    "comma.tsv": ("tree,label\nx+y,a\n", "separated by commas; name it .csv"),
    "utf16.txt": ("tree\tlabel\nx\ta\n".encode("utf-16-le"), "binary data; expected UTF-8 text"),
    "mac.tsv": (b"tree\tlabel\rx + y\ta\r", "lines end with a carriage return alone; save the file with line feeds"),
    "header.tsv": (b"tree\tlabel\n", "no trees at the beginning of the file: it has no records"),
    "binary": (b"\x00\x01\x02", "binary data; expected UTF-8 text"),
    "really.gz": (b"tree\tlabel\n", "not a .gz file, or a damaged one"),
    "cut.tsv.gz": (gzip.compress(b"tree\tlabel\n" + b"x+y\ta\n" * 99)[:30], "not a .gz file, or a damaged one"),
    "broken.json": ('[{"tree": "x+y"},\n{"tree" "x"}]', "invalid JSON: line 2, column 9"),
    "numbers.json": ("[1, 2]", "found int; expected text"),
    "empty.json": ("[]", "an empty array; expected an array of records or trees"),
    "wrapped.json": (
        '{"data": [{"tree": "x+y"}],\n"version": 1}',
        "if it has the records in one of its keys, give a file with these alone",
    ),
    "empty.csv": ("", "the file is empty"),
    "table.parquet.gz": (
        gzip.compress(b"PAR1"),
        "a compressed file; unpack it, because Parquet already compresses its columns",
    ),
    "texts/a.md": (
        "# x\n",
        "no files of trees in this folder; .conllu, .py, .c, .cpp, .java, .js, .xml, .html, .nwk, .mrg files are read",
    ),
}


def _given(path: Path) -> Path:
    """What is read: the file, or the folder that the name begins with."""
    below = path.parts[path.parts.index("kinds") + 1 :]
    return path if len(below) == 1 else Path(*path.parts[: path.parts.index("kinds") + 2])


def _file(folder: Path, name: str, content: str | bytes) -> Path:
    path = folder / "kinds" / name
    path.parent.mkdir(parents=True)
    return _given(written(path.parent, path.name, content))


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-be"])
@pytest.mark.parametrize("name", ["sheet.txt", "sheet.tsv", "sheet.tsv.gz"])
def test_unicode_text_of_a_spreadsheet_is_read(name: str, encoding: str, tmp_path: Path) -> None:
    rows = "tree\tlabel\r\n" + "".join(f"x{k} + é\t{k % 2}\r\n" for k in range(4_000))
    content = rows.encode(encoding) if encoding == "utf-16" else codecs.BOM_UTF16_BE + rows.encode(encoding)
    path = tmp_path / name
    path.write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
    data = TreeDataset.from_file(path)
    assert len(data) == 4_000
    assert data.num_nodes == 12_000
    assert "é" in data.vocabulary().tokens
    path.write_bytes(gzip.compress(content[:-1]) if name.endswith(".gz") else content[:-1])
    with pytest.raises(ValueError, match="damaged UTF-16 text"):
        TreeDataset.from_file(path)


@pytest.mark.parametrize("name", READ)
def test_a_kind_of_file_is_read(name: str, tmp_path: Path) -> None:
    content, count, notation, labels = READ[name]
    data = TreeDataset.from_file(_file(tmp_path, name, content), workers=0)
    assert (len(data), data.bad, data.reading.notation) == (count, [], notation)
    assert labels is None or data.labels == labels


@pytest.mark.parametrize("name", ["t.tsv", "t.csv", "t.jsonl", "t.json", "t.parquet"])
@pytest.mark.parametrize("columns", ["tree left right", "left right", "tree right"])
def test_a_record_is_a_pair_if_it_has_both_trees_of_one_and_no_single_tree(
    columns: str, name: str, tmp_path: Path
) -> None:
    row = {column: text for column, text in (("tree", "x+y"), ("left", "x"), ("right", "y")) if column in columns}
    path, separator = tmp_path / name, "\t" if name == "t.tsv" else ","
    if name == "t.parquet":
        pyarrow = pytest.importorskip("pyarrow")
        pytest.importorskip("pyarrow.parquet").write_table(pyarrow.Table.from_pylist([row]), path)
    elif name.startswith("t.j"):
        path.write_text(json.dumps([row] if name == "t.json" else row) + "\n", encoding="utf-8")
    else:
        path.write_text("\n".join([separator.join(row), separator.join(row.values())]) + "\n", encoding="utf-8")
    found = TreeDataset.from_file(path, cached=False)[0][0]
    assert found == (read_infix("x+y") if "tree" in columns else (read_infix("x"), read_infix("y")))


@pytest.mark.parametrize("name", REFUSED)
def test_a_kind_of_file_is_refused_with_what_would_be_right(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    content, message = REFUSED[name]
    path = _file(tmp_path, name, content)
    assert main(["inspect", str(path)]) == 1
    err = capsys.readouterr().err
    assert message in err
    assert str(path) in err


@pytest.mark.parametrize("kind", FORMATS)
def test_every_format_has_an_example(kind: type[Format], tmp_path: Path) -> None:
    for number, (name, (content, *_)) in enumerate(READ.items()):
        if type(open_format(_file(tmp_path / str(number), name, content), Reading())) is kind:
            return
    need_packages = kind in (Parquet, SMILESLines, HTMLSources) or issubclass(kind, CodeSources)
    assert need_packages, f"add a file that {kind.__name__} reads to READ here"


def test_there_are_as_many_kinds_as_promised() -> None:
    assert len(READ) + len(REFUSED) >= 40


def test_several_kinds_in_a_folder_are_refused(tmp_path: Path) -> None:
    written(tmp_path, "a.py", "x = 1\n")
    written(tmp_path, "b.conllu", CONLLU)
    with pytest.raises(ValueError, match=r"several kinds of files, \.conllu/\.conll and \.py; give"):
        TreeDataset.from_file(tmp_path)


def test_a_bad_record_of_a_folder_is_named_by_its_file_and_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    written(tmp_path, "a.conllu", CONLLU)
    written(tmp_path, "b.conllu", CONLLU.replace("-1", "-2") + "1\tbroken\n")
    data = TreeDataset.from_file(tmp_path)
    assert (len(data), data.files) == (4, ["a.conllu", "a.conllu", "b.conllu", "b.conllu"])
    assert [bad.where for bad in data.bad] == ["b.conllu, line 9"]
    assert main(["inspect", str(tmp_path), "--strict"]) == 1
    assert f"{tmp_path / 'b.conllu'}, line 9: found 2 columns" in capsys.readouterr().err


def test_trees_of_a_folder_know_their_files(tmp_path: Path) -> None:
    for name in ("a.mrg", "b.mrg"):
        written(tmp_path, name, PENN)
    data = TreeDataset.from_file(tmp_path)
    assert data.files == ["a.mrg", "a.mrg", "b.mrg", "b.mrg"]
    assert data.ids[2] == "b.mrg:1"


def test_a_broken_row_of_a_csv_file_is_named_by_its_lines_and_the_rest_is_read(tmp_path: Path) -> None:
    text = 'tree,label\nx+y,a\nx,y,z\n"x,a\n' + "y+x,b\n" * 3
    data = TreeDataset.from_file(written(tmp_path, "t.csv", text))
    assert (data.labels, data.lines) == (["a"], [2])
    assert [bad.line for bad in data.bad] == [3, 4]
    assert data.bad[0].message == "3 columns; expected 2; put a field that contains commas in quotes"
    assert data.bad[1].message.endswith("(lines 4 to 7)")


def test_a_broken_tree_of_several_lines_loses_itself_alone(tmp_path: Path) -> None:
    text = "( (S\n  (NP (DT The)\n\n" + PENN
    data = TreeDataset.from_file(written(tmp_path, "t.mrg", text))
    assert (data.lines, [bad.line for bad in data.bad]) == ([4, 8], [1])
    assert "no end of the bracket that opens here" in data.bad[0].message
    long = TreeDataset.from_file(written(tmp_path, "t.mrg", text), max_line=50)
    assert [bad.line for bad in long.bad] == [1, 4]
    assert "a tree of more than 50 bytes" in long.bad[1].message


@pytest.mark.parametrize(("further", "left_out"), [(-1, 0), (0, 0), (1, 1)])
def test_a_source_file_may_have_as_many_bytes_as_the_limit(further: int, left_out: int, tmp_path: Path) -> None:
    text = "x = 1  # é\n"
    for name, own in (("a.py", text), ("b.py", "y")):
        (tmp_path / name).write_text(own, encoding="utf-8")
    data = TreeDataset.from_file(tmp_path, max_line=len(text.encode()) - further, cached=False)
    assert (len(data), len(data.bad)) == (2 - left_out, left_out)


def test_files_of_one_name_in_two_folders_are_two_files_and_bad_records_come_file_by_file(tmp_path: Path) -> None:
    sources = tmp_path / "sources"
    for name, text in (("a/same.py", "x = 1\n"), ("b/same.py", "y = 2\n"), ("b/c/same.py", "z = (\n"), ("d.py", "(")):
        (sources / name).parent.mkdir(parents=True, exist_ok=True)
        (sources / name).write_text(text, encoding="utf-8")
    data = TreeDataset.from_file(sources, cached=False)
    assert data.files == ["a/same.py", "b/same.py"]
    assert [bad.file for bad in data.bad] == ["b/c/same.py", "d.py"]
    sentence, treebank = "1\tcats\t_\tNOUN\t_\t_\t0\troot\t_\t_\n\n", tmp_path / "treebank"
    for name in ("a/same.conllu", "b/same.conllu", "same.conllu"):
        (treebank / name).parent.mkdir(parents=True, exist_ok=True)
        (treebank / name).write_text(sentence, encoding="utf-8")
    assert TreeDataset.from_file(treebank, cached=False).files == ["a/same.conllu", "b/same.conllu", "same.conllu"]


def test_bad_records_are_in_the_order_of_files_and_then_of_lines() -> None:
    bad = [Bad(2, "", "b"), Bad(10, "", "a"), Bad(1, "", "b"), Bad(9, "", "a"), Bad(3, "", "")]
    assert [(each.file, each.line) for each in in_order(bad)] == [("", 3), ("a", 9), ("a", 10), ("b", 1), ("b", 2)]


GOOD = "(S (NP (DT the) (NN cat)) (VP (VBZ sleeps)))\n"


@pytest.mark.parametrize(
    ("text", "trees", "bad"),
    [
        (f"{GOOD}(S (NP (DT the))\n\n(VP (VBZ sleeps))\n)\n{GOOD}", 2, [2]),
        (f"(S\n\n(NP (DT the))\n\n(VP (VBZ sleeps))\n\n)\n{GOOD}{GOOD}", 2, [1]),
        (f"(S\n\n(NP (DT the))\n\n(VP\n\n(VBZ sleeps)\n))\n{GOOD}{GOOD}", 2, [1]),
        (f"(S (NP (DT the))\n\n{GOOD * 3}", 3, [1]),
        (f"(S (NP (DT the))\n\n{GOOD * 300})\n{GOOD}", 301, [1, 303]),
        (f"(S (NP (DT the))\n\n  (VP (VBZ sleeps)))\n{GOOD}", 2, []),
    ],
)
def test_parts_of_a_tree_with_an_empty_line_are_no_trees(text: str, trees: int, bad: list[int], tmp_path: Path) -> None:
    data = TreeDataset.from_file(written(tmp_path, "t.mrg", text), workers=0)
    assert (len(data), [each.line for each in data.bad]) == (trees, bad)


def test_a_source_file_that_cannot_be_opened_is_named_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("a.py", "b.py"):
        written(tmp_path, name, "x = 1\n")

    def read(path: Path) -> bytes:
        if path.name == "a.py":
            raise PermissionError(13, "Permission denied", str(path))
        return b"x = 1\n"

    monkeypatch.setattr(Path, "read_bytes", read)
    data = TreeDataset.from_file(tmp_path, workers=0, cached=False)
    assert [(bad.file, bad.message) for bad in data.bad] == [("a.py", "Permission denied")]

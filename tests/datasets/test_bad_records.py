"""What is bad about a record: it is left out, with its line and what was expected."""

import json
import lzma
import re
import tracemalloc
from collections.abc import Iterator
from itertools import product
from pathlib import Path

import pytest
from own_trees import written

from dgltree import TreeDataset
from dgltree.datasets.formats import source
from dgltree.datasets.formats.blocks import OVERLONG_RECORD
from dgltree.datasets.formats.conllu import CoNLLU
from dgltree.datasets.formats.source import cut_into_chunks


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
    messages = {bad.line: bad.message for bad in data.bad}
    assert sorted(messages) == [3, 4, 5, 6, 7, 8, 10]
    for line, part in {
        3: "tree: not a valid infix tree: line 1, column 3",
        4: "2 columns, separated by tabs; expected 3",
        5: "the line is empty",
        6: "byte 0xff in column 3 is not UTF-8",
        7: "nothing in the column 'tree'; expected a tree",
        8: "the id 'a' was already used in line 2; each record needs its own id",
        10: "longer than 100 bytes, the limit (--max-line)",
    }.items():
        assert part in messages[line]
    with pytest.raises(ValueError, match=r"trees.tsv, line 3: tree: not a valid infix tree"):
        TreeDataset.from_file(path, max_line=100, strict=True)


def test_a_record_of_another_kind_than_the_first_is_bad(tmp_path: Path) -> None:
    records = [{"tree": "x"}, {"left": "x", "right": "y"}, {"tree": "y"}, {"tree": 3}]
    path = written(tmp_path, "trees.jsonl", "".join(json.dumps(record) + "\n" for record in records))
    data = TreeDataset.from_file(path)
    assert (len(data), data.each, data.lines) == (2, 1, [1, 3])
    assert [bad[0] for bad in data.bad] == [2, 4]
    assert "found int; expected text" in data.bad[1].message


def test_labels_that_would_break_a_line_of_answers_are_refused(tmp_path: Path) -> None:
    labels = ("fine", "a\tb", "a\nb", "\ud800", "\x1b[31m", "a\x00", "\x7f", "a\u2028b", 3)
    records = [{"tree": "x", "label": label} for label in labels]
    data = TreeDataset.from_file(written(tmp_path, "t.jsonl", "".join(json.dumps(r) + "\n" for r in records)))
    assert data.labels == ["fine", "3"]
    assert len(data.bad) == 7
    assert all("another control character or half of a surrogate pair" in bad.message for bad in data.bad)
    assert all(bad.message.isprintable() for bad in data.bad)
    tree = written(tmp_path, "t.txt", "(a\x1b[31m (b c))\n(a (b c))\n")
    data = TreeDataset.from_file(tree, notation="treebank")
    assert (data.labels, [bad.line for bad in data.bad]) == (["a"], [1])  # also one that stands in a tree


@pytest.mark.parametrize(
    ("column", "value"),
    [
        *product(["label", "id", "split"], ['["l"]', "{}", "NaN", "-Infinity", "1e999"]),
        *product(["id", "split"], ["true", "false"]),
    ],
)
def test_what_is_no_text_and_no_finite_number_is_no_label(column: str, value: str, tmp_path: Path) -> None:
    path = written(tmp_path, "t.jsonl", f'{{"tree": "x"}}\n{{"tree": "y", "{column}": {value}}}\n')
    data = TreeDataset.from_file(path)
    assert data.lines == [1]
    assert re.search(r"expected a (string or a )?finite number$", data.bad[0].message)
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
    assert data.bad[0].message.startswith("the name of the file: 'b\\n.py' contains a tab, a line break")
    assert data.bad[0].where == "b\\n.py"


def test_a_broken_byte_in_a_dependency_treebank_loses_one_sentence(tmp_path: Path) -> None:
    good = b"1\tx\t_\t_\t_\t_\t0\troot\t_\t_\n\n"
    text = good + good.replace(b"x", b"\xff") + b"# caf\xe9\n" + good
    data = TreeDataset.from_file(written(tmp_path, "t.conllu", text))
    assert data.lines == [1, 5]
    assert [bad[:2] for bad in data.bad] == [(3, "byte 0xff in column 3 is not UTF-8")]


def test_a_sentence_without_an_end_is_bad_and_never_held(tmp_path: Path) -> None:
    row = "1\tx\t_\t_\t_\t_\t0\troot\t_\t_\n"
    comments = "# no word\n" * 10
    path = written(tmp_path, "t.conllu", f"{row}\n{row * 200}\n\n{row}\n{comments}\n")
    data = TreeDataset.from_file(path, max_line=1000)
    assert data.lines == [1, 205]
    assert [bad[:2] for bad in data.bad] == [
        (3, "a sentence of more than 1,000 bytes, the limit (--max-line)"),
        (207, "found a sentence without words; expected at least one"),
    ]
    exact = TreeDataset.from_file(path, max_line=len(row) - 1)
    assert exact.lines == [1, 205]

    def endless() -> Iterator[bytes]:
        for _ in range(300_000):
            yield row.encode() + b""  # an object of its own

    tracemalloc.start()
    try:
        [chunk] = cut_into_chunks(CoNLLU.blocks(endless(), 1000), lambda block: sum(map(len, block.lines)))
        assert tracemalloc.get_traced_memory()[1] < 100_000
    finally:
        tracemalloc.stop()
    assert chunk.raw == [(1, [OVERLONG_RECORD], "")]


def test_one_bad_comment_of_a_sentence_loses_that_sentence_alone(tmp_path: Path) -> None:
    row = "1\tx\t_\t_\t_\t_\t0\troot\t_\t_\n\n"
    path = written(tmp_path, "t.conllu", f"# label = a\x1b\n{row}# label = b\n{row}")
    data = TreeDataset.from_file(path)
    assert (data.labels, [bad.line for bad in data.bad]) == (["b"], [1])


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


def test_a_line_without_an_end_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    import io

    monkeypatch.setattr(source, "ENDLESS", 1000)
    assert list(source.lines_of(io.BytesIO(b"x" * 1000 + b"\nlast"), 100)) == [source.TOO_LONG, b"last"]
    with pytest.raises(
        ValueError, match="line 2 has more than 1,000 bytes and no line break; expected one tree per line"
    ):
        list(source.lines_of(io.BytesIO(b"short\n" + b"x" * 2000), 100))
    with lzma.open(tmp_path / "spaces.json.xz", "wb") as file:
        file.write(b" " * 3_000_000)
    with pytest.raises(ValueError, match="no line break"):
        TreeDataset.from_file(tmp_path / "spaces.json.xz")

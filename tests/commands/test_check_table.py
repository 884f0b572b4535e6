"""Class sets: tables of answers, marked row by row."""

import csv
import io
import json
from pathlib import Path

import pytest

from dgltree.commands.check_table import escape_formula, read_table
from dgltree.commands.main import main

ROWS = [
    ("anna", "x^2 = 4, x = _", "2; -2", "right", "2"),
    ("ben", "x^2 = 4, x = _", "2", "incomplete", "1"),
    ("cem", "x^2 = 4, x = _", "", "empty", "0"),
    ("dora", "x^2 = 4, x = _", "2; 5", "wrong", "0"),
    ("emil", "x^2 = ", "2", "not-asked", "0"),
    ("fay", "", "2", "not-asked", "0"),
    ("gus", "x^2 = 4, x = _", "2 or or", "unreadable", "0"),
    ("=cmd()", "0,5x = 1, x = _", "'=2", "right", "2"),
    ("ina", "0,5x = 1, x = _", "=1+1", "right", "2"),
    ("jo", "0,5x = 1, x = _", "-2", "wrong", "0"),
    ("kim", "(x + 1)^2 = _", "-x + y\n", "wrong", "0"),
]
OPTIONS = ["--question-column", "q", "--answer-column", "a", "--id-column", "pupil", "--points", "right=2,incomplete=1"]


def write(path: Path, delimiter: str = ",", encoding: str = "utf-8") -> Path:
    with path.open("w", encoding=encoding, newline="") as file:
        writer = csv.writer(file, delimiter=delimiter)
        writer.writerows([("pupil", "q", "a"), *(row[:3] for row in ROWS)])
    return path


def rows_of(text: str, delimiter: str = ",") -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text), delimiter=delimiter))


def test_every_row_of_a_table_has_its_mark_and_no_formula(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table = str(write(tmp_path / "answers.csv"))
    assert main(["check", "--table", table, *OPTIONS, "--processes", "2"]) == 1
    found = capsys.readouterr()
    marked = rows_of(found.out)
    assert [(row["mark"], row["points"]) for row in marked] == [row[3:] for row in ROWS]
    assert [row["q"] for row in marked] == [row[1] for row in ROWS]
    cells = [cell for row in marked for cell in row.values()]
    assert not [cell for cell in cells if cell.startswith(("=", "@", "+", "\t", "-x"))]
    assert marked[7]["pupil"] == "'=cmd()" and marked[8]["a"] == "'=1+1"
    assert "row 5 (emil), 'x^2 = ': not asked: line 1" in found.err and "row 7 (gus)" in found.err
    assert main(["check", "--table", table, *OPTIONS, "--processes", "1"]) == 1
    assert capsys.readouterr().out == found.out
    (tmp_path / "marked.csv").write_text(found.out, encoding="utf-8")
    assert main(["check", "--table", str(tmp_path / "marked.csv"), *OPTIONS]) == 1  # marks have a column already
    assert "the table already has a column mark" in capsys.readouterr().err


@pytest.mark.parametrize(("name", "delimiter", "encoding"), [
    ("a.tsv", "\t", "utf-8"), ("a.csv", ";", "utf-8-sig"), ("a.csv", ",", "utf-16"), ("a.csv", ";", "cp1252"),
])  # fmt: skip
def test_tables_of_spreadsheets_are_read(tmp_path: Path, name: str, delimiter: str, encoding: str) -> None:
    more = ["cp1252"] if encoding == "cp1252" else []
    assert len(read_table(str(write(tmp_path / name, delimiter, encoding)), *more).rows) == len(ROWS)


def test_a_parquet_file_is_marked_and_json_has_the_rows(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    answers = ["2/4", None, "0,333"]
    parquet.write_table(arrow.table({"answer": answers, "n": [1, 2, 3]}), tmp_path / "a.parquet")
    out = tmp_path / "marked.parquet"
    given = ["check", "1/2 = _", "--table", str(tmp_path / "a.parquet"), "--form", "lowest-terms"]
    assert main([*given, "--to", str(out)]) == 0
    found = parquet.read_table(out).to_pydict()
    assert (found["n"], found["mark"], found["answer"]) == ([1, 2, 3], ["form", "empty", "wrong"], answers)
    assert main([*given, "--json"]) == 0
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [(line["row"], line["mark"]) for line in lines] == [(1, "form"), (2, "empty"), (3, "wrong")]


@pytest.mark.parametrize(("content", "arguments", "message"), [
    (b"frage,answer\n1/2 = _,1/2\n", [], "there is no column 'question' (known: answer, frage)"),
    (b"question,answer\n1/2 = _,0,5\n", [], "row 1 below the header has 3 cells, but the header has 2"),
    (b"question;answer\nx^2 = 4, x = _;2;-2\n", [], "write an answer that contains a semicolon in quotes"),
    (b"question,answer,answer\n1/2 = _,1,1/2\n", [], "there are 2 columns 'answer'"),
    (b"question,answer\n1/2 = _,L\xf6sung\n", [], "byte 0xf6 is not UTF-8 text"),
    (b"", [], "the table is empty"),
    (b"question,answer\n1/2 = _,1/2\n", ["--encoding", "klingon"], "unknown encoding 'klingon'"),
    (b"question,answer\n1/2 = _,1/2\n", ["--points", "good=1"], "there is no mark 'good'"),
    (b"question,answer\n1/2 = _,1/2\n", ["--sentences", "{}"], "no such file"),
])  # fmt: skip
def test_a_table_that_cannot_be_read_is_an_error_for_people(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], content: bytes, arguments: list[str], message: str
) -> None:
    (tmp_path / "a.csv").write_bytes(content)
    assert main(["check", "--table", str(tmp_path / "a.csv"), *arguments]) != 0
    found = capsys.readouterr()
    assert message in found.err and not found.out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--table", "a.csv", "--to", "marks.xlsx"], "written as .csv, .tsv or .parquet"),
        (
            ["--table", "a.csv", "--to", "marks.csv", "--json"],
            "--json prints to the standard output; redirect it to a file with >",
        ),
        (["1 = _", "2", "--table", "a.csv"], "--table contains the answers"),
        (["1 = _", "2", "--to", "a.csv"], "--to is for --table"),
        ([], "give an equation and answers, or --table"),
        (["1 = _"], "give an equation and answers, or --table"),
        (["1 = _", "1", "--seconds", "0"], "is not a number of seconds"),
        (["1 = _", "1", "--rounded=many"], "is not a whole number of decimal places"),
    ],
)
def test_options_that_do_not_go_together_are_refused(
    capsys: pytest.CaptureFixture[str], arguments: list[str], message: str
) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(["check", *arguments])
    assert stopped.value.code == 2 and message in capsys.readouterr().err


def test_answers_with_the_other_decimal_mark_than_their_question_are_warned_of(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "a.csv").write_text('answer\n1.5\n1.5\n"1,5"\n', encoding="utf-8")
    assert main(["check", "0,5 + 1 = _", "--table", str(tmp_path / "a.csv")]) == 0
    assert (
        "'0,5 + 1 = _' writes decimals with a comma, but 2 of 3 answers use the other mark" in capsys.readouterr().err
    )


def test_an_answer_that_is_very_long_is_refused_at_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "a.csv").write_text("answer\n" + "1+" * 50_000 + "1\n2\n", encoding="utf-8")
    assert main(["check", "2 = _", "--table", str(tmp_path / "a.csv")]) == 1
    assert [row["mark"] for row in rows_of(capsys.readouterr().out)] == ["unreadable", "right"]


def test_a_number_with_a_sign_is_no_formula() -> None:
    assert [escape_formula(cell) for cell in ("-3", "+0,5", "-.5", "=1", "-x", "@a", "x")] == [
        "-3", "+0,5", "-.5", "'=1", "'-x", "'@a", "x",
    ]  # fmt: skip


def test_rounded_with_a_number_behind_it_is_refused_with_both_readings(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "1/3 = _", "--rounded", "3"]) != 0
    assert "can mean 3 decimal places or the answer 3" in capsys.readouterr().err
    assert main(["check", "1/3 = _", "--rounded", "0.333"]) == 0
    assert main(["check", "1/3 = _", "--rounded=3", "0.333"]) == 0
    assert "right, rounded" in capsys.readouterr().out


def test_a_table_of_a_spreadsheet_with_its_own_first_line_and_byte_order_mark_is_written_with_one(
    tmp_path: Path,
) -> None:
    (tmp_path / "a.csv").write_bytes(b"\xef\xbb\xbfsep=;\r\nanswer;b\r\n0,5;x,y,z\r\n")
    assert main(["check", "1/2 = _", "--table", str(tmp_path / "a.csv"), "--to", str(tmp_path / "b.csv")]) == 0
    written = (tmp_path / "b.csv").read_bytes()
    assert written.startswith(b"\xef\xbb\xbfanswer;b;mark;") and b"\n0,5;x,y,z;right;" in written

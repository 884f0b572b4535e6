"""What tools are given: JSON by its schema, a table in HTML, and LaTeX."""

import json
from html.parser import HTMLParser
from importlib.resources import files
from typing import Any

import pytest

import dgltree
from dgltree.commands.main import main
from dgltree.equations.completion.result import Completion, Filler
from dgltree.equations.truth.verdict import Doubt, undecided
from dgltree.equations.typed import read_typed_expression
from dgltree.read.infix import read_equation, read_infix

jsonschema = pytest.importorskip("jsonschema", reason="the test extra is not installed")
SCHEMA = json.loads((files("dgltree") / "data" / "completion.schema.json").read_text(encoding="utf-8"))
LINES = [
    "x^2 - 5x + 6 = (x - _1)(x - _2)",
    "abs(x - 1) = _",
    "sqrt(1 - _) = cos(x)",
    "x^2 + 2x + 5 = 0, x = _",
    "factor x^2 - 4",
    "0*_ = 1",
    "x + 1",
]


@pytest.fixture(scope="module")
def printed() -> list[dict[str, Any]]:
    capture = pytest.MonkeyPatch()
    lines: list[str] = []
    capture.setattr("builtins.print", lambda text="", **_: lines.append(text))
    try:
        main(["complete", *LINES, "--json", "--budget", "2000"])
    finally:
        capture.undo()
    return [json.loads(line) for line in lines if line.startswith("{")]


def test_every_line_of_json_follows_the_schema(printed: list[dict[str, Any]]) -> None:
    assert [answer["equation"] for answer in printed] == LINES
    checker = jsonschema.Draft202012Validator(SCHEMA)
    checker.check_schema(SCHEMA)
    for answer in printed:
        assert list(checker.iter_errors(answer)) == []
        assert list(checker.iter_errors({**answer, "another": 1}))
    assert list(checker.iter_errors({**printed[0], "fillers": [{"blanks": []}]}))


def test_each_blank_has_infix_and_the_same_in_latex(printed: list[dict[str, Any]]) -> None:
    first = printed[0]["fillers"][0]
    assert [blank["name"] for blank in first["blanks"]] == ["_1", "_2"] == printed[0]["blanks"]
    for answer in printed[:-1]:
        for row in answer["fillers"]:
            for text in (*row["blanks"], *row["forms"]):
                assert read_typed_expression(text["latex"]) == read_typed_expression(text["infix"])
    assert {blank["infix"] for row in printed[3]["fillers"] for blank in row["blanks"]} == {"-1 + 2*i", "-1 - 2*i"}
    assert (printed[3]["unknown"], printed[3]["imaginary_unit"]) == ("x", "i")


class Tags(HTMLParser):
    """The tags that are open, and all that needs something from elsewhere."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.cells: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert not attrs and tag not in ("script", "link", "img", "iframe", "style")
        self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open[-1] == "code":
            self.cells.append(data)


def test_a_notebook_has_a_table_and_latex() -> None:
    found = dgltree.complete("x^2 - 2x - 1 = 0, x = _")
    tags = Tags()
    tags.feed(found._repr_html_())
    assert tags.open == []
    assert tags.cells[0] == "x^2 - 2*x - 1 = 0, x = _"
    assert "x = 1 + sqrt(2)" in tags.cells
    lines = found._repr_latex_().removesuffix(" \\end{gathered}$").split(" \\\\ ")
    assert sorted(lines[1:]) == ["x = 1 + \\sqrt{2}", "x = 1 - \\sqrt{2}"]


def test_the_table_is_below_50_kilobytes_and_escapes_what_it_shows() -> None:
    long = read_infix(" + ".join(f"a{number}*b{number}" for number in range(60)))
    filler = Filler((long,), undecided("<b>", Doubt.NOT_READ), "<script>", forms=(long,) * 8)
    table = Completion(read_equation("x = _"), ("_",), (filler,) * 100, 0, 0.0, False, 0)._repr_html_()
    assert len(table.encode()) < 50_000
    assert "<script>" not in table and "&lt;script&gt;" in table


def test_answers_have_the_decimal_mark_of_the_question(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["complete", "0,5 + 0,25 = _", "0.5 + 0.25 = _"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line for line in lines if "expressions tried" not in line] == [
        "0,5 + 0,25 = _",
        "   1  0,75  holds everywhere (proved)  (a number)",
        "0.5 + 0.25 = _",
        "   1  0.75  holds everywhere (proved)  (a number)",
    ]

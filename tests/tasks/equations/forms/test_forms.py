"""Groups of forms, and the model that learns from them."""

import json
from pathlib import Path
from random import Random

import pytest

pytest.importorskip("pyarrow", reason="the train extra is not installed")
pytest.importorskip("jsonargparse", reason="the train extra is not installed")

from dgltree.equations.pretrained.shipped import form_scorer
from dgltree.equations.ranking.form_scorer import FormScorer
from dgltree.models import PairModel, load
from dgltree.read.infix import read_equation, read_infix
from dgltree.trees.equation import BLANK
from dgltree.trees.tree import Tree
from tasks.equations.canonical import digest
from tasks.equations.forms import groups as module
from tasks.equations.forms.groups import FormGroup, is_test, lines, questions, read, searched, write
from tasks.equations.forms.train import report, train
from tasks.equations.generator.held_out import held_out
from tasks.equations.generator.rewrite import in_growing


def asked(text: str) -> set[Tree]:
    """What is blanked of a line, over many draws."""
    line, random = in_growing(read_equation(text)), Random(0)
    return {right for _ in range(40) for _, right in questions(line, random)}


def test_parts_that_a_person_may_ask_for_are_blanked() -> None:
    parts = asked("cosh(x)^2 = 1 + sinh(x)^2")
    assert {read_infix("cosh(x)^2"), read_infix("sinh(x)^2"), read_infix("1 + sinh(x)^2"), read_infix("1")} <= parts
    assert read_infix("x^-1") not in asked("y/x = z"), "the exponent of a quotient"
    assert read_infix("-1") not in asked("y - x = z"), "a sign"
    assert read_infix("x + 2*x") not in asked("x + 2*x = 3*x"), "a plainer side made longer"
    assert read_infix("3*x") in asked("x + 2*x = 3*x")


def test_a_blank_comes_with_what_stood_there() -> None:
    line = in_growing(read_equation("tan(x)*cosh(y) = w"))
    for equation, right in questions(line, Random(1)):
        assert equation.fill(right) == read_equation("tan(x)*cosh(y) = w")
        assert sum(node == BLANK for side in equation for node in side.preorder()) == 1


def test_what_is_held_out_is_not_asked() -> None:
    random = Random(0)
    equations = [equation for line in lines() for equation, _ in questions(line, random)]
    assert len(equations) > 900
    assert not {digest(equation) for equation in equations} & held_out("elementary")
    assert digest(read_equation("sin(x)^2 + _ = 1")) in held_out("elementary")


def test_a_fifth_of_the_lines_is_for_tests() -> None:
    assert 0.12 < sum(map(is_test, lines())) / len(lines()) < 0.28


def test_a_search_gives_other_forms_without_copies_of_a_side() -> None:
    right = [read_infix("x - 3")]
    found = searched(read_equation("x^2 - 5*x + 6 = (x - 2)*_"), right)
    assert found[0] == read_infix("x - 3")
    assert read_infix("-3 + x") in found
    found = searched(read_equation("x + 2*x = _"), [read_infix("3*x")])
    assert read_infix("3*x") in found
    assert not {read_infix("x + 2*x"), read_infix("2*x + x")} & set(found)


@pytest.fixture(scope="module")
def groups(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Groups as a file, some of them for tests."""
    path = tmp_path_factory.mktemp("forms") / "groups.jsonl"
    rows = [
        (f"{a}*x - {a}*{b} = {a}*_", (f"x - {b}",), (f"-{b} + x", f"x - {b}", f"-({b} - x)"), b == 5)
        for a in (2, 3, 4)
        for b in (1, 2, 4, 5, 6)
    ]
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
    return path


def test_forms_are_those_found_and_the_right_ones(groups: Path) -> None:
    group = read(groups)[0]
    assert group.forms == {"-1 + x": False, "x - 1": True, "-(1 - x)": False}
    assert FormGroup("x = _", ("x*2",), ("2*x",), False).forms == {"2*x": False, "x*2": True}


def test_a_model_learns_which_form_is_right(groups: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("one", "other"):
        train(groups, tmp_path / name, hidden_size=8, steps=60, batch_size=4)
    assert (tmp_path / "one").read_bytes() == (tmp_path / "other").read_bytes(), "a seed gives the same model"
    rows = {line[:14].strip(): line[14:].split()[:2] for line in capsys.readouterr().out.splitlines()}
    assert rows["the model"] == ["1.000", "1.000"]
    assert rows["chance"] == ["0.333", "0.333"]
    assert rows["short to long"] == ["0.000", "0.000"], "the shortest that the search found first"
    model = load(tmp_path / "one")
    assert isinstance(model, PairModel)
    found = FormScorer(model.float()).scores(read_equation("_ + 7 = u"), [read_infix("-7 + u"), read_infix("u - 7")])
    assert found[1] > found[0], "a literal that it never saw"


def test_writing_groups_continues_where_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    some = lines()[::90]
    monkeypatch.setattr(module, "lines", lambda: some)
    monkeypatch.setattr(module, "searched", lambda equation, right: [read_infix("x"), read_infix("1*x")])
    write(tmp_path / "whole", 3)
    whole = (tmp_path / "whole").read_text().splitlines(keepends=True)
    assert len(whole) > 5
    (tmp_path / "part").write_text("".join(whole[:2]))
    write(tmp_path / "part", 3)
    assert (tmp_path / "part").read_text() == (tmp_path / "whole").read_text()


def test_the_report_of_the_shipped_scorer(groups: Path) -> None:
    lines = report(form_scorer(), read(groups)).splitlines()
    assert len(lines) == 4
    assert float(lines[1].split()[2]) > 0.9

"""What a completion prints and gives to programs, from values that are given: whole lines, and every number."""

from collections.abc import Sequence

import pytest

from dgltree import Tree, read_equation, read_infix
from dgltree.equations.completion.lines import FORMS, Lines, _Line
from dgltree.equations.completion.result import Completion, Filler, describe_completion
from dgltree.equations.search.clock import Clock
from dgltree.equations.search.verdicts import Verdicts
from dgltree.equations.truth import verdict as verdicts
from dgltree.equations.truth.verdict import Counterexample, Domain, Doubt, Grade, Verdict, undecided
from dgltree.trees.equation import blank

EQUATION = read_equation("x + _ = 2*x")
HOLDS, FAILS = Verdict(Grade.PROVED, Domain.EVERYWHERE), Verdict(Grade.REFUTED)
X, Y = Tree("Symbol", token="x"), Tree("Symbol", token="y")


def completion(fillers: Sequence[Filler], **other: object) -> Completion:
    known = {"tried": 12_345, "seconds": 1.26, "stopped": False, "memory": 12_600_000}
    return Completion(EQUATION, ("_",), tuple(fillers), **{**known, **other})  # type: ignore[arg-type]


def test_each_line_has_its_place_verdict_score_and_source_and_the_last_one_the_effort() -> None:
    doubled = read_infix("2*x - x")
    found = completion([Filler((X,), HOLDS, "search", forms=(doubled,)), Filler((doubled,), FAILS, "list", 0.0)])
    rows = [
        "   1  x        holds everywhere (proved)  (search)",
        "   2  2*x - x  does not hold  (score +0.000, list)",
        "      (12,345 expressions tried in 1.3 s, 13 MB)",
    ]
    assert found.lines() == rows
    assert found.lines(forms=True) == [rows[0], "      = 2*x - x", *rows[1:]]
    assert str(found) == "\n".join(["x + _ = 2*x", *rows])


@pytest.mark.parametrize(
    ("memory", "stopped", "effort"),
    [
        (0, False, "12,345 expressions tried in 1.3 s"),
        (1_000_000, False, "12,345 expressions tried in 1.3 s, 1 MB"),
        (
            2_600_000_000,
            True,
            "12,345 expressions tried in 1.3 s, 2600 MB; stopped by the time limit, so there may be better expressions",
        ),
    ],
)  # fmt: skip
def test_memory_is_in_millions_of_bytes(memory: int, stopped: bool, effort: str) -> None:
    assert completion([], memory=memory, stopped=stopped).lines() == [
        "      nothing was found that holds",
        f"      ({effort})",
    ]


def test_guesses_and_the_imaginary_unit_are_named() -> None:
    open_ = Filler((Y,), undecided("there was no time", Doubt.NO_TIME), "search")
    assert completion([open_], unit="i").lines() == [
        "      nothing was found that holds; guesses:",
        "   1  y  undecided  (search)",
        "      (i is the imaginary unit)",
        "      (12,345 expressions tried in 1.3 s, 13 MB)",
    ]


def test_zeros_are_values_in_json() -> None:
    row = describe_completion(
        completion([Filler((X,), HOLDS, "list", 0.0), Filler((Y,), FAILS, "search")], tried=0, seconds=0.0)
    )
    assert [filler.get("score") for filler in row["fillers"]] == [0.0, None]
    assert ["score" in filler for filler in row["fillers"]] == [True, False]
    assert (row["tried"], row["seconds"], row["stopped"], row["found"]) == (0, 0.0, False, True)
    assert (row["understood"], row["notes"], row["unknown"]) == ("x + _ = 2*x", [], None)


@pytest.mark.parametrize("holding", range(3))
@pytest.mark.parametrize("count", [3, FORMS + 1, FORMS + 5])
def test_the_other_forms_of_a_line_are_all_but_the_one_that_is_shown(
    holding: int, count: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = Lines(EQUATION, Verdicts(EQUATION, [blank("_")], Clock()))
    trees = [Tree("Symbol", token=f"a{number}") for number in range(count)]
    monkeypatch.setattr(lines, "verdict", lambda tree: HOLDS if tree == trees[holding] else FAILS)
    filler = lines._judged(_Line(trees, False), dict.fromkeys(trees, "search"))
    assert filler is not None and filler.trees == (trees[holding],)
    assert list(filler.forms) == [tree for tree in trees if tree != trees[holding]][:FORMS]


PLACES = {
    Domain.EVERYWHERE: ("holds everywhere", True),
    Domain.REALS: ("holds on the reals", True),
    Domain.POSITIVE: ("holds on positive reals", True),
    Domain.NONE: ("does not hold", False),
}


@pytest.mark.parametrize("domain", PLACES)
def test_what_holds_at_least_on_positive_reals_holds(domain: Domain) -> None:
    place, holds = PLACES[domain]
    verdict = Verdict(Grade.PROVED if holds else Grade.REFUTED, domain)
    assert (verdict.place, verdict.holds) == (place, holds)
    assert not undecided("why", Doubt.NO_VALUE).holds


def test_a_verdict_is_one_sentence_with_all_that_there_is() -> None:
    tested = verdicts.Tested(1, 2, "-3", "4")
    other = Counterexample({"x": "-1", "y": "2"}, "1", "-1")
    positive = Verdict(Grade.TESTED, Domain.POSITIVE, tested=tested, counterexample=other, notes=("a note",))
    assert str(positive) == (
        "holds on positive reals (tested): agrees at 1 point from -3 to 4, 2 skipped; "
        "at x = -1, y = 2 left 1, right -1; a note"
    )
    assert str(Verdict(Grade.REFUTED, counterexample=other)) == "does not hold: at x = -1, y = 2 left 1, right -1"
    assert str(Verdict(Grade.REFUTED, counterexample=Counterexample({}, "1", "2"))) == "does not hold: left 1, right 2"
    assert positive.described["tested"] == {"agreed": 1, "skipped": 2, "low": "-3", "high": "4"}
    assert positive.described["counterexample"] == {"variables": {"x": "-1", "y": "2"}, "left": "1", "right": "-1"}

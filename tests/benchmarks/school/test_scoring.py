"""What lists of fillers are worth, and the table of several."""

from benchmarks.school import scoring
from benchmarks.school.problems import read_problems
from benchmarks.school.scoring import Record, best_score, score, table
from dgltree import read_infix

PROBLEM = next(problem for problem in read_problems() if problem.text == "x^2 - 7*x + 12 = (x - 3)*_")


def scored(*fillers):
    return score(PROBLEM, [read_infix(filler) for filler in fillers], 0.5)


def test_score():
    assert scored().key == (False, False, False, False)
    assert scored("x", "x - 3", "4", "x + 4", "x - 4").key == (False, True, False, False)
    assert scored("x", "x - 3", "4", "x + 4", "y", "x - 4").key == (False, False, False, False)
    assert scored("(x^2 - 7*x + 12)/(x - 3)").key == (True, True, False, False)
    assert scored("x - 2 - 2").key == (True, True, True, False)
    assert scored("x - 1 - 1 - 2").key == (True, True, False, False)
    assert scored("-4 + x").key == (True, True, True, False)
    assert scored("x - 4", "x").key == (True, True, True, True)
    assert scored("x - 4", "x").fillers == ("x - 4", "x")


def test_the_best_attempt_counts_and_the_next_is_made_only_where_needed():
    asked = []

    def solver(*fillers):
        def solve(equation):
            asked.append(fillers)
            return [read_infix(filler) for filler in fillers]

        return solve

    assert best_score(PROBLEM, [solver("x - 1 - 1 - 2"), solver("x - 4"), solver("x")]).textbook
    assert asked == [("x - 1 - 1 - 2",), ("x - 4",)]
    assert best_score(PROBLEM, [solver("x - 1 - 1 - 2"), solver()]).fillers == ("x - 1 - 1 - 2",)
    assert best_score(PROBLEM, [solver()]).seconds >= 0


def test_seconds_are_those_of_all_attempts_whichever_was_the_best(monkeypatch):
    for fillers, expected in (
        (["x - 1 - 1 - 2", "x", "x + 1"], 1 + 2 + 4),  # the first is the best
        (["x", "x - 4", "x"], 1 + 2),  # the second ends it
        (["x - 4"], 1),
    ):
        now = [100.0]
        monkeypatch.setattr(scoring, "perf_counter", lambda now=now: now[0])

        def solver(filler, seconds, now=now):
            def solve(_):
                now[0] += seconds
                return [read_infix(filler)]

            return solve

        attempts = [solver(filler, 2**k) for k, filler in enumerate(fillers)]
        assert best_score(PROBLEM, attempts).seconds == expected


def test_median_and_mean_of_the_seconds_are_told_apart():
    records = [Record("one", PROBLEM, score(PROBLEM, [], seconds)) for seconds in (1, 2, 9)]
    assert table(records)[1].split()[-2:] == ["2.000", "4.000"]


def test_table_and_lines():
    records = [Record("one", PROBLEM, scored("x - 4")), Record("one", PROBLEM, scored("x", "x - 4"))]
    records.append(Record("another", PROBLEM._replace(kind="other"), scored()))
    lines = [line.split() for line in table(records)]
    assert lines[0][:3] == ["one", "equations", "right"]
    row = ["2", "50.0", "100.0", "50.0", "50.0", "0.500", "0.500"]
    assert lines[1:3] == [["factoring", *row], ["all", *row]]
    assert lines[4][0] == "another" and lines[6] == ["all", "1", "0.0", "0.0", "0.0", "0.0", "0.500", "0.500"]
    assert records[1].line() == {
        "solver": "one",
        "kind": "factoring",
        "part": "tuned",
        "equation": PROBLEM.text,
        "answer": "x - 4",
        "right": False,
        "right_5": True,
        "short": False,
        "textbook": False,
        "seconds": 0.5,
        "fillers": ("x", "x - 4"),
    }

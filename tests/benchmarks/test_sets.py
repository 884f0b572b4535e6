"""The ten data sets of ``python -m benchmarks.sets``, and the table of what trainings reach on them."""

import ast
import json
from collections.abc import Callable
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
from scipy.stats import ttest_1samp

import dgltree
from benchmarks.sets import code, generated_sets, names, published_sets
from benchmarks.sets.__main__ import main
from benchmarks.sets.names import Set
from benchmarks.sets.records import LabelledRecord, sample, write
from benchmarks.sets.table import SECONDS, interval
from dgltree.datasets.labels import present
from dgltree.equations.truth.judge import Judge
from dgltree.read.conllu import iter_conllu
from dgltree.read.sexpr import read_sexpr

UD = """\
# sent_id = weblog-a_1-0007
# text = It don't works
1	It	it	PRON	PRP	Number=Sing|Person=3	4	nsubj	_	_
2-3	don't	_	_	_	_	_	_	_	_
2	do	do	AUX	VBP	Number=Plur|Person=3|Tense=Pres|VerbForm=Fin	4	aux	_	_
3	n't	not	PART	RB	_	4	advmod	_	_
4	works	work	VERB	VBZ	Number=Sing|Person=3|Tense=Pres|VerbForm=Fin	0	root	_	_

# sent_id = weblog-a_1-0008
1	Worked	work	VERB	VBD	Number=Sing|Person=3|Tense=Past|VerbForm=Fin	0	root	_	_

"""


def test_numbers_are_labelled_with_the_values_of_their_trees() -> None:
    operators: dict[str, Callable[[float, float], float]] = {
        "add": float.__add__,
        "sub": float.__sub__,
        "mul": float.__mul__,
    }
    for record in islice(generated_sets.numbers(), 50):
        value = read_sexpr(record.trees[0]).fold(
            lambda node, below: operators[node.function](*below) if below else float(node.token or "")
        )
        assert float(record.label) == pytest.approx(value, abs=1e-4)


def test_of_two_equations_of_a_group_one_holds_and_the_other_does_not_everywhere() -> None:
    found = list(islice(generated_sets.equations(), 8))
    assert [record.label for record in found] == ["right", "wrong"] * 4
    assert [record.group for record in found] == [str(i // 2) for i in range(8)]
    for record in found:
        verdict = Judge().verdict(dgltree.Equation(*map(dgltree.read_infix, record.trees)))
        if record.label == "right":
            assert verdict.grade.value != "refuted"
        else:
            assert verdict.domain.value != "everywhere"


def functions(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One file with one function, in place of every package and of the standard library."""
    lines = [f"    x{i} = a + b" for i in range(5)]
    (folder / "one.py").write_text("\n".join(["def get_it(a, b) -> int:", '    """Says."""', *lines, "    return a\n"]))
    monkeypatch.setattr(code, "_folder", lambda package: folder)
    monkeypatch.setattr(code, "_standard_library", lambda: code._functions(folder))


def test_what_a_function_is_labelled_with_is_not_in_its_source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    functions(tmp_path, monkeypatch)
    [verb] = code.verbs()
    assert (verb.label, verb.group) == ("get", "one.py")
    assert "get" not in verb.trees[0]
    typed = next(code.returns())
    assert (typed.label, typed.group) == ("int", "anyio")
    assert "->" not in typed.trees[0]
    assert "Says" not in verb.trees[0] + typed.trees[0]


def test_one_operator_of_a_swapped_function_is_another(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    functions(tmp_path, monkeypatch)
    monkeypatch.setattr(code, "COMPUTING", [str(i) for i in range(20)])
    found = list(code.swapped())
    operators = [
        [type(node.op) for node in ast.walk(ast.parse(one.trees[0])) if isinstance(node, ast.BinOp)] for one in found
    ]
    assert {one.label for one in found} == {"swapped", "as written"}
    assert all(
        of.count(ast.Sub) == (one.label == "swapped") and len(of) == 5 for one, of in zip(found, operators, strict=True)
    )


def test_the_verb_of_a_sentence_is_masked_with_all_that_gives_its_number_away(tmp_path: Path) -> None:
    (tmp_path / "ud").mkdir()
    for split in ("train", "dev", "test"):
        (tmp_path / "ud" / f"ewt-{split}.conllu").write_text(UD if split == "dev" else "")
    [record] = published_sets.agreement(tmp_path)
    assert (record.label, record.group) == ("Plur", "weblog-a_1")
    [sentence] = iter_conllu(record.trees[0].splitlines())
    assert isinstance(sentence.tree, dgltree.Tree)
    assert [node.token for node in sentence.tree.preorder()] == ["works", "It", "<verb>", "n't"]
    assert all(hint not in record.trees[0] for hint in ("VB", "Number", "work\t", "do\t"))


def test_the_interval_is_that_of_a_paired_t_test() -> None:
    found = [0.01, -0.02, 0.03, 0.005, 0.02]
    expected = ttest_1samp(found, 0).confidence_interval(0.95)
    assert interval(found) == pytest.approx((expected.low, expected.high))


def card(ours: float, alone: float, theirs: float, weight: float, examples: int) -> dict[str, Any]:
    def metrics(value: float) -> dict[str, float]:
        return {"accuracy": value, "macro_f1": value / 2, "calibration_error": value / 10}

    return {
        "intervals": {"metric": "accuracy"},
        "metrics": {"test": {"examples": examples, **metrics(ours)}},
        "network": {"test": metrics(alone)},
        "baseline": {"test": metrics(theirs)},
        "average": {"weight": weight},
        "classes": ["a", "b"],
    }


def test_the_table_has_the_means_over_the_trainings(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "verbs"
    for fold, made in {"fold-1": card(0.8, 0.7, 0.6, 0.5, 1000), "fold-2": card(0.6, 0.5, 0.5, 1.0, 999)}.items():
        (folder / fold).mkdir(parents=True)
        (folder / fold / "card.json").write_text(json.dumps(made))
    (folder / "summary.json").write_text('{"trainings": {"fold-1": {}, "fold-2": {}}}')
    (folder / "cpu_seconds.json").write_text("[10.5, 30.5]")
    assert main(["table", str(tmp_path)]) == 0
    _, _, row, missing = capsys.readouterr().out.splitlines()
    cells = "verbs 1,999 accuracy 0.700 0.600 0.550 +0.150 (-0.485 to +0.785) 0.75 0.350 (0.275) 0.070 20"
    assert row.replace(" | ", " ") == f"| {cells} |"
    assert missing.startswith("not done: listops, logic, numbers, swapped")


def test_sets_are_written_and_trained_on_by_group(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    made = [LabelledRecord("ab"[i % 2], (f"(f {i % 2} {i})",), str(i // 2)) for i in range(40)]
    sets = {"tiny": Set(lambda: made, 30, ("--epochs", "1")), "far": Set(lambda data: made, 30, published=True)}
    for one in (names.REPORTED, names.CHOSEN_ON):
        for name in list(one):
            monkeypatch.delitem(one, name)
    for name, each in sets.items():
        monkeypatch.setitem(names.REPORTED, name, each)
    out, runs = tmp_path / "sets", tmp_path / "runs"
    assert main(["fit", str(out), str(runs), "--only", "tiny"]) == 2
    assert capsys.readouterr().err == f"{out / 'tiny.jsonl'} is not there; `python -m benchmarks.sets write` makes it\n"
    assert main(["write", str(out)]) == 0
    told = capsys.readouterr().out.splitlines()
    rows = [json.loads(line) for line in (out / "tiny.jsonl").read_text().splitlines()]
    assert told == [
        f"tiny: 30 examples in {len({row['group'] for row in rows})} groups",
        "far: not made; it needs --data",
    ]
    assert all(row in [{"label": r.label, "group": r.group, "tree": r.trees[0]} for r in made] for row in rows)
    asked: list[list[str]] = []
    monkeypatch.setattr("benchmarks.sets.__main__.dgltree", lambda arguments: asked.append(arguments) or 0)
    (runs / "tiny").mkdir(parents=True)
    assert main(["fit", str(out), str(runs), "--only", "tiny"]) == 0
    assert asked == [
        [
            "fit",
            str(out / "tiny.jsonl"),
            "--group-by",
            "group",
            "--folds",
            "5",
            "--processes",
            "1",
            "--out",
            str(runs / "tiny"),
            "--epochs",
            "1",
        ]
    ]
    assert len(json.loads((runs / "tiny" / "cpu_seconds.json").read_text())) == 1


def test_a_sample_is_drawn_by_chance_and_always_the_same() -> None:
    records = [LabelledRecord(str(number), (f"x{number}",), "") for number in range(300)]
    found = sample(records, 60)
    assert found == sample(iter(records), 60) == sample(records, 200)[:60]
    places = sorted(int(record.label) for record in found)
    assert len(set(places)) == 60 and [int(record.label) for record in found] != places
    assert 100 < sum(places) / 60 < 200, "from the whole of it"
    assert sorted(sample(records, 1000)) == sorted(records)


def test_the_seconds_of_every_attempt_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An interrupted training and the one that goes on; each has its own exit status."""
    name, each = next((name, each) for name, each in names.REPORTED.items() if not each.published)
    (tmp_path / f"{name}{each.suffix}").write_text("", encoding="utf-8")
    (tmp_path / "runs" / name).mkdir(parents=True)
    statuses, given = [130, 0, 0], []
    monkeypatch.setattr(
        "benchmarks.sets.__main__.dgltree", lambda arguments: (given.append(arguments), statuses.pop(0))[1]
    )
    for attempt, status in enumerate((130, 0, 0), 1):
        assert main(["fit", str(tmp_path), str(tmp_path / "runs"), "--only", name]) == status
        seconds = json.loads((tmp_path / "runs" / name / SECONDS).read_text(encoding="utf-8"))
        assert len(seconds) == attempt and all(0 <= one < 60 for one in seconds)
    assert given[0] == given[1] == given[2]
    assert given[0][2:6] == ["--group-by", "group", "--folds", "5"]


def test_a_class_that_is_written_as_a_missing_label_is_read_as_a_class(tmp_path: Path) -> None:
    assert "None" in code.RETURNS
    options = names.REPORTED["returns"].options
    file = tmp_path / "returns.jsonl"
    write(file, [LabelledRecord(label, ("(f x)",), "one") for label in code.RETURNS])
    given = dict(zip([name.lstrip("-") for name in options[::2]], options[1::2], strict=True))
    assert sorted(present(dgltree.TreeDataset.from_file(file, **given))) == sorted(code.RETURNS)

"""``python -m benchmarks.sets.twelve``: the list and the splits that were fixed, and a run on a few trees."""

import itertools
import json
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from sklearn.metrics import r2_score

from benchmarks.sets.names import Set
from benchmarks.sets.records import LabelledRecord
from benchmarks.sets.twelve import drawn_sets, fresh_sets, icons, own, peers, schemas
from benchmarks.sets.twelve.__main__ import PEERS, RESULTS, SPLITS, lines_of, main
from benchmarks.sets.twelve.names import FRESH, NUMBERS, SETS
from benchmarks.sets.twelve.report import best_peer, table
from benchmarks.sets.twelve.rows import SEEDS, records, split
from dgltree.read.sexpr import read_sexpr
from dgltree.trees.tree import Tree

FIXED = [line.split("\t") for line in SPLITS.read_text(encoding="utf-8").splitlines()]
DRAWN = ("typed", "invoices", "turns", "parity", "phylogenies", "circuits", "satisfiable")


def test_the_list_is_the_one_that_was_fixed_before_the_first_run() -> None:
    assert [(name, seed) for name, seed, *_ in FIXED] == [(name, str(seed)) for name in SETS for seed in SEEDS]
    assert len(SETS) == 12 + len(FRESH)


@pytest.mark.parametrize("name", DRAWN)
def test_the_splits_of_drawn_sets_are_those_that_were_fixed(name: str) -> None:
    assert [line.split("\t") for line in lines_of(name, records(name, None))] == [
        row for row in FIXED if row[0] == name
    ]


def test_well_typed_calls_are_told_by_the_types_of_arguments_alone() -> None:
    """Within a label no name has two types; the ill-typed ones break what the well-typed ones say."""
    found = list(drawn_sets.typed())
    assert Counter(record.label for record in found) == {
        "well": drawn_sets.NUM_ROWS // 2,
        "ill": drawn_sets.NUM_ROWS // 2,
    }
    takes: dict[str, set[int]] = {}
    for record in found:
        for node in read_sexpr(record.trees[0]).preorder():
            if node.children:
                takes.setdefault(node.function, set()).add(len(node.children))
    assert {len(counts) for counts in takes.values()} == {1}


def test_an_invoice_comes_to_the_sum_of_its_parts() -> None:
    for record in list(drawn_sets.invoices())[:50]:
        total = read_sexpr(record.trees[0]).fold(
            lambda node, below: {
                "atom": lambda: float(node.token or ""),
                "item": lambda: below[0] * below[1],
                "discount": lambda: below[1] * (1 - below[0] / 100),
            }.get(node.function, lambda: sum(below))()
        )
        assert float(record.label) == pytest.approx(total, abs=0.006)


def test_a_walker_looks_where_each_single_turn_leads() -> None:
    turns = {"go": [], "left": [-1], "right": [1], "around": [2]}
    rules = {"twice": 2, "thrice": 3}
    for record in list(drawn_sets.turns())[:100]:
        walked = read_sexpr(record.trees[0]).fold(
            lambda node, below: (
                turns[node.token]
                if node.token
                else [-turn for turn in below[0]]
                if node.function == "mirrored"
                else [turn for one in below for turn in one] * rules.get(node.function, 1)
            )
        )
        assert record.label == "NESW"[sum(walked) % 4]


def test_a_circuit_has_the_resistance_that_the_rules_give() -> None:
    for record in list(fresh_sets.circuits())[:100]:
        ohms = read_sexpr(record.trees[0]).fold(
            lambda node, below: (
                float(node.token)
                if node.token
                else sum(below)
                if node.function == "series"
                else 1 / sum(1 / one for one in below)
            )
        )
        assert float(record.label) == pytest.approx(ohms, rel=2e-3)


def test_a_formula_is_tried_with_all_values() -> None:
    for record in list(fresh_sets.satisfiable())[:100]:
        tree, found = read_sexpr(record.trees[0]), set()
        for values in itertools.product([False, True], repeat=3):
            named = dict(zip("pqr", values, strict=True))

            def worth(node: Tree, below: list[bool], named: dict[str, bool] = named) -> bool:
                match node.function:
                    case "and":
                        return all(below)
                    case "or":
                        return any(below)
                    case "not":
                        return not below[0]
                    case "implies":
                        return below[0] <= below[1]
                    case "xor":
                        return below[0] ^ below[1]
                return named[node.token or ""]

            found.add(tree.fold(worth))
        assert record.label == {(True,): "always", (False,): "never"}.get(tuple(found), "sometimes")


def test_all_species_of_a_phylogeny_live_today() -> None:
    """The two lineages of a join have the same age there."""
    join = re.compile(r"\((s|<[\d.]+>):([\d.]+),(s|<[\d.]+>):([\d.]+)\)")

    def age(part: str, length: str) -> float:
        return float(length) + (0.0 if part == "s" else float(part[1:-1]))

    for record in list(fresh_sets.phylogenies())[:60]:
        text, joins = record.trees[0], 0
        while found := join.search(text):
            left, right = age(found[1], found[2]), age(found[3], found[4])
            assert left == pytest.approx(right, abs=0.003)
            text, joins = f"{text[: found.start()]}<{left:.4f}>{text[found.end() :]}", joins + 1
        assert re.fullmatch(r"<[\d.]+>;", text)
        assert joins + 1 in fresh_sets.SPECIES


def test_a_path_is_read_as_its_commands() -> None:
    assert icons._path("M12 4.5a4 4 0 0 1-.5.25z") == "(path (M 12 4.5) (a 4 4 0 0 1 -.5 .25) z)"


def test_a_documentation_is_read_word_by_word() -> None:
    pytest.importorskip("lxml")
    found = schemas._by_words(schemas.read_html('<p>The <a href="x">one</a> that\'s.</p>'))
    assert [node.token or node.function for node in found.preorder()] == [
        "html",
        "body",
        "p",
        "the",
        "a",
        "one",
        "that",
        "s",
    ]


def test_counts_of_a_tree_are_of_its_subtrees_and_sums() -> None:
    found = peers._counts(2)([peers.LabelledTree(0, read_sexpr("(f (g 1 2.5) (g 1 4))"), 0.0)])[0]
    expected = {
        "0 f": 1,
        "0 g": 2,
        "0 atom 1": 2,
        "1 g(atom 1,atom 2.5)": 1,
        "2 f(g(atom 1,atom 2.5),g(atom 1,atom 4))": 1,
    }
    assert expected.items() <= found.items()
    assert (found["sum g"], found["sum g 0"], found["sum g 1"], found["nodes"]) == (8.5, 2.0, 6.5, 7)


def test_the_peer_is_chosen_by_validation_and_the_interval_is_paired() -> None:
    labels, right = np.arange(4.0), [0.0, 1.0, 2.0, 3.0]
    run = {"refused": 0, "weights": 10, "megabytes": 500, "seconds": 1.0}
    runs = {
        ("typed", 0, "fit"): run | {"model": "fit", "test": 1.0, "validation": 0.1, "answers": right},
        ("typed", 0, "a"): run | {"model": "a", "test": 0.75, "validation": 0.9, "answers": [0.0, 1.0, 2.0, 2.0]},
        ("typed", 0, "b"): run | {"model": "b", "test": 1.0, "validation": 0.8, "answers": right},
    }
    assert best_peer(runs, "typed", 0)["model"] == "a"
    *_, row = table(runs, {("typed", 0): labels, ("turns", 0): labels}, NUMBERS)
    assert row.startswith("| typed | accuracy | 1.000 | 0.750 | +0.250 (+0.000 to +0.750) | a | 0 | 10 | 500 | 1 |")


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_the_memory_of_a_process_is_its_own() -> None:
    here = bytearray(150_000_000)
    process = subprocess.Popen([sys.executable, "-c", "import time; x = bytearray(50_000_000); time.sleep(0.5)"])
    status, used, kilobytes = own._ended(process.pid)
    process.returncode = status
    assert status == 0 and used.ru_utime < 5
    assert 48_000 < kilobytes < len(here) // 1024


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.torch.jit:DeprecationWarning")  # of PyTorch Geometric
def test_the_command_trains_each_once_and_prints_the_table(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("lightning", reason="the train extra is not installed")
    monkeypatch.setitem(SETS, "typed", Set(lambda: list(drawn_sets.parity())[:120], 120))
    made = [LabelledRecord(f"{i % 7 + 0.5}", (f"(f {i % 7} {i})",), str(i)) for i in range(120)]
    monkeypatch.setitem(SETS, "invoices", Set(lambda: made, 120))
    monkeypatch.setattr(peers, "EPOCHS", 2)
    given = ["--out", str(tmp_path), "--sets", "typed", "invoices", "--seeds", "1"]
    for _ in range(2):
        assert main(given) == 0
        printed = capsys.readouterr().out.splitlines()
        assert [line.split(" | ")[0] for line in printed if line.startswith(("| typed", "| invoices"))] == [
            *["| typed", "| invoices"] * 2
        ]  # fmt: skip
        lines = [json.loads(line) for line in (tmp_path / RESULTS).read_text().splitlines()]
        models = [line["model"] for line in lines]
        known = [model for model in ["fit", "baseline", *PEERS] if model in models]
        assert models == known * 2 and known[:5] == ["fit", "baseline", "n-grams", "subtrees", "decisions"]
    assert all(line["refused"] == 0 and line["megabytes"] > 100 for line in lines if line["model"] == "fit")
    found = records("invoices", None)
    labels = [float(found[place].label) for place in split(found, 1)[2]]
    for line in (line for line in lines if line["set"] == "invoices"):
        assert line["test"] == pytest.approx(r2_score(labels, line["answers"]), abs=1e-4)

"""Every number that ``fit`` and ``evaluate`` print of six sets, recomputed from the answers of ``predict``."""

import contextlib
import io
import json
import re
from importlib.resources import files
from pathlib import Path

import numpy as np
import pytest
import recomputed

from benchmarks.sets import objects
from dgltree.commands.main import main

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore:.*R2Score.*")]
SETS = ("lists", "latitude", "sum", "Unix times", "rare", "three classes")


def records(name: str) -> list[tuple[str, str]]:
    """Trees and labels."""
    if name == "lists":
        text = files("dgltree").joinpath("data", "lists.tsv").read_text(encoding="utf-8")
        return [tuple(line.split("\t")) for line in text.splitlines()[1:401]]  # type: ignore[misc]
    if name == "rare":
        return list(objects.rare(3, 0.1, 400))
    texts, labels = objects.mixed(3)
    if name == "three classes":
        ages = [json.loads(text)["age"] for text in texts[:400]]
        kinds = ["young" if age < 30 else "old" if age > 60 else "other" for age in ages]
        return list(zip(texts, kinds, strict=False))
    whose = {"latitude": "latitude above 48.25", "sum": "created + tiny · age + amount"}
    return list(zip(texts[:400], labels[whose.get(name, "Unix time 1.7e9 + 100 · age")], strict=False))


def said(arguments: list[str]) -> str:
    out = io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
        assert main(arguments) == 0
    return out.getvalue()


@pytest.mark.parametrize("name", SETS)
def test_each_printed_number_is_that_of_the_answers(name: str, tmp_path: Path) -> None:
    drawn = records(name)
    splits = np.random.default_rng(0).choice(["train", "validation", "test"], len(drawn), p=[0.6, 0.2, 0.2]).tolist()
    rows = [(f"r{i}", tree, label, split) for i, ((tree, label), split) in enumerate(zip(drawn, splits, strict=True))]
    lines = ["\t".join(row) for row in [("id", "tree", "label", "split"), *rows]]
    table, folder = tmp_path / "trees.tsv", str(tmp_path / "model")
    table.write_text("\n".join(lines) + "\n", encoding="utf-8")
    notation = [] if name == "lists" else ["--notation", "json_object"]
    fitted = said(["fit", str(table), "--out", folder, "--epochs", "6", "--hidden-size", "24", *notation])
    answers = io.StringIO()
    with contextlib.redirect_stdout(answers), contextlib.redirect_stderr(io.StringIO()):
        main(["predict", folder, str(table)])
    by_split = recomputed.rows_of(table, {}, answers.getvalue())

    def close(line: str, wanted: dict[str, float]) -> None:
        found = {key: float(value) for key, value in re.findall(r"([a-z_0-9]+) (-?\d+\.\d{4})", line)}
        assert found == {key: pytest.approx(value, rel=2e-4, abs=7e-5) for key, value in wanted.items()}, line

    for split in ("validation", "test"):
        [line] = re.findall(rf"^{split}: (.*)$", fitted, re.MULTILINE)
        close(line, recomputed.metrics(by_split[split], by_split["train"].labels))
        assert line.endswith(f"{splits.count(split)} examples")
    [line] = re.findall(r"^test, 95 % of resamples: (.*)$", fitted, re.MULTILINE)
    ends = {key: (float(a), float(b)) for key, a, b in re.findall(r"(\w+) (-?[\d.]+) to (-?[\d.]+)", line)}
    wanted = recomputed.intervals(by_split["test"], by_split["train"].labels)
    assert ends == {key: pytest.approx(each, rel=5e-4, abs=2e-4) for key, each in wanted.items()}
    evaluated = said(["evaluate", folder, str(table)])
    metrics, *rest = [line for line in evaluated.splitlines() if not line.startswith("warning")]
    close(metrics, recomputed.metrics(by_split[""], by_split["train"].labels))
    if by_split[""].names:
        close(rest[0], recomputed.probabilities(by_split[""]))
        found = {row[0]: tuple(map(float, row[1:])) for row in (line.split("\t") for line in rest[2:]) if len(row) == 5}
        each = recomputed.by_class(by_split[""])
        assert {key: found[key] for key in each} == {key: pytest.approx(of, abs=6e-5) for key, of in each.items()}

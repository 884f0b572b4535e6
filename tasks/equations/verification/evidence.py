"""How near sets of the published kind are to the published equations, as Markdown.

``python -m tasks.equations published-evidence --weights FILE ... --data TRAIN.parquet --tests TEST.parquet ...
--blanks DIR --out DIR``: accuracy of published weights by depth next to the papers', recall on the published blanks,
distances of small-subtree frequencies to them, and how many grown equations are false without each fault. What a model
calls correct is kept in the folder, so that an interrupted run goes on.
"""

import argparse
import statistics
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from dgltree import open_model
from dgltree.equations.truth.evaluator import Truth
from dgltree.files import replacing
from dgltree.models import EquationModel
from tasks.equations import store
from tasks.equations.blanks import read_folder
from tasks.equations.canonical import digest
from tasks.equations.generator.places import Places
from tasks.equations.generator.published.run import EquationGrowth
from tasks.equations.generator.published.seeds import FAULTS, Fault
from tasks.equations.generator.values import Values
from tasks.equations.store import EquationRow, row_of
from tasks.equations.verification.accuracy import called, scored
from tasks.equations.verification.counts import together
from tasks.equations.words import EQUAL, SINGLE, VARIABLES, Word
from tasks.tables import table

SHALLOW, MIDDLE, DEEP = range(1, 8), range(8, 14), range(8, 20)
SMALL = 3  # nodes of the subtrees whose frequencies are compared
RUNS, GROWN, LIMIT = 40, 500, 13  # of the ablation
WITHOUT: tuple[tuple[Fault, ...], ...] = ((), FAULTS[:1], FAULTS[:2], FAULTS[:3])


class Evidence:
    """The sections of the report.

    Args:
        weights: files of models.
        train: a training set of the published kind.
        tests: test sets of different seeds.
        blanks: the folder of published blanks.
        out: for what the models call correct.
    """

    def __init__(self, weights: Sequence[Path], train: Path, tests: Sequence[Path], blanks: Path, out: Path) -> None:
        self._weights, self._train, self._tests, self._out = weights, train, tests, out
        filled = (blank.example.equation.fill(blank.example.filler) for blank in read_folder(blanks))
        self._blanks = [row_of(equation, 1, "test", digest(equation)) for equation in filled]
        out.mkdir(parents=True, exist_ok=True)

    def shallow(self) -> list[str]:
        """Accuracy on the depths that published weights were trained on, and recall beyond, the mean over depths."""
        rows = store.read(self._train)
        body = []
        for model in self._weights:
            found, blanks = (
                scored(self._called(model, asked, name), asked)
                for asked, name in ((rows, "train"), (self._blanks, "blanks"))
            )
            accuracy = together(counts for depth, counts in found.items() if depth in SHALLOW).accuracy
            recalls = [
                statistics.fmean(counts.recall for depth, counts in each.items() if depth in MIDDLE)
                for each in (found, blanks)
            ]
            body.append([model.stem, *(f"{100 * share:.1f}" for share in (accuracy, *recalls))])
        return table(["weights", "accuracy, 1 to 7", "recall, 8 to 13", "recall on the blanks, 8 to 13"], body)

    def deep(self, label: store.Label) -> list[str]:
        """Mean accuracy over the test sets and its standard error, by the way an equation is read."""
        depths = ["8 to 19", *map(str, DEEP)]
        body = [[model.stem, *self._means(model, label)] for model in self._weights]
        if label == "label":
            body.append(["the numeric truth", *self._means(None, label)])
        return table([f"by the {label}", *depths], body)

    def _means(self, model: Path | None, label: store.Label) -> list[str]:
        found: dict[str, list[float]] = {}
        for file in self._tests:
            every = store.load(file)
            rows, truths = store.rows(every), every.column("truth").to_pylist()
            answers = (
                torch.tensor([truth == 1 for truth in truths])
                if model is None
                else self._called(model, rows, _name(file))
            )
            kept = [number for number, truth in enumerate(truths) if label == "label" or truth is not None]
            counts = scored(answers[kept], store.rows(every, label=label))
            for depth in DEEP:
                if depth in counts:
                    found.setdefault(str(depth), []).append(counts[depth].accuracy)
            deep = together(each for depth, each in counts.items() if depth in DEEP)
            found.setdefault("8 to 19", []).append(deep.accuracy)
        return [_with_error(found.get(depth, ()), depth == "8 to 19") for depth in ["8 to 19", *map(str, DEEP)]]

    def _called(self, model: Path, rows: Sequence[EquationRow], name: str) -> Tensor:
        file = self._out / f"{model.stem}-{name}.npy"
        if not file.exists():
            answers = called(_equation_model(model), rows).numpy()
            with replacing(file) as beside, beside.open("wb") as opened:
                np.save(opened, answers, allow_pickle=False)
        found = torch.from_numpy(np.load(file, allow_pickle=False))
        if len(found) != len(rows):
            raise ValueError(f"{file} is of another set: it has {len(found)} answers for {len(rows)} equations")
        return found

    def distances(self) -> list[str]:
        """Of the frequencies of small subtrees to those in the blanks, half the sum of absolute differences."""
        blanks = [_word(row) for row in self._blanks if row.depth in MIDDLE]
        ours = [_word(row) for row in store.read(self._train) if row.label and row.depth in MIDDLE]
        long = EquationGrowth("long", RUNS * GROWN, LIMIT).run()
        one = [each.equation.word for each in long if each.grown and each.equation.depth in MIDDLE]
        pairs = {"one half of the blanks": (blanks[::2], blanks[1::2]), "the training set": (ours, blanks)}
        pairs |= {f"one run of {RUNS * GROWN:,} instead of many": (one, blanks)}
        return table(["correct, 8 to 13", "distance"], [[name, f"{distance(*of):.3f}"] for name, of in pairs.items()])

    def ablation(self) -> list[str]:
        """How many grown equations of depth 8 to 13 are false without each fault."""
        body = []
        for without in WITHOUT:
            truths = _truths([fault for fault in FAULTS if fault not in without])
            false = truths.count(Truth.FALSE) / len(truths)
            body.append([" and ".join(without) or "nothing", f"{len(truths):,}", f"{100 * false:.1f}"])
        return table(["left out", "grown, 8 to 13", "false, %"], body)


def distance(first: Iterable[Word], second: Iterable[Word]) -> float:
    """Total variation between the frequencies of small subtrees, all variables being one."""
    one, other = _frequencies(first), _frequencies(second)
    return sum(abs(one.get(part, 0) - other.get(part, 0)) for part in {*one, *other}) / 2


def _frequencies(words: Iterable[Word]) -> dict[Word, float]:
    alike = bytes.maketrans(VARIABLES, SINGLE[0] * len(VARIABLES))
    counts: Counter[Word] = Counter()
    for word in words:
        equation = Places(word)
        parts = (equation.at(place) for place in range(1, len(word)))
        counts.update(part.translate(alike) for part in parts if len(part) <= SMALL)
    return {part: count / counts.total() for part, count in counts.items()}


def _truths(faults: Sequence[Fault]) -> list[Truth]:
    values, found = Values(), []
    with np.errstate(all="ignore"):
        for number in range(RUNS):
            run = EquationGrowth(f"ablation {number}", GROWN, LIMIT, faults).run()
            found += values.truths([one.equation for one in run if one.grown and one.equation.depth in MIDDLE])
    return found


def _word(row: EquationRow) -> Word:
    return SINGLE[EQUAL] + row.left + row.right


def _name(file: Path) -> str:
    """Test sets of several seeds lie in folders of their own."""
    return f"{file.parent.name}-{file.stem}"


def _equation_model(file: Path) -> EquationModel:
    model = open_model(str(file))
    if not isinstance(model, EquationModel):
        raise ValueError(f"{file} is not a model of equations")
    return model


def _with_error(values: Sequence[float], error: bool) -> str:
    if not values:
        return ""
    text = f"{100 * statistics.fmean(values):.1f}"
    return f"{text} ± {100 * statistics.stdev(values) / len(values) ** 0.5:.1f}" if error and len(values) > 1 else text


def main(arguments: list[str] | None = None) -> None:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m tasks.equations published-evidence", description=__doc__)
    parser.add_argument("--weights", type=Path, nargs="+", required=True, help="models, such as the published weights")
    parser.add_argument("--data", type=Path, required=True, help="train.parquet of published-train")
    parser.add_argument("--tests", type=Path, nargs="+", required=True, help="test.parquet of published-test, by seed")
    parser.add_argument("--blanks", type=Path, required=True, help="folder of the published blanks")
    parser.add_argument("--out", type=Path, required=True, help="for what is computed once, and evidence.md")
    options = parser.parse_args(arguments)
    evidence = Evidence(options.weights, options.data, options.tests, options.blanks, options.out)
    sections = [
        evidence.ablation(),
        evidence.distances(),
        evidence.shallow(),
        evidence.deep("label"),
        evidence.deep("truth"),
    ]
    text = "\n\n".join("\n".join(section) for section in sections) + "\n"
    with replacing(options.out / "evidence.md") as beside:
        beside.write_text(text, encoding="utf-8")
    print(text)

"""Data sets made as the published ones were: unions of runs of the published process, thinned."""

import json
from collections import Counter
from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

from tqdm import tqdm

from dgltree.support.files import replacing
from dgltree.support.workers import pool_map
from tasks.equations import store
from tasks.equations.canonical import word_digest
from tasks.equations.generator.held_out import held_out
from tasks.equations.generator.presets import PAPER_TRAIN, Part, Quotas, Shape, part_of
from tasks.equations.generator.published.labels import Labeller
from tasks.equations.generator.published.run import EquationGrowth, GrownEquation
from tasks.equations.generator.published.seeds import FAULTS, Fault

if TYPE_CHECKING:
    import pyarrow


@dataclass(frozen=True)
class Process:
    """How a set of the published kind is made.

    Args:
        runs: of the published process, each from the seeds.
        correct: equations that a run grows.
        limit: the largest depth.
        kept: what is kept of the union: a shape, or of each depth both labels equally often, at most so many of each.
        faults: of the published process.
    """

    runs: int
    correct: int
    limit: int
    kept: Shape | int
    faults: tuple[Fault, ...] = FAULTS

    def without(self, faults: Collection[Fault]) -> "Process":
        """Return the process without some of its faults."""
        return replace(self, faults=tuple(fault for fault in self.faults if fault not in faults))

    def settings(self) -> dict[str, Any]:
        """Other settings that a seed depends on, as JSON."""
        made = {"runs": self.runs, "correct": self.correct, "limit": self.limit, "faults": list(self.faults)}
        return {"generator": f"published {GENERATOR}", "process": made}


GENERATOR = 1  # another one where a seed means other equations than before
_TRAIN = Process(160, 500, 13, PAPER_TRAIN)
_TEST = Process(8, 10_000, 19, 5000)
PUBLISHED: dict[str, dict[Part, Process]] = {
    "published-train": {"train": _TRAIN},
    "published-test": {"test": _TEST},
    "published-clean": {"train": _TRAIN.without(FAULTS), "test": _TEST.without(FAULTS)},
}
"""The training sets have the counts of the published one by depth and label. Only half of what a run makes is for the
part that is made (``part_of``), so these are twice the runs that would be needed else."""


class Union:
    """Makes the set of a process; ``counts`` says what was dropped and why, ``missing`` what could not be had.

    Args:
        process: how.
        part: for training or for tests.
        seed: another one, other equations.
        workers: processes; the result does not depend on their number.
        parts: a folder for finished runs, from which an interrupted one continues.
    """

    def __init__(self, process: Process, part: Part, seed: int, workers: int = 1, parts: Path | None = None) -> None:
        self.counts: Counter[str] = Counter()
        self.missing: Counter[tuple[int, int]] = Counter()
        self._process = process
        self._part = part
        self._seed = seed
        self._workers = workers
        self._parts = parts

    def run(self) -> "pyarrow.Table":
        """The equations in the order of the runs, without repetition; the same for a seed."""
        import pyarrow as pa

        jobs = [(self._process, self._part, f"{self._part} {self._seed}", run, self._file(run)) for run in self._runs]
        kept: list[pa.Table] = []
        seen: set[int] = set()
        with pool_map(self._workers) as pool, tqdm(total=len(jobs), desc=self._part, unit="run", disable=None) as bar:
            for made, counts in pool(_make, jobs):
                self.counts.update(counts)
                digests = made.column("digest").to_pylist()
                new = [digest not in seen for digest in digests]
                self.counts["made by two runs"] += len(new) - sum(new)
                seen.update(digests)
                kept.append(made.filter(pa.array(new, pa.bool_())))
                bar.update()
        return self._thinned(pa.concat_tables(kept))

    @property
    def _runs(self) -> range:
        return range(self._process.runs)

    def _file(self, run: int) -> Path | None:
        return None if self._parts is None else self._parts / f"{self._part}-{run}.parquet"

    def _thinned(self, made: "pyarrow.Table") -> "pyarrow.Table":
        """The part of the union that is kept, drawn by the seed, in the order of the union."""
        numbers: dict[tuple[int, int], list[int]] = {}
        kinds = zip(made.column("label").to_pylist(), made.column("depth").to_pylist(), strict=True)
        for number, kind in enumerate(kinds):
            numbers.setdefault(kind, []).append(number)
        quotas = _quotas(self._process.kept, {kind: len(found) for kind, found in numbers.items()})
        random = Random(f"thinned {self._part} {self._seed}")
        kept: list[int] = []
        for kind, quota in sorted(quotas.items()):
            found = numbers.get(kind, [])
            kept += random.sample(found, min(quota, len(found)))
            self.missing[kind] = quota - min(quota, len(found))
        self.missing = +self.missing
        self.counts["more than wanted"] = len(made) - len(kept)
        return made.take(sorted(kept))


def _quotas(kept: Shape | int, present: Quotas) -> Quotas:
    if isinstance(kept, Shape):
        return kept.quotas()
    depths = {depth for _, depth in present}
    return {(label, d): min(kept, *(present.get((each, d), 0) for each in (0, 1))) for d in depths for label in (0, 1)}


def _make(job: tuple[Process, Part, str, int, Path | None]) -> "tuple[pyarrow.Table, Counter[str]]":
    """The contribution of one run to a part; from its file, if there is one."""
    process, part, name, number, file = job
    if file is not None and file.exists():
        return store.load(file), Counter(json.loads(_counts(file).read_text(encoding="utf-8")))
    run = EquationGrowth(f"{name} {number}", process.correct, process.limit, process.faults)
    candidates = _of_part(run.run(), part, run.counts)
    made, truths = Labeller("sympy" in process.faults, run.counts).labelled(candidates)
    table = store.with_origin(store.table(made, part), truths, number)
    if file is not None:
        with replacing(_counts(file)) as beside:
            beside.write_text(json.dumps(run.counts), encoding="utf-8")
        store.write(file, table)
        table = store.load(file)  # as an interrupted generation finds it, to the name of every field
    return table, run.counts


def _of_part(candidates: Iterable[GrownEquation], part: Part, counts: Counter[str]) -> list[GrownEquation]:
    """The equations that are for a part, up to names and sides each once."""
    found: dict[int, GrownEquation] = {}
    for candidate in candidates:
        digest = word_digest(*candidate.equation.sides())
        if part_of(digest, candidate.equation.depth) != part:
            counts["of the other part"] += 1
        elif digest in held_out():
            counts["held out"] += 1
        elif found.setdefault(digest, candidate) is not candidate:
            counts["equal up to names and sides"] += 1
    return list(found.values())


def _counts(file: Path) -> Path:
    return file.with_suffix(".json")

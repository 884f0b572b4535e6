"""Generate data sets of distinct labeled equations; the result depends on the seed, not on the number of workers.

``python -m tasks.equations generate --preset NAME --out DIR --seed S --workers W`` writes ``train.parquet`` or
``test.parquet`` or both (see presets.py), each with a JSON card of what it holds. The work is cut into chunks, each
with a random stream of its own, which are merged in order; what is missing then is made by further rounds of chunks,
until a round brings little. Finished chunks are kept until the set is whole, so an interrupted run continues.
"""

import argparse
import json
import math
import shutil
import time
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

import pyarrow as pa
from tqdm import tqdm

from dgltree.support.files import claim, refuse_other, replacing
from dgltree.support.workers import pool_map
from tasks.equations import store
from tasks.equations.generator.chunk import ChunkGenerator
from tasks.equations.generator.presets import PRESETS, Part, Quotas, Shape, is_validation
from tasks.equations.generator.published.process import PUBLISHED, Process, Union
from tasks.equations.generator.published.seeds import FAULTS
from tasks.equations.store import EquationRow

GENERATOR = 2  # another one where a seed means other equations than before
CHUNK = 10_000  # equations a chunk; part of what a seed means
SPARE = 1.03  # chunks make so much more than is missing, because some equations are made by two,
EAGER = 4  # and in each further round so many times more: what is missing then is rare
BARREN = 0.1  # share of what is missing that a further round must bring, or it is taken to be exhausted
LABELS = ("wrong", "correct")


class EquationGenerator:
    """Fills ``quotas``; ``counts`` says what was dropped and why, ``missing`` what could not be had.

    Args:
        quotas: how many equations of each label and depth.
        part: for training or for tests.
        seed: another one, other equations.
        workers: processes; the result does not depend on their number.
        chunk: equations a chunk.
        parts: a folder for finished chunks, from which an interrupted run continues.
    """

    def __init__(
        self,
        quotas: Quotas,
        part: Part,
        seed: int,
        workers: int = 1,
        chunk: int = CHUNK,
        parts: Path | None = None,
    ) -> None:
        if workers < 1 or chunk < 1 or not quotas:
            raise ValueError(f"workers and chunk size are at least 1, not {workers} and {chunk}, and quotas not empty")
        self.missing = Counter(quotas)
        self.counts: Counter[str] = Counter()
        self._part = part
        self._seed = seed
        self._workers = workers
        self._chunk = chunk
        self._parts = parts

    def run(self) -> pa.Table:
        """The equations as ``store.table`` has them, in an order that depends on the seed alone."""
        kept = [store.table([], self._part)]
        seen: set[int] = set()
        total = sum(self.missing.values())
        with tqdm(total=total, desc=self._part, unit="eq", disable=None) as bar, pool_map(self._workers) as pool:
            round_ = 0
            before = 0
            wanted = 0.0
            while self.missing and len(seen) - before >= wanted:
                before = len(seen)
                wanted = BARREN * sum(self.missing.values())
                for made, counts in pool(_make, self._jobs(round_)):
                    self.counts.update(counts)
                    kept.append(made.filter(pa.array(self._wanted(made, seen), pa.bool_())))
                    bar.update(len(seen) - bar.n)
                self.missing = +self.missing
                round_ += 1
        return pa.concat_tables(kept)

    def _wanted(self, made: pa.Table, seen: set[int]) -> list[bool]:
        """Which equations of a chunk are new and missing; they join ``seen``."""
        wanted = []
        columns = [made.column(name).to_pylist() for name in ("label", "depth", "digest")]
        for label, depth, digest in zip(*columns, strict=True):
            if digest in seen:
                self.counts["made by two chunks"] += 1
            wanted.append(digest not in seen and self.missing[label, depth] > 0)
            if wanted[-1]:
                self.missing[label, depth] -= 1
                seen.add(digest)
        return wanted

    def _jobs(self, round_: int) -> list[tuple[Quotas, Part, str, Path | None]]:
        """The chunks of a round: equal shares of what is missing, and some to spare."""
        count = math.ceil(sum(self.missing.values()) / self._chunk)
        spare = SPARE * EAGER ** min(round_, 3)
        share = {kind: math.ceil(number * spare / count) for kind, number in self.missing.items()}
        jobs = []
        for index in range(count):
            file = None if self._parts is None else self._parts / f"{self._part}-{round_}-{index}.parquet"
            jobs.append((share, self._part, f"{self._part} {self._seed} {round_} {index}", file))
        return jobs


def _make(job: tuple[Quotas, Part, str, Path | None]) -> tuple[pa.Table, Counter[str]]:
    """One chunk; from its file, if there is one."""
    quotas, part, name, file = job
    if file is not None and file.exists():
        return store.load(file), Counter(json.loads(_counts(file).read_text()))
    chunk = ChunkGenerator(quotas, part, name)
    made = store.table(chunk.run(), part)
    if file is not None:
        with replacing(_counts(file)) as beside:
            beside.write_text(json.dumps(chunk.counts))
        store.write(file, made)
    return made, chunk.counts


def _counts(file: Path) -> Path:
    return file.with_suffix(".json")


def generate(
    quotas: Quotas, seed: int, part: Part = "train", workers: int = 1, chunk: int = CHUNK
) -> list[EquationRow]:
    """Labelled equations, no two equal up to names and sides; fewer if there are no more."""
    return store.rows(EquationGenerator(quotas, part, seed, workers, chunk).run())


def write_sets(
    name: str,
    shapes: Mapping[Part, Shape | Process],
    out: Path,
    seed: int,
    workers: int = 1,
    chunk: int = CHUNK,
) -> dict[Part, dict]:
    """Write those sets that are not there yet, and return the cards of all.

    Raises ``ValueError`` for a folder with sets, or finished chunks, of another name or seed.
    """
    out.mkdir(parents=True, exist_ok=True)
    cards = {}
    for part, shape in shapes.items():
        settings = shape.settings() if isinstance(shape, Process) else {"chunk": chunk, "generator": GENERATOR}
        run = {"preset": name, "seed": seed, **settings, "version": store.VERSION}
        file = out / f"{part}.parquet"
        card = out / f"{part}.json"
        if file.exists():
            cards[part] = json.loads(card.read_text())
            refuse_other(card, {key: cards[part].get(key) for key in run}, run)
            continue
        parts = out / f".{part}-parts"
        claim(parts / "plan.json", run)
        generator: EquationGenerator | Union
        if isinstance(shape, Process):
            generator = Union(shape, part, seed, workers, parts)
        else:
            generator = EquationGenerator(shape.quotas(), part, seed, workers, chunk, parts)
        made = generator.run()
        made = store.with_splits(made, _splits(made.column("depth").to_pylist(), part))
        cards[part] = {**run, **_card(made, generator)}
        with replacing(card) as beside:
            beside.write_text(json.dumps(cards[part], indent=1))
        store.write(file, made)
        shutil.rmtree(parts)
    return cards


def _splits(depths: list[int], part: Part) -> list[str]:
    """The split of each equation: some of a training set are for validation."""
    splits: list[str] = []
    shallow = 0
    for depth in depths:
        validation = part == "train" and is_validation(shallow, depth)
        shallow += depth <= 7
        splits.append("validation" if validation else part)
    return splits


def _card(made: pa.Table, generator: EquationGenerator | Union) -> dict:
    """The content of a set: equations by split and depth, the correct share, what was dropped and what is missing."""
    by_depth = Counter(zip(made.column("depth").to_pylist(), made.column("label").to_pylist(), strict=True))
    depths = sorted({depth for depth, _ in by_depth})
    return {
        "equations": len(made),
        "splits": dict(Counter(made.column("split").to_pylist())),
        "depths": {depth: by_depth[depth, 0] + by_depth[depth, 1] for depth in depths},
        "correct": {depth: by_depth[depth, 1] / (by_depth[depth, 0] + by_depth[depth, 1]) for depth in depths},
        "dropped": dict(sorted(generator.counts.items())),
        "missing": {f"{LABELS[label]}, depth {depth}": n for (label, depth), n in sorted(generator.missing.items())},
    }


def main(arguments: list[str] | None = None) -> None:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m tasks.equations generate", description=__doc__)
    sets: dict[str, Mapping[Part, Shape | Process]] = {**PRESETS, **PUBLISHED}
    parser.add_argument(
        "--preset", choices=list(sets), required=True, help="generate these sets; see presets.py and published/"
    )
    parser.add_argument("--out", type=Path, required=True, help="folder to write")
    parser.add_argument("--seed", type=int, default=0, help="random seed of the equations (default 0)")
    parser.add_argument(
        "--workers", type=int, default=1, help="number of processes, on which the result does not depend (default 1)"
    )
    parser.add_argument(
        "--without", nargs="+", choices=FAULTS, default=[], help="leave out these faults of the published process"
    )
    options = parser.parse_args(arguments)
    shapes = sets[options.preset]
    if options.without:
        if options.preset not in PUBLISHED:
            parser.error(f"--without is for {', '.join(PUBLISHED)}; {options.preset} has no faults to leave out")
        shapes = {part: process.without(options.without) for part, process in PUBLISHED[options.preset].items()}
    start = time.perf_counter()
    cards = write_sets(options.preset, shapes, options.out, options.seed, options.workers)
    seconds = time.perf_counter() - start
    equations = sum(card["equations"] for card in cards.values())
    print(f"{equations:,} equations in {seconds:.1f} s ({equations / seconds:,.0f}/s) -> {options.out}")
    for part, card in cards.items():
        print(f"{part}: {card['splits']}")
        for depth, count in card["depths"].items():
            print(f"  depth {depth}: {count:,}, {card['correct'][depth]:.1%} correct")
        for what in ("dropped", "missing"):
            print(f"  {what}: " + (", ".join(f"{number:,} {why}" for why, number in card[what].items()) or "nothing"))

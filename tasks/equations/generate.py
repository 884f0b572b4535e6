"""The training equations: labelled, without repetition, the same for a seed whatever the number of workers.

``python -m tasks.equations.generate --out FILE --equations N --seed S`` writes ``label<TAB>equation`` lines, label 1
for a correct equation and 0 for a wrong one, and says what it made. The work is cut into chunks, each with its own
random stream; they are merged in order, and the first occurrence of an equation is kept.
"""

import argparse
import math
import multiprocessing
import re
import time
from collections import Counter, deque
from collections.abc import Callable, Generator, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from contextlib import closing
from itertools import count
from pathlib import Path
from typing import TypeVar

from tqdm import tqdm

from dgltree.equation import Equation
from dgltree.files import replacing
from dgltree.read.infix import read_equation, write_equation
from dgltree.read.text import read_text
from tasks.equations.chunk import LEAD, Chunk, Made
from tasks.equations.leaves import with_leaves

CHUNK = 10_000  # equations a chunk; part of what a seed means
BARREN = 3  # chunks in a row that bring nothing new, after which no more can be had

Example = tuple[int, Equation]
T = TypeVar("T")
Kind = tuple[str, int, int]
"""(canonical key, label, depth) of an example."""
Piece = tuple[list[Kind], list[T], Counter[str]]
"""What a chunk brings: kinds, the examples of these kinds, and counts of what was dropped."""
LETTER = re.compile(r"\b[xyzw]\b")
_LABELS = ("wrong", "correct")


def generate(n: int, seed: int, workers: int = 1, chunk: int = CHUNK) -> list[Example]:
    """``n`` labelled equations in random variable names, no two equal up to names and sides."""
    return list(_merged(n, seed, workers, chunk, _examples, Counter()))


def write_labelled(path: Path, n: int, seed: int, workers: int = 1, chunk: int = CHUNK) -> Counter[str]:
    """Write ``n`` labelled equations to ``path``, which appears only when it is complete.

    Returns what was counted: what was written by label and depth, what was dropped by reason.
    """
    counts: Counter[str] = Counter()
    with replacing(path) as beside, beside.open("w", encoding="utf-8", newline="\n") as file:
        lines = _merged(n, seed, workers, chunk, _lines, counts)
        file.writelines(tqdm(lines, total=n, unit="eq", disable=None))
    return counts


def read_labelled(path: str | Path) -> list[Example]:
    """The (label, equation) pairs of a file that :func:`write_labelled` wrote."""
    examples = []
    lines = read_text(path).splitlines()
    for number, line in enumerate(tqdm(lines, desc="reading", unit="eq", delay=2, disable=None), start=1):
        label, tab, text = line.partition("\t")
        if label not in ("0", "1") or not tab:
            raise ValueError(f"{path}, line {number}: {line!r} is not 'label<TAB>equation' with label 0 or 1")
        try:
            examples.append((int(label), read_equation(text)))
        except ValueError as error:
            raise ValueError(f"{path}, line {number}: {error}") from None
    return examples


def _merged(
    n: int, seed: int, workers: int, size: int, work: Callable[[int, int, int], Piece[T]], counts: Counter[str]
) -> Iterator[T]:
    """The first ``n`` different examples, neither label ahead of the other at any depth by more than ``LEAD``."""
    if n < 1 or workers < 1 or size < 1:
        raise ValueError(f"equations, workers and chunk size are at least 1, not {n}, {workers} and {size}")
    seen: set[str] = set()
    size = min(size, n)
    given, barren = 0, 0
    with closing(_pieces(size, seed, workers, work, lambda: math.ceil((n - given) / size))) as pieces:
        for kinds, examples, brought in pieces:
            counts.update(brought)
            before = given
            for (key, label, depth), example in zip(kinds, examples, strict=True):
                if key in seen:
                    counts["dropped: made by two chunks"] += 1
                elif (
                    counts[f"{_LABELS[label]}, depth {depth}"] >= counts[f"{_LABELS[1 - label]}, depth {depth}"] + LEAD
                ):
                    counts["dropped: to balance"] += 1
                else:
                    seen.add(key)
                    counts[f"{_LABELS[label]}, depth {depth}"] += 1
                    given += 1
                    yield example
                    if given == n:
                        return
            barren = 0 if given > before else barren + 1
            if barren == BARREN:
                raise ValueError(f"{n} different equations are not to be had: {given} were found; ask for fewer")


def _pieces(
    size: int, seed: int, workers: int, work: Callable[[int, int, int], Piece[T]], needed: Callable[[], int]
) -> Generator[Piece[T], None, None]:
    """The pieces in the order of their numbers, for as long as they are asked for."""
    if workers == 1:
        for index in count():
            yield work(size, seed, index)
    executor = ProcessPoolExecutor(workers, multiprocessing.get_context("spawn"))
    try:
        running: deque[Future[Piece[T]]] = deque()
        numbers = count()
        while True:
            while len(running) < max(1, min(workers + 1, needed())):
                running.append(executor.submit(work, size, seed, next(numbers)))
            yield running.popleft().result()
    finally:
        executor.shutdown(cancel_futures=True)


def _examples(size: int, seed: int, index: int) -> Piece[Example]:
    made, kinds, counts = _made(size, seed, index)
    return kinds, [(m.label, Equation(*(with_leaves(side, m.names) for side in m.equation))) for m in made], counts


def _lines(size: int, seed: int, index: int) -> Piece[str]:
    made, kinds, counts = _made(size, seed, index)
    return kinds, [f"{m.label}\t{_text(m)}\n" for m in made], counts


def _text(made: Made) -> str:
    names = {str(letter.token): str(name.token) for letter, name in made.names.items()}
    return LETTER.sub(lambda found: names[found[0]], write_equation(made.equation))


def _made(size: int, seed: int, index: int) -> tuple[list[Made], list[Kind], Counter[str]]:
    chunk = Chunk(size, seed, index)
    made = chunk.run()
    kinds = [(m.key, m.label, m.equation.depth) for m in made]
    return made, kinds, Counter({f"dropped: {reason}": number for reason, number in chunk.counts.items()})


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m tasks.equations.generate", description=__doc__)
    parser.add_argument("--out", type=Path, required=True, help="file to write")
    parser.add_argument("--equations", type=int, required=True, help="how many")
    parser.add_argument("--seed", type=int, default=0, help="another seed, other equations (default 0)")
    parser.add_argument(
        "--workers", type=int, default=1, help="processes; the result does not depend on it (default 1)"
    )
    options = parser.parse_args()
    start = time.perf_counter()
    counts = write_labelled(options.out, options.equations, options.seed, options.workers)
    seconds = time.perf_counter() - start
    print(f"{options.equations} equations in {seconds:.1f} s ({options.equations / seconds:.0f}/s) -> {options.out}")
    correct = sum(number for what, number in counts.items() if what.startswith("correct"))
    print(f"correct: {correct / options.equations:.1%}")
    for what, number in sorted(counts.items()):
        print(f"  {what}: {number:,}")


if __name__ == "__main__":
    main()

"""Rank the published candidates for every blank of the published test equations, by raw, class and collapse rank.

``python -m tasks.equations completion --blanks DIR --candidates FILE --out ranks.json`` prints a table and writes
``{"columns": [...], "ranks": [...]}``, one row per equation, as in the published ranks. The published measures count
only the class of the original answer; valid@1 and valid@5 are the shares of equations that the first candidate, or one
of the first five, makes true at random complex points.
"""

import argparse
import json
import sys
import time
from itertools import islice
from pathlib import Path

import numpy as np
import torch
from tqdm import tqdm

from dgltree import Ranker, Ranking, Tree, open_model
from dgltree.equations.truth.evaluator import Evaluator, Truth
from dgltree.models import EquationModel
from dgltree.plotting import charts
from dgltree.read.preorder import Candidate, read_candidates
from dgltree.support.files import replacing
from tasks.equations.blanks import Blank, read_folder

COLUMNS = ("file", "index", "depth", "raw_rank", "class_rank", "collapse_rank")
VALID = 5  # fillers that are tried numerically
KINDS = ("raw", "class", "collapse")


class Ranks:
    """The rank of the true filler among the candidates, counted in three ways.

    The true filler is found by its raw text: ``One`` and ``Integer 1`` read to the same tree, but only one of them was
    blanked. Class rank: the best rank of any filler of its class. Collapse rank: the same when only the best filler of
    every class is kept.
    """

    def __init__(self, candidates: list[Candidate]) -> None:
        self._number = {candidate.text: i for i, candidate in enumerate(candidates)}
        self._classes = np.unique([candidate.class_id for candidate in candidates], return_inverse=True)[1]

    def of(self, blank: Blank, ranking: Ranking) -> tuple[int, int, int]:
        """(raw, class, collapse), from 1. Raises ``ValueError`` if the true filler is not a candidate."""
        true = self._number.get(blank.example.filler_text)
        if true is None:
            raise ValueError(f"file {blank.file}, example {blank.index}: the true filler is not among the candidates")
        place = np.empty(len(self._classes), np.int64)
        place[ranking.index.cpu().numpy()] = np.arange(len(place))
        best = np.full(self._classes.max() + 1, len(place))
        np.minimum.at(best, self._classes, place)
        best_of_class = best[self._classes[true]]
        return int(place[true]) + 1, int(best_of_class) + 1, int((best < best_of_class).sum()) + 1


def complete(
    model: EquationModel, blanks: list[Blank], candidates: list[Candidate]
) -> tuple[list[list[int]], list[list[Tree]]]:
    """Rows of ``COLUMNS``, and the first ``VALID`` fillers in the model's names, in the order of ``blanks``."""
    ranks = Ranks(candidates)
    rows = {}
    first = {}
    equations = [blank.example.equation for blank in blanks]
    rankings = Ranker(model, [candidate.filler for candidate in candidates]).rank_each(equations)
    for number, ranking in tqdm(rankings, total=len(blanks), unit="equation", delay=2, disable=None):
        blank = blanks[number]
        rows[number] = [blank.file, blank.index, blank.example.depth, *ranks.of(blank, ranking)]
        first[number] = list(islice(dict.fromkeys(candidates[i].filler for i in ranking.index[: 4 * VALID]), VALID))
    return [rows[number] for number in range(len(blanks))], [first[number] for number in range(len(blanks))]


def first_valid(blanks: list[Blank], fillers: list[list[Tree]]) -> list[int | None]:
    """The place, from 1, of the first filler that makes each equation true, None if none of those given does."""
    evaluator = Evaluator()
    found = []
    for blank, ranked in zip(tqdm(blanks, unit="equation", delay=2, disable=None), fillers, strict=True):
        filled = (blank.example.equation.fill(filler) for filler in ranked)
        found.append(next((place for place, one in enumerate(filled, 1) if evaluator.truth(one) is Truth.TRUE), None))
    return found


def table(rows: list[list[int]]) -> str:
    """Top-1, top-5 and mean reciprocal rank of the three ranks, over all equations and by depth."""
    ranks = np.array(rows)
    head = f"{'depth':>5} {'count':>6}" + "".join(f"  {f'{kind} top-1':>14} {'top-5':>6} {'MRR':>6}" for kind in KINDS)
    lines = [head]
    depths = sorted(set(ranks[:, 2].tolist()))
    for name, chosen in [("all", ranks), *((str(d), ranks[ranks[:, 2] == d]) for d in depths)]:
        figures = [((r == 1).mean(), (r <= 5).mean(), (1 / r).mean()) for r in chosen[:, 3:].T]
        line = f"{name:>5} {len(chosen):6}"
        lines.append(line + "".join(f"  {one:14.4f} {five:6.4f} {mrr:6.4f}" for one, five, mrr in figures))
    return "\n".join(lines)


def by_depth(rows: list[list[int]]) -> dict[str, charts.Series]:
    """The lines of the picture: shares of equations whose class or collapse rank is up to k, by depth."""
    ranks = np.array(rows)
    found: dict[str, charts.Series] = {}
    for kind in KINDS[1:]:
        column = ranks[:, COLUMNS.index(f"{kind}_rank")]
        for k in (1, 5):
            places = {
                depth: float((column[ranks[:, 2] == depth] <= k).mean()) for depth in np.unique(ranks[:, 2]).tolist()
            }
            found[f"{kind}, top-{k}"] = {depth: (share, 0.0) for depth, share in places.items()}
    return found


def main(arguments: list[str] | None = None) -> int:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m tasks.equations completion", description=__doc__)
    parser.add_argument(
        "--model", default="default", help="a shipped model or a file, published weights included (default: shipped)"
    )
    parser.add_argument("--blanks", type=Path, required=True, help="folder of the blanked equations")
    parser.add_argument("--candidates", type=Path, required=True, help="file of the candidates and their classes")
    parser.add_argument("--out", type=Path, required=True, help="file to write the ranks to")
    parser.add_argument("--picture", type=Path, help="draw top-1 and top-5 by depth to this name with .png and .svg")
    parser.add_argument("--limit", type=int, help="rank only the first N equations")
    parser.add_argument("--threads", type=int, default=1, help="cores to use (default: 1)")
    options = parser.parse_args(arguments)
    torch.set_num_threads(options.threads)
    try:
        model = open_model(options.model)
        start = time.perf_counter()
        blanks = read_folder(options.blanks)[: options.limit]
        rows, first = complete(model, blanks, read_candidates(options.candidates))
        seconds = time.perf_counter() - start
        with replacing(options.out) as beside:
            beside.write_text(json.dumps({"columns": COLUMNS, "ranks": rows}), encoding="utf-8")
    except (OSError, ValueError) as error:
        print(f"completion: {error}", file=sys.stderr)
        return 1
    print(table(rows))
    if options.picture:
        charts.save(charts.accuracy_by("depth of the equation", by_depth(rows)), options.picture)
    places = first_valid(blanks, first)
    shares = (sum(place is not None and place <= k for place in places) / len(places) for k in (1, VALID))
    print("valid@1 {:.4f}, valid@5 {:.4f}".format(*shares))
    print(f"{seconds / len(rows) * 1000:.1f} ms per equation, reading the files included; {options.threads} thread(s)")
    return 0

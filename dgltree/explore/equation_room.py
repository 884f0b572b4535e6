"""The room of equations: what may fill a blank, and what a network does on the way to its score."""

from typing import Any
import numpy as np
from dgltree.equations.expressions.variables import variables
from dgltree.equations.search.points import value
from dgltree.equations.search.points import Points
from dgltree.equations.truth.elementary import Array
from dgltree.equations.truth.verdict import Verdict
from dgltree.trees.equation import Equation
import time
from contextlib import suppress
from functools import lru_cache
from typing import Any, NamedTuple
import torch
from torch import Tensor
from dgltree.batching.batch import batch
from dgltree.engine.kernels.dispatch import kernels
from dgltree.equations.completion.verification import verify
from dgltree.ranking.completion import completer
from dgltree.equations.completion.completer import Listener
from dgltree.equations.completion.result import Completion, Filler
from dgltree.equations.expressions.variables import find_blank
from dgltree.equations.truth.judge import Judge
from dgltree.equations.truth.verdict import Grade, Verdict
from dgltree.explore.endpoint import Endpoint, RequestFields
from dgltree.explore.open_models import Opened
from dgltree.explore.tree_drawing import list_nodes, trace_trees, unfold_tree
from dgltree.explore.endpoint import Send, Stop
from dgltree.models.tree_model import EquationModel, evaluating
from dgltree.ranking.filler_list import FillerList, readable
from dgltree.ranking.ranker import Names
from dgltree.ranking.pretrained_files import shipped_fillers
from dgltree.ranking.ranker import probabilities
from dgltree.read.infix_writer import write_equation, write_infix
from dgltree.equations.typed.latex_writer import write_latex, write_latex_equation
from dgltree.read.notation import NUMBERS
from dgltree.equations.typed import Question, read_question, read_typed_expression
from dgltree.trees.tree import Tree

# ---------------------------------------------------------------------------------------------------------------------
# Both sides of an equation in one variable as curves, and where they part.


PLOT_POINTS = 401
WINDOW = 5.0
"""The curves go from minus this to this, and farther if a part of the line ends outside."""
APART = 1e-6
"""Relative difference of the sides that is shown."""


def plot(equation: Equation, verdict: Verdict) -> dict[str, Any] | None:
    """The values of both sides at equidistant points, None if a side is not real, and the stretches where they part.

    ``apart`` has the first and the last point of each stretch at which the sides differ or one of them alone is real;
    ``part`` has the ends of the intervals of the verdict. None for another number of variables than one, and for a side
    without a value.
    """
    names = variables(*equation)
    if len(names) != 1:
        return None
    ends = [abs(end.value) for piece in verdict.part for end in (piece.low, piece.high) if end is not None]
    reach = max([WINDOW, *(1.25 * end for end in ends if end < 1e6)])
    x = np.linspace(-reach, reach, PLOT_POINTS)
    points = Points("plot", {names[0]: x}, PLOT_POINTS)
    try:
        with np.errstate(all="ignore"):
            left, right = (np.broadcast_to(value(side, points, {}), x.shape) for side in equation)
    except ValueError:
        return None
    return {
        "variable": names[0],
        "x": np.round(x, 6).tolist(),
        "left": _numbers(left),
        "right": _numbers(right),
        "apart": _stretches(_apart(left, right)),
        "part": [[piece.low and piece.low.value, piece.high and piece.high.value] for piece in verdict.part],
    }


def _apart(left: Array, right: Array) -> Array:
    """(P,) whether the sides differ, or just one has a value."""
    there = np.isfinite(left), np.isfinite(right)
    size = np.maximum(np.abs(left), np.abs(right))
    with np.errstate(invalid="ignore"):
        differ = np.abs(left - right) > APART * np.maximum(1.0, size)
    apart: Array = np.where(there[0] & there[1], differ, there[0] != there[1])
    return apart


def _stretches(flags: Array) -> list[list[int]]:
    """The first and the last place of each run of flags."""
    steps = np.diff(np.concatenate([[0], flags.astype(int), [0]]))
    return [[int(a), int(b) - 1] for a, b in zip(np.flatnonzero(steps == 1), np.flatnonzero(steps == -1), strict=True)]


def _numbers(values: Array) -> list[float | None]:
    return [float(f"{v:.6g}") if np.isfinite(v) else None for v in values]


MAX_EQUATION_LENGTH = 1000
"""Characters of an equation."""
MAX_BLANK_DEPTH = 60
"""Nodes above a blank: the list is computed along all of them."""
TOP = 12
SECONDS = 20.0
"""Of an open search."""


class EquationsRoom:
    """Answers for the models of equations."""

    def __init__(self, opened: Opened) -> None:
        self.models = opened.equations
        fillers = shipped_fillers()
        self._lists = {
            name: FillerList(model, readable(fillers, model.cell.vocabulary)) for name, model in self.models.items()
        }

    def endpoints(self) -> list[Endpoint]:
        return [
            Endpoint("equation/read", "read", answer=self.read),
            Endpoint("equation/rank", "rank", answer=self.rank, first=self._rank_once),
            Endpoint("equation/judge", "judge", answer=self.judge),
            Endpoint("equation/own", "judge", answer=self.own),
            Endpoint("equation/verify", "judge", answer=self.verify),
            Endpoint("equation/plot", "judge", answer=self.plot),
            Endpoint("equation/path", "look", answer=self.path),
            Endpoint("equation/search", "search", stream=self.search, first=self._search_once),
        ]

    def _rank_once(self) -> None:
        for name in self._lists:
            self.rank(RequestFields({"model": name, "text": "x + _ = 2"}))

    def _search_once(self) -> None:
        self.search(RequestFields({"text": "x + _ = 2"}), lambda _: None, lambda: False)

    def read(self, asked: RequestFields) -> dict[str, Any]:
        """The reading of a text, typeset and as a tree."""
        typed = _typed(asked)
        read = {"blanks": typed.blanks, "notes": typed.notes, "nodes": _nodes(typed.equation)}
        return {**_written(typed.equation), **read}

    def rank(self, asked: RequestFields) -> dict[str, Any]:
        """The shipped fillers of the one blank by a model's score."""
        ranked, typed = asked.one_of("model", self._lists), _typed(asked)
        if len(typed.blanks) != 1:
            raise ValueError("the list is for one blank; the search fills several")
        if (deep := len(find_blank(typed.equation).steps)) > MAX_BLANK_DEPTH:
            raise ValueError(f"the blank is {deep} nodes below its side's root; the page ranks up to {MAX_BLANK_DEPTH}")
        start = time.monotonic()
        with kernels("off"):
            [found] = ranked.rank([typed.equation], TOP)
        rows = [_unjudged(tree, score) for tree, score in zip(found.fillers, found.scores.tolist(), strict=True)]
        seconds = round(time.monotonic() - start, 3)
        return {"fillers": rows, "blanks": typed.blanks, "tried": len(ranked), "seconds": seconds}

    def judge(self, asked: RequestFields) -> dict[str, Any]:
        """Where the equation holds with each of some fillers in its one blank."""
        typed = _typed(asked)
        fillers = [_expression(text, typed) for text in asked.texts("fillers", TOP, MAX_EQUATION_LENGTH)]
        judge = Judge()
        return {"verdicts": [_verdict(judge.verdict(typed.equation.fill(filler))) for filler in fillers]}

    def own(self, asked: RequestFields) -> dict[str, Any]:
        """A filler of the user's own, judged, with a model's score; None if it does not know a part of it."""
        model, typed = asked.one_of("model", self.models), _typed(asked)
        filler = _expression(asked.text("filler", MAX_EQUATION_LENGTH), typed)
        whole, score = typed.equation.fill(filler), None
        if _knows_numbers(whole, model):
            with suppress(ValueError), evaluating(model), kernels("off"):
                encoded = _filled(typed.equation, filler, model).encoded
                score = float(model(batch(encoded, model.cell.vocabulary))[0])
        return _unjudged(filler, score) | _verdict(Judge().verdict(whole)) | {"source": "yours"}

    def plot(self, asked: RequestFields) -> dict[str, Any]:
        """Both sides as curves, with the blank filled if there is one; nothing for several variables."""
        typed, filler = _typed(asked), asked.text("filler", MAX_EQUATION_LENGTH)
        equation = typed.equation.fill(_expression(filler, typed)) if filler else typed.equation
        return {"plot": plot(equation, verify(equation).verdict), **_written(equation)}

    def verify(self, asked: RequestFields) -> dict[str, Any]:
        """Where an equation without a blank holds, and what a model says of it."""
        model, typed = asked.one_of("model", self.models), _typed(asked)
        with kernels("off"):
            found, score = verify(typed.equation), _score(typed.equation, model)
        against = None if found.counterexample is None else str(found.counterexample)
        return {**_verdict(found.verdict), "against": against, "score": score}

    def search(self, asked: RequestFields, send: Send, stop: Stop) -> None:
        """Fillers as the search finds them, and at last all of them."""
        with kernels("off"):
            found = completer("default", seconds=SECONDS).answer(_typed(asked), TOP, _Reader(send, stop))
        send(_found(found) | {"done": True})

    def path(self, asked: RequestFields) -> dict[str, Any]:
        """A model's states for the equation with a filler in its blank.

        The nodes with their states, gates and actions; which of them the filler changes, from the blank's place to the
        root; and for each of these the logit that it, as a side by itself, equals the other side.
        """
        model, typed = asked.one_of("model", self.models), _typed(asked)
        filled = _filled(typed.equation, _expression(asked.text("filler", MAX_EQUATION_LENGTH), typed), model)
        flat = batch(filled.encoded, model.cell.vocabulary)
        with evaluating(model), kernels("off"):
            h, parts = trace_trees(flat, model.cell)
            scores = _against(model, h[filled.path], h[flat.roots[1 - filled.side]], filled.side)
        return {
            "nodes": _nodes(filled.shown),
            "path": filled.path,
            "filler": filled.within,
            "scores": [round(score, 4) for score in scores.tolist()],
            "parts": parts,
            **_written(filled.shown),
        }


class _Reader(Listener):
    """A browser, which is sent what there is by now, and may have left."""

    def __init__(self, send: Send, stop: Stop) -> None:
        self._send, self._stop = send, stop

    def stops(self) -> bool:
        return self._stop()

    def hear(self, found: Completion) -> None:
        self._send(_found(found) | {"done": False})


class _Filled(NamedTuple):
    """An equation with its blank filled."""

    encoded: Equation
    """In the model's names, unfolded."""
    shown: Equation
    """The same in the user's names."""
    side: int
    path: list[int]
    """Nodes of both sides in preorder: the filler's root, and up to the root of its side."""
    within: list[int]
    """The nodes of the filler."""


def _filled(equation: Equation, filler: Tree, model: EquationModel) -> _Filled:
    """Raises ``ValueError`` for another number of blanks than one, and for what the model does not know."""
    names = Names(equation, model.cell.vocabulary, variables(filler))
    asked, inner = Equation(*map(names.encode, equation)), names.encode(filler)
    side, steps = find_blank(asked)
    sides = [unfold_tree(side) for side in asked.fill(inner)]
    place = 0 if side == 0 else sides[0].size
    path, node = [place], sides[side]
    for _, slot in reversed(steps):
        place += 1 + sum(child.size for child in node.children[:slot])
        path.append(place)
        node = node.children[slot]
    shown = Equation(*map(names.decode, sides))
    return _Filled(Equation(*sides), shown, side, path[::-1], list(range(place, place + node.size)))


def _against(model: EquationModel, along: Tensor, other: Tensor, side: int) -> Tensor:
    """(K,) logits of the states along a path (K, n), on this side of the equals sign, and the other side's state."""
    pairs = torch.stack([along, other.expand_as(along)] if side == 0 else [other.expand_as(along), along], 1)
    return model.read_out(pairs.flatten(0, 1))


def _score(equation: Equation, model: EquationModel) -> float | None:
    """The network's score from 0 to 1; None if it does not know a part of the equation."""
    if not _knows_numbers(equation, model):
        return None
    try:
        return float(probabilities(model, [equation])[0])
    except ValueError:
        return None


def _knows_numbers(equation: Equation, model: EquationModel) -> bool:
    numbers = {node for side in equation for node in side.distinct() if node.function in NUMBERS}
    return all(model.cell.vocabulary.knows_token(number.token or "") for number in numbers)


def _typed(asked: RequestFields) -> Question:
    return _question(asked.text("text", MAX_EQUATION_LENGTH))


_question = lru_cache(maxsize=128)(read_question)
"""The page asks several things of one text."""


def _expression(text: str, typed: Question) -> Tree:
    """A filler, in the names of the equation."""
    return read_typed_expression(text, variables(*typed.equation))


def _written(equation: Equation) -> dict[str, str]:
    return {"text": write_equation(equation), "latex": write_latex_equation(equation)}


def _nodes(equation: Equation) -> list[dict[str, Any]]:
    """The nodes of both sides; the page puts an equals sign above their two roots."""
    return list_nodes([unfold_tree(side) for side in equation])


def _found(found: Completion) -> dict[str, Any]:
    return {
        "fillers": [_row(filler) for filler in found.fillers],
        "blanks": found.blanks,
        "tried": found.tried,
        "seconds": round(found.seconds, 3),
        "stopped": found.stopped,
        "found": found.found,
    }


def _row(filler: Filler) -> dict[str, Any]:
    return {
        "texts": [write_infix(tree) for tree in filler.trees],
        "latex": [write_latex(tree) for tree in filler.trees],
        "forms": [write_infix(tree) for tree in filler.forms],
        **_verdict(filler.verdict),
        "source": filler.source,
        "score": filler.score,
    }


def _unjudged(tree: Tree, score: float | None) -> dict[str, Any]:
    """A row of the list, whose verdict follows."""
    return {"texts": [write_infix(tree)], "latex": [write_latex(tree)], "forms": [], "verdict": None, "score": score}


def _verdict(verdict: Verdict) -> dict[str, Any]:
    return {"verdict": verdict.short, "holds": verdict.holds, "undecided": verdict.grade is Grade.UNDECIDED}

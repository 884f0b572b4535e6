"""The room of equations shows what may fill a blank, and what a network does on the way to its score.

Verdicts on equations and searches come from :mod:`dgltree.explore.judging`, in further processes.
"""

import time
from contextlib import suppress
from typing import Any, NamedTuple

import torch
from torch import Tensor

from dgltree.batching.batch import batch
from dgltree.engine.kernels.dispatch import kernels
from dgltree.equations.expressions.variables import find_blank, variables
from dgltree.equations.typed.latex_writer import write_latex
from dgltree.explore.endpoint import Endpoint
from dgltree.explore.judging import MAX_EQUATION_LENGTH, TOP, read_filler, read_question_of, write_both
from dgltree.explore.open_models import Opened
from dgltree.explore.request_fields import RequestFields
from dgltree.explore.tree_drawing import list_nodes, trace_trees, unfold_tree
from dgltree.models.tree_model import EquationModel, evaluating
from dgltree.ranking.filler_list import FillerList, readable
from dgltree.ranking.pretrained_files import shipped_fillers
from dgltree.ranking.ranker import Names, probabilities
from dgltree.read.infix_writer import write_infix
from dgltree.read.notation import NUMBERS
from dgltree.trees.equation import Equation
from dgltree.trees.tree import Tree

MAX_BLANK_DEPTH = 60
"""Nodes above a blank: the list is computed along all of them."""


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
            Endpoint("equation/judge", judging="judge"),
            Endpoint("equation/own", "look", answer=self.own, judging="own"),
            Endpoint("equation/verify", "look", answer=self.verify, judging="verify"),
            Endpoint("equation/plot", judging="plot"),
            Endpoint("equation/path", "look", answer=self.path),
            Endpoint("equation/search", judging="search", streams=True),
        ]

    def _rank_once(self) -> None:
        for name in self._lists:
            self.rank(RequestFields({"model": name, "text": "x + _ = 2"}))

    def read(self, asked: RequestFields) -> dict[str, Any]:
        """The reading of a text, typeset and as a tree."""
        typed = read_question_of(asked)
        read = {"blanks": typed.blanks, "notes": typed.notes, "nodes": _nodes(typed.equation)}
        return {**write_both(typed.equation), **read}

    def rank(self, asked: RequestFields) -> dict[str, Any]:
        """The shipped fillers of the one blank by a model's score."""
        ranked = asked.one_of("model", self._lists)
        typed = read_question_of(asked)
        if len(typed.blanks) != 1:
            raise ValueError("the list takes one blank; use the search for several blanks")
        if (deep := len(find_blank(typed.equation).steps)) > MAX_BLANK_DEPTH:
            raise ValueError(
                f"the blank is {deep} nodes below the root of its side; the page ranks blanks up to {MAX_BLANK_DEPTH} "
                "nodes below"
            )
        start = time.monotonic()
        with kernels("off"):
            [found] = ranked.rank([typed.equation], TOP)
        rows = [_unjudged(tree, score) for tree, score in zip(found.fillers, found.scores.tolist(), strict=True)]
        seconds = round(time.monotonic() - start, 3)
        return {"fillers": rows, "blanks": typed.blanks, "tried": len(ranked), "seconds": seconds}

    def own(self, asked: RequestFields) -> dict[str, Any]:
        """The row of a filler of the user's own, with a model's score; None if it does not know a part of it."""
        model = asked.one_of("model", self.models)
        typed = read_question_of(asked)
        filler = read_filler(asked.text("filler", MAX_EQUATION_LENGTH), typed)
        score = None
        if _knows_numbers(typed.equation.fill(filler), model):
            with suppress(ValueError), evaluating(model), kernels("off"):
                encoded = _filled(typed.equation, filler, model).encoded
                score = float(model(batch(encoded, model.cell.vocabulary))[0])
        return _unjudged(filler, score) | {"source": "yours"}

    def verify(self, asked: RequestFields) -> dict[str, Any]:
        """The score of an equation without a blank by a model."""
        model = asked.one_of("model", self.models)
        typed = read_question_of(asked)
        with kernels("off"):
            return {"score": _score(typed.equation, model)}

    def path(self, asked: RequestFields) -> dict[str, Any]:
        """A model's states for the equation with a filler in its blank.

        The nodes with their states, gates and actions; which of them the filler changes, from the blank's place to the
        root; and for each of these the logit that it, as a side by itself, equals the other side.
        """
        model = asked.one_of("model", self.models)
        typed = read_question_of(asked)
        filled = _filled(typed.equation, read_filler(asked.text("filler", MAX_EQUATION_LENGTH), typed), model)
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
            **write_both(filled.shown),
        }


class _Filled(NamedTuple):
    """An equation with its blank filled."""

    encoded: Equation
    """The equation in the model's names, unfolded."""
    shown: Equation
    """The equation in the user's names."""
    side: int
    path: list[int]
    """Nodes of both sides in preorder: the filler's root, and up to the root of its side."""
    within: list[int]
    """The nodes of the filler."""


def _filled(equation: Equation, filler: Tree, model: EquationModel) -> _Filled:
    """Raises ``ValueError`` for another number of blanks than one, and for what the model does not know."""
    names = Names(equation, model.cell.vocabulary, variables(filler))
    asked = Equation(*map(names.encode, equation))
    inner = names.encode(filler)
    side, steps = find_blank(asked)
    sides = [unfold_tree(side) for side in asked.fill(inner)]
    place = 0 if side == 0 else sides[0].size
    path = [place]
    node = sides[side]
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


def _nodes(equation: Equation) -> list[dict[str, Any]]:
    """The nodes of both sides; the page puts an equals sign above their two roots."""
    return list_nodes([unfold_tree(side) for side in equation])


def _unjudged(tree: Tree, score: float | None) -> dict[str, Any]:
    """A row of the list, whose verdict follows."""
    return {"texts": [write_infix(tree)], "latex": [write_latex(tree)], "forms": [], "verdict": None, "score": score}

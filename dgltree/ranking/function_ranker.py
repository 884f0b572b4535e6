"""Fillers ranked by anyone's message functions: whole filled trees, batched, each distinct tree once."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import torch
from torch import Tensor

from dgltree.batching.batch import batch
from dgltree.batching.vocabulary import Vocabulary
from dgltree.engine.graph import Graph
from dgltree.engine.message_graph import Fields
from dgltree.engine.runner import prop_nodes_topo
from dgltree.ranking.ranker import FillerRanker, Names
from dgltree.support.arguments import check_size
from dgltree.trees.equation import Equation
from dgltree.trees.tree import Tree


class FunctionRanker(FillerRanker):
    """Ranks as :class:`dgltree.Ranker`, by a model that is message, reduce and apply functions.

    Examples:
        >>> import dgltree
        >>> from dgltree.cells import TreeLSTM
        >>> from dgltree.ranking import FunctionRanker
        >>> fillers = [dgltree.read_infix(text) for text in ("1", "cos(var_0)")]
        >>> vocabulary = dgltree.Vocabulary.from_trees([*fillers, dgltree.read_infix("sin(var_0) + 1")])
        >>> cell = TreeLSTM(vocabulary, 8)
        >>> ranker = FunctionRanker(
        ...     vocabulary, cell.message_func, cell.reduce_func, cell.apply_node_func,
        ...     readout=lambda left, right: (left["h"] * right["h"]).sum(1), fillers=fillers, prepare=cell.prepare,
        ... )
        >>> [ranking] = ranker.rank([dgltree.read_equation("sin(x) + _ = 1")])
        >>> len(ranking.fillers)
        2

    Args:
        vocabulary: the functions and tokens that the model knows.
        message_func, reduce_func, apply_node_func: as of :func:`dgltree.prop_nodes_topo`, children's messages in the
            order of their positions (``edata["slot"]``).
        readout: gets the fields of the left and of the right roots, name to (B, ...) each, and returns (B,) logits.
        fillers: as of :class:`dgltree.Ranker`.
        prepare: gets the graph (``ndata`` of "function" and "token", ``edata`` of "slot") before each pass, and writes
            the fields that the functions read.
        device: of the model.
        nodes: of a pass, about.

    Nothing is recorded for gradients. Modules that the functions use must be in evaluation mode.

    Raises ``ValueError`` as :class:`dgltree.Ranker` does, and for a readout that returns another number of logits.
    """

    def __init__(
        self,
        vocabulary: Vocabulary,
        message_func: Any,
        reduce_func: Any,
        apply_node_func: Any,
        readout: Callable[[Fields, Fields], Tensor],
        fillers: Iterable[Tree],
        prepare: Callable[[Graph], object] = lambda graph: None,
        device: torch.device | str = "cpu",
        nodes: int = 2**15,
    ) -> None:
        super().__init__(fillers, vocabulary)
        check_size("nodes", nodes)
        self.message_func = message_func
        self.reduce_func = reduce_func
        self.apply_node_func = apply_node_func
        self.readout = readout
        self.prepare = prepare
        self.device = device
        self.nodes = nodes

    def _scores(self, names: Names, equations: Sequence[Equation]) -> Iterator[tuple[list[int], Tensor]]:
        index: dict[Tree, int] = {}
        distinct_index = [index.setdefault(names.encode(filler), len(index)) for filler in self.fillers]
        for number, equation in enumerate(equations):
            filled = [equation.fill(filler) for filler in index]
            scores = torch.cat([self._logits(part) for part in self._parts(filled)])
            yield [number], scores[distinct_index].unsqueeze(0)

    def _parts(self, filled: list[Equation]) -> Iterator[list[Equation]]:
        """Equations that are computed in one pass."""
        part = []
        nodes = 0
        for equation in filled:
            part.append(equation)
            nodes += equation.left.size + equation.right.size
            if nodes >= self.nodes:
                yield part
                part = []
                nodes = 0
        if part:
            yield part

    def _logits(self, filled: list[Equation]) -> Tensor:
        """(equations,) logits of filled equations, by one pass over their distinct sides."""
        index: dict[Tree, int] = {}
        left = []
        right = []
        for equation in filled:
            left.append(index.setdefault(equation.left, len(index)))
            right.append(index.setdefault(equation.right, len(index)))
        flat = batch(list(index), self.vocabulary).to(self.device)
        graph = Graph(flat)
        with torch.no_grad():
            self.prepare(graph)
            prop_nodes_topo(
                graph,
                self.message_func,
                self.reduce_func,
                apply_node_func=self.apply_node_func,
                order="slot",
            )
            left_fields = {name: rows[flat.roots[left]] for name, rows in graph.ndata.items()}
            right_fields = {name: rows[flat.roots[right]] for name, rows in graph.ndata.items()}
            scores = self.readout(left_fields, right_fields)
        if scores.shape != (len(filled),):
            raise ValueError(
                f"readout returned {tuple(scores.shape)} for {len(filled)} pairs of roots; return one score per pair"
            )
        return scores

"""Rows of a plan by in-degree: the nodes of a graph of one type, in the order in which a pass computes them."""

from collections.abc import Iterator
from typing import NamedTuple

from torch import Tensor

from dgltree.engine.compiled.tensors import NotAProgramError
from dgltree.engine.frontiers import TopoPlan
from dgltree.engine.message_graph import Fields, MessageGraph


class PlainGraph(NamedTuple):
    """A graph whose nodes are of one type, and its edges, too."""

    ndata: Fields
    edata: Fields
    source: Tensor
    """(E,), the node that each edge leads from."""


def plain_graph(graph: MessageGraph) -> PlainGraph:
    """:class:`NotAProgramError` for a graph of several types."""
    if len(graph.nodes) > 1 or len(graph.relations) > 1:
        raise NotAProgramError("the graph has several node types or edge types")
    [nodes], [edges] = graph.nodes.values(), graph.relations.values()
    return PlainGraph(nodes.data, edges.data, edges.source)


class Bunch(NamedTuple):
    """Rows of a frontier that have equally many edges."""

    frontier: int
    is_computed: bool
    """Whether functions run for them; otherwise they keep what they have."""
    degree: int
    others: int
    """For rows without edges, the lowest number that others of their frontier have; 0 for none."""
    rows: slice
    """Among those of the plan."""
    edges: slice
    """Those that lead to them, among those of the plan."""


def bunches(plan: TopoPlan) -> Iterator[Bunch]:
    """The rows of a plan of one type, in their order."""
    for number, frontier in enumerate(plan.frontiers):
        is_computed = number >= plan.kept
        if not is_computed or not frontier.parts:
            yield Bunch(number, is_computed, 0, 0, frontier.rows, slice(0, 0))
            continue
        [part] = frontier.parts
        least = next((bucket.degree for bucket in part.buckets if bucket.degree), 0)
        begin = part.edges.start
        for bucket in part.buckets:
            low, end = frontier.rows.start + bucket.start, begin + bucket.rows * bucket.degree
            others = 0 if bucket.degree else least
            yield Bunch(number, True, bucket.degree, others, slice(low, low + bucket.rows), slice(begin, end))
            begin = end

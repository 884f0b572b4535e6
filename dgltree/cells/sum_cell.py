"""Cells that aggregate what their children send: any number of children, in order only if they read positions."""

from abc import abstractmethod
from collections.abc import Mapping
from typing import Any

from torch import Tensor

from dgltree.batching.vocabulary import Vocabulary
from dgltree.cells.cell import COMPUTED, Cell, Frame, check_order, get_prepared, now_computed, outside_autocast
from dgltree.engine.aggregation import Aggregation, aggregation_named, name_of
from dgltree.engine.contract import Children, Computed, Shapes, State, StepRows, Widths
from dgltree.engine.positions import Positions
from dgltree.engine.typed_linear import Affine, Linear, sort_rows, split


def _as_only_child(aggregated: State) -> Children:
    """The aggregation of a node's messages as ``combine`` gets it: as if it were the only child."""
    return {name: [rows] for name, rows in aggregated.items()}


class SumCell(Cell):
    """A cell whose node sees its children as one: the sum of what they send, or another aggregation of it.

    To ``gates``, ``products`` and ``combine`` that is the only child, so they are asked for arity 1. Weights belong
    to the name of a function, whatever its arity, or to all functions; vocabularies may have ``ANY_ARITY``.

    Args:
        positions: whether the gates of a message also read the child's position among its siblings
            (:class:`dgltree.engine.positions.Positions`). Otherwise the order of children makes no difference.
        aggregation: of the messages: "sum", "mean", "max", "min", "attention", "bag" (mean, max, log-sum-exp and
            number, for sets of any size), or an own :class:`dgltree.cells.Aggregation` of size n, with which a cell
            cannot be saved.
        vocabulary, hidden_size, options: see :class:`Cell`.
    """

    def __init__(
        self,
        vocabulary: Vocabulary,
        hidden_size: int,
        *,
        positions: bool = False,
        aggregation: str | Aggregation = "sum",
        **options: Any,
    ) -> None:
        super().__init__(vocabulary, hidden_size, **options)
        self.positions = positions
        self.aggregate = aggregation_named(aggregation, hidden_size, widens=True)

    @property
    def aggregation(self) -> str | Aggregation:
        """The name of the aggregation, or an own one itself."""
        return name_of(self.aggregate)

    def build(self) -> None:
        if self.positions:
            self.position_map = Positions(sum(self.message_gates().values()))
        super().build()

    @property
    @abstractmethod
    def messages(self) -> Shapes:
        """Name to shape of what a child sends; ``h``, (n,), is what the gates read, as the aggregation makes it."""

    @abstractmethod
    def message_gates(self) -> Widths:
        """Name to width of the pre-activations of a message: affine maps of the child's h (and the parent's x)."""

    @abstractmethod
    def message(self, pre: State, child: Mapping[str, Tensor]) -> State:
        """The message of one child; values next to ``messages`` in it can be traced."""

    any_arity = True

    def key(self, arity: int | None) -> str:
        return "any"

    def _functions(self) -> dict[int, dict[int, int]]:
        matrix_of_name: dict[str, int] = {}
        matrices = {}
        for f, (name, arity) in enumerate(self.vocabulary.functions):
            if arity != 0 or self.leaf == "gates":
                matrices[f] = matrix_of_name.setdefault(name, len(matrix_of_name))
        return {1: matrices} if matrices else {}

    def _affine(self, arity: int) -> dict[str, Affine]:
        width = sum(self.message_gates().values())
        maps = super()._affine(arity)
        if self.input_size is not None:  # x adds to the gates of a node, and then to those of its messages
            maps["input"] = maps["input"]._replace(fan_out=maps["input"].fan_out + width)
        for name in self.gate_maps(arity):
            maps[name] = maps[name]._replace(fan_in=arity * self.aggregate.width)
        return {"message": Affine(self.hidden_size, width), **maps}

    def send(self, child: Mapping[str, Tensor], slot: Tensor, x_pre: Tensor | None, linear: Linear) -> State:
        """Messages of edges, from the children's states and positions, and what the parents' x adds to the gates."""
        pre = linear("message", child["h"])
        if self.positions:
            pre = pre + self.position_map(slot)
        if x_pre is not None:
            pre = pre + x_pre
        return self.message(split(pre, self.message_gates()), child)

    def step(self, rows: StepRows) -> tuple[Computed, State]:
        x_node, x_message = self.split_inputs(rows.x_pre)
        aggregated, sent = rows.aggregated(self.send, x_message, list(self.messages), self.aggregate)
        return self.compute(aggregated["h"], x_node, _as_only_child(aggregated), rows.linear), sent

    def split_inputs(self, x_pre: Tensor | None) -> tuple[Tensor | None, Tensor | None]:
        if x_pre is None:
            return None, None
        of_node = x_pre.shape[-1] - sum(self.message_gates().values())
        return x_pre[..., :of_node], x_pre[..., of_node:]

    def no_children(self, rows: int) -> Children:
        like = next(self.maps.parameters())
        shapes = {**self.messages, "h": (self.aggregate.width,)}
        return {name: [like.new_zeros(rows, *shape)] for name, shape in shapes.items()}

    @outside_autocast
    def message_func(self, edges: Any) -> Frame:
        """The children's messages along these edges."""
        if not self.maps:  # no function has children: DGL asks for the messages of no edges
            like = edges.src["h"]
            none = {name: like.new_zeros(0, *shape) for name, shape in self.messages.items()}
            return {**none, COMPUTED: edges.src[COMPUTED]}
        order, segments, back = sort_rows(edges.dst["function"])
        linear = self.linear_for(1, segments)
        x = self.frame_inputs(edges.dst, order)
        _, x_pre = self.split_inputs(None if x is None else linear("input", x))
        children = {part: rows[order] for part, rows in get_prepared(self, edges.src).items()}
        sent = self.send(children, edges.data["slot"][order], x_pre, linear)
        messages = {name: sent[name][back] for name in self.messages}
        return {**messages, COMPUTED: edges.src[COMPUTED]}

    @outside_autocast
    def reduce_func(self, nodes: Any) -> Frame:
        """A node's state from the aggregation of its mailbox."""
        check_order(nodes)
        order, segments, back = sort_rows(nodes.data["function"])
        linear = self.linear_for(1, segments)
        x = self.frame_inputs(nodes.data, order)
        x_pre, _ = self.split_inputs(None if x is None else linear("input", x))
        mail = {name: nodes.mailbox[name][order].unbind(1) for name in self.messages}
        slots = [dict(zip(mail, slot, strict=True)) for slot in zip(*mail.values(), strict=True)]
        aggregated = self.aggregate.of_slots(slots)
        computed = self.compute(aggregated["h"], x_pre, _as_only_child(aggregated), linear)
        states = {part: computed[part][back] for part in self.state}
        return {**states, COMPUTED: now_computed(nodes)}

"""Trees to vectors: by one pass of a cell, or by several, each of which reads what the one before says of the tree."""

from copy import deepcopy
from dataclasses import replace
from typing import Any, TypeVar, cast

import torch
from torch import Tensor, nn

from dgltree.batching.batch import TreeBatch, as_batch
from dgltree.cells import Aggregation, Cell, DownwardCell, DownwardTreeLSTM
from dgltree.encoders.encoder import Encoder
from dgltree.engine.aggregation import aggregation_named, name_of
from dgltree.engine.checks import read_of
from dgltree.engine.contract import CellBase
from dgltree.engine.planned import PlannedBatch, plan
from dgltree.engine.propagate import propagate, root_states
from dgltree.support.arguments import check_size
from dgltree.support.torch_internals import without_autocast

AnyCell = TypeVar("AnyCell", bound=CellBase)
CONTEXTS = ("root", "down")
"""The parts of the round before that the nodes of a further one can read, by name."""


class ContextRound(nn.Module):
    r"""A further pass of a cell up the trees, in which each node reads its context in the pass before.

    .. math:: x_j = e_j + A c_j

    where :math:`e_j` is the input that node j has in every round (its token, its number, or the batch's x),
    :math:`c_j` its context, and A a map of this round. The context is the h of the root of j's tree, or the h of j
    after a downward pass that begins with the states of the round before. All else is a pass like the first one, with
    weights of its own. A leaf reads its context if the cell has ``leaf="gates"``.

    Args:
        cell: the cell of this round, which has inputs.
        context: the downward cell; None: the context of a node is the root of its tree.
    """

    def __init__(self, cell: Cell, context: DownwardCell | None) -> None:
        super().__init__()
        assert cell.input_size is not None
        self.cell = cell
        self.context = context
        self.map = nn.Linear(cell.hidden_size, cell.input_size, bias=False)

    def forward(self, planned: PlannedBatch, before: Cell, given: PlannedBatch, recompute: bool) -> PlannedBatch:
        """Return the plan whose inputs are those of this round, (N, d).

        Args:
            planned: the plan of the round before, whose cell is ``before``.
            given: the plan of the first round, which has the inputs that nodes have in every round.
            recompute: as in :func:`dgltree.propagate`.
        """
        context = self.contexts(planned, before, recompute)
        batch = given.batch
        is_leaf = batch.arity == 0
        with without_autocast(batch.device):  # inputs have the dtype of the weights, like states
            x = batch.x
            if x is None:
                x = self.cell.input_embedding(batch.token, batch.within(self.cell.vocabulary).numbers)
            x = x + self.map(context)
        value = batch.value
        if self.cell.leaf == "gates":
            value = None  # x has it already
        else:
            x = x.masked_fill(is_leaf.unsqueeze(1), 0)  # such leaves are embedded, and read no x
        # The first round looked at what nodes carry; to look again would wait for a GPU.
        return replace(given, batch=replace(batch, x=x, value=value), checked=read_of(self.cell))

    def contexts(self, planned: PlannedBatch, before: Cell, recompute: bool) -> Tensor:
        """Return (N, n), the context of each node in the pass of ``before`` along ``planned``."""
        if self.context is None:
            roots = root_states(planned, before, recompute=recompute)
            return roots.index_select(0, tree_of_node(planned.batch))
        up = propagate(planned, before, recompute=recompute)
        return propagate(planned, self.context, recompute=recompute, direction="down", up=up)["h"]


def tree_of_node(batch: TreeBatch) -> Tensor:
    """Return (N,) int64, the number of each node's tree.

    Raises ``ValueError`` for a graph that has not one root.
    """
    trees = torch.arange(len(batch.starts), device=batch.device)
    return trees.repeat_interleave(batch.sizes.to(batch.device), output_size=batch.num_nodes)


def another(cell: AnyCell) -> AnyCell:
    """Return a cell with the options, dtype and device of a cell, and weights of its own."""
    options = deepcopy(cell.config)  # an aggregation that is an object has weights, too
    like = cell.first_weight
    return type(cell)(cell.vocabulary, **options).to(like.device, like.dtype)


class TreeEncoder(Encoder):
    """Vectors of trees, by a cell along the given tree: those of the roots, or pooled ones; all by ``node_states``.

    Examples:
        >>> import dgltree
        >>> from dgltree.cells import ChildSumTreeLSTM
        >>> from dgltree.encoders import TreeEncoder
        >>> trees = [dgltree.read_infix(text) for text in ("sin(x) + 3", "x*3")]
        >>> vocabulary = dgltree.Vocabulary.from_trees(trees)
        >>> encoder = TreeEncoder(ChildSumTreeLSTM(vocabulary, 16), pooling="mean")
        >>> encoder(dgltree.batch(trees, vocabulary)).shape
        torch.Size([2, 16])

    Args:
        cell: the cell.
        recompute: as in :func:`dgltree.propagate`: less memory, more time.
        pooling: "sum", "mean", "max", "min", "attention", or an own :class:`dgltree.cells.Aggregation` of size n: the
            vector of a tree is this aggregation of the states of its nodes. None: the state of its root.
        context: a cell from the roots to the leaves, or "down" for a :class:`dgltree.cells.DownwardTreeLSTM`, by which
            the state of a node is that in its context. That of a root is what it is without. With ``rounds`` it is
            what a further round reads, instead; "root", the default there, is the h of the root.
        rounds: passes of cells up the trees, each with weights of its own. From the second one on every node also reads
            its context in the pass before (:class:`dgltree.encoders.tree_encoder.ContextRound`), so that what one
            branch says can change how another one is read. The last pass gives the states. Equal subtrees have
            different contexts: with further rounds ``share`` makes no difference.

    Raises ``ValueError`` for rounds of a cell without inputs, and for a context that no round reads.

    See also: :func:`dgltree.encoders.make_encoder`, by name.
    """

    gives_nodes = True

    def __init__(
        self,
        cell: Cell,
        recompute: bool = False,
        *,
        pooling: str | Aggregation | None = None,
        rounds: int = 1,
        context: DownwardCell | str | None = None,
    ) -> None:
        super().__init__()
        check_size("rounds", rounds)
        if isinstance(context, DownwardCell | None):
            down = context
        elif context in CONTEXTS:
            down = DownwardTreeLSTM.matching(cell) if context == "down" else None
        else:
            raise ValueError(f"context is {context!r}; it must be 'root', 'down' or a downward cell")
        if rounds == 1 and context == "root":
            raise ValueError("context is 'root', which a further round reads: give rounds=2, or context='down'")
        if rounds > 1 and cell.input_size is None:
            raise ValueError(
                f"rounds is {rounds}, which adds context to the input of each node: give the cell an input_size"
            )
        self.cell = cell
        self.recompute = recompute
        self.context = down if rounds == 1 else None
        self.rounds = nn.ModuleList()
        for number in range(1, rounds):
            own = down if down is None or number == 1 else another(down)
            like = cell.first_weight
            self.rounds.append(ContextRound(another(cell), own).to(like.device, like.dtype))
        self.pool = None if pooling is None else aggregation_named(pooling, cell.hidden_size)
        self.vocabulary = cell.vocabulary
        self.config = cell.config
        if self.pool is not None:
            self.config["pooling"] = name_of(self.pool)
        if rounds > 1:
            self.config["rounds"] = rounds
        if rounds > 1 or down is not None:
            named = "root" if down is None else "down"
            self.config["context"] = context if isinstance(context, DownwardCell) else named

    @property
    def cells(self) -> list[Cell]:
        """The cells of all rounds, the first one's first."""
        return [self.cell, *(cast(ContextRound, each).cell for each in self.rounds)]

    def forward(self, batch: Any, share: bool = False) -> Tensor:
        """(B, n), one row per tree; ``share`` as in :func:`dgltree.propagate`."""
        batch = batch if isinstance(batch, PlannedBatch) else as_batch(batch, "the encoder")
        if self.pool is None:
            planned, cell = self.last_round(batch, share)
            return root_states(planned, cell, share, self.recompute)
        h = self.node_states(batch, share)
        sizes = batch.batch.sizes if isinstance(batch, PlannedBatch) else batch.sizes
        tree = torch.arange(len(sizes), device=h.device).repeat_interleave(sizes.to(h.device), output_size=len(h))
        return cast(Tensor, self.pool({"h": h}, tree, len(sizes))["h"])

    def plan(self, batch: TreeBatch, share: bool) -> PlannedBatch:
        if not self.rounds:
            return plan(batch, self.cell, share, downward=self.context)
        first = cast(ContextRound, self.rounds[0])
        return plan(batch, self.cell, downward=first.context)  # equal subtrees have different contexts

    def last_round(self, batch: Any, share: bool = False) -> tuple[Any, Cell]:
        """Return what the last pass runs on, and its cell: what :func:`dgltree.propagate` takes, for a trace of it.

        With one round this is the batch itself. Raises ``ValueError`` for a plan that shares rows between equal
        subtrees if there are further rounds.
        """
        if not self.rounds:
            return batch, self.cell
        given = batch if isinstance(batch, PlannedBatch) else self.plan(as_batch(batch, "the encoder"), share)
        if given.share:
            raise ValueError(
                f"the plan shares rows between equal subtrees, whose contexts differ in {1 + len(self.rounds)} rounds: "
                "plan with share=False, or by encoder.plan"
            )
        planned = given
        for before, each in zip(self.cells, self.rounds, strict=False):  # nothing follows the last cell
            planned = each(planned, before, given, self.recompute)
        return planned, self.cells[-1]

    def node_states(self, batch: Any, share: bool = False) -> Tensor:
        """(N, n), one row per node in public numbering; ``share`` as in :func:`dgltree.propagate`."""
        batch, cell = self.last_round(batch, share)
        states = propagate(batch, cell, share=share, recompute=self.recompute)
        if self.context is not None:
            options: dict[str, Any] = {"share": share, "recompute": self.recompute}
            states = propagate(batch, self.context, direction="down", up=states, **options)
        return states["h"]

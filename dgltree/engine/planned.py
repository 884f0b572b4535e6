"""Planned batches: what can be done before a cell computes, as a value that a data loader's worker hands on."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from dgltree.batching.batch import TreeBatch, as_batch
from dgltree.batching.moving import Movable
from dgltree.engine.checks import check_batch, check_device, check_nodes, read_of
from dgltree.engine.compiled.run_functions import hindrance
from dgltree.engine.contract import CellBase, CellContract, DownwardContract
from dgltree.engine.kernels.dispatch import has_kernel, planned_layout
from dgltree.engine.kernels.layout import Layout
from dgltree.engine.schedule import Schedule, downward_schedule, schedule
from dgltree.support.torch_internals import outside_transforms

if TYPE_CHECKING:
    import dgl


@dataclass(frozen=True, kw_only=True)
class PlannedBatch(Movable):
    """A batch, the schedule by which a cell runs it, and what was checked. Made by :func:`plan`.

    A batch whose tensors torch changed in place since is refused. What writes to their memory by other ways, as an
    array of ``tensor.numpy()`` does, torch does not count, and it is **not noticed**: plan such a batch again.
    """

    batch: TreeBatch
    schedule: Schedule
    share: bool
    """Whether equal subtrees have one row."""
    any_arity: bool
    """Whether it is for cells that add up their children; see ``Cell.any_arity``."""
    checked: tuple[object, ...] | None
    """What the nodes were found good for; see :func:`dgltree.engine.checks.read_of`."""
    layout: Layout | None = None
    """Where the gates of a pass through a kernel lie, if it is for a cell that has one."""
    downward: Schedule | None = None
    """The schedule of the way down, if it is for a downward cell, too."""
    versions: tuple[int, ...] = field(init=False)
    """Versions of the batch's tensors when it was planned."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "versions", self.batch.versions)

    def __getstate__(self) -> dict[str, Any]:
        self.check_unchanged()
        return super().__getstate__()

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        self.__post_init__()  # its tensors are new ones

    def __len__(self) -> int:
        """The number of trees."""
        return len(self.batch)

    @property
    def device(self) -> torch.device:
        return self.batch.device

    def map(self, function: Callable[[Tensor], Tensor]) -> "PlannedBatch":
        self.check_unchanged()
        return replace(
            self,
            batch=self.batch.map(function),
            schedule=self.schedule.map(function),
            layout=None if self.layout is None else self.layout.map(function),
            downward=None if self.downward is None else self.downward.map(function),
        )

    def with_inputs(
        self, *, x: Tensor | None = None, token: Tensor | None = None, value: Tensor | None = None
    ) -> "PlannedBatch":
        """This plan for other inputs of its nodes, such as vectors that another network gives at each step.

        Examples:
            >>> import dgltree, torch
            >>> from dgltree.cells import TreeLSTM
            >>> trees = [dgltree.read_infix("sin(x) + y")]
            >>> vocabulary = dgltree.Vocabulary.from_trees(trees)
            >>> cell = TreeLSTM(vocabulary, 8, input_size=3, leaf="gates")
            >>> planned = dgltree.plan(dgltree.batch(trees, vocabulary, x=torch.zeros(4, 3)), cell)
            >>> vectors = torch.ones(4, 3, requires_grad=True)
            >>> dgltree.propagate(planned.with_inputs(x=vectors), cell)["h"].sum().backward()
            >>> vectors.grad.shape
            torch.Size([4, 3])

        Args:
            x: (N, d) floating; gradients reach it.
            token: (N,) int64, ids of the vocabulary's tokens, -1 for none.
            value: (N,) float64, NaN for none.

        Raises ``ValueError`` for inputs of another length, kind or device, and for a plan in which equal subtrees share
        a row: they may not be equal any more.
        """
        inputs = {"x": x, "token": token, "value": value}
        given: dict[str, Any] = {name: rows for name, rows in inputs.items() if rows is not None}
        if self.share and given:
            equal = ", ".join(given)
            raise ValueError(f"the plan shares rows between subtrees of equal {equal}: plan with share=False")
        self.check_unchanged()
        for name, rows in given.items():
            _check_inputs(self.batch, name, rows)
        # With gates at the leaves every x is read; what else is read of nodes is checked again, at each pass.
        reads_every_x = self.checked is not None and "gates" in self.checked
        stays_checked = reads_every_x and list(given) == ["x"] and self.batch.x is not None
        tokens_inside = self.schedule.tokens_inside or token is not None
        return replace(
            self,
            batch=replace(self.batch, **given),
            schedule=replace(self.schedule, tokens_inside=tokens_inside),
            checked=self.checked if stays_checked else None,
        )

    def downward_for(self, cell: DownwardContract) -> Schedule:
        """The schedule of the way down; made here if it was not planned, or for another kind of cell."""
        if self.downward is not None and self.downward.kinds_of == cell.kinds_of:
            return self.downward
        return downward_schedule(self.batch, cell, self.share)

    def check_for(self, cell: CellContract) -> None:
        """``ValueError`` if a cell cannot run on the batch, or not by this schedule, or if it was changed since.

        The nodes are looked at again only for a cell that reads other things of them: to look at them waits for a GPU.
        """
        self.check_unchanged()
        check_batch(cell, self.batch)
        check_device(cell, self.batch)
        if self.any_arity != cell.any_arity:
            raise ValueError(f"the batch was planned for a kind of cell other than {type(cell).__name__}: plan again")
        if self.checked != read_of(cell):
            check_nodes(cell, self.batch)

    def check_unchanged(self) -> None:
        """``ValueError`` for a batch that was changed in place after it was planned."""
        if self.versions != self.batch.versions:
            raise ValueError("the batch was changed in place after it was planned: plan again")


def _check_inputs(batch: TreeBatch, name: str, rows: Tensor) -> None:
    """``ValueError`` for inputs that the nodes of a batch cannot have."""
    nodes = batch.num_nodes
    if name == "x":
        fits = rows.dim() == 2 and rows.is_floating_point()
        needed = f"({nodes}, d) of floating-point numbers"
    else:
        dtype = torch.int64 if name == "token" else torch.float64
        fits = rows.dim() == 1 and rows.dtype == dtype
        needed = f"({nodes}) of {str(dtype).removeprefix('torch.')}"
    if len(rows) != nodes or not fits:
        raise ValueError(f"{name} has shape {tuple(rows.shape)} and is {rows.dtype}; this plan needs {needed}")
    if rows.device != batch.device:
        raise ValueError(f"{name} is on {rows.device}, but the plan is on {batch.device}: use planned.to(...)")


def plan(
    batch: "TreeBatch | dgl.DGLGraph",
    cell: CellContract | None = None,
    share: bool = False,
    *,
    downward: DownwardContract | None = None,
) -> PlannedBatch:
    """What :func:`dgltree.propagate` would else do first: check the batch and make the schedule.

    Examples:
        >>> import dgltree
        >>> from dgltree.cells import TreeLSTM
        >>> trees = [dgltree.read_infix("sin(x) + sin(x)")]
        >>> vocabulary = dgltree.Vocabulary.from_trees(trees)
        >>> cell = TreeLSTM(vocabulary, hidden_size=8)
        >>> planned = dgltree.plan(dgltree.batch(trees, vocabulary), cell, share=True)
        >>> dgltree.propagate(planned, cell)["h"].shape  # as often as you like
        torch.Size([5, 8])

    Args:
        batch: the trees, or any DAG as a DGLGraph.
        cell: what they are for, on whatever device: a plan is made on the CPU and then moved to the cell. Without a
            cell they are not checked, and planned for cells with weights for each arity.
        share: whether to compute equal subtrees once, as in :func:`dgltree.propagate`.
        downward: the cell of the way down, if there is one to come.

    The batch must stay as it is from then on. A change in place by torch is noticed, one by way of ``.numpy()`` is not.

    Raises ``ValueError`` if the cell cannot run on the batch.
    """
    with outside_transforms():
        return _plan(as_batch(batch, "plan"), cell, share, downward)


def _plan(batch: TreeBatch, cell: CellContract | None, share: bool, downward: DownwardContract | None) -> PlannedBatch:
    on_cpu = batch.to("cpu")
    any_arity = cell is not None and cell.any_arity
    checked = layout = down = None
    if cell is not None:
        check_batch(cell, batch)
        check_nodes(cell, on_cpu)
        checked = read_of(cell)
        batch = batch.within(cell.vocabulary)
    up = schedule(on_cpu, share, by_arity=not any_arity)
    if cell is not None:
        layout = planned_layout(cell, up)
        if layout is not None:
            layout = layout.to(batch.device)
        if not has_kernel(cell) and _is_for_torch(cell):
            up.with_gathers()
    if downward is not None:
        down = downward_schedule(on_cpu, downward, share)
        if _is_for_torch(downward):
            down.with_gathers()
        down = down.to(batch.device)
    return PlannedBatch(
        batch=batch,
        schedule=up.to(batch.device),
        share=share,
        any_arity=any_arity,
        checked=checked,
        layout=layout,
        downward=down,
    )


def _is_for_torch(cell: CellBase) -> bool:
    """Whether nothing of a cell is compiled: torch's operations compute its passes, and read rows by a plan."""
    return hindrance(cell.first_weight.device) is not None

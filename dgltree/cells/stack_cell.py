"""Common parts of the cells with a stack."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import torch
from torch import Tensor

from dgltree.batching.vocabulary import Vocabulary
from dgltree.cells.cell import Cell
from dgltree.engine.autograd import differentiable_gradients
from dgltree.engine.contract import Shapes, State
from dgltree.support.arguments import check_size
from dgltree.support.torch_internals import inside_transform

# ---------------------------------------------------------------------------------------------------------------------
# The differentiable stack of the memory-augmented cells (Arabshahi et al. 2019 and 2021, arXiv 1911.01545).
#
# A stack is (..., rows, n), row 0 the top. It holds p rows, or fewer if ranking has cut off those that cannot reach
# the root any more: then its last row lacks the row below it, and an update gives one row less.


def update(
    g: Sequence[Tensor],
    stacks: Sequence[Tensor],
    u: Tensor,
    actions: Mapping[str, Tensor],
    size: int,
    top_k: int = 1,
) -> tuple[Tensor, Tensor]:
    """The children's stacks combined, then push u, pop, and no-op at once, each weighted by its action.

    ``Sc = sum_k g_k * S_k``, ``S[0] = a_push * u + a_pop * Sc[1] + a_noop * Sc[0]``,
    ``S[r] = a_push * Sc[r-1] + a_pop * Sc[r+1] + a_noop * Sc[r]``; a row past the end reads as 0.

    Args:
        g: of one child or more, (..., n), the same for every row.
        stacks: as many, (..., rows, n), ``rows <= size``.
        u: (..., n), what is pushed.
        actions: of "push" and, where available, "pop" and "noop", (..., n) or (..., 1).
        size: p, the rows of a whole stack.
        top_k: k, the rows to read.

    Returns S, (..., p, n), or (..., rows - 1, n) for stacks that were cut, and its first k rows, (..., k, n): to read
    those costs less in the backward pass than to read them from S.
    """
    given: Sequence[Tensor | None] = (u, actions["push"], actions.get("pop"), actions.get("noop"), *g, *stacks)
    if torch.is_grad_enabled():
        given = _broadcast(given, len(stacks))
    if inside_transform():
        return _updated(size, top_k, len(stacks), *given)
    return _Update.apply(size, top_k, len(stacks), *given)


def _broadcast(given: Sequence[Tensor | None], children: int) -> Sequence[Tensor | None]:
    """All with the same leading sizes, so that each one's gradient has its own shape."""
    dims = [1] * (len(given) - children) + [2] * children  # a vector each, and a matrix for each stack
    leads = [v.shape[:-dim] for v, dim in zip(given, dims, strict=True) if v is not None]
    if all(lead == leads[0] for lead in leads):
        return given
    lead = torch.broadcast_shapes(*leads)
    return [v if v is None else v.expand(*lead, *v.shape[-dim:]) for v, dim in zip(given, dims, strict=True)]


class _Update(torch.autograd.Function):
    """Both sums, and their backward pass by hand.

    Autograd would keep every product of the size of a stack, and fill a stack with zeros for each slice of one. The
    rows of a stack come first here: a gate then multiplies each row of all stacks at once.
    """

    @staticmethod
    def forward(ctx: Any, size: int, top_k: int, children: int, *given: Any) -> tuple[Tensor, Tensor]:
        ctx.save_for_backward(*given)
        ctx.size = size
        ctx.top_k = top_k
        ctx.children = children
        S, top = _updated(size, top_k, children, *given)
        ctx.kept = S.shape[-2]
        return S, top

    @staticmethod
    def backward(ctx: Any, d_S: Tensor, d_top: Tensor) -> tuple[Tensor | None, ...]:
        given = ctx.saved_tensors
        kept = ctx.kept
        if torch.is_grad_enabled():
            compute = partial(_updated, ctx.size, ctx.top_k, ctx.children)
            return None, None, None, *differentiable_gradients(compute, given, (d_S, d_top))
        u, push, pop, noop, *rest = given
        g = rest[: ctx.children]
        stacks = rest[ctx.children :]
        d_S = d_S.movedim(-2, 0).clone(memory_format=torch.contiguous_format)
        d_S[: ctx.top_k] += d_top.movedim(-2, 0)
        Sc = _combined(g, stacks)
        # S[r] = push * Sc[r - 1] + pop * Sc[r + 1] + noop * Sc[r]: each term is added to where it was read.
        is_whole = noop is not None and len(Sc) == kept  # then noop's term is the first, and saves zeros
        d_Sc = noop * d_S if is_whole else torch.zeros_like(Sc)
        pushed = d_S[1:]
        d_push = (pushed * Sc[: kept - 1]).sum(0).addcmul_(d_S[0], u)
        d_Sc[: kept - 1].addcmul_(push, pushed)
        d_pop = d_noop = None
        if pop is not None:
            popped = d_S[: len(Sc) - 1]
            d_pop = (popped * Sc[1 : kept + 1]).sum(0).sum_to_size(pop.shape)
            d_Sc[1 : kept + 1].addcmul_(pop, popped)
        if noop is not None:
            d_noop = (d_S * Sc[:kept]).sum(0).sum_to_size(noop.shape)
            if not is_whole:
                d_Sc[:kept].addcmul_(noop, d_S)
        d_g = [(d_Sc * S_k.movedim(-2, 0)).sum(0) for S_k in stacks]
        d_stacks = [(g_k * d_Sc).movedim(0, -2) for g_k in g]
        d_u = push * d_S[0]
        d_push = d_push.sum_to_size(push.shape)
        return None, None, None, d_u, d_push, d_pop, d_noop, *d_g, *d_stacks


def _updated(size: int, top_k: int, children: int, *given: Any) -> tuple[Tensor, Tensor]:
    """S and its first rows, by operations that autograd knows."""
    u, push, pop, noop, *rest = given
    Sc = _combined(rest[:children], rest[children:])
    kept = size if len(Sc) == size else len(Sc) - 1
    S = torch.zeros_like(Sc[:kept]) if noop is None else noop * Sc[:kept]
    _add_product(S[0], push, u)
    _add_product(S[1:], push, Sc[: kept - 1])
    if pop is not None:
        _add_product(S[: len(Sc) - 1], pop, Sc[1 : kept + 1])
    return S.movedim(0, -2), S[:top_k].movedim(0, -2)


def _combined(g: Sequence[Tensor], stacks: Sequence[Tensor]) -> Tensor:
    """(rows, ..., n): the sum of the stacks, each times its gate."""
    Sc = g[0] * stacks[0].movedim(-2, 0)
    for g_k, S_k in zip(g[1:], stacks[1:], strict=True):
        _add_product(Sc, g_k, S_k.movedim(-2, 0))
    return Sc


def _add_product(total: Tensor, a: Tensor, b: Tensor) -> None:
    """``total += a * b``"""
    if inside_transform():  # vmap has no rule for addcmul
        total.add_(a * b)
    else:
        total.addcmul_(a, b)


def used_rows(S: Tensor, threshold: float = 1e-3) -> Tensor:
    """(...,) int64: rows of stacks (..., p, n) whose 2-norm exceeds the threshold (Arabshahi et al. 2021)."""
    return (torch.linalg.vector_norm(S, dim=-1) > threshold).sum(-1)


def usage_by_depth(S: Tensor, depth: Tensor, threshold: float = 1e-3) -> dict[int, float]:
    """Depth -> rows in use, averaged over the stacks of that depth: the stack usage of Arabshahi et al. 2021.

    Args:
        S: (rows, p, n), say ``propagate(batch, cell)["S"]``, or its rows at ``batch.roots``.
        depth: (rows,) int64 of the trees that the stacks belong to, say ``batch.level``.
        threshold: the 2-norm above which a row counts.
    """
    used = used_rows(S.detach(), threshold).double()
    usage = {}
    for d in torch.unique(depth).tolist():
        usage[d] = float(used[depth == d].mean())
    return usage


class StackCell(Cell):
    """A cell whose memory is a differentiable stack. State: ``h`` (n,), ``S`` (p, n), all 0 at embedded leaves.

    Args:
        stack_size: p, rows of the stack.
        top_k: k, rows that h reads.
        no_op: whether there is a no-op action.
        pop: whether there is a pop action.
        vocabulary, hidden_size, options: see :class:`Cell`.
    """

    def __init__(
        self,
        vocabulary: Vocabulary,
        hidden_size: int,
        *,
        stack_size: int = 5,
        top_k: int = 1,
        no_op: bool = False,
        pop: bool = True,
        **options: Any,
    ) -> None:
        super().__init__(vocabulary, hidden_size, **options)
        check_size("stack_size", stack_size)
        check_size("top_k", top_k)
        if top_k > stack_size:
            raise ValueError(f"top_k is {top_k}; it must be from 1 to stack_size, {stack_size}")
        self.stack_size = stack_size
        self.top_k = top_k
        self.no_op = no_op
        self.pop = pop
        self.actions = ["push"]
        if pop:
            self.actions.append("pop")
        if no_op:
            self.actions.append("noop")

    @property
    def state(self) -> Shapes:
        return {"h": (self.hidden_size,), "S": (self.stack_size, self.hidden_size)}

    def update(
        self, g: Sequence[Tensor], stacks: Sequence[Tensor], u: Tensor, actions: Mapping[str, Tensor]
    ) -> tuple[Tensor, Tensor]:
        """The node's stack, and the k rows to read: its children's combined by g, then pushed, popped and kept.

        A leaf has one empty stack for its children's.
        """
        if not stacks:
            stacks = [u.new_zeros(*u.shape[:-1], self.stack_size, self.hidden_size)]
            g = [torch.ones_like(u)]
        return update(g, stacks, u, actions, self.stack_size, self.top_k)

    def reachable(self, state: State, steps: int) -> State:
        # Row r needs at least r - k + 1 pops to be read, and a step pops once.
        rows = self.top_k + steps
        return {"h": state["h"], "S": state["S"][..., :rows, :]}

"""Trees to flat tensors and back: what every engine runs on."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cache
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import torch
from torch import Tensor

from dgltree.batching.dgl_graph import columns_of, has_types, to_dgl, with_types, without_types
from dgltree.batching.moving import Movable
from dgltree.batching.node_columns import (
    children_by_object,
    children_in_preorder,
    class_numbers,
    column,
    node_ids,
    numbers,
    read_fields,
)
from dgltree.batching.number_scales import parents_of
from dgltree.batching.run_lengths import ranges
from dgltree.batching.vocabulary import ANY_ARITY, NO_LABEL, NO_TOKEN, Vocabulary
from dgltree.support.lazy import cached_property
from dgltree.support.torch_internals import version_of
from dgltree.trees.picture import MAX_PICTURE_NODES, frame_pictures, node_name, tree_svg
from dgltree.trees.tree import Tree, flat_trees

if TYPE_CHECKING:
    import dgl

# ---------------------------------------------------------------------------------------------------------------------
# Which trees are chosen, and what of a batch is theirs.


def choose_rows(
    rows: Sequence[int] | Sequence[bool] | np.ndarray | Tensor, count: int, what: str, whole: str
) -> np.ndarray:
    """The numbers (len,) int64 of the chosen ones of ``count`` things: given as numbers, or as a mask of booleans.

    ``what`` and ``whole`` name them and what they are in.

    Raises ``ValueError`` for none, for a number that is none of a thing, and for a mask of another length;
    ``TypeError`` for numbers that are not whole, and where booleans and numbers are mixed.
    """
    if not isinstance(rows, Tensor | np.ndarray):
        rows = list(rows)
        if len({isinstance(row, bool | np.bool_) for row in rows}) > 1:
            raise TypeError(f"{what}: booleans and numbers are mixed; give a mask, or numbers")
    which = np.asarray(rows.cpu() if isinstance(rows, Tensor) else rows)
    if which.ndim != 1:
        raise ValueError(f"{what} has shape {which.shape}; it is one list of numbers, or a mask ({count},)")
    if which.dtype == bool:
        if len(which) != count:
            raise ValueError(f"{what} is a mask of {len(which)} entries; {whole} has {count}")
        which = np.flatnonzero(which)
    if not len(which):
        raise ValueError("no trees: give the number of at least one")
    if which.dtype.kind not in "iu":
        raise TypeError(f"{what} has {which.dtype} entries; give whole numbers, or a mask of booleans")
    if which.min() < 0 or which.max() >= count:
        raise ValueError(f"{what} run from {which.min()} to {which.max()}; {whole} has 0 to {count - 1}")
    return which.astype(np.int64)


def choose_columns(batch: Any, which: np.ndarray) -> tuple[dict[str, Any], Callable[[Tensor], Tensor]]:
    """The tensors of a ``TreeBatch`` of some trees, by their names, and what takes their rows of a column of nodes.

    ``which`` (len,) int64 are their numbers. Raises ``ValueError`` if roots are not one per tree.
    """
    starts, sizes, roots, pointer = (
        tensor.cpu().numpy() for tensor in (batch.starts, batch.sizes, batch.roots, batch.child_ptr)
    )
    size, old = sizes[which].astype(np.int64), starts[which].astype(np.int64)
    new = np.cumsum(size) - size
    node = ranges(old, size)
    edges = pointer[old + size] - pointer[old]
    edge = ranges(pointer[old], edges)

    def on_device(array: np.ndarray) -> Tensor:
        return torch.from_numpy(array).to(batch.device)

    node_index, edge_index, shift = map(on_device, (node, edge, np.repeat(new - old, edges)))

    def nodes(column: Tensor) -> Tensor:
        return column.index_select(0, node_index)

    columns = {
        "function": nodes(batch.function).long(),
        "token": nodes(batch.token).long(),
        "child_ptr": on_device(np.concatenate([[0], np.cumsum(pointer[node + 1] - pointer[node])])),
        "child_index": batch.child_index.index_select(0, edge_index) + shift,
        "level": nodes(batch.level).long(),
        "roots": on_device(roots[which] + new - old),
        "sizes": on_device(size),
        "label": nodes(batch.label).long(),
        "value": None if batch.value is None else nodes(batch.value),
        "x": None if batch.x is None else nodes(batch.x),
    }
    return columns, nodes


DRAWN = 4  # trees of a picture
MIN_NODES_FOR_NUMPY = 64  # nodes, whose children numpy does not find faster


@dataclass(frozen=True, eq=False)
class TreeBatch(Movable):
    """N nodes of B trees as one graph, in *public numbering*: tree after tree, each in preorder.

    Examples:
        >>> import dgltree
        >>> trees = [dgltree.read_infix(text) for text in ("sin(x) + 3", "x*3")]
        >>> batch = dgltree.batch(trees, dgltree.Vocabulary.from_trees(trees))
        >>> batch.roots, batch.arity
        (tensor([0, 4]), tensor([2, 1, 0, 0, 2, 0, 0]))

    A child object that is held twice within a tree is one node with two edges, numbered where it is first met; for a
    user's DAG the numbering is that of the graph. What a data set maps from a file may be int32 instead of int64, and
    is there to :func:`dgltree.select` from.

    See also: :func:`dgltree.batch`, which makes one; :func:`dgltree.propagate`, which runs a cell on it.
    """

    function: Tensor
    """(N,) int64, ids of the vocabulary's functions."""
    token: Tensor
    """(N,) int64, ids of the vocabulary's tokens; ``NO_TOKEN`` if there is none."""
    child_ptr: Tensor
    """(N + 1,) int64: the children of node j are ``child_index[child_ptr[j]:child_ptr[j + 1]]``, in order."""
    child_index: Tensor
    """(E,) int64, node numbers."""
    level: Tensor
    """(N,) int64: 0 for a leaf, else one more than the highest child's."""
    roots: Tensor
    """(B,) int64, node numbers."""
    sizes: Tensor
    """(G,) int64, nodes of each tree (of each graph, for a user's DGLGraph)."""
    label: Tensor
    """(N,) int64, what is to be predicted; ``NO_LABEL`` if there is none."""
    value: Tensor | None = None
    """(N,) float64, numbers of leaves; NaN if there is none."""
    x: Tensor | None = None
    """(N, d) floating, one input vector per node."""
    vocabulary: Vocabulary | None = None
    subtree_numbers: Tensor | None = field(default=None, init=False, repr=False, compare=False)
    numbered_versions: tuple[int, ...] = field(default=(), init=False, repr=False, compare=False)

    def __len__(self) -> int:
        """The number of trees."""
        return len(self.roots)

    def __getitem__(self, trees: "int | slice | Sequence[int] | np.ndarray | Tensor") -> "TreeBatch":
        """One tree, or some, as a batch of their own: what :func:`dgltree.select` gives; of pairs one tree is a member.

        Raises ``IndexError`` for the number of a tree that the batch does not have, and as ``select`` does.
        """
        if isinstance(trees, slice):
            trees = range(len(self))[trees]
        if isinstance(trees, int | np.integer):
            if not -len(self) <= trees < len(self):
                raise IndexError(f"there is no tree {trees}: the batch has {len(self)}")
            trees = [int(trees) % len(self)]
        columns, rows = choose_columns(self, choose_rows(trees, len(self), "trees", "the batch"))
        some = TreeBatch(**columns, vocabulary=self.vocabulary)
        return some if self.subtree is None else some.with_subtrees(rows(self.subtree))

    def __iter__(self) -> Iterator["TreeBatch"]:
        """A batch for each tree."""
        return (self[i] for i in range(len(self)))

    def __eq__(self, other: object) -> bool:
        """Whether another batch has the same trees, in the same vocabulary: all tensors are equal, NaN to NaN."""
        if not isinstance(other, TreeBatch):
            return NotImplemented
        own, others = self._tensors(), other._tensors()
        return (
            own.keys() == others.keys()
            and self.vocabulary == other.vocabulary
            and all(_equal(tensor, others[name]) for name, tensor in own.items())
        )

    __hash__ = None  # type: ignore[assignment]  # as of what may change

    def __repr__(self) -> str:
        return f"<TreeBatch: {len(self)} trees, {self.num_nodes} nodes, {len(self.child_index)} edges>"

    def _repr_html_(self) -> str:
        """The first trees for notebooks, under 50 KB; a line of text if the batch has no vocabulary."""
        title = f"{len(self):,} trees as one graph of {self.num_nodes:,} nodes and {len(self.child_index):,} edges"
        roots = [] if self.vocabulary is None else self.roots[:DRAWN].tolist()
        title += f"; the first {len(roots)}" if 0 < len(roots) < len(self) else ""
        return frame_pictures(
            title, [tree_svg(root, self._name, self._children, MAX_PICTURE_NODES // len(roots)) for root in roots]
        )

    def _name(self, node: int) -> str:
        assert self.vocabulary is not None
        function, token = self.vocabulary.functions[int(self.function[node])][0], int(self.token[node])
        value = float("nan") if self.value is None else float(self.value[node])
        named = None if token == NO_TOKEN else self.vocabulary.tokens[token]
        return node_name(function, named, None if value != value else value, not self._children(node))

    def _children(self, node: int) -> list[int]:
        return list(map(int, self.child_index[self.child_ptr[node] : self.child_ptr[node + 1]]))

    @property
    def num_nodes(self) -> int:
        return len(self.function)

    @property
    def device(self) -> torch.device:
        return self.function.device

    @property
    def versions(self) -> tuple[int, ...]:
        """How often each tensor was changed in place; torch does not count this for inference tensors."""
        return tuple(map(version_of, self._tensors().values()))

    @property
    def subtree(self) -> Tensor | None:
        """(N,) int64, equal numbers for duplicate subtrees; None unless :func:`number_subtrees` made this batch.

        None also if a tensor was changed in place since.
        """
        return self.subtree_numbers if self.numbered_versions == self.versions else None

    def with_subtrees(self, numbers: Tensor) -> "TreeBatch":
        """The same batch, which knows the numbers of its subtrees, (N,) int64."""
        numbered = replace(self)
        object.__setattr__(numbered, "subtree_numbers", numbers)
        object.__setattr__(numbered, "numbered_versions", numbered.versions)
        return numbered

    def within(self, vocabulary: Vocabulary) -> "TreeBatch":
        """The same batch, which knows that its ids are those of a vocabulary; itself if it knows one."""
        if self.vocabulary is not None:
            return self
        known = replace(self, vocabulary=vocabulary)
        return known if self.subtree is None else known.with_subtrees(self.subtree)

    def _tensors(self) -> dict[str, Tensor]:
        return {name: column for name in _columns() if isinstance(column := getattr(self, name), Tensor)}

    @cached_property
    def starts(self) -> Tensor:
        """(B,), the first node of each tree. ``ValueError`` if the roots are not one per tree, in their order."""
        ends = torch.cumsum(self.sizes, 0)
        if len(ends) == len(self.roots):
            starts = ends - self.sizes
            if torch.equal(starts, self.roots.long()):
                return self.roots  # which a file maps: nothing that grows with it is held
            if bool(((starts <= self.roots) & (self.roots < ends)).all()):
                return starts
        raise ValueError("the roots of this batch are not one per tree, in the order of the trees")

    @cached_property
    def arity(self) -> Tensor:
        """(N,) int64, children of each node."""
        return self.child_ptr.diff()

    @cached_property
    def parent_index(self) -> Tensor:
        """(E,) int64: edge e runs from ``child_index[e]`` to ``parent_index[e]``."""
        nodes = torch.arange(self.num_nodes, device=self.device)
        return torch.repeat_interleave(nodes, self.arity, output_size=len(self.child_index))

    @cached_property
    def slot(self) -> Tensor:
        """(E,) int64: the child's position among its siblings, from 0."""
        edges = torch.arange(len(self.child_index), device=self.device)
        return edges - self.child_ptr[self.parent_index]

    @cached_property
    def numbers(self) -> Tensor | None:
        """(N,) float64, ``value`` as cells read it: on the scale of each place, if the vocabulary has scales."""
        table = None if self.vocabulary is None else self.vocabulary.scale_table
        if self.value is None or table is None:
            return self.value
        table = table.on(self.device)
        rows = table.rows(self.function, *parents_of(self))
        return table.distances(self.value, rows).asinh()

    def map(self, function: Callable[[Tensor], Tensor]) -> "TreeBatch":
        """The same batch with ``function`` of every tensor."""
        tensors = {name: function(tensor) for name, tensor in self._tensors().items()}
        mapped: TreeBatch = replace(self, **tensors)  # type: ignore[arg-type]
        return mapped if self.subtree is None else mapped.with_subtrees(function(self.subtree))

    @cached_property
    def graph(self) -> "dgl.DGLGraph":
        """The same batch as a DGLGraph: edges child -> parent, ``edata["slot"]``, our fields in ``ndata``."""
        columns = {name: getattr(self, name) for name in ("function", "token", "label", "value", "x")}
        ndata = {name: column for name, column in columns.items() if column is not None}
        ends = torch.cumsum(self.sizes, 0)
        num_edges = self.child_ptr[ends] - self.child_ptr[ends - self.sizes]
        return to_dgl((self.child_index, self.parent_index), self.slot, ndata, self.sizes, num_edges)

    def to_heterograph(
        self, ndata: Mapping[str, Tensor] | None = None, *, positions: Sequence[str] | None = None
    ) -> "dgl.DGLGraph":
        """The same batch as a ``dgl.heterograph``: node types are named after functions, edge types after slots.

        The way back of :meth:`from_graph`: each type that has nodes has the fields ``token``, ``label``, ``value`` and
        ``x``, those of ``ndata``, such as states, (N, ...) each, and its nodes in their order. ``positions`` are names
        for the slots.

        Raises ``ValueError`` if the batch has no vocabulary to name its types by.
        """
        if self.vocabulary is None:
            raise ValueError("this batch has no vocabulary: pass one to TreeBatch.from_graph")
        return with_types(self, ndata or {}, positions)

    @classmethod
    def from_graph(
        cls,
        graph: "dgl.DGLGraph",
        vocabulary: Vocabulary | None = None,
        *,
        positions: Sequence[str] | None = None,
        reverse: bool = False,
    ) -> "TreeBatch":
        """Any DAG built with DGL, its roots the nodes without a parent, in their order.

        The graph needs edges child -> parent (parent -> child with ``reverse``), ``edata["slot"]`` (the child's
        position, from 0) and ``ndata["function"]``; ``token``, ``label``, ``value`` and ``x`` are read from ``ndata``
        if they are there. An ``x`` of whole numbers (N,), as DGL's data sets of trees keep word ids, is ``token``.

        In a ``dgl.heterograph`` the node types are the functions and the edge types the slots: ``"0"``, ``"1"``,
        ..., or names whose order ``positions`` gives. Fields are those of each type, under the names above; a type that
        lacks one gets what represents none, and 0 in ``x``, which is as wide as the widest. Nodes are numbered tree by
        tree and within it type by type, so those of a type keep their order. Without a vocabulary one is made of the
        types.

        Raises ``ValueError`` for an empty graph, missing fields, an ``x`` that is neither, a cycle (names a node on
        it), two children in one slot, gaps in the slots, or, with a vocabulary, ids or arities that it does not know.
        """
        if has_types(graph):
            graph, vocabulary = without_types(graph, vocabulary, positions, reverse)
            reverse = False
        batch = cls(**columns_of(graph, reverse), vocabulary=vocabulary)
        if vocabulary is not None:
            check_ids(batch, vocabulary)
        return batch


def _equal(a: Tensor, b: Tensor) -> bool:
    """Of one device, shape and dtype, with equal entries; NaN is equal to NaN."""
    if (a.device, a.shape, a.dtype) != (b.device, b.shape, b.dtype):
        return False
    same = (a == b) | ((a != a) & (b != b))
    return bool(same.all())


@cache
def _columns() -> tuple[str, ...]:
    """The names of what a batch is made of."""
    return tuple(field.name for field in fields(TreeBatch) if field.init)


def batch(trees: Iterable[Tree | tuple[Tree, ...]], vocabulary: Vocabulary, x: Tensor | None = None) -> TreeBatch:
    """Flatten trees into one :class:`TreeBatch`; a pair (an equation) gives two trees, with roots 2i and 2i + 1.

    Examples:
        >>> import dgltree
        >>> trees = [dgltree.read_infix(text) for text in ("sin(x) + 3", "x*3")]
        >>> dgltree.batch(trees, dgltree.Vocabulary.from_trees(trees))
        <TreeBatch: 2 trees, 7 nodes, 5 edges>

    Args:
        trees: trees, or tuples of trees, which are flattened.
        vocabulary: gives the ids.
        x: (N, d) floating, input vectors in public numbering.

    Raises ``ValueError`` for an empty batch, an unknown function or token, a function with the wrong number of
    children, a label that is not a class number, or an ``x`` of another length; ``TypeError`` for arguments of another
    kind. Linear in the number of distinct nodes.

    See also: :func:`dgltree.unbatch`, :func:`dgltree.select`, :func:`dgltree.propagate`.
    """
    if isinstance(trees, TreeBatch):
        raise TypeError("these trees are a batch already; dgltree.batching.join makes one of several batches")
    if isinstance(trees, Vocabulary):
        raise TypeError("the trees come first: dgltree.batch(trees, vocabulary)")
    if not isinstance(vocabulary, Vocabulary):
        raise TypeError(
            f"the vocabulary is of type {type(vocabulary).__name__}; make one by Vocabulary.from_trees(trees)"
        )
    if x is not None and not (isinstance(x, Tensor) and x.is_floating_point() and x.dim() == 2):
        kind = f"{x.dtype} of shape {tuple(x.shape)}" if isinstance(x, Tensor) else type(x).__name__
        raise TypeError(f"x is {kind}; expected a tensor (N, d) of floating numbers, a row per node")
    flat = list(flat_trees(trees))
    if not flat:
        raise ValueError("an empty batch: give at least one tree")
    read, nodes, counts = read_fields(flat)
    if vocabulary.scales is not None and len(nodes) < sum(tree.size for tree in flat):
        flat = [_with_numbers_apart(tree) for tree in flat]
        read, nodes, counts = read_fields(flat)
    function, token = node_ids(read, counts, vocabulary)
    if x is not None and len(x) != len(nodes):
        raise ValueError(f"x has {len(x)} rows; the batch has {len(nodes)} nodes")
    arity, sizes = column(read.arity), column(counts)
    pointer = np.zeros(len(nodes) + 1, np.int64)
    np.cumsum(arity, out=pointer[1:])
    if len(nodes) < max(MIN_NODES_FOR_NUMPY, sum(tree.size for tree in flat)):
        child = children_by_object(nodes, counts)
    else:
        child = children_in_preorder(column(read.size), arity, pointer)
    values = numbers(read)
    return TreeBatch(
        function=torch.from_numpy(function),
        token=torch.from_numpy(token),
        child_ptr=torch.from_numpy(pointer),
        child_index=torch.from_numpy(child),
        level=torch.from_numpy(column(read.level)),
        roots=torch.from_numpy(np.cumsum(sizes) - sizes),
        sizes=torch.from_numpy(sizes),
        label=torch.from_numpy(class_numbers(read)),
        value=None if values is None else torch.from_numpy(values),
        x=x,
        vocabulary=vocabulary,
    )


def _with_numbers_apart(tree: Tree) -> Tree:
    """An equal tree in which every leaf with a number is an object of its own: its scale is that of its place."""

    def copied(node: Tree, children: list[Tree]) -> Tree:
        return node.replace(children=[child if child.value is None else child.replace() for child in children])

    return tree.fold(copied)


def shares_numbers(batch: TreeBatch) -> bool:
    """Whether a leaf with a number has several parents, and so perhaps several places."""
    if batch.value is None:
        return False
    parents = torch.bincount(batch.child_index, minlength=batch.num_nodes)
    return bool(((parents > 1) & ~batch.value.isnan()).any())


def as_batch(given: "TreeBatch | dgl.DGLGraph", caller: str) -> TreeBatch:
    """A batch as it is, or that of a DGLGraph. ``TypeError`` for trees, which are a batch of no vocabulary yet."""
    if isinstance(given, torch.nn.Module):
        raise TypeError(f"{caller} takes a batch first, but got a {type(given).__name__}")
    if isinstance(given, list | tuple | str | Tree):
        raise TypeError(
            f"{caller} takes a batch, but got a {type(given).__name__}: use dgltree.batch(trees, cell.vocabulary)"
        )
    return given if isinstance(given, TreeBatch) else TreeBatch.from_graph(given)


def unbatch(batch: TreeBatch) -> list[Tree]:
    """The trees of a batch, one per root: ``unbatch(batch(trees)) == trees``. Shared nodes become shared objects.

    Examples:
        >>> import dgltree
        >>> trees = [dgltree.read_infix(text) for text in ("sin(x) + 3", "x*3")]
        >>> dgltree.unbatch(dgltree.batch(trees, dgltree.Vocabulary.from_trees(trees))) == trees
        True

    Raises ``ValueError`` if the batch has no vocabulary to name its functions by, or ids or arities that it lacks.
    """
    if batch.vocabulary is None:
        raise ValueError("this batch has no vocabulary: pass one to TreeBatch.from_graph")
    check_ids(batch, batch.vocabulary)
    functions, tokens = batch.vocabulary.functions, batch.vocabulary.tokens
    function, token, label = batch.function.tolist(), batch.token.tolist(), batch.label.tolist()
    pointer, child = batch.child_ptr.tolist(), batch.child_index.tolist()
    value: Sequence[float] | None = None if batch.value is None else batch.value.tolist()
    trees: dict[int, Tree] = {}
    for j in torch.argsort(batch.level, stable=True).tolist():
        trees[j] = Tree(
            functions[function[j]][0],
            [trees[k] for k in child[pointer[j] : pointer[j + 1]]],
            token=None if token[j] == NO_TOKEN else tokens[token[j]],
            value=None if value is None or value[j] != value[j] else value[j],
            label=None if label[j] == NO_LABEL else label[j],
        )
    return [trees[j] for j in batch.roots.tolist()]


def check_ids(batch: TreeBatch, vocabulary: Vocabulary) -> None:
    """``ValueError`` naming the first node whose ids a vocabulary lacks, or whose function has another arity there."""
    function, arity = batch.function.cpu(), batch.arity.cpu()
    for kind, ids, count, lowest in (
        ("function", function, len(vocabulary.functions), 0),
        ("token", batch.token.cpu(), len(vocabulary.tokens), NO_TOKEN),
    ):
        wrong = torch.nonzero((ids < lowest) | (ids >= count))
        if len(wrong):
            j = int(wrong[0])
            raise ValueError(f"{place(batch, j)} has {kind} id {int(ids[j])}; the vocabulary has ids 0 to {count - 1}")
    known = torch.tensor([-1 if known is ANY_ARITY else known for _, known in vocabulary.functions])[function]
    wrong = torch.nonzero((known != arity) & (known >= 0))
    if len(wrong):
        j = int(wrong[0])
        name, right = vocabulary.functions[int(function[j])]
        raise ValueError(f"{place(batch, j)} ({name!r}) has {int(arity[j])} children; this model knows it with {right}")


def check_vocabulary(batch: TreeBatch, vocabulary: Vocabulary, owner: str) -> None:
    """``ValueError`` for a batch of another vocabulary than ``owner``, "cell" or "encoder", has, or of other ids.

    Ids of a batch with a vocabulary are looked at on a CPU alone: a GPU would have to be waited for.
    """
    if batch.vocabulary not in (None, vocabulary):
        raise ValueError(
            f"the batch was made with a different vocabulary from the {owner}'s; batch with {owner}.vocabulary"
        )
    if batch.vocabulary is None or batch.device.type == "cpu":
        check_ids(batch, vocabulary)


def place(batch: TreeBatch, node: int) -> str:
    """Where a node is, for error messages: the tree and the node's number in it in preorder, both from 1."""
    ends = torch.cumsum(batch.sizes, 0).cpu()
    tree = int(torch.searchsorted(ends, node, right=True))
    return f"tree {tree + 1}, node {node - int(ends[tree] - batch.sizes[tree]) + 1}"


# ---------------------------------------------------------------------------------------------------------------------
# Some trees of a batch as a batch: how a data set that was flattened once becomes batches.


def select(batch: TreeBatch, trees: Sequence[int] | np.ndarray | Tensor) -> TreeBatch:
    """The given trees of a batch, in the given order, on its device: what ``batch`` makes of them, without the trees.

    Examples:
        >>> import dgltree
        >>> trees = [dgltree.read_infix(text) for text in ("sin(x) + 3", "x*3")]
        >>> dgltree.select(dgltree.batch(trees, dgltree.Vocabulary.from_trees(trees)), [1])
        <TreeBatch: 1 trees, 3 nodes, 2 edges>

    Linear in the nodes selected, some millions a second where flattening trees makes about one. A batch
    over the arrays of a file may have int32; what is selected has int64. Numbers of duplicate subtrees
    (:func:`dgltree.batching.subtrees.number_subtrees`) go along.

    ``trees`` are numbers, or a mask (B,) of booleans.

    Raises ``ValueError`` for no trees, for a number that is none of a tree, for a mask of another length, and for a
    batch whose roots are not one per tree, as those of a user's graph may be; ``TypeError`` for numbers that are not
    whole.
    """
    return batch[choose_rows(trees, len(batch), "trees", "the batch")]


# ---------------------------------------------------------------------------------------------------------------------
# Which nodes of a batch are to be predicted.


Supervision = Literal["nodes", "roots"]
"""Every node, or the roots alone."""


def supervised(batch: TreeBatch, supervision: Supervision, classes: int) -> Tensor:
    """(N,) for "nodes" or (B,) for "roots", int64: the numbers of the nodes to be predicted, all of them labelled.

    Raises ``ValueError`` naming the first of these nodes that has no label, or a label that is not below ``classes``:
    a loss would leave out the first in silence and fail without a place at the second.
    """
    if supervision not in ("nodes", "roots"):
        raise ValueError(f"supervision is {supervision!r}; it must be 'nodes' or 'roots'")
    nodes = batch.roots if supervision == "roots" else torch.arange(batch.num_nodes, device=batch.device)
    labels = batch.label[nodes]
    wrong = torch.nonzero((labels < 0) | (labels >= classes))
    if not len(wrong):
        return nodes
    node, label = int(nodes[wrong[0]]), int(labels[wrong[0]])
    which = "the root" if supervision == "roots" else "every node"
    if label != NO_LABEL:
        raise ValueError(f"{place(batch, node)} has the label {label}; classes are 0 to {classes - 1}")
    raise ValueError(f"{place(batch, node)} has no label; supervision={supervision!r} needs one at {which} of a tree")

"""Trees to flat tensors and back: what every engine runs on."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cache
from math import isnan
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
from dgltree.batching.run_lengths import offsets, ranges
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
    rows: Sequence[int] | Sequence[bool] | np.ndarray | Tensor,
    count: int,
    what: str,
    whole: str,
) -> np.ndarray:
    """The indices (k,) int64 of the chosen ones of ``count`` things: given as indices, or as a mask of booleans.

    ``what`` and ``whole`` name them and what they are in.

    Raises ``ValueError`` for none, for a number that is none of a thing, and for a mask of another length;
    ``TypeError`` for numbers that are not whole, and where booleans and numbers are mixed.
    """
    if isinstance(rows, Tensor):
        chosen = np.asarray(rows.cpu())
    elif isinstance(rows, np.ndarray):
        chosen = rows
    else:
        rows = list(rows)
        # numpy would make 1 of True, and so take a mask with one number for numbers.
        kinds = {isinstance(row, bool | np.bool_) for row in rows}
        if len(kinds) > 1:
            raise TypeError(f"{what}: booleans and numbers are mixed; give either a mask or numbers")
        chosen = np.asarray(rows)
    if chosen.ndim != 1:
        raise ValueError(f"{what} has shape {chosen.shape}; give one list of numbers, or a mask of shape ({count},)")
    if chosen.dtype == bool:
        if len(chosen) != count:
            raise ValueError(f"{what} is a mask of {len(chosen)} entries, but {whole} has {count}")
        chosen = np.flatnonzero(chosen)
    if not len(chosen):
        raise ValueError("no trees: give at least one tree number")
    if chosen.dtype.kind not in "iu":
        raise TypeError(f"{what} has {chosen.dtype} entries; give whole numbers, or a mask of booleans")
    lowest = chosen.min()
    highest = chosen.max()
    if lowest < 0 or highest >= count:
        raise ValueError(f"{what} run from {lowest} to {highest}, but {whole} has numbers from 0 to {count - 1}")
    return chosen.astype(np.int64)


def _choose_trees(batch: "TreeBatch", chosen: np.ndarray) -> "TreeBatch":
    """A batch of only the trees ``chosen`` (k,) int64, in this order. ``ValueError`` if roots are not one per tree.

    The nodes of a tree are contiguous, so a tree is a range of nodes and a range of edges. What holds node indices
    (``child_index``, ``roots``) is moved by the distance between a tree's old and new first node.
    """
    pointer = batch.child_ptr.cpu().numpy()
    old_starts = batch.starts.cpu().numpy()[chosen].astype(np.int64)
    sizes = batch.sizes.cpu().numpy()[chosen].astype(np.int64)
    new_starts = np.cumsum(sizes) - sizes
    moved_by = new_starts - old_starts
    roots = batch.roots.cpu().numpy()[chosen] + moved_by

    first_edges = pointer[old_starts]
    edge_counts = pointer[old_starts + sizes] - first_edges
    edges = torch.from_numpy(ranges(first_edges, edge_counts)).to(batch.device)
    edges_moved_by = torch.from_numpy(np.repeat(moved_by, edge_counts)).to(batch.device)

    child_index = batch.child_index.index_select(0, edges) + edges_moved_by

    nodes = ranges(old_starts, sizes)
    arity = pointer[nodes + 1] - pointer[nodes]
    return take_nodes(
        batch,
        nodes,
        child_ptr=offsets(arity),
        child_index=child_index,
        roots=roots,
        sizes=sizes,
    )


def take_nodes(
    batch: "TreeBatch",
    nodes: np.ndarray,
    *,
    child_ptr: np.ndarray,
    child_index: Tensor,
    roots: np.ndarray,
    sizes: np.ndarray,
) -> "TreeBatch":
    """A batch of the nodes ``nodes`` (R,) int64 of another one, on its device.

    What belongs to a node is gathered, numbers of duplicate subtrees too. What holds node indices or counts nodes,
    fields of :class:`TreeBatch`, is given for the new batch; ids become int64.
    """
    device = batch.device
    index = torch.from_numpy(nodes).to(device)

    def gather(column: Tensor | None) -> Any:
        return None if column is None else column.index_select(0, index)

    taken = TreeBatch(
        function=gather(batch.function).long(),
        token=gather(batch.token).long(),
        child_ptr=torch.from_numpy(child_ptr).to(device),
        child_index=child_index,
        level=gather(batch.level).long(),
        roots=torch.from_numpy(roots).to(device),
        sizes=torch.from_numpy(sizes).to(device),
        label=gather(batch.label).long(),
        value=gather(batch.value),
        x=gather(batch.x),
        vocabulary=batch.vocabulary,
    )
    return taken.with_subtrees(gather(batch.subtree))


PICTURE_TREES = 4
MIN_NODES_FOR_NUMPY = 64  # of fewer nodes a dictionary finds the children faster


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
    is there to choose trees from.

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
    subtree_numbers: Tensor | None = field(
        default=None,
        init=False,
        repr=False,
        compare=False,
    )
    numbered_versions: tuple[int, ...] = field(
        default=(),
        init=False,
        repr=False,
        compare=False,
    )

    def __len__(self) -> int:
        """The number of trees."""
        return len(self.roots)

    def __getitem__(self, trees: "int | slice | Sequence[int] | np.ndarray | Tensor") -> "TreeBatch":
        """One tree, or some in the given order, as a batch on the same device; of pairs one tree is a member.

        Examples:
            >>> import dgltree
            >>> trees = [dgltree.read_infix(text) for text in ("sin(x) + 3", "x*3")]
            >>> dgltree.batch(trees, dgltree.Vocabulary.from_trees(trees))[[1]]
            <TreeBatch: 1 trees, 3 nodes, 2 edges>

        ``trees`` is an index, a slice, indices in any order, or a mask (B,) of booleans. Linear in the nodes chosen,
        some millions a second where flattening trees makes about one. A batch over the arrays of a file may have
        int32; what is chosen has int64. Numbers of duplicate subtrees
        (:func:`dgltree.batching.subtrees.number_subtrees`) go along.

        Raises ``IndexError`` for one index of a tree that the batch does not have. Raises ``ValueError`` for no trees,
        for such an index among others, for a mask of another length, and for a batch whose roots are not one per tree,
        as those of a user's graph may be; ``TypeError`` for numbers that are not whole.
        """
        if isinstance(trees, slice):
            trees = range(len(self))[trees]
        if isinstance(trees, int | np.integer):
            if not -len(self) <= trees < len(self):
                raise IndexError(f"there is no tree {trees}; the length of the batch is {len(self)}")
            trees = [int(trees) % len(self)]
        return _choose_trees(self, choose_rows(trees, len(self), "trees", "the batch"))

    def __iter__(self) -> Iterator["TreeBatch"]:
        """A batch for each tree."""
        return (self[i] for i in range(len(self)))

    def __eq__(self, other: object) -> bool:
        """Whether another batch has the same trees, in the same vocabulary: all tensors are equal, NaN to NaN."""
        if not isinstance(other, TreeBatch):
            return NotImplemented
        tensors = self._tensors()
        others = other._tensors()
        if tensors.keys() != others.keys() or self.vocabulary != other.vocabulary:
            return False
        return all(_equal(tensor, others[name]) for name, tensor in tensors.items())

    __hash__ = None  # type: ignore[assignment]  # tensors may be changed in place

    def __repr__(self) -> str:
        return f"<TreeBatch: {len(self)} trees, {self.num_nodes} nodes, {len(self.child_index)} edges>"

    def _repr_html_(self) -> str:
        """The first trees for notebooks, under 50 KB; a line of text if the batch has no vocabulary."""
        num_edges = len(self.child_index)
        counts = f"{self.num_nodes:,} nodes and {num_edges:,} edges"
        title = f"{len(self):,} trees as one graph of {counts}"
        if self.vocabulary is None:
            return frame_pictures(title, [])
        roots = self.roots[:PICTURE_TREES].tolist()
        if len(roots) < len(self):
            title += f"; the first {len(roots)}"
        most = MAX_PICTURE_NODES // len(roots)
        pictures = [tree_svg(root, self._name, self._children, most) for root in roots]
        return frame_pictures(title, pictures)

    def _name(self, node: int) -> str:
        """The name of a node in a picture."""
        assert self.vocabulary is not None
        function, _ = self.vocabulary.functions[int(self.function[node])]
        token = None
        if self.token[node] != NO_TOKEN:
            token = self.vocabulary.tokens[int(self.token[node])]
        value = None
        if self.value is not None and not self.value[node].isnan():
            value = float(self.value[node])
        is_leaf = not self._children(node)
        return node_name(function, token, value, is_leaf)

    def _children(self, node: int) -> list[int]:
        start, stop = self.child_ptr[node : node + 2]
        return self.child_index[start:stop].tolist()

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

    def with_subtrees(self, numbers: Tensor | None) -> "TreeBatch":
        """A copy that knows the numbers of its subtrees, (N,) int64; the batch itself for None."""
        if numbers is None:
            return self
        # ``replace`` leaves the numbers out, so that a batch with other tensors never has those of this one.
        numbered = replace(self)
        object.__setattr__(numbered, "subtree_numbers", numbers)
        object.__setattr__(numbered, "numbered_versions", numbered.versions)
        return numbered

    def within(self, vocabulary: Vocabulary) -> "TreeBatch":
        """A copy whose ids are known to be those of a vocabulary; the batch itself if it knows one."""
        if self.vocabulary is not None:
            return self
        return replace(self, vocabulary=vocabulary).with_subtrees(self.subtree)

    def _tensors(self) -> dict[str, Tensor]:
        tensors = {}
        for name in _columns():
            column = getattr(self, name)
            if isinstance(column, Tensor):
                tensors[name] = column
        return tensors

    @cached_property
    def starts(self) -> Tensor:
        """(B,), the first node of each tree. ``ValueError`` if the roots are not one per tree, in their order."""
        ends = torch.cumsum(self.sizes, 0)
        if len(ends) == len(self.roots):
            starts = ends - self.sizes
            if torch.equal(starts, self.roots.long()):
                return self.roots  # which a file maps: nothing that grows with it is held
            is_inside = (starts <= self.roots) & (self.roots < ends)
            if bool(is_inside.all()):
                return starts
        raise ValueError(
            f"this batch does not have one root per tree in the order of the trees ({len(self.roots)} roots in "
            f"{len(self.sizes)} graphs), so it cannot be divided; read the states of its roots as h[batch.roots]"
        )

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
        if self.value is None or self.vocabulary is None:
            return self.value
        table = self.vocabulary.scale_table
        if table is None:
            return self.value
        table = table.on(self.device)
        rows = table.rows(self.function, *parents_of(self))
        return table.distances(self.value, rows).asinh()

    def map(self, function: Callable[[Tensor], Tensor]) -> "TreeBatch":
        """A batch of ``function`` of every tensor."""
        tensors = {name: function(tensor) for name, tensor in self._tensors().items()}
        mapped = replace(self, **tensors)  # type: ignore[arg-type]
        subtrees = self.subtree
        if subtrees is None:
            return mapped
        return mapped.with_subtrees(function(subtrees))

    @cached_property
    def graph(self) -> "dgl.DGLGraph":
        """The batch as a DGLGraph: edges child -> parent, ``edata["slot"]``, our fields in ``ndata``."""
        ndata = {}
        for name in ("function", "token", "label", "value", "x"):
            column = getattr(self, name)
            if column is not None:
                ndata[name] = column
        ends = torch.cumsum(self.sizes, 0)
        starts = ends - self.sizes
        num_edges = self.child_ptr[ends] - self.child_ptr[starts]
        return to_dgl(
            (self.child_index, self.parent_index),
            self.slot,
            ndata,
            self.sizes,
            num_edges,
        )

    def to_heterograph(
        self, ndata: Mapping[str, Tensor] | None = None, *, positions: Sequence[str] | None = None
    ) -> "dgl.DGLGraph":
        """The batch as a ``dgl.heterograph``: node types are named after functions, edge types after slots.

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

        The graph needs edges child -> parent (parent -> child with ``reverse``) and ``ndata["function"]``. A child's
        position, from 0, is ``edata["slot"]``, or else the place of its edge among those of its parent. ``token``,
        ``label``, ``value`` and ``x`` are read from ``ndata`` if they are there. Whole numbers (N,) in ``x`` and ``y``,
        where DGL's data sets of trees keep words and classes, are ``token`` and, negative ones aside, ``label``. Other
        fields stay in the graph; its nodes keep their numbers.

        In a ``dgl.heterograph`` the node types are the functions and the edge types the slots: ``"0"``, ``"1"``,
        ..., or names whose order ``positions`` gives. Fields are those of each type, under the names above; a type that
        lacks one gets what represents none, and 0 in ``x``, which is as wide as the widest. Nodes are numbered tree by
        tree and within it type by type, so those of a type keep their order. Without a vocabulary one is made of the
        types.

        Raises ``ValueError`` for an empty graph, missing fields, an ``x`` that is neither, a cycle (names a node on
        it), two children in one slot, gaps in the slots, edges without slots that seem to lead from parents to
        children, or, with a vocabulary, ids or arities that it does not know.
        """
        if isinstance(graph, Sequence):
            raise TypeError(
                "these are several graphs; batch them by DGL first: TreeBatch.from_graph(dgl.batch(graphs))"
            )
        if has_types(graph):
            graph, vocabulary = without_types(graph, vocabulary, positions, reverse)
            reverse = False
        batch = cls(**columns_of(graph, reverse), vocabulary=vocabulary)
        if vocabulary is not None:
            check_ids(batch, vocabulary)
        return batch


def _equal(a: Tensor, b: Tensor) -> bool:
    """Whether two tensors have one device, shape and dtype, and equal entries; NaN is equal to NaN."""
    if a.device != b.device or a.dtype != b.dtype:
        return False
    if a.shape != b.shape:
        return False
    both_nan = (a != a) & (b != b)
    return bool(((a == b) | both_nan).all())


@cache
def _columns() -> tuple[str, ...]:
    """The names of the fields that a batch is made from."""
    return tuple(column.name for column in fields(TreeBatch) if column.init)


def batch(
    trees: Iterable[Tree | tuple[Tree, ...]],
    vocabulary: Vocabulary,
    x: Tensor | None = None,
) -> TreeBatch:
    """Flatten trees into one :class:`TreeBatch`; a pair (an equation) gives two trees, with roots 2i and 2i + 1.

    Examples:
        >>> import dgltree
        >>> trees = [dgltree.read_infix(text) for text in ("sin(x) + 3", "x*3")]
        >>> dgltree.batch(trees, dgltree.Vocabulary.from_trees(trees))
        <TreeBatch: 2 trees, 7 nodes, 5 edges>

    Args:
        trees: trees, or tuples of trees, which are flattened.
        vocabulary: gives the ids.
        x: (N, d) floating, input vectors in public numbering: tree after tree, each in preorder.

    Raises ``ValueError`` for an empty batch, an unknown function or token, a function with the wrong number of
    children, a label that is not a class number, or an ``x`` of another length; ``TypeError`` for arguments of another
    kind. Linear in the number of distinct nodes.

    See also: :func:`dgltree.unbatch`, :func:`dgltree.propagate`; ``batch[[2, 0]]`` is a batch of some of the trees.
    """
    if isinstance(trees, TreeBatch):
        raise TypeError("these trees are a batch already; use dgltree.batching.join to join several batches")
    if isinstance(trees, Vocabulary):
        raise TypeError("the trees come first: dgltree.batch(trees, vocabulary)")
    if not isinstance(vocabulary, Vocabulary):
        raise TypeError(
            f"the vocabulary is of type {type(vocabulary).__name__}; make one by Vocabulary.from_trees(trees)"
        )
    if x is not None:
        _check_vectors(x)
    flat = list(flat_trees(trees))
    if not flat:
        raise ValueError("an empty batch: give at least one tree")
    fields, nodes, counts = read_fields(flat)
    unfolded_size = sum(tree.size for tree in flat)
    if vocabulary.scales is not None and len(nodes) < unfolded_size:
        flat = [_with_numbers_apart(tree) for tree in flat]
        fields, nodes, counts = read_fields(flat)
    function, token = node_ids(fields, counts, vocabulary)
    if x is not None and len(x) != len(nodes):
        raise ValueError(f"x has {len(x)} rows, but the batch has {len(nodes)} nodes")

    arity = column(fields.arity)
    sizes = column(counts)
    child_ptr = offsets(arity)
    # Only where no object is shared does the order of the nodes say which the children are.
    if len(nodes) < max(MIN_NODES_FOR_NUMPY, unfolded_size):
        child_index = children_by_object(nodes, counts)
    else:
        child_index = children_in_preorder(column(fields.size), arity, child_ptr)
    values = numbers(fields)
    value = None if values is None else torch.from_numpy(values)
    return TreeBatch(
        function=torch.from_numpy(function),
        token=torch.from_numpy(token),
        child_ptr=torch.from_numpy(child_ptr),
        child_index=torch.from_numpy(child_index),
        level=torch.from_numpy(column(fields.level)),
        roots=torch.from_numpy(np.cumsum(sizes) - sizes),
        sizes=torch.from_numpy(sizes),
        label=torch.from_numpy(class_numbers(fields)),
        value=value,
        x=x,
        vocabulary=vocabulary,
    )


def _check_vectors(x: Any) -> None:
    """Raise ``TypeError`` unless ``x`` is a floating tensor (N, d)."""
    kind = type(x).__name__
    if isinstance(x, Tensor):
        if x.is_floating_point() and x.dim() == 2:
            return
        kind = f"{x.dtype} of shape {tuple(x.shape)}"
    raise TypeError(f"x is {kind}; expected a floating-point tensor (N, d), one row per node")


def _with_numbers_apart(tree: Tree) -> Tree:
    """An equal tree in which every leaf with a number is an object of its own: its scale is that of its place."""

    def rebuild(node: Tree, children: list[Tree]) -> Tree:
        copies = [child if child.value is None else child.replace() for child in children]
        return node.replace(children=copies)

    return tree.fold(rebuild)


def shares_numbers(batch: TreeBatch) -> bool:
    """Whether a leaf with a number has several parents, and so perhaps several places."""
    if batch.value is None:
        return False
    parents = torch.bincount(batch.child_index, minlength=batch.num_nodes)
    has_number = ~batch.value.isnan()
    return bool((parents[has_number] > 1).any())


def as_batch(given: "TreeBatch | dgl.DGLGraph", caller: str) -> TreeBatch:
    """A batch as it is, or that of a DGLGraph. ``TypeError`` for trees, which are a batch of no vocabulary yet."""
    if isinstance(given, torch.nn.Module):
        raise TypeError(f"the first argument of {caller} must be a batch, not a {type(given).__name__}")
    if isinstance(given, list | tuple | str | Tree):
        raise TypeError(
            f"{caller} takes a batch, not a {type(given).__name__}: use dgltree.batch(trees, cell.vocabulary)"
        )
    if isinstance(given, TreeBatch):
        return given
    return TreeBatch.from_graph(given)


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
    # The loop reads lists of Python's objects: an entry of a tensor would cost more than the rest of it.
    function_names = [name for name, _ in batch.vocabulary.functions]
    functions = [function_names[number] for number in batch.function.tolist()]
    token_names = [*batch.vocabulary.tokens, None]
    tokens = [token_names[number] for number in batch.token.tolist()]  # NO_TOKEN is -1, the last
    values = [None] * batch.num_nodes
    if batch.value is not None:
        values = [None if isnan(number) else number for number in batch.value.tolist()]
    labels = [None if number == NO_LABEL else number for number in batch.label.tolist()]
    pointer = batch.child_ptr.tolist()
    child_index = batch.child_index.tolist()

    trees: dict[int, Tree] = {}
    for node in torch.argsort(batch.level, stable=True).tolist():
        child_nodes = child_index[pointer[node] : pointer[node + 1]]
        children = [trees[child] for child in child_nodes]
        trees[node] = Tree(
            functions[node],
            children,
            token=tokens[node],
            value=values[node],
            label=labels[node],
        )
    return [trees[root] for root in batch.roots.tolist()]


def check_ids(batch: TreeBatch, vocabulary: Vocabulary) -> None:
    """Raise ``ValueError`` for a node whose ids a vocabulary lacks, or whose function has another arity there.

    The message names the first one.
    """
    function = batch.function.cpu()
    arity = batch.arity.cpu()
    _check_range(
        batch,
        "function",
        function,
        0,
        len(vocabulary.functions),
    )
    _check_range(
        batch,
        "token",
        batch.token.cpu(),
        NO_TOKEN,
        len(vocabulary.tokens),
    )
    arities = [-1 if required is ANY_ARITY else required for _, required in vocabulary.functions]
    expected = torch.tensor(arities)[function]
    is_wrong = (expected != arity) & (expected >= 0)
    wrong = torch.nonzero(is_wrong)
    if len(wrong):
        node = int(wrong[0])
        name, right = vocabulary.functions[int(function[node])]
        raise ValueError(
            f"{place(batch, node)} ({name!r}) has {int(arity[node])} children; in this vocabulary it has {right}"
        )


def _check_range(
    batch: TreeBatch,
    kind: str,
    ids: Tensor,
    lowest: int,
    count: int,
) -> None:
    """Raise ``ValueError`` for the first node whose id is not in ``lowest`` to ``count - 1``."""
    is_wrong = (ids < lowest) | (ids >= count)
    wrong = torch.nonzero(is_wrong)
    if len(wrong):
        node = int(wrong[0])
        raise ValueError(
            f"{place(batch, node)} has {kind} id {int(ids[node])}, but the vocabulary has ids from 0 to {count - 1}"
        )


def check_vocabulary(
    batch: TreeBatch,
    vocabulary: Vocabulary,
    owner: str,
) -> None:
    """Raise ``ValueError`` for a batch of another vocabulary than ``owner``, "cell" or "encoder", has, or other ids.

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
    start = int(ends[tree] - batch.sizes[tree])
    number = node - start + 1
    return f"tree {tree + 1}, node {number}"


# ---------------------------------------------------------------------------------------------------------------------
# Which nodes of a batch are to be predicted.


Supervision = Literal["nodes", "roots"]
"""Every node, or the roots alone."""


def supervised(
    batch: TreeBatch,
    supervision: Supervision,
    classes: int,
) -> Tensor:
    """(N,) for "nodes" or (B,) for "roots", int64: the numbers of the nodes to be predicted, all of them labelled.

    Raises ``ValueError`` naming the first of these nodes that has no label, or a label that is not below ``classes``:
    a loss would leave out the first in silence and fail without a place at the second.
    """
    if supervision not in ("nodes", "roots"):
        raise ValueError(f"supervision is {supervision!r}; it must be 'nodes' or 'roots'")
    nodes = batch.roots
    which = "the root"
    if supervision == "nodes":
        nodes = torch.arange(batch.num_nodes, device=batch.device)
        which = "every node"
    labels = batch.label[nodes]
    is_wrong = (labels < 0) | (labels >= classes)
    wrong = torch.nonzero(is_wrong)
    if not len(wrong):
        return nodes
    node = int(nodes[wrong[0]])
    label = int(labels[wrong[0]])
    if label != NO_LABEL:
        raise ValueError(f"{place(batch, node)} has the label {label}; classes are 0 to {classes - 1}")
    raise ValueError(f"{place(batch, node)} has no label; supervision={supervision!r} needs one at {which} of a tree")

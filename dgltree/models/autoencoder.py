"""Recursive autoencoders: StrAE on given trees, Self-StrAE and Banyan on trees that they find."""

from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy, normalize

from dgltree.batching.batch import TreeBatch, unbatch
from dgltree.batching.subtrees import entangle
from dgltree.batching.vocabulary import NO_TOKEN, Vocabulary
from dgltree.cells import SWEEPS, Cell, DownwardCell
from dgltree.encoders.latent.easy_first import easy_first
from dgltree.engine.contract import State
from dgltree.engine.memory import available_bytes
from dgltree.engine.propagate import propagate
from dgltree.trees.tree import Tree

# Losses without labels: of what a node is from its parts, and what it is from its context.
MATRICES = 3
"""Of all cosines, that a loss and its gradient hold at once, at least."""


def contrastive(up: Tensor, down: Tensor, scale: float) -> Tensor:
    r"""(), how well the two vectors of a node find each other among those of M nodes:

    .. math:: S_{ij} = scale \cdot \cos(u_i, d_j), \quad \tfrac 1 2 (CE(S, i) + CE(S^T, i))

    Args:
        up, down: (M, n) each.
        scale: 1 / temperature.

    It takes memory of the order M^2. Raises ``MemoryError`` for what the device cannot hold.
    """
    _check_memory(up)
    similar = scale * normalize(up, dim=1) @ normalize(down, dim=1).t()
    own = torch.arange(len(up), device=up.device)
    return (cross_entropy(similar, own) + cross_entropy(similar.t(), own)) / 2


def _check_memory(up: Tensor) -> None:
    needed, left = MATRICES * len(up) ** 2 * up.element_size(), available_bytes(up.device)
    if left is not None and needed > left:
        raise MemoryError(
            f"the contrastive loss of {len(up):,} nodes needs at least {needed / 2**30:,.1f} GiB, and {up.device} has "
            f"{left / 2**30:,.1f} GiB left: use smaller batches, or loss='cross_entropy'"
        )


def word_cross_entropy(logits: Tensor, token: Tensor, weight: Tensor | None = None) -> Tensor:
    """(), the mean cross-entropy of logits (m, V) against tokens (m,), each as often as its weight (m,) says."""
    if weight is None:
        return cross_entropy(logits, token)
    each = cross_entropy(logits, token, reduction="none")
    return (each * weight).sum() / weight.sum()


Loss = Literal["contrastive", "cross_entropy", "both"]
Places = Literal["sides", "numbers"]


@dataclass(frozen=True, eq=False)
class Swept:
    """Both sweeps over a batch."""

    batch: TreeBatch
    """The graph that was swept: R nodes, one for equal subtrees if it was entangled."""
    up: Tensor
    """(R, n), what each node is from its parts."""
    down: Tensor
    """(R, n), what it is from its context."""
    node: Tensor
    """Of given trees (N,), of sentences (B, T) int64: the node of each node, or word."""
    roots: Tensor
    """(B,) int64, the node of each tree or sentence."""
    count: Tensor
    """(R,) int64, of leaves: how often each occurs."""

    @property
    def trees(self) -> list[Tree]:
        """The tree of each tree or sentence."""
        return unbatch(replace(self.batch, roots=self.roots))


class Autoencoder(nn.Module):
    """A cell upwards, a cell downwards, and a loss that needs no labels.

    Args:
        up: the cell from the leaves to the roots.
        down: the cell from the roots to the leaves; it may not read the upward states of the nodes that it gives
            states to, which are what is to be reconstructed.
        loss: "contrastive": the two vectors of each node find each other among those of all nodes; "cross_entropy":
            a linear layer reads the tokens off the downward vectors of the leaves; "both": the mean of this and of the
            first over inner nodes.
        entangled: whether equal subtrees are one node in the whole batch, which on the way down gets the mean over its
            contexts; a tree inside another is then no root.
        everywhere: of found trees, as in :func:`dgltree.encoders.latent.easy_first.easy_first`; needs ``entangled``.
        scale: of cosines, 1 / temperature.
        occurrences: whether a token counts in the cross-entropy as often as it occurs, even if it is one node.
        places: which map of the downward cell a child of two gets: that of its side, "sides"; or by "numbers" that of
            the left side if it was made before its sibling, words before phrases, as the published Self-StrAE does.

    Raises ``ValueError`` for cells of different vocabularies or widths, for a downward cell that reads upward states,
    and for another loss or order of places.
    """

    def __init__(
        self,
        up: Cell,
        down: DownwardCell,
        *,
        loss: Loss = "contrastive",
        entangled: bool = False,
        everywhere: bool = False,
        scale: float = 5.0,
        occurrences: bool = False,
        places: Places = "sides",
    ) -> None:
        super().__init__()
        if up.vocabulary != down.vocabulary or up.hidden_size != down.hidden_size:
            raise ValueError("up and down must be cells of one vocabulary and one hidden_size")
        if down.reads_up:
            raise ValueError(
                f"down is a {type(down).__name__} that reads the upward states of nodes, which it is to reconstruct: "
                "use reads_up=False, or another cell"
            )
        if everywhere and not entangled:
            raise ValueError("everywhere=True joins equal pairs, which are one node only with entangled=True")
        for name, value, known in (("loss", loss, get_args(Loss)), ("places", places, get_args(Places))):
            if value not in known:
                raise ValueError(f"{name} is {value!r}; it must be one of {', '.join(known)}")
        self.up, self.down, self.vocabulary = up, down, up.vocabulary
        self.loss, self.entangled, self.everywhere = loss, entangled, everywhere
        self.scale, self.occurrences, self.places = scale, occurrences, places
        self.output = None if loss == "contrastive" else nn.Linear(up.hidden_size, len(up.vocabulary.tokens))

    def trees(self, batch: TreeBatch) -> Swept:
        """Both sweeps over given trees."""
        if self.places != "sides":
            raise ValueError("places='numbers' is for trees that are found; use 'sides' for given ones")
        graph, node = entangle(batch) if self.entangled else (batch, torch.arange(batch.num_nodes, device=batch.device))
        return self._swept(graph, propagate(graph, self.up), node, node[batch.roots], node)

    def sentences(self, ids: Tensor, lengths: Tensor) -> Swept:
        """Both sweeps over the trees that the upward vectors find, :func:`easy_first`.

        Args:
            ids: (B, T) int64, tokens of the vocabulary; after the end of a sentence anything.
            lengths: (B,) int64, words of each, 1 to T.
        """
        found = easy_first(self.up, ids, lengths, entangled=self.entangled, everywhere=self.everywhere)
        there = torch.arange(ids.shape[1], device=ids.device) < lengths.unsqueeze(1)
        return self._swept(found.batch, found.up, found.words, found.roots, found.words[there.to(found.words.device)])

    def _swept(self, graph: TreeBatch, up: State, node: Tensor, roots: Tensor, occurring: Tensor) -> Swept:
        below = graph if self.places == "sides" else _by_numbers(graph)
        down = propagate(below, self.down, direction="down", up=up)
        count = torch.bincount(occurring, minlength=graph.num_nodes)
        return Swept(graph, up["h"], down["h"], node, roots, count)

    def losses(self, swept: Swept) -> dict[str, Tensor]:
        """By name (), the parts of the loss, which is their mean."""
        found = {}
        inner = swept.batch.arity > 0
        if self.loss != "cross_entropy":
            rows = slice(None) if self.loss == "contrastive" else inner
            if len(swept.up[rows]):
                found["contrastive"] = contrastive(swept.up[rows], swept.down[rows], self.scale)
        leaves = torch.nonzero(~inner & (swept.batch.token != NO_TOKEN)).squeeze(-1)
        if self.output is not None and len(leaves):
            weight = swept.count[leaves] if self.occurrences and self.entangled else None
            logits = self.output(swept.down.index_select(0, leaves))
            found["cross_entropy"] = word_cross_entropy(logits, swept.batch.token[leaves], weight)
        return found

    def forward(self, swept: Swept) -> Tensor:
        """(), the loss: the mean of its parts."""
        found = self.losses(swept)
        return torch.stack(list(found.values())).mean() if found else swept.up.sum() * 0


def _by_numbers(graph: TreeBatch) -> TreeBatch:
    """The same graph with the children of each node in the order of their numbers."""
    order = torch.argsort(graph.parent_index * graph.num_nodes + graph.child_index)
    return replace(graph, child_index=graph.child_index[order])


Network = Literal["strae", "self_strae", "banyan"]
PUBLISHED: dict[Network, tuple[str, dict[str, Any], dict[str, Any], dict[str, Any]]] = {
    "strae": ("strae", {"channels": 16, "dropout": 0.1}, {"leaf_dropout": 0.2}, {"loss": "contrastive"}),
    "self_strae": ("strae", {"channels": 16, "dropout": 0.1}, {"leaf_dropout": 0.2}, {"loss": "contrastive"}),
    "banyan": (
        "banyan",
        {"channels": 128, "dropout": 0.1},
        {"leaf_dropout": 0.1},
        {"loss": "cross_entropy", "entangled": True, "everywhere": True},
    ),
}
"""By name: the cells (a key of ``dgltree.cells.SWEEPS``), options of both, of the upward one, and of the network."""


def make_autoencoder(name: Network, vocabulary: Vocabulary, hidden_size: int = 256, **options: Any) -> Autoencoder:
    """The network of a name, as published: "strae" and "self_strae" differ in whose trees they sweep over.

    Args:
        name: "strae" (Opper et al. 2023, arXiv 2305.05588), "self_strae" (2024, arXiv 2402.16325) or "banyan" (2024,
            arXiv 2407.17771).
        vocabulary: of the trees; of sentences with the functions ``word`` of no children and ``phrase`` of two.
        hidden_size: n.
        options: of both cells (``channels``, ``dropout``, ``leaf_dropout``) and of :class:`Autoencoder`. The programs
            differ from the papers, whose way is the default here: in Self-StrAE ``scale`` is :math:`e^{0.2}` and
            ``places`` is "numbers"; in Banyan ``everywhere`` is False.

    Raises ``ValueError`` for another name, and as the cells and :class:`Autoencoder`.
    """
    if name not in PUBLISHED:
        raise ValueError(f"the network is {name!r}; it must be one of {', '.join(PUBLISHED)}")
    cells, both, up_only, own = PUBLISHED[name]
    both = {key: options.pop(key, value) for key, value in both.items()}
    up_only = {key: options.pop(key, value) for key, value in up_only.items()}
    upward, downward = SWEEPS[cells]
    up, down = upward(vocabulary, hidden_size, **both, **up_only), downward(vocabulary, hidden_size, **both)
    return Autoencoder(up, down, **{**own, **options})

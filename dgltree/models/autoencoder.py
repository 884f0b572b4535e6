"""Recursive autoencoders: StrAE on given trees, Self-StrAE and Banyan on trees that they find."""

from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple, get_args

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
from dgltree.support.arguments import check_choice
from dgltree.trees.tree import Tree

MATRICES = 3
"""Matrices (M, M) of cosines that a contrastive loss and its gradient hold at once, at least."""


def contrastive(
    up: Tensor,
    down: Tensor,
    scale: float,
) -> Tensor:
    r"""(), how well the two vectors of a node find each other among those of M nodes:

    .. math:: S_{ij} = scale \cdot \cos(u_i, d_j), \quad \tfrac 1 2 (CE(S, i) + CE(S^T, i))

    Args:
        up, down: (M, n) each.
        scale: 1 / temperature.

    It takes memory of the order M^2. Raises ``MemoryError`` for what the device cannot hold.
    """
    _check_memory(up)
    unit_up = normalize(up, dim=1)
    unit_down = normalize(down, dim=1)
    similarity = scale * unit_up @ unit_down.t()
    diagonal = torch.arange(len(up), device=up.device)
    down_loss = cross_entropy(similarity, diagonal)
    up_loss = cross_entropy(similarity.t(), diagonal)
    return (down_loss + up_loss) / 2


def _check_memory(up: Tensor) -> None:
    """Raise ``MemoryError`` if the device cannot hold the cosines of all pairs of nodes."""
    needed = MATRICES * len(up) ** 2 * up.element_size()
    left = available_bytes(up.device)
    if left is not None and needed > left:
        raise MemoryError(
            f"the contrastive loss of {len(up):,} nodes needs at least {needed / 2**30:,.1f} GiB, and {up.device} has "
            f"{left / 2**30:,.1f} GiB left: use smaller batches, or loss='cross_entropy'"
        )


def word_cross_entropy(
    logits: Tensor,
    token: Tensor,
    weight: Tensor | None = None,
) -> Tensor:
    """(), the mean cross-entropy of logits (m, V) against tokens (m,), each as often as its weight (m,) says."""
    if weight is None:
        return cross_entropy(logits, token)
    losses = cross_entropy(logits, token, reduction="none")
    total = (losses * weight).sum()
    return total / weight.sum()


Loss = Literal["contrastive", "cross_entropy", "both"]
Places = Literal["sides", "numbers"]


@dataclass(
    frozen=True,
    eq=False,
    kw_only=True,
)
class Swept:
    """The states of an upward and a downward pass over a batch."""

    batch: TreeBatch
    """The graph of both passes: R nodes, one for duplicate subtrees if it was entangled."""
    up: Tensor
    """(R, n), what each node is from its parts."""
    down: Tensor
    """(R, n), what it is from its context."""
    node: Tensor
    """For given trees (N,), for sentences (B, T) int64: the node here of each node, or word."""
    roots: Tensor
    """(B,) int64, the node of each tree or sentence."""
    count: Tensor
    """(R,) int64, how many nodes of the given trees, or words of the sentences, each leaf is: several if duplicate
    subtrees are one node. Of inner nodes it says nothing about sentences."""

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
            raise ValueError("up and down must be cells with the same vocabulary and hidden_size")
        if down.reads_up:
            raise ValueError(
                f"down is a {type(down).__name__} that reads the upward states of nodes, which it is to reconstruct: "
                "use reads_up=False, or another cell"
            )
        if everywhere and not entangled:
            raise ValueError("everywhere=True joins equal pairs into one node, which needs entangled=True")
        check_choice("loss", loss, get_args(Loss))
        check_choice("places", places, get_args(Places))
        self.up = up
        self.down = down
        self.vocabulary = up.vocabulary
        self.loss = loss
        self.entangled = entangled
        self.everywhere = everywhere
        self.scale = scale
        self.occurrences = occurrences
        self.places = places
        self.output: nn.Linear | None = None
        if loss != "contrastive":
            tokens = len(up.vocabulary.tokens)
            self.output = nn.Linear(up.hidden_size, tokens)

    def trees(self, batch: TreeBatch) -> Swept:
        """Run both passes over given trees."""
        if self.places != "sides":
            raise ValueError("places='numbers' is for induced trees; use 'sides' for given trees")
        graph = batch
        node = torch.arange(batch.num_nodes, device=batch.device)
        if self.entangled:
            graph, node = entangle(batch)
        up = propagate(graph, self.up)
        return self._swept(
            graph,
            up,
            node=node,
            roots=node[batch.roots],
            occurring=node,
        )

    def sentences(self, ids: Tensor, lengths: Tensor) -> Swept:
        """Run both passes over the trees that the upward vectors find, :func:`easy_first`.

        Args:
            ids: (B, T) int64, tokens of the vocabulary; after the end of a sentence anything.
            lengths: (B,) int64, words of each, 1 to T.
        """
        induced = easy_first(
            self.up,
            ids,
            lengths,
            entangled=self.entangled,
            everywhere=self.everywhere,
        )
        position = torch.arange(ids.shape[1], device=ids.device)
        is_word = position < lengths.unsqueeze(1)
        words = induced.words
        occurring = words[is_word.to(words.device)]
        return self._swept(
            induced.batch,
            induced.up,
            node=words,
            roots=induced.roots,
            occurring=occurring,
        )

    def _swept(
        self,
        graph: TreeBatch,
        up: State,
        *,
        node: Tensor,
        roots: Tensor,
        occurring: Tensor,
    ) -> Swept:
        """Run the downward pass. ``occurring`` has the node here of each given node, or of each word."""
        ordered = graph
        if self.places == "numbers":
            # The children of each node in the order of their numbers.
            key = graph.parent_index * graph.num_nodes + graph.child_index
            order = torch.argsort(key)
            ordered = replace(graph, child_index=graph.child_index[order])
        down = propagate(ordered, self.down, direction="down", up=up)
        count = torch.bincount(occurring, minlength=graph.num_nodes)
        return Swept(
            batch=graph,
            up=up["h"],
            down=down["h"],
            node=node,
            roots=roots,
            count=count,
        )

    def losses(self, swept: Swept) -> dict[str, Tensor]:
        """The parts of the loss by name, (), of which it is the mean."""
        losses = {}
        token = swept.batch.token
        inner = swept.batch.arity > 0
        up = swept.up
        down = swept.down
        if self.loss == "both":  # leaves are read by the cross-entropy
            up = up[inner]
            down = down[inner]
        if self.loss != "cross_entropy" and len(up):
            losses["contrastive"] = contrastive(up, down, self.scale)
        is_word = ~inner & (token != NO_TOKEN)
        leaves = torch.nonzero(is_word).squeeze(-1)
        if self.output is not None and len(leaves):
            weight = None
            if self.occurrences and self.entangled:
                weight = swept.count[leaves]
            logits = self.output(swept.down.index_select(0, leaves))
            losses["cross_entropy"] = word_cross_entropy(logits, token[leaves], weight)
        return losses

    def forward(self, swept: Swept) -> Tensor:
        """(), the loss: the mean of its parts."""
        losses = self.losses(swept)
        if not losses:
            # Without a part, as of leaves that have no tokens, there is nothing to learn; but a caller's backward needs
            # a graph, and with several processes each of them needs gradients, which this makes 0.
            return swept.up.sum() * 0
        parts = list(losses.values())
        return torch.stack(parts).mean()


class PublishedNetwork(NamedTuple):
    """An autoencoder as its paper has it."""

    cells: str
    """A key of ``dgltree.cells.SWEEPS``."""
    channels: int
    leaf_dropout: float
    options: dict[str, Any]
    """Options of :class:`Autoencoder`."""
    dropout: float = 0.1


STRAE = PublishedNetwork(
    cells="strae",
    channels=16,
    leaf_dropout=0.2,
    options={"loss": "contrastive"},
)
BANYAN = PublishedNetwork(
    cells="banyan",
    channels=128,
    leaf_dropout=0.1,
    options={"loss": "cross_entropy", "entangled": True, "everywhere": True},
)
Network = Literal["strae", "self_strae", "banyan"]
PUBLISHED: dict[Network, PublishedNetwork] = {"strae": STRAE, "self_strae": STRAE, "banyan": BANYAN}


def make_autoencoder(
    name: Network,
    vocabulary: Vocabulary,
    hidden_size: int = 256,
    **options: Any,
) -> Autoencoder:
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
    published = PUBLISHED[name]
    upward, downward = SWEEPS[published.cells]
    both: dict[str, Any] = {
        "channels": options.pop("channels", published.channels),
        "dropout": options.pop("dropout", published.dropout),
    }
    up_only = {"leaf_dropout": options.pop("leaf_dropout", published.leaf_dropout)}
    up = upward(vocabulary, hidden_size, **both, **up_only)
    down = downward(vocabulary, hidden_size, **both)
    return Autoencoder(up, down, **{**published.options, **options})

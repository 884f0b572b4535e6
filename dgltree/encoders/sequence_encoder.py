"""Sequence encoders: trees, written as sequences, to vectors."""

from dataclasses import replace
from inspect import Parameter, signature
from typing import Any

import torch
from torch import Tensor

from dgltree.batching.batch import TreeBatch
from dgltree.batching.vocabulary import Vocabulary, VocabularySigned
from dgltree.encoders.encoder import Encoded, Encoder
from dgltree.encoders.latent.balanced_tree import SequenceBalancedTree
from dgltree.encoders.latent.beam_tree import SequenceBeamTree, SequenceEfficientBeamTree
from dgltree.encoders.latent.crvnn import SequenceCRvNN
from dgltree.encoders.latent.easy_first import SequenceEasyFirst
from dgltree.encoders.latent.gated_attention import PairAttention
from dgltree.encoders.latent.gumbel_tree import SequenceGumbelTree
from dgltree.encoders.latent.on_lstm import SequenceONLSTM
from dgltree.encoders.latent.ordered_memory.network import SequenceOrderedMemory
from dgltree.encoders.sequence.core import InducingCore, SequenceCore
from dgltree.encoders.sequence.linearization import (
    NO_WORD,
    ROOT,
    Order,
    Sequences,
    check_order,
    join_pairs,
    nodes_of,
    symbol_count,
    symbol_names,
)
from dgltree.encoders.sequence.lstm import SequenceLSTM
from dgltree.encoders.sequence.neural_data_router import SequenceNeuralDataRouter
from dgltree.encoders.sequence.recurrent_grc import SequenceRecurrentGRC
from dgltree.encoders.sequence.transformer import SequenceTransformer
from dgltree.encoders.sequence.tree_transformer import TreeTransformer
from dgltree.encoders.sequence.universal_transformer import SequenceUniversalTransformer
from dgltree.support.arguments import check_options
from dgltree.support.torch_internals import exclude_from_compile
from dgltree.trees.tree import Tree

SEPARATOR = "|"  # how the id between two trees is written


class SequenceEncoder(Encoder, VocabularySigned):
    """A core for sequences, chosen by name or made before, run over linearised trees.

    With ``joint`` it reads the trees 2i and 2i + 1 as one sequence, the first, a separator, the second, so that the
    words of the one may attend to those of the other: the inter-sentence form of the Transformers on logic (Shen et al.
    2019, arXiv 1910.13466, table 1). A core with ``in_context`` reads the two apart, and their words in context ask
    each other (:class:`dgltree.encoders.latent.gated_attention.PairAttention`).

    Args:
        core: a key of ``dgltree.encoders.SEQUENCE_ENCODERS``; or a core, of ``symbol_count(vocabulary)`` ids (see
            :func:`dgltree.encoders.linearize`), with ``joint`` one more.
        vocabulary: of the trees.
        hidden_size: n; not with a core, which has its own.
        order: how a tree becomes a sequence, as in :func:`dgltree.encoders.linearize`; None: "bracketed", or
            "preorder" for a core that reads the places of nodes, which takes no other.
        joint: whether pairs of trees are read, with one vector per pair. The separator has the id after the last
            of :func:`dgltree.encoders.linearize`.
        options: of the core that is named.

    Raises ``ValueError`` for another name or order, for ``joint`` with a core that reads the places of one tree's
    nodes, for a core of a different number of ids, and what the core raises; ``TypeError`` for options that the core
    named has not, or of a core that is there.
    """

    def __init__(
        self,
        core: str | SequenceCore,
        vocabulary: Vocabulary,
        hidden_size: int | None = None,
        *,
        order: Order | None = None,
        joint: bool = False,
        **options: Any,
    ) -> None:
        super().__init__()
        kind = core_named(core) if isinstance(core, str) else type(core)
        self.name = core if isinstance(core, str) else _name(kind)
        self.vocabulary = vocabulary
        self.joint = joint
        self.order = _order(self.name, kind, order)
        if joint and kind.place_options:
            raise ValueError(
                f"{self.name!r} reads the position of each node in one tree, so it cannot read a pair; use joint=False"
            )
        self.separator = symbol_count(vocabulary)
        if isinstance(core, str):
            if hidden_size is None:
                raise TypeError(f"SequenceEncoder({core!r}, ...) needs a hidden_size")
            check_options(f"SequenceEncoder({core!r}, ...)", options, sequence_options(kind))
            core = kind.for_vocabulary(vocabulary, self.separator + joint, hidden_size, **options)
            if "hidden_size" not in core.config:
                raise ValueError(f"{kind.__name__} must pass hidden_size to super().__init__ with its other options")
        elif hidden_size is not None or options:
            raise TypeError(
                f"options belong to the core: give {', '.join(options) or 'hidden_size'} to {kind.__name__}"
            )
        elif core.size != self.separator + joint:
            raise ValueError(
                f"the core reads {core.size} ids, but this vocabulary{' and joint' * joint} gives "
                f"{self.separator + joint} ids; build the core as {kind.__name__}({self.separator + joint}, ...)"
            )
        self.core = core
        self.config = {**self.core.config, "order": self.order, "joint": joint}
        self.induces_trees = isinstance(self.core, InducingCore) and not joint
        context = self.core.context if isinstance(self.core, SequenceEfficientBeamTree) else None
        self.gives_nodes = context is not None and self.order == "leaves" and not joint
        self.pairs = PairAttention(context.hidden_size, context.drop.p) if context is not None and joint else None
        self.form = self._form()
        self.sign()

    @exclude_from_compile
    def forward(self, batch: TreeBatch | Sequences, share: bool = False) -> Tensor:
        """(B, n), one row per root, or with ``joint`` (P, n), one per pair. Nothing is shared, whatever ``share`` is.

        Raises ``ValueError`` as :meth:`plan` does, and for a plan of an encoder that reads otherwise.
        """
        sequences = self._sequences(batch)
        if self.pairs is not None:
            return self.pairs(*self._read_words(sequences), sequences.lengths)
        more = () if sequences.places is None else (sequences.places,)
        return self.core(sequences.ids, sequences.lengths, *more)

    def plan(self, batch: TreeBatch, share: bool) -> Sequences:
        """The sequences of a batch, on its device.

        Raises ``ValueError`` as :func:`dgltree.encoders.linearize` does, with ``joint`` for an odd number of trees, and
        what the core raises.
        """
        ids, lengths, *places = self.core.linearized(batch, self.order, self.vocabulary)
        if self.joint and self.pairs is None:
            ids, lengths = join_pairs(ids, lengths, self.separator)
        nodes = nodes_of(batch) if self.gives_nodes else None
        return Sequences(ids, lengths, places[0] if places else None, self.form, nodes)

    def words(self, batch: TreeBatch | Sequences) -> list[list[str]]:
        """The items of each sequence: tokens, names of functions, and the brackets ``(`` and ``)``."""
        sequences = self._sequences(batch)
        names = [*symbol_names(self.vocabulary), SEPARATOR]
        words: list[list[str]] = []
        for ids, length in zip(sequences.ids.tolist(), sequences.lengths.tolist(), strict=True):
            words.append([names[i] for i in ids[:length]])
        return words

    @exclude_from_compile
    def encoded(self, batch: TreeBatch | Sequences, share: bool = False, trace: bool = False) -> Encoded:
        """The result of a call; of joint pairs without a parse."""
        sequences = self._sequences(batch)
        if self.pairs is not None or sequences.places is not None:
            return Encoded(self(sequences, share))
        found = self.core.encoded(sequences.ids, sequences.lengths, trace)
        return replace(found, parse=None) if self.joint else found

    @exclude_from_compile
    def node_states(self, batch: TreeBatch | Sequences, share: bool = False) -> Tensor:
        """(N, n), of plain sentences: of each leaf the vector of its word in context, of the root that of the sentence.

        Raises ``ValueError`` if ``gives_nodes`` is false, and for a tree with inner nodes but the root, or with a
        leaf that occurs twice.
        """
        if not self.gives_nodes:
            return super().node_states(batch, share)
        sequences = self._sequences(batch)
        assert sequences.nodes is not None
        tree, place = sequences.nodes.unbind(1)
        if bool((place == NO_WORD).any()):
            node = int(torch.nonzero(place == NO_WORD)[0])
            raise ValueError(
                f"tree {int(tree[node]) + 1} is not a plain sentence: node {node + 1} of the batch is neither the "
                "root nor a separate word. Words have vectors in context only if all leaves are children of the root"
            )
        words, roots = self._read_words(sequences)
        return words[tree, place.clamp(min=0)].where((place != ROOT).unsqueeze(1), roots[tree])

    def trees(self, batch: TreeBatch | Sequences) -> list[Tree]:
        """The tree induced over the sequence of each tree of a batch; one per root.

        Its leaves are :meth:`words`; :func:`dgltree.induction.binary_trees.without_tokens` takes the brackets among
        them out. Inner nodes are ``phrase``, with two children. Who wants the vectors, too, takes the ``parse`` of
        :meth:`encoded`, which gives both by one pass.

        Raises ``ValueError`` if ``induces_trees`` is false.
        """
        if not self.induces_trees:
            able = [name for name, core in SEQUENCE_ENCODERS.items() if issubclass(core, InducingCore)]
            raise ValueError(
                f"{self.name!r}{' of joint pairs' * self.joint} induces no trees; use {', '.join(able)} with single "
                "trees"
            )
        sequences = self._sequences(batch)
        with torch.no_grad():
            parse = self.encoded(sequences).parse
        assert parse is not None
        return parse.trees(self.words(sequences))

    def _read_words(self, sequences: Sequences) -> tuple[Tensor, Tensor]:
        """Vectors of words in context (B, T, n), and of sequences (B, n)."""
        core: Any = self.core
        found: tuple[Tensor, Tensor] = core.read_words(sequences.ids, sequences.lengths)
        return found

    def _sequences(self, batch: TreeBatch | Sequences) -> Sequences:
        if not isinstance(batch, Sequences):
            return self.plan(batch, share=False)
        if batch.form != self.form:
            raise ValueError(f"the plan contains sequences with {batch.form}, but this encoder reads {self.form}")
        return batch

    def _form(self) -> str:
        """All that its sequences depend on; of the vocabulary a hash, because plans travel between processes."""
        options = ", ".join(f"{name}={self.config[name]}" for name in ("order", "joint", *self.core.place_options))
        return f"{options}, vocabulary {self.vocabulary.digest[:8]}"


def sequence_options(core: type[SequenceCore]) -> list[str]:
    """The options of an encoder with such a core: its own, the core's, and those of the core's base classes.

    Of the core's own class they are all parameters but ``size`` and ``hidden_size``, of the others those by keyword.
    """
    names: dict[str, None] = {}
    for kind in (SequenceEncoder, *core.__mro__):
        if "__init__" not in vars(kind):
            continue
        for parameter in signature(vars(kind)["__init__"]).parameters.values():
            is_own = kind is core and parameter.name not in ("self", "size", "hidden_size")
            if parameter.kind is Parameter.KEYWORD_ONLY or (
                is_own and parameter.kind is Parameter.POSITIONAL_OR_KEYWORD
            ):
                names[parameter.name] = None
    return list(names)


def _name(kind: type[SequenceCore]) -> str:
    """The key of a core in the registry, or the name of its class, which cannot be saved."""
    return next((name for name, known in SEQUENCE_ENCODERS.items() if known is kind), kind.__name__)


def core_named(name: str) -> type[SequenceCore]:
    """``ValueError`` for a name that is not a sequence encoder's."""
    if name not in SEQUENCE_ENCODERS:
        raise ValueError(f"{name!r} is not a sequence encoder; name one of {', '.join(SEQUENCE_ENCODERS)}")
    return SEQUENCE_ENCODERS[name]


def _order(name: str, core: type[SequenceCore], order: Order | None) -> Order:
    """The order that a core reads, if none is asked for; ``ValueError`` for one that it does not read."""
    if order is None:
        return "preorder" if core.place_options else "bracketed"
    check_order(order)
    if core.place_options and order != "preorder":
        raise ValueError(f"order is {order!r}, but {name!r} reads node positions in preorder only")
    return order


SEQUENCE_ENCODERS: dict[str, type[SequenceCore]] = {
    "lstm": SequenceLSTM,
    "on_lstm": SequenceONLSTM,
    "ordered_memory": SequenceOrderedMemory,
    "balanced_tree": SequenceBalancedTree,
    "gumbel_tree": SequenceGumbelTree,
    "crvnn": SequenceCRvNN,
    "beam_tree": SequenceBeamTree,
    "efficient_beam_tree": SequenceEfficientBeamTree,
    "easy_first": SequenceEasyFirst,
    "recurrent_grc": SequenceRecurrentGRC,
    "transformer": SequenceTransformer,
    "universal_transformer": SequenceUniversalTransformer,
    "neural_data_router": SequenceNeuralDataRouter,
    "tree_transformer": TreeTransformer,
}
"""The cores by name: what :class:`dgltree.encoders.SequenceEncoder` and ``--encoder`` take, and model files name."""

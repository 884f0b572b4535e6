"""A language model over words: the probability of each word, from those before it, by layers that read to the right."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from dgltree.batching.vocabulary import UNKNOWN, Vocabulary, with_signatures
from dgltree.encoders import LSTM, ONLSTM, RecurrentLayers, RecurrentSteps
from dgltree.encoders.sequence.padding import padding_mask
from dgltree.encoders.sequence.recurrent import LockedDropout, State
from dgltree.models.checkpoint import WithoutInitialization, reading, write
from dgltree.support.arguments import check_dropout, check_size

END = "<eos>"
"""The word that ends a sentence, and from which the next one begins."""
LAYERS: dict[str, type[RecurrentLayers]] = {"on_lstm": ONLSTM, "lstm": LSTM}
MOST_WORDS = 4096
"""Words of a batch of sentences, padding included."""


class LanguageModel(nn.Module):
    """Word vectors, layers, and a softmax, by default with the word vectors as its weights (Merity et al. 2017, arXiv
    1708.02182).

    Args:
        vocabulary: of the words, ``<eos>`` among them; it has no functions.
        layers: their kind, a key of ``LAYERS``.
        sizes: of the layers, from below; the last is the width of the word vectors, too.
        options: of the layers, such as ``chunk_size`` of an ON-LSTM.
        word_dropout: probability with which all occurrences of a word in a part of the text are left out.
        input_dropout, layer_dropout, output_dropout: of the columns of word vectors, of states between layers, and of
            the last layer's states, with one mask for all words of a sequence.
        weight_dropout: of the hidden-to-gates weights.
        tied: whether the softmax has the word vectors as its weights; else it has weights of its own.

    Initialisation: word vectors, and the softmax's own weights, uniform in +-0.1, its bias 0, torch's of the layers.

    Raises ``ValueError`` for another kind or option, a vocabulary without ``<eos>``, and what the layers raise.
    """

    def __init__(
        self,
        vocabulary: Vocabulary,
        layers: str = "on_lstm",
        sizes: Sequence[int] = (256, 256, 256),
        options: dict[str, Any] | None = None,
        *,
        word_dropout: float = 0.0,
        input_dropout: float = 0.0,
        layer_dropout: float = 0.0,
        output_dropout: float = 0.0,
        weight_dropout: float = 0.0,
        tied: bool = True,
    ) -> None:
        super().__init__()
        if layers not in LAYERS:
            raise ValueError(f"the layers are {layers!r}; they must be one of {', '.join(LAYERS)}")
        if not vocabulary.knows_token(END):
            raise ValueError(f"the vocabulary lacks {END}, the end of a sentence")
        check_dropout(word_dropout)
        check_size("the number of layers", len(sizes))
        dropouts = {
            "word_dropout": word_dropout,
            "input_dropout": input_dropout,
            "layer_dropout": layer_dropout,
            "output_dropout": output_dropout,
            "weight_dropout": weight_dropout,
        }
        options = options or {}
        self.vocabulary = vocabulary
        self.word_dropout = word_dropout
        self.config: dict[str, Any] = {
            "layers": layers,
            "sizes": list(sizes),
            "options": options,
            **dropouts,
        }
        if not tied:
            self.config["tied"] = False
        width = sizes[-1]
        check_size("the last size", width)
        self.embedding = nn.Embedding(len(vocabulary.tokens), width)
        nn.init.uniform_(self.embedding.weight, -0.1, 0.1)
        self.bias = nn.Parameter(torch.zeros(len(vocabulary.tokens)))
        self.softmax: nn.Parameter | None = None
        if not tied:
            weights = torch.empty_like(self.embedding.weight).uniform_(-0.1, 0.1)
            self.softmax = nn.Parameter(weights)
        layer_options = {**options, "dropout": layer_dropout, "weight_dropout": weight_dropout}
        try:
            self.layers = LAYERS[layers](width, sizes, **layer_options)  # type: ignore[arg-type]
        except TypeError as error:
            raise ValueError(f"{layers}: {error}") from None
        self.input_dropout = LockedDropout(input_dropout)
        self.output_dropout = LockedDropout(output_dropout)

    def forward(
        self,
        ids: Tensor,
        padding: Tensor | None = None,
        state: State | None = None,
    ) -> RecurrentSteps:
        """The layers' states for words ids (B, T), from ``state`` on; as :class:`RecurrentLayers`."""
        vectors = self.input_dropout(self._vectors(ids))
        return self.layers(vectors, padding, state)

    def logits(self, states: Tensor) -> Tensor:
        """(B, T, V), of the word after each, from the last layer's states (B, T, n)."""
        weight = self.embedding.weight
        if self.softmax is not None:
            weight = self.softmax
        return nn.functional.linear(self.output_dropout(states), weight, self.bias)

    def _vectors(self, ids: Tensor) -> Tensor:
        """(B, T, n); the mask of whole words is one for all rows, as in Gal & Ghahramani 2016 (arXiv 1512.05287)."""
        vectors = self.embedding(ids)
        if not self.training or not self.word_dropout:
            return vectors
        ones = vectors.new_ones(len(self.vocabulary.tokens), 1)
        mask = nn.functional.dropout(ones, self.word_dropout)
        return vectors * mask[ids]

    def ids(self, words: Sequence[str]) -> list[int]:
        """``<eos>`` words ``<eos>`` as ids. Raises ``ValueError`` for an unknown word if there is no ``<unk>``."""
        return [self.vocabulary.token_id(word) for word in (END, *words, END)]

    def unknown(self, words: Sequence[str]) -> bool:
        """Whether one of the words is not in the vocabulary, or is ``<unk>`` itself."""
        return any(word == UNKNOWN or not self.vocabulary.knows_token(word) for word in words)

    @torch.no_grad()
    def log_probabilities(self, sentences: Sequence[Sequence[str]]) -> Tensor:
        """(N,), the natural logarithm of the probability of each sentence's words and the ``<eos>`` after them.

        Each is read alone, after an ``<eos>``. In evaluation mode nothing depends on the other sentences. Raises
        ``ValueError`` as :meth:`ids` does.
        """
        log_probabilities = torch.empty(len(sentences), dtype=self.bias.dtype)
        for rows, ids, lengths in self._batches(sentences):
            padding = padding_mask(ids, lengths)
            states = self(ids, padding).states
            logits = self.logits(states[:, :-1]).flatten(0, 1)
            following = ids[:, 1:]
            losses = nn.functional.cross_entropy(logits, following.flatten(), reduction="none")
            losses = losses.view(len(ids), -1)
            losses = losses.masked_fill(padding[:, 1:], 0)
            log_probabilities[rows] = -losses.sum(1).cpu()
        return log_probabilities

    @torch.no_grad()
    def distances(self, sentences: Sequence[Sequence[str]]) -> list[Tensor]:
        """The distances (T, layers) of each sentence of T words, without those of the two ``<eos>`` around it.

        Each is read alone. Raises ``ValueError`` for layers that have none, and as :meth:`ids` does.
        """
        if not isinstance(self.layers, ONLSTM):
            raise ValueError(f"the layers are {self.config['layers']!r}, which compute no distances; use on_lstm")
        distances = [torch.empty(0)] * len(sentences)
        for rows, ids, lengths in self._batches(sentences):
            padded = self(ids, padding_mask(ids, lengths)).d.cpu()
            for row, row_distances, length in zip(rows, padded, lengths.tolist(), strict=True):
                distances[row] = row_distances[1 : length - 1]
        return distances

    def _batches(self, sentences: Sequence[Sequence[str]]) -> Iterator[tuple[list[int], Tensor, Tensor]]:
        """Rows, ids (B, T) and lengths (B,) of sentences of similar lengths."""
        lengths_in_words = [len(sentence) for sentence in sentences]
        order = sorted(range(len(sentences)), key=lengths_in_words.__getitem__, reverse=True)
        device = self.bias.device
        start = 0
        while start < len(order):
            longest = lengths_in_words[order[start]] + 2
            stop = start + max(1, MOST_WORDS // longest)
            rows = order[start:stop]
            sequences = [torch.tensor(self.ids(sentences[row])) for row in rows]
            lengths = torch.tensor([len(sequence) for sequence in sequences])
            ids = nn.utils.rnn.pad_sequence(sequences, batch_first=True)
            yield rows, ids.to(device), lengths.to(device)
            start = stop


def save_language_model(model: LanguageModel, path: str | Path) -> None:
    """Write a model as :func:`dgltree.save` writes one of trees, with its words. Errors as there."""
    write(path, model, {"language_model": model.config, "vocabulary": model.vocabulary.to_json()})


def load_language_model(path: str | Path) -> LanguageModel:
    """Read a model that :func:`save_language_model` wrote, in evaluation mode, on the CPU. Errors as of ``load``."""
    with reading(path) as (header, tensors):
        if "language_model" not in header:
            raise ValueError("a model of trees, not a language model; use dgltree.load")
        config = header["language_model"]
        layers = len(config["sizes"])
        if layers > len(tensors):
            raise ValueError(f"its header declares {layers} layers, but the file has only {len(tensors)} tensors")
        vocabulary = Vocabulary.from_json(header["vocabulary"])
        with torch.device("meta"), WithoutInitialization():
            model = LanguageModel(vocabulary, **config)
        model.load_state_dict(with_signatures(model, tensors), assign=True)
    return model.eval()

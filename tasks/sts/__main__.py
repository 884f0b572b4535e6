"""``python -m tasks.sts --network banyan``: train the published networks at a reduced size, and score them.

Prints Spearman's rank correlation between cosines and people's scores, for sentence vectors and for the mean of their
embeddings; ``--network counts`` uses counts of words instead of a network.
"""

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import torch
from scipy.sparse import coo_matrix, csr_matrix
from scipy.sparse.linalg import svds
from scipy.stats import spearmanr
from torch import Tensor
from torch.nn.functional import cosine_similarity

from dgltree import Vocabulary
from dgltree.models import Autoencoder, Swept, make_autoencoder
from dgltree.training.unlabelled import learn
from tasks.sts.data import SETS, corpus, pad, pairs, vocabulary_of

# Vectors of words by counting: positive pointwise mutual information and its singular vectors.
WINDOW = 5


def count_pairs(sentences: Sequence[Sequence[str]], vocabulary: Vocabulary, size: int) -> Tensor:
    """(V, size), of pairs of words at most five words apart: log-ratios above 0, and their largest singular vectors."""
    left = []
    right = []
    for sentence in sentences:
        ids = [vocabulary.token_id(word) for word in sentence]
        for apart in range(1, WINDOW + 1):
            left += ids[:-apart]
            right += ids[apart:]
    count = len(vocabulary.tokens)
    found = csr_matrix(coo_matrix((np.ones(len(left)), (left, right)), (count, count)))
    found = found + found.T
    total = np.asarray(found.sum(1)).ravel()
    shares = coo_matrix(found)
    ratio = np.log(shares.data * total.sum() / (total[shares.row] * total[shares.col]))
    positive = coo_matrix((ratio.clip(min=0), (shares.row, shares.col)), shares.shape)
    u, s, _ = svds(csr_matrix(positive), k=min(size, count - 1), random_state=0)
    return torch.from_numpy(np.ascontiguousarray(u * np.sqrt(s))).float()


NETWORKS: dict[str, tuple[str, dict[str, Any], dict[str, Any]]] = {
    "banyan": ("banyan", {}, {}),
    "banyan_apart": ("banyan", {"entangled": False, "everywhere": False}, {}),
    "self_strae": ("self_strae", {"loss": "both"}, {"clip": 1.0}),
    "self_strae_contrastive": ("self_strae", {}, {"clip": 1.0}),
}
"""The network, its options, and those of the training, by the name of the command."""
Vectors = Callable[[list[list[str]]], Tensor]
VALIDATION = 400
"""Sentences kept aside."""
TOGETHER = 512
"""Sentences of a batch that are encoded."""


def main(arguments: Sequence[str]) -> None:
    """Run the program's command line."""
    options = _parse(arguments)
    folder = Path(os.environ.get("DGLTREE_DATA", "data"))
    torch.manual_seed(options.seed)
    sentences = corpus(folder, options.corpora, options.words)
    vocabulary = vocabulary_of(sentences, options.vocabulary)
    count = sum(map(len, sentences))
    print(f"{len(sentences):,} sentences, {count:,} words, {len(vocabulary.tokens):,} different", flush=True)
    if options.network == "counts":
        table = count_pairs(sentences, vocabulary, options.hidden_size)
        say("counts", folder, options.limit, lambda texts: averaged(table, texts, vocabulary))
        return
    name, own, training = NETWORKS[options.network]
    model = make_autoencoder(name, vocabulary, options.hidden_size, **own)  # type: ignore[arg-type]
    trained(model, sentences, options, training)
    say(options.network, folder, options.limit, lambda texts: encoded(model, texts))
    table = model.up.embedding.weight.detach()
    say("mean of its embeddings", folder, options.limit, lambda texts: averaged(table, texts, vocabulary))


def trained(
    model: Autoencoder, sentences: list[list[str]], options: argparse.Namespace, settings: dict[str, Any]
) -> None:
    """Learn, and print a line per epoch."""

    def sweep(numbers: Sequence[int]) -> Swept:
        return model.sentences(*pad([sentences[number] for number in numbers], model.vocabulary))

    held = min(VALIDATION, len(sentences) // 10)
    numbers = torch.randperm(len(sentences), generator=torch.Generator().manual_seed(options.seed)).tolist()
    settings = {**settings, "epochs": options.epochs, "learning_rate": options.learning_rate}
    with TemporaryDirectory() as folder:
        splits = numbers[held:], numbers[:held] or numbers
        learn(model, sweep, *splits, Path(folder), batch_size=options.batch_size, **settings)


def encoded(model: Autoencoder, texts: list[list[str]]) -> Tensor:
    """(m, n), the upward vectors of the roots."""
    found = []
    for i in range(0, len(texts), TOGETHER):
        with torch.no_grad():
            swept = model.sentences(*pad(texts[i : i + TOGETHER], model.vocabulary))
        found.append(swept.up[swept.roots])
    return torch.cat(found)


def averaged(table: Tensor, texts: list[list[str]], vocabulary: Vocabulary) -> Tensor:
    """(m, n), the means of the words' rows."""
    return torch.stack([table[[vocabulary.token_id(word) for word in text]].mean(0) for text in texts])


def say(name: str, folder: Path, limit: int | None, vectors: Vectors) -> None:
    """Print the correlations, each and their mean."""
    found = {}
    for each in SETS:
        first, second, scores = pairs(folder / "sts" / f"{each}.csv")
        cosines = cosine_similarity(vectors(first[:limit]), vectors(second[:limit]))
        found[each.removesuffix("_test")] = 100 * float(spearmanr(cosines.numpy(), scores[:limit]).statistic)
    published = [each for each in found if each != "sts16"]
    mean = sum(found[each] for each in published) / len(published)
    row = " | ".join(f"{value:.1f}" for value in found.values())
    print(f"| {name} | {row} | {mean:.1f} |  <!-- {', '.join(found)}, mean without sts16 -->", flush=True)


def _parse(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tasks.sts", description=__doc__, allow_abbrev=False)
    parser.add_argument("--network", choices=[*NETWORKS, "counts"], default="banyan")
    parser.add_argument("--corpora", nargs="+", default=["small", "ud", "ptb"], help="small, ud and ptb, in this order")
    parser.add_argument("--words", type=int, default=10**9, help="train on the first sentences, up to this many words")
    parser.add_argument("--vocabulary", type=int, default=10_000, help="read this many of the most frequent words")
    parser.add_argument("--hidden-size", type=int, default=256)
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--batch-size", type=int, default=128)
    parser.add_argument("--learning-rate", type=float, default=3e-3)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--limit", type=int, help="measure only with this many first pairs of each set")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    main(sys.argv[1:])

"""``python -m tasks.sentiment vectors --out FILE``: make word vectors from little text, for ``--fit.vectors FILE``.

Factorizes the positive pointwise mutual information of words and the words around them (Levy, Goldberg and Dagan 2015,
"Improving Distributional Similarity with Lessons Learned from Word Embeddings"). The result is deterministic.
"""

import argparse
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
from scipy.sparse import coo_matrix, csr_matrix
from sklearn.decomposition import TruncatedSVD

from dgltree.read.text import read_text
from dgltree.read.words import words_of
from dgltree.support.arguments import check_size
from dgltree.support.files import replacing
from tasks.data import data_folder
from tasks.sentiment.data import read_trees

SMOOTHING = 0.75
"""Power of a context word's count: rare ones would else have the highest information."""
RARE = -1  # in place of a word's number


def word_vectors(
    sentences: Iterable[Sequence[str]], size: int, window: int = 10, min_count: int = 2
) -> tuple[list[str], np.ndarray]:
    r"""The words, the most frequent first, and their vectors (words, size) float64 of length 1.

    :math:`U \sqrt \Sigma` of the ``size`` largest singular values of
    :math:`\max(0, \log \frac{n_{wc} \sum_v n_v^{0.75}}{n_w n_c^{0.75}})`, each row divided by its length. A pair of
    words d places from each other counts (window + 1 - d) / window.

    Args:
        sentences: of words.
        size: of a vector.
        window: places to each side, within the sentence.
        min_count: a word that occurs fewer times is left out; its place is kept.

    Raises ``ValueError`` for a size, window or count below 1, and where no more words are left than ``size``.
    """
    for name, given in (("size", size), ("window", window), ("min_count", min_count)):
        check_size(name, given)
    text = [list(sentence) for sentence in sentences]
    counts = Counter(word for sentence in text for word in sentence)
    words = [word for word, count in counts.most_common() if count >= min_count]
    if len(words) <= size:
        raise ValueError(f"{len(words):,} words occur {min_count} times or more; vectors of {size} need more than that")
    number = {word: i for i, word in enumerate(words)}
    ids = [[*(number.get(word, RARE) for word in sentence), *[RARE] * window] for sentence in text]
    information = positive_information(cooccurrences(np.concatenate(ids), len(words), window))
    svd = TruncatedSVD(size, random_state=0)
    vectors = svd.fit_transform(information) / np.sqrt(svd.singular_values_)
    return words, vectors / np.linalg.norm(vectors, axis=1, keepdims=True).clip(min=np.finfo(float).tiny)


def cooccurrences(ids: np.ndarray, words: int, window: int) -> csr_matrix:
    """(words, words), symmetric: how often words are near each other in a text (L,), near ones counting more."""
    found = csr_matrix((words, words))
    for distance in range(1, window + 1):
        left = ids[:-distance]
        right = ids[distance:]
        both = (left != RARE) & (right != RARE)
        weight = np.full(both.sum(), (window + 1 - distance) / window)
        found += coo_matrix((weight, (left[both], right[both])), shape=found.shape).tocsr()
    return found + found.T


def positive_information(counts: csr_matrix) -> csr_matrix:
    """The positive pointwise mutual information of symmetric counts; 0 if a pair never occurs together."""
    pairs = counts.tocoo()
    of_word = np.asarray(counts.sum(1)).squeeze(1)
    of_context = of_word**SMOOTHING
    information = np.log(pairs.data * of_context.sum() / (of_word[pairs.row] * of_context[pairs.col]))
    return coo_matrix((information.clip(min=0), (pairs.row, pairs.col)), shape=pairs.shape).tocsr()


def main(arguments: list[str]) -> None:
    """Run the command."""
    parser = argparse.ArgumentParser(prog="python -m tasks.sentiment vectors", description=__doc__)
    parser.add_argument("--out", type=Path, required=True, help="the file to write, in the format of GloVe")
    parser.add_argument(
        "--data.folder", type=Path, dest="folder", help="folder of train.txt (default: DGLTREE_DATA/sst)"
    )
    parser.add_argument(
        "--text", type=Path, help="further text, one sentence per line (default: DGLTREE_DATA/language/ptb.train.txt)"
    )
    parser.add_argument("--size", type=int, default=200, help="width of a vector (default 200)")
    parser.add_argument("--window", type=int, default=10, help="count this many words to each side (default 10)")
    parser.add_argument(
        "--min-count", type=int, default=2, help="give vectors only to words that occur at least this often (default 2)"
    )
    options = parser.parse_args(arguments)
    trees = read_trees((options.folder or data_folder("sst")) / "train.txt", lowercase=True)
    lines = read_text(options.text or data_folder("language") / "ptb.train.txt").splitlines()
    sentences = [*map(words_of, trees), *map(str.split, lines)]
    words, vectors = word_vectors(sentences, options.size, options.window, options.min_count)
    with replacing(options.out) as beside, beside.open("w", encoding="utf-8") as file:
        for word, vector in zip(words, vectors, strict=True):
            print(word, *(f"{value:.5f}" for value in vector), file=file)
    total = sum(map(len, sentences))
    print(f"{options.out}: vectors of {len(words):,} words, {options.size} wide, from {total:,} words of text")

"""The trees of a data set whose vectors are nearest to that of another tree. Needs scikit-learn."""

from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from dgltree.batching.subtrees import twins
from dgltree.datasets.tree_dataset import TreeDataset
from dgltree.training.trained_model import Examples, TrainedModel


class Neighbour(NamedTuple):
    """A tree of the data set."""

    example: int
    """Index of the example in the data set; of pairs the first tree counts."""
    similarity: float
    """The cosine of the two vectors, from -1 to 1."""


def nearest(model: TrainedModel, data: TreeDataset, queries: Examples, count: int) -> list[list[Neighbour]]:
    """For each query its ``count`` nearest trees by the cosine of their vectors, the nearest first.

    Raises ``ValueError`` for a model of pairs, for ``count`` below 1, and as :meth:`TrainedModel.encode`.
    """
    if model.each != 1:
        raise ValueError("a model of pairs already compares two trees: use predict")
    if count < 1:
        raise ValueError(f"top is {count}; it must be 1 or more")
    return nearest_vectors(model.encode(data), model.encode(queries), count)


class Part(NamedTuple):
    """A subtree of the data set."""

    example: int
    """The number of the first tree that it occurs in."""
    node: int
    """The number of its root in the batch of the data set."""
    similarity: float
    """The cosine of the two vectors, from -1 to 1."""


def nearest_parts(model: TrainedModel, data: TreeDataset, queries: Examples, count: int) -> list[list[Part]]:
    """For each query its ``count`` nearest subtrees, equal ones once; errors as of :func:`nearest`.

    Args:
        model: with a tree encoder.
        data: in the model's vocabulary.
        queries: trees.
        count: 1 or more.
    """
    if model.each != 1:
        raise ValueError("a model of pairs already compares two trees: use predict")
    if count < 1:
        raise ValueError(f"top is {count}; it must be 1 or more")
    trees = data.trees
    first = np.unique(twins(trees))
    tree = np.repeat(np.arange(len(trees)), trees.sizes.numpy())
    vectors = model.node_vectors(data)[torch.from_numpy(first)]
    parts = []
    for nearest in nearest_vectors(vectors, model.encode(queries), count):
        roots = [(int(first[one.example]), one.similarity) for one in nearest]
        parts.append([Part(int(tree[root]), root, similarity) for root, similarity in roots])
    return parts


def nearest_vectors(vectors: Tensor, queries: Tensor, count: int) -> list[list[Neighbour]]:
    """Return the nearest vectors (E, n) of a data set for the vectors (Q, n) of queries."""
    from sklearn.neighbors import NearestNeighbors

    index = NearestNeighbors(n_neighbors=min(count, len(vectors)), metric="cosine").fit(vectors.numpy())
    distances, rows = index.kneighbors(queries.numpy())
    nearest = []
    for rows_of_query, distances_of_query in zip(rows.tolist(), distances.tolist(), strict=True):
        pairs = zip(rows_of_query, distances_of_query, strict=True)
        nearest.append([Neighbour(row, 1 - distance) for row, distance in pairs])
    return nearest

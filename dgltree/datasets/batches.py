"""Batches have a limit of nodes, or of words and padding, for any torch DataLoader: ::

data = TreeDataset.from_file("trees.tsv")
data = data.within(data.vocabulary(min_count=2, unk=True))
loader = DataLoader(data, batch_sampler=NodeBatches(data.sizes, 4096, seed=0), collate_fn=Collate(classes))
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Self, TypeVar

import torch
from torch import Tensor
from torch.utils.data import Sampler

from dgltree.batching.batch import TreeBatch
from dgltree.batching.moving import Movable
from dgltree.batching.subtrees import number_subtrees
from dgltree.datasets.settings import class_numbers, label_number
from dgltree.datasets.tree_dataset import TreeDataset
from dgltree.encoders import Encoder, Planned
from dgltree.engine.planned import PlannedBatch

if TYPE_CHECKING:
    import dgl

T = TypeVar("T")
UNSEEN = -1
"""The class number of a label that is not one of the classes."""
POOL = 50  # full batches' worth of examples that are sorted together: little padding, and yet other batches every epoch


@dataclass
class Labelled(Movable):
    """E examples. What a model needs of them is moved; the rest stays on the CPU."""

    trees: TreeBatch
    """The trees of each example, as many as it has: the sides of an equation, the formulas of a pair, an expression.
    They stay where they are if the plan is of something else, such as sequences."""
    labels: Tensor
    """(E,), what is to be predicted: float32 if it is yes or no, class numbers int64 otherwise."""
    groups: Tensor
    """(E,) int64, by what results are told apart: depth, operators or length. They stay on the CPU."""
    planned: Planned | None = None
    """The encoder's preparation of the trees, if there is one."""
    baseline: Tensor | None = None
    """(E, ...) the answers of a baseline, if there is one."""
    weights: Tensor | None = None
    """(E,) float32, how much each example counts in a loss; None: all the same."""
    features: Tensor | None = None
    """(E, F) float32, what is read of the columns next to the trees; None: nothing."""

    @property
    def inputs(self) -> TreeBatch | Planned:
        """The arguments of a call of the model."""
        return self.trees if self.planned is None else self.planned

    def plan(self, encoder: Encoder, share: bool) -> "Labelled":
        """The examples planned for an encoder: what a data loader's worker does while the model computes."""
        return replace(self, planned=encoder.plan(self.trees, share))

    @property
    def device(self) -> torch.device:
        return self.labels.device

    def map(self, function: Callable[[Tensor], Tensor]) -> Self:
        planned = None if self.planned is None else self.planned.map(function)
        baseline = None if self.baseline is None else function(self.baseline)
        weights = None if self.weights is None else function(self.weights)
        features = None if self.features is None else function(self.features)
        if planned is None:
            trees = self.trees.map(function)
        else:
            trees = _batch(planned) if _batch(self.planned) is self.trees else self.trees
        labels = function(self.labels)
        more: Any = {"baseline": baseline, "weights": weights, "features": features}
        return replace(self, trees=trees, labels=labels, planned=planned, **more)

    def select(self, examples: Sequence[int]) -> "Labelled":
        """Some of the examples, in the given order."""
        rows = torch.tensor(examples)
        each = len(self.trees) // len(self.labels)
        trees = (rows.unsqueeze(1) * each + torch.arange(each)).flatten()
        names = ("baseline", "weights", "features")
        more = {name: None if (each := getattr(self, name)) is None else each[rows] for name in names}
        return Labelled(self.trees[trees], self.labels[rows], self.groups[rows], **more)


def _batch(planned: Any) -> Any:
    """The trees that a plan is of; the plan itself if it has none."""
    return planned.batch if isinstance(planned, PlannedBatch) else planned


def plan_examples(whole: Labelled, encoder: Encoder, share: bool, examples: Sequence[int]) -> Labelled:
    """Some examples of a data set that was flattened once, planned for an encoder."""
    return whole.select(examples).plan(encoder, share)


class NodeBatches(Sampler[list[int]]):
    """Which examples are in which batch: as many as have ``most_nodes`` nodes together, at least one.

    Args:
        sizes: (E,) int64, the nodes of each example.
        most_nodes: of a batch; an example that alone has more is a batch of its own.
        seed: of the order, which depends on it and on ``epoch``; None: the order of the examples.
        epoch: counted from 0.
        rank: of the process, from 0.
        world_size: how many processes train together. Each gets its share of every batch, by :func:`process_rows`.

    Raises ``ValueError`` for ``most_nodes`` or ``world_size`` below 1, and a rank that is not below ``world_size``.
    """

    def __init__(
        self,
        sizes: Tensor,
        most_nodes: int,
        seed: int | None = None,
        epoch: int = 0,
        *,
        rank: int = 0,
        world_size: int = 1,
    ) -> None:
        if most_nodes < 1:
            raise ValueError(f"most_nodes is {most_nodes}; it must be 1 or more")
        if not 0 <= rank < world_size:
            raise ValueError(f"rank is {rank} and world_size is {world_size}; a rank must be from 0 to world_size - 1")
        self.batches: list[list[int]] = []
        order = list(range(len(sizes)))
        room = 0
        count = sizes.tolist()
        if seed is not None:
            order = torch.randperm(len(sizes), generator=epoch_generator(seed, epoch)).tolist()
        for i in order:
            if not self.batches or count[i] > room:
                self.batches.append([])
                room = most_nodes
            self.batches[-1].append(i)
            room -= count[i]
        self.mean_counts = [len(rows) / world_size if len(rows) >= world_size else len(rows) for rows in self.batches]
        """How many examples of each batch a process has on average. DDP averages gradients over processes, so the sum
        of a process's losses divided by this has the gradient of the mean over the whole batch."""
        self.batches = [process_rows(rows, rank, world_size) for rows in self.batches]

    def __iter__(self) -> Iterator[list[int]]:
        return iter(self.batches)

    def __len__(self) -> int:
        return len(self.batches)


def process_rows(rows: list[T], rank: int, world_size: int) -> list[T]:
    """The rows of a batch that one of several processes computes.

    Each process takes every ``world_size``-th; all of them take all if there are fewer, which leaves the mean over the
    processes what it is.
    """
    return rows[rank::world_size] if len(rows) >= world_size else rows


def epoch_generator(seed: int, epoch: int) -> torch.Generator:
    """The generator of an epoch's order, epochs counted from 0: it depends on (seed, epoch) alone."""
    return torch.Generator().manual_seed(seed * 10_000 + epoch)


def buckets(
    lengths: Sequence[int], batch_size: int, most_words: int, generator: torch.Generator | None = None
) -> list[list[int]]:
    """Which examples are in which batch.

    A batch has at most ``batch_size`` examples, and padded to its longest at most ``most_words`` words; an example that
    alone is longer has a batch of its own. With a generator the examples are in random order, sorted in pools, and so
    are the batches; without, they are sorted from the shortest to the longest.

    Raises ``ValueError`` for a batch size or number of words below 1.
    """
    if batch_size < 1 or most_words < 1:
        raise ValueError(f"batch_size is {batch_size} and most_words is {most_words}; both must be 1 or more")
    count = len(lengths)
    order = list(range(count)) if generator is None else torch.randperm(count, generator=generator).tolist()
    pool = count if generator is None else POOL * batch_size
    batches: list[list[int]] = []
    for start in range(0, count, pool or 1):
        batches += _cut(sorted(order[start : start + pool], key=lengths.__getitem__), lengths, batch_size, most_words)
    if generator is None:
        return batches
    return [batches[i] for i in torch.randperm(len(batches), generator=generator).tolist()]


def _cut(rising: list[int], lengths: Sequence[int], batch_size: int, most_words: int) -> list[list[int]]:
    batches: list[list[int]] = [[]]
    for i in rising:
        room = len(batches[-1]) < batch_size and (len(batches[-1]) + 1) * lengths[i] <= most_words
        if batches[-1] and not room:
            batches.append([])
        batches[-1].append(i)
    return batches


class Collate:
    """Makes the batch of a DataLoader's examples: flat trees and labels, planned for an encoder.

    Args:
        classes: the names of the classes; labels become their numbers, :data:`UNSEEN` for others. None: labels are
            numbers, NaN if there is none.
        encoder: what the batches are for; the loader's workers then plan them while the model computes.
        share: as in :func:`dgltree.propagate`.
        labels: whether labels are read; without, all of them are missing.
    """

    def __init__(
        self,
        classes: Sequence[str] | None = None,
        encoder: Encoder | None = None,
        share: bool = False,
        labels: bool = True,
    ) -> None:
        self.classes = classes
        self.encoder = encoder
        self.share = share
        self.labels = labels

    def __call__(self, examples: TreeDataset) -> Labelled:
        labelled = self._labelled(examples, examples.trees)
        return labelled if self.encoder is None else labelled.plan(self.encoder, self.share)

    def whole(self, examples: TreeDataset) -> Labelled:
        """A data set that fits into memory, not planned: its batches are (:func:`plan_examples`)."""
        return self._labelled(examples, number_subtrees(examples.trees))

    def _labelled(self, examples: TreeDataset, trees: TreeBatch) -> Labelled:
        depth = trees.level[trees.roots].view(-1, examples.each).amax(1)
        weights = None if examples.weights is None else torch.from_numpy(examples.weights).float()
        labels = examples.labels if self.labels else [None] * len(examples)
        features = None if examples.feature_rows is None else torch.from_numpy(examples.feature_rows)
        return Labelled(trees, label_numbers(labels, self.classes), depth, weights=weights, features=features)


def label_numbers(labels: Sequence[str | None], classes: Sequence[str] | None) -> Tensor:
    """(E,) int64, the numbers of classes, :data:`UNSEEN` for others; without classes float64, NaN for no label.

    A label is the class that is the same number, text or truth value: ``0.0`` is the class ``0``.

    Raises ``ValueError`` for a label that is not a finite number that float32 can hold, if there are no classes.
    """
    if classes is not None:
        number_of = class_numbers(classes)
        found = (None if label is None else number_of(label) for label in labels)
        return torch.tensor([UNSEEN if number is None else number for number in found], dtype=torch.int64)
    numbers = [torch.nan if label is None else label_number(label) for label in labels]
    if None in numbers:
        raise ValueError(f"a label is not a number that float32 can hold: {labels[numbers.index(None)]!r:.60}")
    return torch.tensor(numbers, dtype=torch.float64)


class Graphs:
    """A data set as DGL's own loaders read it: ``graphs[i]`` is a DGLGraph and its label.

    A graph has ``ndata["function"]``, ``ndata["token"]`` and ``edata["slot"]``, in the vocabulary of the data set; a
    pair is one graph of two trees.

    Args:
        dataset: in a model's vocabulary.
        classes: as in :class:`Collate`.
    """

    def __init__(self, dataset: TreeDataset, classes: Sequence[str] | None = None) -> None:
        self.dataset = dataset
        self.labels = label_numbers(dataset.labels, classes)

    def __len__(self) -> int:
        return len(self.dataset)

    def __getitem__(self, i: int) -> tuple["dgl.DGLGraph", Tensor]:
        if not -len(self) <= i < len(self):
            raise IndexError(f"there is no graph {i}; the length of the data set is {len(self)}")
        return self.dataset.select([i % len(self)]).trees.graph, self.labels[i]

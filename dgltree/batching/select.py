"""Some trees of a batch as a batch: how a data set that was flattened once becomes batches."""

from collections.abc import Sequence

import numpy as np
from torch import Tensor

from dgltree.batching.batch import TreeBatch
from dgltree.batching.choosing import choose_rows


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

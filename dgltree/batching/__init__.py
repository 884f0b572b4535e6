"""Trees to flat tensors: vocabulary, batch and its DGL form, selections, duplicate subtrees."""

from dgltree.batching.batch import TreeBatch, unbatch
from dgltree.batching.subtrees import Entangled, entangle
from dgltree.batching.joining import join
from dgltree.batching.batch import supervised
from dgltree.batching.number_scales import NumberScales
from dgltree.batching.subtrees import number_subtrees
from dgltree.batching.vocabulary import Vocabulary

__all__ = [
    "Entangled",
    "NumberScales",
    "TreeBatch",
    "Vocabulary",
    "entangle",
    "join",
    "number_subtrees",
    "supervised",
    "unbatch",
]

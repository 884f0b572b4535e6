"""Trees as flat tensors: vocabulary, batch (also as a DGLGraph), selections, duplicate subtrees."""

from dgltree.batching.batch import TreeBatch, supervised, unbatch
from dgltree.batching.joining import join
from dgltree.batching.number_scales import NumberScales
from dgltree.batching.subtrees import Entangled, entangle, number_subtrees
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

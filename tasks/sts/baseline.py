"""Vectors of words by counting: positive pointwise mutual information and its singular vectors."""

from collections.abc import Sequence

import numpy as np
import torch
from scipy.sparse import coo_matrix, csr_matrix
from scipy.sparse.linalg import svds
from torch import Tensor

from dgltree import Vocabulary

WINDOW = 5


def count_pairs(sentences: Sequence[Sequence[str]], vocabulary: Vocabulary, size: int) -> Tensor:
    """(V, size), of pairs of words at most five words apart: log-ratios above 0, and their largest singular vectors."""
    left, right = [], []
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

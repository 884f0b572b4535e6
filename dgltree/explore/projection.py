"""Vectors as points in the plane: by their principal components at once, by t-SNE in stages. Needs scikit-learn."""

from collections.abc import Iterator

import numpy as np
from torch import Tensor

STAGES = 4
ITERATIONS = 250
"""Of a stage: the fewest that scikit-learn makes."""
PERPLEXITY = 30
COMPONENTS = 30
"""That t-SNE sees of longer vectors."""
MIN_VECTORS = 5


def principal(vectors: Tensor, components: int = 2) -> np.ndarray:
    """(E, components), with zeros if there are fewer. Raises ``ValueError`` for fewer than five vectors."""
    from sklearn.decomposition import PCA

    if len(vectors) < MIN_VECTORS:
        raise ValueError(f"{len(vectors)} trees; a map needs {MIN_VECTORS}")
    there = min(components, *vectors.shape)
    with np.errstate(invalid="ignore"):  # the shares of the components, if all vectors are one
        found = PCA(there, random_state=0).fit_transform(vectors.double().numpy())
    return np.pad(found, ((0, 0), (0, components - there)))


def neighbouring(vectors: Tensor) -> Iterator[np.ndarray]:
    """(E, 2) after each stage of t-SNE (van der Maaten and Hinton 2008), which begins from the principal components.

    A stage continues where the last one ended, so that it can be looked at and stopped on the way; the first one alone
    exaggerates. Errors as in :func:`principal`.
    """
    from sklearn.manifold import TSNE

    reduced = principal(vectors, COMPONENTS)
    plane = reduced[:, :2] / max(float(reduced[:, 0].std()), 1e-12) * 1e-4
    perplexity = min(PERPLEXITY, (len(vectors) - 1) / 3)
    for stage in range(STAGES):
        made = TSNE(
            perplexity=perplexity,
            init=plane.astype(np.float32),
            early_exaggeration=1.0 if stage else 12.0,
            max_iter=ITERATIONS,
            random_state=0,
        )
        plane = made.fit_transform(reduced.astype(np.float32))
        yield plane

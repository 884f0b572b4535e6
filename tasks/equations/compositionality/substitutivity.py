"""Whether expressions of one value have one meaning for a model: their hidden states lie together.

Classes are expressions of depth 1 to 3 that occur in the test set and agree numerically; how pure the neighbourhoods
of the hidden states are is measured on the states themselves, by the cosine, not in the picture.
"""

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from dgltree import Equation, Tree, batch
from dgltree.equations.truth.evaluator import BLURRED, Evaluator
from dgltree.models import evaluating
from tasks.equations.verification.classifier import EquationClassifier
from tasks.equations.verification.whole import WholeEquations

DEPTHS = range(1, 4)
MAX_CLASSES, MIN_CLASS_SIZE, MAX_CLASS_SIZE = (
    40,
    5,
    25,
)  # classes at most; expressions a class has at least, and at most
DIGITS = 6  # decimals in which values agree; those of expressions are within 1e-6 to 1e6

Points = NDArray[np.floating]
Classes = NDArray[np.int64]


def expressions(equations: Iterable[Equation]) -> tuple[list[Tree], Classes]:
    """Expressions and the number of each one's class, the largest classes first; the same for the same equations.

    Only expressions whose value is certain at every point take part.

    Raises ``ValueError`` if fewer than two classes have enough members.
    """
    evaluator = Evaluator()
    members: dict[bytes, list[Tree]] = {}
    for tree in _parts(equations):
        value = _rounded(evaluator, tree)
        if value is not None:
            members.setdefault(value, []).append(tree)
    classes = sorted((found for found in members.values() if len(found) >= MIN_CLASS_SIZE), key=len, reverse=True)[
        :MAX_CLASSES
    ]
    if len(classes) < 2:
        raise ValueError(
            f"{len(classes)} values have {MIN_CLASS_SIZE} expressions or more among these equations; two classes are "
            "needed"
        )
    kept = [found[:MAX_CLASS_SIZE] for found in classes]
    numbers = np.repeat(np.arange(len(kept)), [len(found) for found in kept])
    return [tree for found in kept for tree in found], numbers


def _parts(equations: Iterable[Equation]) -> dict[Tree, None]:
    """Distinct subtrees of the wanted depths, in the order in which they are met."""
    sides = (side for equation in equations for side in equation)
    return dict.fromkeys(node for side in sides for node in side.preorder() if node.depth in DEPTHS)


def _rounded(evaluator: Evaluator, tree: Tree) -> bytes | None:
    """The key of equal expressions: the value at every point, rounded; None if a point is not usable."""
    with np.errstate(all="ignore"):
        values, sizes, errors = evaluator.value(tree)
        if not (errors < BLURRED * (1 + sizes)).all():
            return None
        return (np.round(values, DIGITS) + 0.0).tobytes()  # + 0.0: one zero only


def hidden_states(module: EquationClassifier, trees: list[Tree]) -> Points | None:
    """(expressions, n) float64, the states of the roots; None for a model that has none, such as the majority."""
    encoder = module.encoder
    if not list(encoder.parameters()):
        return None
    reader = encoder.reader if isinstance(encoder, WholeEquations) else encoder
    with evaluating(module):
        states: Tensor = reader(batch(trees, reader.vocabulary), share=True)
    return states.double().numpy()


def neighbour_purity(states: Points, classes: Classes) -> float:
    """The share of states (expressions, n) whose nearest other one, by the cosine, is of the same class."""
    distances = _distances(states)
    np.fill_diagonal(distances, np.inf)
    return float((classes[distances.argmin(1)] == classes).mean())


def chance(classes: Classes) -> float:
    """The :func:`neighbour_purity` that there would be, on average, of another expression drawn at random."""
    sizes = np.bincount(classes)
    n = len(classes)
    return float((sizes * (sizes - 1)).sum() / (n * (n - 1)))


def silhouette(states: Points, classes: Classes) -> float:
    """How compact and how far apart the classes are by the cosine, from -1 (mixed) to 1."""
    from sklearn.metrics import silhouette_score

    return float(silhouette_score(_distances(states), classes, metric="precomputed"))


def _distances(states: Points) -> Points:
    from sklearn.metrics.pairwise import cosine_distances

    found: Points = cosine_distances(states)
    return found


def in_the_plane(states: Points, perplexity: float = 20.0) -> Points:
    """(expressions, 2): t-SNE by the cosine, from the principal components; the same every time on one machine."""
    from sklearn.manifold import TSNE

    perplexity = min(perplexity, (len(states) - 1) / 3)
    found: Points = TSNE(metric="cosine", init="pca", perplexity=perplexity, random_state=0).fit_transform(states)
    return found

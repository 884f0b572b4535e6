"""The room of own trees shows a model of ``fit``, its errors, and any tree with its states, neighbours and place.

The answers to the trees of a file are computed once, when they are first asked for. Maps need scikit-learn: vectors are
points by their principal components at once, by t-SNE in stages.
"""

import json
from abc import ABC, abstractmethod
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from dgltree.batching.batch import batch, unbatch
from dgltree.datasets.batches import UNSEEN
from dgltree.datasets.settings import Reading
from dgltree.datasets.splitting import split
from dgltree.datasets.tree_dataset import TreeDataset
from dgltree.encoders import TreeEncoder
from dgltree.engine.kernels.dispatch import kernels
from dgltree.engine.planned import PlannedBatch
from dgltree.explore.endpoint import Endpoint, Send, Stop
from dgltree.explore.open_models import Opened, OwnTrees
from dgltree.explore.request_fields import RequestFields
from dgltree.explore.tree_drawing import list_nodes, node_names, read_texts, trace_trees, unfold_tree, write_tree
from dgltree.models.tree_model import evaluating
from dgltree.support.durations import in_seconds
from dgltree.support.lazy import cached_property
from dgltree.training.explaining import Explanation
from dgltree.training.folder import CARD, EPOCHS, read_epochs, split_seed
from dgltree.training.neighbours import nearest_vectors
from dgltree.training.objectives import Classes, Numbers, Objective
from dgltree.training.split_file import earlier

PAGE = 12
"""Examples of a list."""
NEAREST = 6
MAPPED = {"pca": 3000, "tsne": 1500}
"""Trees on a map, evenly spread over the examples."""
LISTED = 5
"""Subtrees of the list of those that decide an answer."""
STAGES = 4
ITERATIONS = 250
"""Iterations of a stage: the fewest that scikit-learn makes."""
PERPLEXITY = 30
COMPONENTS = 30
"""Components that t-SNE sees of longer vectors."""
MIN_VECTORS = 5
NONE = "none of these"
"""The row of labels that are none of the model's classes."""
MAX_EXAMPLES = 20_000
"""Examples that are looked at, the first of the file."""
MAX_CLASSES = 300
"""Classes of a matrix that is sent: that of 10,000 is 270 MB."""
MAX_MISTAKES = 100
"""Pairs of classes that are sent in place of a larger matrix."""
ACCURACY_TOLERANCE = 1e-3
"""Difference between the accuracy of the card and that of the examples, if they are the same."""


class ModelAnswers(ABC):
    """The examples of a file that have a label and that the model knows.

    Args:
        own: a model and its trees.
    """

    def __init__(self, own: OwnTrees) -> None:
        assert own.data is not None
        self.trained = own.trained
        self._path = own.path
        self.card = read_card(own.folder)
        self._folder = own.folder
        self._all = own.trained.objective.labelled(own.data)

    @cached_property
    def data(self) -> TreeDataset:
        """The examples, in the model's vocabulary: those of the test set if it is the training's file, else all."""
        part = self._part if self.is_test else None
        return self.trained.dataset(
            self._all.select(range(min(MAX_EXAMPLES, len(self._all)))) if part is None else part
        )

    def text(self, example: int) -> str:
        """How the trees of an example are written in the file; else as they were read, in its notation."""
        given = self._texts[example]
        if given is not None:
            return given
        trees = unbatch(self.data.select([example]).as_read().trees)
        return " · ".join(write_tree(tree, self.trained.reading) for tree in trees)

    @cached_property
    def _texts(self) -> list[str | None]:
        assert self._path is not None
        return read_texts(self._path, self.data)

    @cached_property
    def answers(self) -> Tensor:
        """(E, classes) probabilities, or (E,) numbers."""
        with kernels("cached"):
            return self.trained.answers_to(self.data)

    @cached_property
    def labels(self) -> Tensor:
        """(E,) class numbers, ``UNSEEN`` for a label that is none; or numbers."""
        return self.trained.objective.targets(self.data.labels)

    @cached_property
    def vectors(self) -> Tensor:
        """(E, n), of the trees."""
        with kernels("cached"):
            return self.trained.encode(self.data)

    @cached_property
    def is_test(self) -> bool:
        """Whether the file is that of the training: then its test set has the size and the metric of the card."""
        test = (self.card or {}).get("metrics", {}).get("test", {})
        if self._part is None or len(self._part) > MAX_EXAMPLES or len(self._part) != test.get("examples"):
            return False
        known = self.trained.dataset(self._part)
        return self.is_as_on(test, self.trained.answers_to(known), self.trained.objective.targets(known.labels))

    @abstractmethod
    def is_as_on(self, metrics: dict[str, float], answers: Tensor, labels: Tensor) -> bool:
        """Whether answers have the metrics of a card."""

    @property
    @abstractmethod
    def wrongness(self) -> Tensor:
        """(E,) how far each answer is off."""

    @abstractmethod
    def asked_for(self, asked: RequestFields) -> Tensor:
        """(E,) bool, the examples of a request."""

    @abstractmethod
    def said(self, example: int) -> dict[str, Any]:
        """The answer to an example, for a list."""

    @abstractmethod
    def ranked(self, example: int) -> list[dict[str, Any]]:
        """The classes, the most probable first; none if there are none."""

    @abstractmethod
    def compared(self) -> dict[str, Any]:
        """All answers next to the labels."""

    @cached_property
    def _part(self) -> TreeDataset | None:
        """The test set, if the file was split as for the training."""
        try:
            if (kept := earlier(self._folder)) is not None:
                rows = [i for i, name in enumerate(kept.known(self._all)) if name == "test"]
                return self._all.select(rows) if rows else None
            return split(self._all, split_seed(self._folder)).get("test")
        except ValueError:  # too few trees, or a column of splits that names others
            return None


class ClassAnswers(ModelAnswers):
    """The answers of a model of classes."""

    def is_as_on(self, metrics: dict[str, float], answers: Tensor, labels: Tensor) -> bool:
        return (
            abs(float((self.trained.objective.predicted(answers) == labels).float().mean()) - metrics["accuracy"])
            <= ACCURACY_TOLERANCE
        )

    @cached_property
    def wrongness(self) -> Tensor:
        """(E,) what the true class lacks to a probability of 1."""
        right = self.answers.gather(1, self.labels.clamp(min=0)[:, None])[:, 0]
        return 1 - torch.where(self.labels == UNSEEN, torch.zeros_like(right), right)

    def asked_for(self, asked: RequestFields) -> Tensor:
        """All mistakes, or the examples of one field of the confusion matrix."""
        predicted = self.trained.objective.predicted(self.answers)
        names = len(self.trained.classes)
        if asked.flag("all"):
            return predicted != self.labels
        true = asked.whole("true", 0, names)
        wanted = UNSEEN if true == names else true
        return (self.labels == wanted) & (predicted == asked.whole("predicted", 0, names - 1))

    def said(self, example: int) -> dict[str, Any]:
        answer = self.answers[example]
        [name] = self.trained.labels_of(answer.unsqueeze(0))
        return {"predicted": name, "probability": round(float(answer[self.trained.classes.index(name)]), 4)}

    def ranked(self, example: int) -> list[dict[str, Any]]:
        pairs = zip(self.answers[example].tolist(), self.trained.classes, strict=True)
        return [{"name": name, "probability": round(p, 4)} for p, name in sorted(pairs, key=lambda pair: -pair[0])[:8]]

    def compared(self) -> dict[str, Any]:
        """The confusion matrix; of more than ``MAX_CLASSES`` classes the most frequent mistakes instead."""
        names = list(self.trained.classes)
        true = torch.where(self.labels == UNSEEN, len(names), self.labels)
        pairs = true * len(names) + self.trained.objective.predicted(self.answers)
        if len(names) > MAX_CLASSES:
            return {"confusion": {"true": [*names, NONE], "mistakes": self._mistakes(true, pairs)}}
        counts = torch.bincount(pairs, minlength=(len(names) + 1) * len(names)).view(-1, len(names))
        if not counts[-1].any():
            return {"confusion": {"true": names, "counts": counts[:-1].tolist()}}
        return {"confusion": {"true": [*names, NONE], "counts": counts.tolist()}}

    def _mistakes(self, true: Tensor, pairs: Tensor) -> list[dict[str, Any]]:
        """The most frequent pairs of different classes, with their share in the examples of the true class."""
        size = torch.bincount(true, minlength=len(self.trained.classes) + 1)
        found, counts = pairs.unique(return_counts=True)
        rows = [
            {"true": pair // len(self.trained.classes), "predicted": pair % len(self.trained.classes), "count": count}
            for pair, count in zip(found.tolist(), counts.tolist(), strict=True)
        ]
        wrong = [
            row | {"share": row["count"] / int(size[row["true"]])} for row in rows if row["true"] != row["predicted"]
        ]
        return sorted(wrong, key=lambda row: (-row["count"], -row["share"]))[:MAX_MISTAKES]


class NumberAnswers(ModelAnswers):
    """The answers of a model of numbers."""

    def is_as_on(self, metrics: dict[str, float], answers: Tensor, labels: Tensor) -> bool:
        return abs(float((answers - labels).abs().mean()) - metrics["mae"]) <= ACCURACY_TOLERANCE * max(
            1.0, metrics["mae"]
        )

    @cached_property
    def wrongness(self) -> Tensor:
        return (self.answers - self.labels).abs()

    def asked_for(self, asked: RequestFields) -> Tensor:
        """All of them."""
        return torch.ones(len(self.data), dtype=torch.bool)

    def said(self, example: int) -> dict[str, Any]:
        return {"predicted": float(self.answers[example])}

    def ranked(self, example: int) -> list[dict[str, Any]]:
        return []

    def compared(self) -> dict[str, Any]:
        return {"predicted": list(zip(self.labels.tolist(), self.answers.tolist(), strict=True))}


ANSWERS: dict[type[Objective], type[ModelAnswers]] = {Classes: ClassAnswers, Numbers: NumberAnswers}
"""The answers of a model by what it predicts."""


def answers_of(own: OwnTrees) -> ModelAnswers:
    """A model's answers to its examples."""
    return ANSWERS[type(own.trained.objective)](own)


def read_card(folder: Path) -> dict[str, Any] | None:
    """A training's report of itself; None if it is not done.

    Raises ``ValueError`` for a file that is not JSON.
    """
    file = folder / CARD
    if not file.exists():
        return None
    try:
        card: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    except ValueError:
        raise ValueError(f"{file}: damaged; delete {CARD} and run fit again") from None
    return card


class OwnTreesRoom:
    """Answers for the folders of ``fit``."""

    def __init__(self, opened: Opened) -> None:
        self.models = opened.own_trees
        self._answered = {name: answers_of(own) for name, own in self.models.items() if own.data is not None}

    def endpoints(self) -> list[Endpoint]:
        return [
            Endpoint("trees/card", "trees", answer=self.card),
            Endpoint("trees/examples", "trees", answer=self.examples),
            Endpoint("trees/tree", "trees", answer=self.tree),
            Endpoint("trees/explain", "explain", answer=self.explain),
            Endpoint("trees/map", "map", stream=self.map),
        ]

    def card(self, asked: RequestFields) -> dict[str, Any]:
        """The metrics of a training, its epochs, and its confusion matrix."""
        own = asked.one_of("model", self.models)
        answered = self._answered.get(asked.text("model", 1000))
        card = read_card(own.folder) or {}
        return {
            "task": card.get("task"),
            "made": card.get("made"),
            "seconds": in_seconds(seconds) if isinstance(seconds := card.get("seconds"), int | float) else None,
            "weights": sum(weight.numel() for weight in own.trained.model.parameters()),
            "encoder": card.get("options", {}).get("encoder"),
            "metrics": card.get("metrics", {}),
            "network": card["network"] if card.get("average") else {},
            "baseline": card.get("baseline", {}),
            "classes": own.trained.classes,
            "pairs": own.trained.each == 2,
            "epochs": _epochs(own),
            **({"confusion": _written(own)} if answered is None else answered.compared()),
            "file": own.file,
            "examples": None if answered is None else len(answered.data),
            "test": answered is not None and answered.is_test,
        }

    def examples(self, asked: RequestFields) -> dict[str, Any]:
        """Some examples: those of one field of the confusions, else the worst mistakes."""
        answered = self._of(asked)
        order = answered.wrongness.argsort(descending=True, stable=True)
        order = order[answered.asked_for(asked)[order]]
        start = asked.whole("start", 0, 10**9)
        rows = [_example(answered, i) for i in order[start : start + PAGE].tolist()]
        return {"rows": rows, "count": len(order), "start": start, "page": PAGE}

    def tree(self, asked: RequestFields) -> dict[str, Any]:
        """One example: its nodes with their states, and the trees whose vectors are nearest to its own."""
        answered = self._of(asked)
        example = asked.whole("example", 0, len(answered.data) - 1)
        one = answered.data.select([example])
        reading = answered.trained.reading
        trees, as_read = ([unfold_tree(tree) for tree in unbatch(part.trees)] for part in (one, one.as_read()))
        return {
            **_example(answered, example),
            "nodes": list_nodes(as_read, node_names(as_read, reading)),
            "parts": _parts(answered, trees),
            "answers": answered.ranked(example),
            "near": _near(answered, example),
        }

    def explain(self, asked: RequestFields) -> dict[str, Any]:
        """Which subtrees of one example decide the answer to it."""
        answered = self._of(asked)
        [found] = answered.trained.explain(answered.data.select([asked.whole("example", 0, len(answered.data) - 1)]))
        return decisive(found, answered.trained.reading)

    def map(self, asked: RequestFields, send: Send, stop: Stop) -> None:
        """The vectors in the plane: after each stage of t-SNE, or by their principal components at once."""
        answered = self._of(asked)
        method = asked.one_of("method", {name: name for name in MAPPED})
        if answered.trained.each == 2:
            raise ValueError("a model of pairs compares two trees, so there is no map of single trees")
        count = min(MAPPED[method], len(answered.data))
        chosen = np.linspace(0, len(answered.data) - 1, count).round().astype(int)
        vectors = answered.vectors[torch.from_numpy(chosen)]
        stages = neighbouring(vectors) if method == "tsne" else iter([principal(vectors)])
        for stage, plane in enumerate(stages, 1):
            send(
                {
                    "points": np.round(plane / max(float(np.abs(plane).max()), 1e-12), 4).tolist(),
                    "examples": chosen.tolist(),
                    "labels": [answered.data.labels[i] for i in chosen],
                    "stage": stage,
                    "stages": STAGES if method == "tsne" else 1,
                }
            )
            if stop():
                return

    def _of(self, asked: RequestFields) -> ModelAnswers:
        asked.one_of("model", self.models)
        name = asked.text("model", 1000)
        if name not in self._answered:
            raise ValueError("there are no trees: start the page with --trees FILE")
        return self._answered[name]


def _epochs(own: OwnTrees) -> list[dict[str, float]]:
    return read_epochs(own.folder) if (own.folder / EPOCHS).exists() else []


def _written(own: OwnTrees) -> dict[str, Any] | None:
    """The confusions that the training left, if there are no examples."""
    file = own.folder / "confusion.tsv"
    if not file.exists():
        return None
    rows = [line.split("\t") for line in file.read_text(encoding="utf-8").splitlines()]
    return {"true": [row[0] for row in rows[1:]], "counts": [list(map(int, row[1:])) for row in rows[1:]]}


def _example(answered: ModelAnswers, i: int) -> dict[str, Any]:
    data = answered.data
    name = data.ids[i] or data.bad_at(i, "").name
    return {
        "example": i,
        "id": name,
        "label": data.labels[i],
        "text": answered.text(i),
        **answered.said(i),
    }


def _parts(answered: ModelAnswers, trees: list[Any]) -> list[list[dict[str, Any]]] | None:
    """The states of the nodes; None for an encoder without them."""
    encoder = answered.trained.model.encoder
    if not isinstance(encoder, TreeEncoder):
        return None
    with evaluating(answered.trained.model), kernels("off"):
        planned, cell = encoder.last_round(batch(trees, encoder.vocabulary))
        flat = planned.batch if isinstance(planned, PlannedBatch) else planned
        return trace_trees(flat, cell)[1]


def _near(answered: ModelAnswers, i: int) -> list[dict[str, Any]] | None:
    """The nearest trees; None for a model of pairs."""
    if answered.trained.each == 2:
        return None
    [found] = nearest_vectors(answered.vectors, answered.vectors[i : i + 1], NEAREST + 1)
    others = [one for one in found if one.example != i][:NEAREST]
    return [_example(answered, one.example) | {"similarity": round(one.similarity, 4)} for one in others]


def decisive(found: Explanation, reading: Reading) -> dict[str, Any]:
    """The effect of each node, and the first subtrees of the ranking, in the notation of their file.

    ``effects`` has one entry a node, in the order in which all trees of the example are drawn: by how much the
    probability of the predicted class, or the number, falls without the subtree below it; None for a root.
    """
    starts = [0, found.trees[0].size]
    effects: list[float | None] = [None] * sum(tree.size for tree in found.trees)
    for each in found.effects:
        effects[starts[each.side] + each.node] = each.effect
    return {
        "prediction": found.prediction,
        "support": found.support,
        "effects": effects,
        "ranked": [
            {
                "node": starts[each.side] + each.node,
                "subtree": write_tree(each.tree, reading),
                "effect": each.effect,
                "evidence": each.evidence,
            }
            for each in found.ranked[:LISTED]
        ],
    }


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

"""From data and settings to what is trained: the task, the vocabulary, the encoder and its readout."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from math import isfinite
from typing import NamedTuple

import torch

from dgltree.batching.vocabulary import NO_LABEL, Vocabulary
from dgltree.cells import CELLS
from dgltree.datasets.batches import label_numbers
from dgltree.datasets.translation import stands_at
from dgltree.datasets.tree_dataset import TreeDataset
from dgltree.encoders import Encoder
from dgltree.models.readouts import ClassifierReadout, NumberReadout, PairReadout
from dgltree.models.tree_model import PairModel, TreeModel
from dgltree.training.choices import attends, encoder_for, encoder_of, has_own_weights, has_tokens, vocabulary_for
from dgltree.training.module import TreeTraining
from dgltree.training.options import FitOptions, Task

LEAST_NODES, MOST_NODES, STEPS = 512, 8192, 200
"""Of a batch, and how many of them an epoch has where that is between the two."""
DROPOUT, INPUT_DROPOUT, TOKEN_DROPOUT = 0.5, 0.3, 40.0
"""Where classes of trees are learnt, by which a training of few examples learns less of them by heart."""


LR, ATTENTION_LR, ATTENTION_WARMUP = 4e-3, 1e-3, 100
"""The learning rate, that of Transformers, and over how many steps theirs rises at first."""


class Built(NamedTuple):
    """A training before its first step."""

    module: TreeTraining
    options: FitOptions
    """With all that followed from the data."""


def build(train: TreeDataset, options: FitOptions) -> Built:
    """The model for a training set.

    Raises ``ValueError`` for one class only, for ``nodes`` without labels at nodes, and for options that do not fit the
    data or each other. Every example has a label.
    """
    nodes = options.batch_nodes or min(MOST_NODES, max(LEAST_NODES, train.num_nodes // STEPS))
    task, name = options.task or task_of(train), options.encoder or encoder_for(train)
    options = _with_defaults(train, replace(options, task=task, encoder=name, batch_nodes=nodes))
    _check_labels(train, options)
    classes = [] if options.task == "regress" else classes_of(train, options.nodes)
    if options.device == "cuda" and not torch.cuda.is_available():
        raise ValueError("device is cuda, and this torch sees no CUDA device")
    if options.precision == "16-mixed" and (options.device == "cpu" or not torch.cuda.is_available()):
        raise ValueError("precision is 16-mixed, which needs a GPU; bf16-mixed runs on the CPU too")
    torch.manual_seed(options.seed)
    vocabulary = vocabulary_for(train, options)
    encoder = encoder_of(train, vocabulary, options)
    model, scale = _model(train, encoder, classes, options)
    assert options.input_dropout is not None
    assert options.token_dropout is not None
    assert options.lr is not None
    strength = options.token_dropout
    tokens, functions = _dropout_shares(train, vocabulary, strength) if strength else (None, None)
    module = TreeTraining(
        model,
        scale,
        nodes=options.nodes,
        input_dropout=options.input_dropout,
        token_dropout=tokens,
        function_dropout=functions,
        lr=options.lr,
        warmup=options.warmup or 0,
        halve_after=options.halve_after,
        weight_decay=options.weight_decay,
        seed=options.seed,
        class_weights=_class_weights(train, classes, options) if options.class_weights else None,
    )
    return Built(module, options)


def task_of(data: TreeDataset) -> Task:
    """What the labels ask for."""
    if data.each == 2:
        return "pair"
    try:
        numbers = [float(label) for label in data.labels if label is not None]
    except ValueError:
        return "classify"
    return "regress" if any(isfinite(value) and not value.is_integer() for value in numbers) else "classify"


def classes_of(data: TreeDataset, nodes: bool = False) -> list[str]:
    """The classes, numbers by their value and texts by their letters."""
    found = {label for label in data.labels if label is not None}
    if nodes:
        found |= {str(label) for labels in _node_labels(data) for label in labels.unique().tolist()}
    return sorted(found, key=lambda name: (0, int(name), name) if name.isdecimal() else (1, 0, name))


def _class_weights(train: TreeDataset, classes: list[str], options: FitOptions) -> torch.Tensor:
    """(C,) float32, inverse to how often each class occurs, 1 on the mean of all examples."""
    if not classes:
        raise ValueError("class_weights are for classes; the labels are numbers")
    labels: list[str | None] = list(train.labels)
    if options.nodes:
        labels = [str(label) for found in _node_labels(train) for label in found.tolist()]
    numbers = label_numbers(labels, classes)
    counts = torch.bincount(numbers[numbers >= 0], minlength=len(classes)).clamp(min=1)
    return counts.sum() / (len(classes) * counts.float())


def _node_labels(data: TreeDataset) -> Iterator[torch.Tensor]:
    """Those that there are, some at a time."""
    for block in data.blocks():
        yield block.trees.label[block.trees.label != NO_LABEL]


def _check_labels(train: TreeDataset, options: FitOptions) -> None:
    if (options.task == "pair") != (train.each == 2):
        raise ValueError(
            f"the task is {options.task!r}, but an example has {train.each} {'tree' if train.each == 1 else 'trees'}"
        )
    labels = set(train.labels)
    if options.task != "regress" and len(labels) < 2:
        [label] = labels
        raise ValueError(
            f"all {len(train)} training examples have the label {label!r:.60}; at least two classes are needed"
        )
    if options.nodes and (options.task != "classify" or not any(map(len, _node_labels(train)))):
        raise ValueError("nodes needs trees with class labels at their nodes, such as (3 (2 The) (4 Rock))")


def _with_defaults(train: TreeDataset, options: FitOptions) -> FitOptions:
    """What of the token embeddings and of dropout follows from the data; figures are in docs/users.md."""
    name = str(options.encoder)
    rate, steps = (ATTENTION_LR, ATTENTION_WARMUP) if attends(name) else (LR, 0)
    options = replace(
        options,
        lr=rate if options.lr is None else options.lr,
        warmup=steps if options.warmup is None else options.warmup,
    )
    if (
        name in CELLS
        and options.input_size is None
        and (has_tokens(train) or not has_own_weights(name, options.options))
    ):
        options = replace(options, input_size=options.hidden_size)
    classes = options.task == "classify"
    if options.dropout is None:
        options = replace(options, dropout=DROPOUT if classes else 0.0)
    drops = classes and options.encoder in CELLS and options.input_size
    if options.input_dropout is None:
        options = replace(options, input_dropout=INPUT_DROPOUT if drops else 0.0)
    if options.token_dropout is None:
        options = replace(options, token_dropout=TOKEN_DROPOUT if drops else 0.0)
    return options


def _dropout_shares(train: TreeDataset, vocabulary: Vocabulary, strength: float) -> tuple[torch.Tensor, torch.Tensor]:
    """(T,) and (F,) float32, with which probability each token and each function is dropped."""
    functions, tokens = stands_at((block.trees for block in train.within(vocabulary).blocks()), vocabulary)
    names = [name for name, _ in vocabulary.functions]
    of_names: Counter[str] = Counter()
    for name, count in zip(names, functions.tolist(), strict=True):
        of_names[name] += count
    by_name = torch.tensor([of_names[name] for name in names])
    return strength / (strength + tokens.float()), strength / (strength + by_name.float())


def _model(
    train: TreeDataset, encoder: Encoder, classes: list[str], options: FitOptions
) -> tuple[TreeModel, tuple[float, float] | None]:
    """The model, and for numbers their mean and deviation."""
    width, hidden = options.hidden_size, options.readout_size or None
    assert options.dropout is not None
    if options.task == "pair":
        return PairModel(encoder, PairReadout(width, len(classes), hidden, options.dropout), classes), None
    if options.task == "classify":
        return TreeModel(encoder, ClassifierReadout(width, len(classes), hidden, options.dropout), classes), None
    numbers = label_numbers(train.labels, None).double()
    return TreeModel(encoder, NumberReadout(width)), (float(numbers.mean()), float(numbers.std()) or 1.0)

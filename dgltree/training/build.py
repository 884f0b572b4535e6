"""From data and settings to what is trained: the task, the vocabulary, the encoder and its readout."""

from collections import Counter
from dataclasses import replace
from inspect import signature
from math import isfinite
from typing import Any, NamedTuple

import torch

from dgltree.batching.vocabulary import Vocabulary
from dgltree.cells import CELLS
from dgltree.datasets.translation import stands_at
from dgltree.datasets.tree_dataset import TreeDataset
from dgltree.models.checkpoint import READOUTS
from dgltree.models.readouts import Readout
from dgltree.training.choices import attends, encoder_for, encoder_of, has_own_weights, has_tokens, vocabulary_for
from dgltree.training.module import TreeTraining
from dgltree.training.objectives import OBJECTIVES, Objective
from dgltree.training.objectives.tasks import TASKS
from dgltree.training.options import FitOptions, Task

LEAST_NODES, MOST_NODES, STEPS = 512, 8192, 200
"""Of a batch, and how many of them an epoch has where that is between the two."""
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
    _check_task(train, options)
    objective = OBJECTIVES[_readout(options).gives].of(train, options.nodes, options.class_weights is not None)
    if options.device == "cuda" and not torch.cuda.is_available():
        raise ValueError("device is cuda, and this torch sees no CUDA device")
    if options.precision == "16-mixed" and (options.device == "cpu" or not torch.cuda.is_available()):
        raise ValueError("precision is 16-mixed, which needs a GPU; bf16-mixed runs on the CPU too")
    torch.manual_seed(options.seed)
    vocabulary = vocabulary_for(train, options)
    encoder = encoder_of(train, vocabulary, options)
    made, kind = READOUTS[_readout_name(options)]
    model = kind(encoder, made(**_readout_options(made, objective, options)), objective.classes)
    assert options.input_dropout is not None
    assert options.token_dropout is not None
    assert options.lr is not None
    strength = options.token_dropout
    tokens, functions = _dropout_shares(train, vocabulary, strength) if strength else (None, None)
    module = TreeTraining(
        model,
        objective,
        nodes=options.nodes,
        input_dropout=options.input_dropout,
        token_dropout=tokens,
        function_dropout=functions,
        lr=options.lr,
        warmup=options.warmup or 0,
        halve_after=options.halve_after,
        weight_decay=options.weight_decay or 0.0,
        seed=options.seed,
    )
    return Built(module, options)


def task_of(data: TreeDataset) -> Task:
    """The task that the labels ask for."""
    if data.each == TASKS["pair"].each:
        return "pair"
    try:
        numbers = [float(label) for label in data.labels if label is not None]
    except ValueError:
        return "classify"
    return "regress" if any(isfinite(value) and not value.is_integer() for value in numbers) else "classify"


def objective_of(data: TreeDataset, options: FitOptions) -> type[Objective]:
    """The kind of what is predicted, which says what labels must be."""
    found: type[Objective] = OBJECTIVES[_readout(replace(options, task=options.task or task_of(data))).gives]
    return found


def _readout_name(options: FitOptions) -> str:
    name = options.readout or TASKS[str(options.task)].readout
    if name not in READOUTS:
        raise ValueError(f"the readout is {name!r}; it must be one of {', '.join(READOUTS)}")
    return name


def _readout(options: FitOptions) -> type[Readout]:
    """The class of the readout. Raises ``ValueError`` for one that cannot be trained for the task."""
    name, task = _readout_name(options), TASKS[str(options.task)]
    made, kind = READOUTS[name]
    if not issubclass(made, Readout):
        raise ValueError(
            f"the readout {name!r} cannot be trained: {made.__name__} is no dgltree.models.readouts.Readout"
        )
    if kind.each != task.each or made.gives not in task.gives:
        raise ValueError(
            f"the readout {name!r} gives {made.gives} of {kind.each} {'tree' if kind.each == 1 else 'trees'}; the task "
            f"{options.task!r} is {' or '.join(task.gives)} of {task.each}"
        )
    return made


def _readout_options(made: type[Readout], objective: Objective, options: FitOptions) -> dict[str, Any]:
    """The values known to ``fit`` that its constructor takes."""
    known = {
        "size": options.hidden_size,
        "classes": len(objective.classes),
        "hidden_size": options.readout_size or None,
        "dropout": options.dropout,
    }
    return {name: known[name] for name in signature(made).parameters if name in known}


def _check_task(train: TreeDataset, options: FitOptions) -> None:
    if TASKS[str(options.task)].each != train.each:
        raise ValueError(
            f"the task is {options.task!r}, but an example has {train.each} {'tree' if train.each == 1 else 'trees'}"
        )
    if options.nodes and train.each != 1:
        raise ValueError("nodes learns the labels of the nodes of single trees; these are pairs")


def _with_defaults(train: TreeDataset, options: FitOptions) -> FitOptions:
    """Defaults that follow from the data and the task; docs/defaults.md has the measurements."""
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
    task = TASKS[str(options.task)]
    embeds = options.encoder in CELLS and bool(options.input_size)
    usual: dict[str, Any] = {
        "dropout": task.dropout,
        "input_dropout": task.input_dropout if embeds else 0.0,
        "token_dropout": task.token_dropout if embeds else 0.0,
        "weight_decay": task.weight_decay,
    }
    return replace(options, **{name: value for name, value in usual.items() if getattr(options, name) is None})


def _dropout_shares(train: TreeDataset, vocabulary: Vocabulary, strength: float) -> tuple[torch.Tensor, torch.Tensor]:
    """(T,) and (F,) float32, with which probability each token and each function is dropped."""
    functions, tokens = stands_at((block.trees for block in train.within(vocabulary).blocks()), vocabulary)
    names = [name for name, _ in vocabulary.functions]
    of_names: Counter[str] = Counter()
    for name, count in zip(names, functions.tolist(), strict=True):
        of_names[name] += count
    by_name = torch.tensor([of_names[name] for name in names])
    return strength / (strength + tokens.float()), strength / (strength + by_name.float())

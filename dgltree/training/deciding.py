"""Decisions of a training are made once, from its data and settings; everything after reads them."""

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from inspect import signature
from math import isfinite
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from dgltree.batching.vocabulary import Vocabulary
from dgltree.cells import CELLS
from dgltree.datasets.describe import id_places
from dgltree.datasets.feature_columns import FeatureColumns
from dgltree.datasets.formats import Bad
from dgltree.datasets.labels import check_spelling, present, unify_labels
from dgltree.datasets.loading.from_file import list_bad_records
from dgltree.datasets.settings import names_of
from dgltree.datasets.splitting import (
    SPLITS,
    SYNONYMS,
    count_contradicted,
    count_shared_examples,
    count_shared_groups,
    rule_for,
    split,
    unit_keys,
)
from dgltree.datasets.tree_dataset import TreeDataset
from dgltree.datasets.unseen import check_schema, describe_unseen, find_unseen
from dgltree.encoders import Encoder
from dgltree.models.checkpoint import READOUTS
from dgltree.models.readouts import Readout
from dgltree.models.tree_model import TreeModel
from dgltree.read.leaf_values import number
from dgltree.read.smiles import TREES
from dgltree.read.text import first_of, one_line
from dgltree.support.lazy import cached_property
from dgltree.training.baseline.selection import score
from dgltree.training.cpu_threads import computing, loaders
from dgltree.training.encoder_choice import EncoderChoice, choose_encoder
from dgltree.training.folder import digest_of, split_seed
from dgltree.training.objectives import OBJECTIVES, Objective
from dgltree.training.objectives.threshold import ThresholdRule
from dgltree.training.options import TASKS, FitOptions, TaskName
from dgltree.training.processes import say
from dgltree.training.split_file import EarlierSplit

MOST_CLASSES = 20
"""Different whole numbers up to which labels are classes; more of them are numbers."""
MIN_WHOLE_NUMBERS = 2
"""Different whole numbers up to which nothing needs to be said: yes and no are often 1 and 0."""
NO_SPLIT = "no split"
"""The place of records that cannot be read if chance or an earlier split says where a record goes."""
MOST_BAD = 0.1
"""Which share of the records may be unreadable in a notation that was detected: more were detected by chance."""
STEPS = 200
"""Batches of an epoch, if a batch then has at least LEAST_NODES and at most MOST_NODES."""
LEAST_NODES = 512
MOST_NODES = 8192
SMALL_SET = 200
"""JSON documents to train on of which cross-fitting needs fewer."""
SMALL_STEPS = 16
"""Batches that an epoch of a small set has at least: a hundred documents of five nodes would be one."""
LR = 4e-3
"""The learning rate."""
ATTENTION_LR = 1e-3
"""The learning rate of Transformers."""
ATTENTION_WARMUP = 100
"""Steps over which the learning rate of Transformers rises at first."""


@dataclass(frozen=True, kw_only=True)
class CrossFit:
    """Answers of networks and baselines to training examples that they were not fitted to."""

    network: Tensor
    """(E, C) float32 logits, or (E,) numbers on the scale of the objective, at the best epoch."""
    baseline: Tensor | None
    """(E, C) logits, or (E,) numbers, of a baseline; None without one."""
    targets: Tensor
    """(E,) the classes or numbers of the examples."""
    epochs: int
    """How many the networks were trained for, up to the epoch with the lowest loss."""
    loss: float
    """Log loss, or squared error, of the network's answers."""


@dataclass(frozen=True)
class Decision:
    """A training, decided."""

    options: FitOptions
    """All settings, with the defaults that follow from the data."""
    objective: Objective
    encoder: EncoderChoice
    model: type[TreeModel]
    readout: type[Readout]
    readout_options: dict[str, Any]
    splits: dict[str, TreeDataset]
    """In the vocabulary of the model."""
    as_split: dict[str, TreeDataset]
    """The splits as they were read, before what the model does not know was left out."""
    split: dict[str, Any]
    """The rule and the seed of a choice by chance."""
    left_out: dict[str, int]
    """Records of each split that are not in it; those of no split are under ``NO_SPLIT``."""
    features: FeatureColumns | None
    """The columns that are read next to the trees."""
    refused: dict[str, int]
    """The examples among them that have a label and a tree, which the model does not know."""
    digest: str
    """Digest of the splits."""
    crossed: CrossFit | None = None
    """Answers by which the epochs and the average of a small set are chosen; None: validation chooses."""

    @cached_property
    def warnings(self) -> list[str]:
        """Doubts about the results that the data give, each with what would help, in a line of its own."""
        return [*_warnings(self)]

    def computing(self, encoder: Encoder) -> AbstractContextManager[None]:
        """A block with the threads that the encoder is worth for the size of its batches, unless a number is given."""
        options = self.options
        own = (options.batch_nodes or 0) // (options.devices * options.machines)
        return computing(encoder, options.threads, own, options.devices, loaders(self.splits["train"].num_nodes))


def decide(
    files: Mapping[str, TreeDataset],
    settings: FitOptions,
    vocabulary: Vocabulary | None = None,
    classes: Sequence[str] | None = None,
) -> Decision:
    """Decide a training on ``train``, and on the files for validation and for tests where they are given.

    The vocabulary and the classes are those of ``train`` unless they are given. What is left out of the data, or read
    in another way than it is written, is printed.

    Raises ``ValueError`` for what cannot be learnt from, and for settings that do not fit it or each other.
    """
    for dataset in files.values():
        _check_readable(dataset)
    if settings.task is None:
        check_spelling(files["train"])
        settings = replace(settings, task=infer_task(files["train"]).task)
        why = infer_task(files["train"]).why
        if why:
            say(why)
    readout, model = _readout(settings)
    kind = OBJECTIVES[readout.gives]
    if settings.nodes and not present(files["train"]):
        raise ValueError("nodes learns the labels of all nodes but is measured at roots, and no root has a label")
    labelled = {name: kind.labelled(dataset) for name, dataset in files.items()}
    unread = _unread(labelled, settings)
    for name, bad in unread.items():
        say(f"{name}: {list_bad_records(bad)}")
    if not kind.labels_are_numbers:
        labelled, told = unify_labels(labelled, classes or ())
        if told:
            say(told)
    beside = names_of(files["train"].reading.features)  # which may tell equal trees apart
    if not beside and (several := count_contradicted(labelled["train"])):
        say(f"train: {several:,} examples have trees that occur with different labels")
    as_split = splits = _splits(labelled, settings)
    _check_schemas(splits)
    if kind.labels_are_numbers and len(splits["validation"]) < 2:
        raise ValueError("R2 needs at least two validation examples; there is one")
    _check(splits["train"], settings)
    if not kind.labels_are_numbers and not settings.nodes and classes is None:
        check_classes(splits["train"].labels)
    objective = kind.of(splits["train"], settings.nodes, settings.class_weights is not None, classes)
    if settings.threshold is not None:
        if not objective.classes:
            raise ValueError("threshold is for classes, but the labels are numbers")
        ThresholdRule.of(settings.threshold).place(objective.classes)

    features = _features(splits["train"], settings)

    def head(width: int) -> Readout:
        return readout(**_readout_options(readout, settings, width, len(objective.classes), features))

    encoder = choose_encoder(splits["train"], settings, vocabulary, head)
    if encoder.numbers:
        say("numeric leaves are read as numbers; --no-numbers reads them as words")
        splits = {name: encoder.read(data) for name, data in splits.items()}
    options = _with_defaults(splits["train"], encoder, settings)
    known = {name: _within(name, data, encoder.vocabulary, objective, features) for name, data in splits.items()}
    left_out = {name: len(data.bad) for name, data in known.items()}
    for name, bad in unread.items():
        left_out[name] = left_out.get(name, 0) + len(bad)
    takes = _readout_options(readout, options, encoder.hidden_size, len(objective.classes), features)
    refused = {name: len(splits[name]) - len(data) for name, data in known.items()}
    how = {"rule": rule_for(labelled["train"]), "seed": settings.seed}
    if settings.split_of is not None:
        how["seed"] = split_seed(Path(settings.split_of))
    digest = digest_of(known)
    return Decision(
        options, objective, encoder, model, readout, takes, known, as_split, how, left_out, features, refused, digest
    )


class InferredTask(NamedTuple):
    """A task, and the reason for it if it could have been another one."""

    task: TaskName
    why: str = ""


def infer_task(data: TreeDataset) -> InferredTask:
    """The task that the labels of a data set ask for."""
    if data.each == TASKS["pair"].each:
        return InferredTask("pair")
    labels = set(present(data))
    try:
        values = {float(label) for label in labels}
    except ValueError:
        return InferredTask("classify")
    if any(isfinite(value) and not value.is_integer() for value in values):
        why = f"the labels are {len(labels):,} different numbers, some not whole, and are learned as numbers"
        return InferredTask("regress", why if len(labels) > 1 else "")
    if not values or not all(map(isfinite, values)) or len(labels) <= MIN_WHOLE_NUMBERS:
        return InferredTask("classify")
    what = f"the labels are {len(labels):,} different whole numbers"
    if len(values) > MOST_CLASSES:
        return InferredTask(
            "regress", f"{what}, more than {MOST_CLASSES}, and are learned as numbers; --task classify learns classes"
        )
    return InferredTask(
        "classify", f"{what}, at most {MOST_CLASSES}, and are learned as classes; --task regress learns numbers"
    )


def check_classes(labels: Sequence[str | None]) -> None:
    """``ValueError`` if every training example has a label of its own, like an id."""
    names = {label for label in labels if label is not None}
    if len(names) > MOST_CLASSES and len(names) == len(labels):
        numbers = ", or learn numbers with --task regress" if all(number(name) is not None for name in names) else ""
        raise ValueError(
            f"all {len(names):,} training examples have different labels, such as {min(names)!r:.40}, like ids, so no "
            f"class can be learned; name the label column with --label{numbers}"
        )


def _check_readable(data: TreeDataset) -> None:
    """``ValueError`` if over a tenth of a file's records could not be read, and nobody named its notation."""
    bad = len(data.bad)
    count = len(data) + len(data.bad)
    if data.detected_in is not None and bad > MOST_BAD * count:
        raise ValueError(
            f"{data.detected_in}: {bad:,} of {count:,} records ({bad / count:.1%}) could not be read as "
            f"{data.reading.notation}, the detected notation; first {data.bad[0].where}: {data.bad[0].message}. Name "
            f"the right notation, or give --notation {data.reading.notation} to leave these records out"
        )


def _check_schemas(splits: Mapping[str, TreeDataset]) -> None:
    """Say what held-out documents have that the schema lacks.

    Raises ``ValueError`` if the schema contradicts the training documents, and for splits with other schemas.
    """
    train = splits["train"]
    check_schema(train)
    for name, data in splits.items():
        if data.reading.schema != train.reading.schema:
            raise ValueError(
                f"the documents for {name} were read by a different schema from the training documents: read all "
                "documents with schema=train.reading.schema"
            )
        unseen = find_unseen(data)
        if unseen:
            say(f"{name}: {describe_unseen({what: len(examples) for what, examples in unseen.items()})}")


def _unread(files: Mapping[str, TreeDataset], settings: FitOptions) -> dict[str, list[Bad]]:
    """The records that cannot be read or have no label, by the split that they name, or that their file is.

    Those of a file that is split by chance are in none, and so are those whose own split cannot be read.
    """
    train = files["train"]
    by_column = any(train.splits)
    by_chance = settings.split_of is not None or "validation" not in files
    unread: dict[str, list[Bad]] = {name: [] for name in (*SPLITS, *files)}
    unnamed = NO_SPLIT if by_chance else "train"
    for bad in train.bad:
        split = SYNONYMS.get((bad.split or "").lower(), NO_SPLIT) if by_column else unnamed
        unread.setdefault(split, []).append(bad)
    for name, data in files.items():
        if name != "train":
            unread[name] += data.bad
    return {name: records for name, records in unread.items() if records}


def _readout(options: FitOptions) -> tuple[type[Readout], type[TreeModel]]:
    """Return the classes of readout and model; raise ``ValueError`` for a readout that does not fit the task."""
    task = TASKS[str(options.task)]
    joint = bool((options.options or {}).get("joint"))  # a sequence of both trees of a pair, with one vector
    name = options.readout or ("classifier" if joint else task.readout)
    if name not in READOUTS:
        raise ValueError(f"the readout is {name!r}; it must be one of {', '.join(READOUTS)}")
    made, kind = READOUTS[name]
    if not issubclass(made, Readout):
        raise ValueError(
            f"the readout {name!r} cannot be trained: {made.__name__} is not a dgltree.models.readouts.Readout"
        )
    each = 2 if joint else kind.each
    if each != task.each or made.gives not in task.gives or (joint and kind.each == 2):
        raise ValueError(
            f"the readout {name!r} gives {made.gives} of {each} {'tree' if each == 1 else 'trees'}; the task "
            f"{options.task!r} is {' or '.join(task.gives)} of {task.each}"
        )
    return made, kind


def _readout_options(
    readout: type[Readout], options: FitOptions, width: int, classes: int, features: FeatureColumns | None
) -> dict[str, Any]:
    """The arguments that a readout takes, for states of this width.

    Next to columns it has a hidden layer: a linear one can add up tree and column, but not compare them.
    """
    values = {
        "size": width + (features.width if features is not None else 0),
        "classes": classes,
        "hidden_size": options.readout_size or (width if features is not None else None),
        "dropout": options.dropout or 0.0,
    }
    return {name: values[name] for name in signature(readout).parameters if name in values}


def _splits(files: dict[str, TreeDataset], settings: FitOptions) -> dict[str, TreeDataset]:
    """The splits, by files of their own if there are some, else out of the training file."""
    data = files["train"]
    given = {name: dataset for name, dataset in files.items() if name != "train"}
    if any(dataset.each != data.each for dataset in given.values()):
        raise ValueError("some files hold single trees and others pairs of trees; give one kind")
    if settings.split_of is not None:
        if given or any(data.splits):
            others = "a split column" if any(data.splits) else "files for validation or tests"
            raise ValueError(
                f"split_of takes over an earlier split, but the data has {others}: leave out one of the two"
            )
        return EarlierSplit.of(Path(settings.split_of)).continued(data)
    if "validation" in given and not any(data.splits):
        return {"train": data, **given}
    return split(data, settings.seed, SPLITS[:2] if given else SPLITS) | given


def _with_defaults(train: TreeDataset, encoder: EncoderChoice, settings: FitOptions) -> FitOptions:
    """Defaults that follow from the data and the task; docs/defaults.md has the measurements."""
    task = TASKS[str(settings.task)]
    embeds = bool(encoder.input_size)
    least = LEAST_NODES
    if train.reading.schema is not None and len(train) < SMALL_SET:
        least = max(1, min(least, train.num_nodes // SMALL_STEPS))
    usual: dict[str, Any] = {
        "encoder": encoder.name,
        "hidden_size": encoder.hidden_size,
        "input_size": encoder.input_size,
        "batch_nodes": min(MOST_NODES, max(least, train.num_nodes // STEPS)),
        "lr": ATTENTION_LR if encoder.attends else LR,
        "warmup": ATTENTION_WARMUP if encoder.attends else 0,
        "dropout": task.dropout,
        "input_dropout": task.input_dropout if embeds else 0.0,
        "token_dropout": task.token_dropout if embeds else 0.0,
        "weight_decay": task.weight_decay,
    }
    return replace(settings, **{name: value for name, value in usual.items() if getattr(settings, name) is None})


def _check(train: TreeDataset, options: FitOptions) -> None:
    """``ValueError`` for settings that the data or this machine cannot have."""
    if TASKS[str(options.task)].each != train.each:
        raise ValueError(
            f"the task is {options.task!r}, but an example has {train.each} {'tree' if train.each == 1 else 'trees'}"
        )
    if options.nodes and train.each != 1:
        raise ValueError("nodes learns the node labels of single trees, but the examples are pairs")
    if options.nodes and train.weights is not None:
        raise ValueError("weights are for examples, but nodes learns the labels of nodes, which have no weights")
    if options.device == "cuda" and not torch.cuda.is_available():
        raise ValueError("device is cuda, but torch finds no CUDA device")
    if options.precision == "16-mixed" and (options.device == "cpu" or not torch.cuda.is_available()):
        raise ValueError("precision is 16-mixed, which needs a GPU; bf16-mixed runs on the CPU too")


def _features(train: TreeDataset, settings: FitOptions) -> FeatureColumns | None:
    """The columns next to the training trees, and what they are, in a line; None if none are read."""
    names = names_of(train.reading.features)
    if not names:
        return None
    if settings.nodes:
        raise ValueError("features describe examples, but nodes learns node labels: leave out features or nodes")
    table = train.feature_table(names)
    found = FeatureColumns.of(names, table)
    say(f"columns read next to the trees: {', '.join(column.described for column in found.columns)}")
    for line in found.warnings(table):
        say(line)
    return found


def _within(
    name: str, dataset: TreeDataset, vocabulary: Vocabulary, objective: Objective, features: FeatureColumns | None
) -> TreeDataset:
    """A split in the model's vocabulary; what it does not know, of trees or of labels, is reported."""
    known = dataset.select(range(len(dataset))).within(vocabulary, features)
    if objective.classes:
        known = known.with_classes(objective.classes)
        strange = sorted({label for label in known.labels if label is not None} - set(objective.classes))
        if strange:
            say(f"{name}: labels that do not occur in the training set count as errors: {first_of(strange)}")
    if known.bad:
        say(f"{name}: {list_bad_records(known.bad)}")
    return known


def _warnings(decision: Decision) -> Iterator[str]:
    """:attr:`Decision.warnings`."""
    splits = decision.splits
    if decision.as_split["train"].reading.notation == "words" and decision.encoder.name in CELLS:
        yield (
            f"plain sentences have no trees, so {decision.encoder.name} reads each as one node over its words; name an "
            "encoder that finds trees, such as gumbel_tree, or one that reads words, such as lstm"
        )
    for place in id_places(decision.as_split["train"].as_read()):
        yield (
            f"{one_line(place)} is different in every training example, like an id; if it is an id, leave it out of "
            "the trees, because other examples will not share it"
        )
    for name, count in count_shared_examples(splits).items():
        if count:
            yield f"{count} of {len(splits[name])} {name} examples also occur in the training set"
    for name, count in count_shared_groups(splits).items():
        if count:
            yield (
                f"{count} files or groups of the {name} set also have examples in the training set; "
                "--group-by file keeps each in one split"
            )
    units = [np.unique(unit_keys(data)) for data in decision.as_split.values()]
    examples = sum(map(len, decision.as_split.values()))
    different = len(np.unique(np.concatenate(units)))
    together = ""
    if different < examples and sum(map(len, units)) == different:
        together = (
            f" ({examples:,} examples have only {different:,} different trees or groups, and equal trees stay in one "
            "split)"
        )
    for name, data in splits.items():
        labels = {label for label in data.labels if label is not None}
        if name != "train" and len(labels) == 1 and not decision.options.nodes:
            yield (
                f"all {len(data):,} {name} examples have the label {one_line(min(labels), 60)!r}, so these results "
                f"mean little{together}: use --folds to test every example, or choose the held-out examples in a "
                "split column"
            )


def keep_labelled(data: TreeDataset, settings: FitOptions) -> TreeDataset:
    """The examples of a data set whose labels a training with these settings can learn from."""
    readout, _ = _readout(replace(settings, task=settings.task or infer_task(data).task))
    found: TreeDataset = OBJECTIVES[readout.gives].labelled(data)
    return found


def learnt_from(files: Mapping[str, TreeDataset], settings: FitOptions) -> tuple[TreeDataset, Objective]:
    """The training examples that :func:`decide` would have of the same files, and what they teach.

    Raises ``ValueError`` as that does.
    """
    readout, _ = _readout(replace(settings, task=settings.task or infer_task(files["train"]).task))
    kind = OBJECTIVES[readout.gives]
    train = _splits({name: kind.labelled(data) for name, data in files.items()}, settings)["train"]
    return train, kind.of(train, settings.nodes, False)


def choose_notation(trees: Mapping[str, Mapping[str, TreeDataset]], settings: FitOptions) -> str:
    """The notation whose counts of subtrees predict the labels best, by cross-validation on the training examples.

    Args:
        trees: by notation, the files of the training, read in this way.
        settings: of the training.
    """
    scores = {}
    for name in TREES:
        found = score(*learnt_from(trees[name], settings))
        scores[name] = -math.inf if math.isnan(found) else found
    best = max(TREES, key=lambda name: scores[name])
    if math.isfinite(scores[best]):
        listed = ", ".join(f"{TREES[name]} {scores[name]:.3f}" for name in TREES)
        say(
            f"molecules are read as trees of {TREES[best]}, which gave a baseline its best cross-validation score "
            f"({listed}); --notation {' or '.join(TREES)} sets this"
        )
    return best

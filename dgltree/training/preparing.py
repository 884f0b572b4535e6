"""From files and settings to a training before its first step: splits in the vocabulary of a new model."""

import hashlib
from dataclasses import dataclass, replace

from dgltree.datasets.loading.from_file import listed
from dgltree.datasets.settings.field_texts import number
from dgltree.datasets.splitting.splits import SPLITS, shared_examples, shared_groups, split
from dgltree.datasets.tree_dataset import TreeDataset
from dgltree.encoders import Encoder
from dgltree.models.readouts import Readout
from dgltree.models.tree_model import TreeModel
from dgltree.read.text import shown
from dgltree.training.build import build, objective_of, task_of
from dgltree.training.choices import encoder_for, numbers_are_read
from dgltree.training.module import TreeTraining
from dgltree.training.options import FitOptions
from dgltree.training.processes import say
from dgltree.training.readable import check_readable
from dgltree.training.sight import sight_of
from dgltree.training.trained_model import TrainedModel

FEW_NUMBERS = 12
"""Different labels that are whole numbers: more of them may be meant as numbers, not as classes."""


@dataclass(frozen=True)
class Prepared:
    """A training before its first step."""

    splits: dict[str, TreeDataset]
    """In the vocabulary of the model."""
    left_out: dict[str, int]
    """Records of each split that are not in it."""
    module: TreeTraining
    options: FitOptions
    """With all that followed from the data: defaults that do so are settings, too."""
    digest: str
    """Of the splits."""

    def trained(self, model: TreeModel) -> TrainedModel:
        """A model with weights of this training, which gives answers from now on."""
        assert isinstance(model.readout, Readout)
        self.module.objective.finish(model.readout)
        return TrainedModel(model, self.splits["train"].reading)

    def say(self) -> None:
        """A summary of the training: the model, and the data."""
        splits, options = self.splits, self.options
        counts = ", ".join(f"{len(splits[name])} {name}" for name in SPLITS if name in splits)
        weights = sum(p.numel() for p in self.module.parameters())
        say(f"{options.task}: {counts}; {options.encoder} of {options.hidden_size}, {weights:,} weights")
        classes = self.module.objective.classes if options.task == "classify" and not options.nodes else ()
        if len(classes) > FEW_NUMBERS and all(number(name) is not None for name in classes):
            say(f"the labels are {len(classes)} numbers, learnt as classes; --task regress learns them as numbers")
        for name, count in shared_examples(splits).items():
            if count:
                say(f"warning: {count} of {len(splits[name])} {name} examples also occur in the training set")
        for name, count in shared_groups(splits).items():
            if count:
                say(
                    f"warning: {count} files or groups of the {name} set also have examples in the training set; "
                    "--group-by file keeps each in one split"
                )


def prepare(files: dict[str, TreeDataset], settings: FitOptions) -> Prepared:
    """A training on ``train``, and on the files for validation and test where they are given.

    Raises ``ValueError`` for what cannot be learnt from, and for settings that do not fit it.
    """
    for dataset in files.values():
        check_readable(dataset)
    objective = objective_of(files["train"], settings)
    labelled = {name: objective.labelled(dataset) for name, dataset in files.items()}
    for name, dataset in labelled.items():
        if dataset.bad:
            say(f"{name}: {listed(dataset.bad)}")
    splits = _splits(labelled, settings.seed)
    if objective.labels_are_numbers and len(splits["validation"]) < 2:
        raise ValueError("R2 needs at least two validation examples; there is one")
    splits = _with_numbers(splits, settings)
    built = build(splits["train"], replace(settings, task=settings.task or task_of(files["train"])))
    _say_sight(built.module.encoder, splits["train"])
    splits = {name: _within(name, dataset, built.module.model) for name, dataset in splits.items()}
    bad = {name: labelled[name].bad if name in labelled else [] for name in splits}
    for name, dataset in splits.items():
        if dataset.bad:
            say(f"{name}: {listed(dataset.bad)}")
    left_out = {name: len(bad[name]) + len(dataset.bad) for name, dataset in splits.items()}
    return Prepared(splits, left_out, built.module, built.options, _digest_of(splits))


def _with_numbers(splits: dict[str, TreeDataset], settings: FitOptions) -> dict[str, TreeDataset]:
    """The splits with leaves that are numbers, where nothing was said of them and they are better read as such."""
    train = splits["train"]
    encoder = settings.encoder or encoder_for(train)
    if train.reading.numbers is None and numbers_are_read(train, encoder, settings.min_count):
        say("leaves that are written as numbers are read as numbers; --no-numbers reads them as words")
        return {name: data.with_numbers() for name, data in splits.items()}
    return splits


def _say_sight(encoder: Encoder, train: TreeDataset) -> None:
    """The parts of the trees that the encoder reads, with a warning about those that it does not see."""
    found = sight_of(encoder, train)
    say(f"the encoder reads {found}")
    for what in found.unseen:
        say(f"warning: the encoder does not see {what}: trees that differ in nothing else get the same vector")


def _splits(files: dict[str, TreeDataset], seed: int) -> dict[str, TreeDataset]:
    """The splits, by files of their own where there are some, else out of the training file."""
    data = files["train"]
    given = {name: dataset for name, dataset in files.items() if name != "train"}
    if any(dataset.each != data.each for dataset in given.values()):
        raise ValueError("some files hold trees and others pairs of trees")
    if "validation" in given and not any(data.splits):
        return {"train": data, **given}
    return split(data, seed, SPLITS[:2] if given else SPLITS) | given


def _within(name: str, dataset: TreeDataset, model: TreeModel) -> TreeDataset:
    """A split in the model's vocabulary; labels that no training example has are reported."""
    known = dataset.select(range(len(dataset))).within(model.encoder.vocabulary)
    if model.classes:
        known = known.with_classes(model.classes)
        strange = sorted({label for label in known.labels if label not in model.classes and label is not None})
        if strange:
            say(f"{name}: labels that do not occur in the training set count as errors: {shown(', '.join(strange))}")
    return known


def _digest_of(splits: dict[str, TreeDataset]) -> str:
    """sha256 of all trees, labels and ids, by their splits and in their order."""
    digest = hashlib.sha256()
    for name, data in splits.items():
        digest.update(f"{name} {data.own_vocabulary.to_json()} ".encode())
        for block in data.blocks():
            digest.update(f"{list(block.labels)} {list(block.ids)}".encode())
            trees = block.trees
            for tensor in (trees.function, trees.token, trees.child_ptr, trees.child_index, trees.label, trees.value):
                digest.update(b"none" if tensor is None else tensor.numpy().data)
    return digest.hexdigest()

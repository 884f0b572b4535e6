"""A training on trees goes from data that was read to a decision, a model, its steps, its end and its answers."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import torch
from lightning import Callback
from lightning.pytorch.loggers import Logger

from dgltree.batching.number_scales import NumberScales
from dgltree.batching.vocabulary import UNKNOWN, UNSEEN, Vocabulary
from dgltree.datasets.translation import stands_at
from dgltree.datasets.tree_dataset import TreeDataset
from dgltree.models.tree_model import TreeModel, kept_generators
from dgltree.read.text import first_of, one_line
from dgltree.support.files import lock_folder
from dgltree.training import cpu_threads
from dgltree.training.deciding import Decision, decide
from dgltree.training.encoder_choice import count_weights
from dgltree.training.finishing import finish
from dgltree.training.folder import is_finished
from dgltree.training.input_sensitivity import measure_sensitivity
from dgltree.training.objectives.numbers import number_text
from dgltree.training.options import FitOptions
from dgltree.training.processes import check_started, first, say
from dgltree.training.short_trainings import build, cross_fit, is_crossed, with_scale
from dgltree.training.split_file import write_split
from dgltree.training.stepping.module import TreeTraining
from dgltree.training.stepping.trainer import step
from dgltree.training.trained_model import TrainedModel

MAX_LISTED_PLACES = 5
"""Places of numbers that are listed."""
MIN_UNIX_TIME, MAX_UNIX_TIME = 631152000, 4102444800
"""The years 1990 to 2100 as Unix times: numbers of a place all of which are between them are shown as dates."""


def train(
    data: TreeDataset | Iterable[Any],
    settings: FitOptions,
    *,
    validation: TreeDataset | None,
    test: TreeDataset | Mapping[str, TreeDataset] | None,
    parts: Mapping[str, Sequence[int]],
    vocabulary: Vocabulary | None,
    classes: Sequence[str] | None,
    out: str | Path | None,
    command: str,
    callbacks: Callback | Sequence[Callback],
    logger: Logger | Sequence[Logger],
) -> TrainedModel:
    """Train as :func:`dgltree.fit` says, which has checked the names of the settings."""
    given_callbacks = _listed("callbacks", callbacks, Callback)
    loggers = _listed("logger", logger, Logger)
    check_started(settings.devices, settings.machines)
    if out is None and settings.devices * settings.machines > 1:
        raise ValueError("several processes train into one shared folder; name it with out")
    data = data if isinstance(data, TreeDataset) else TreeDataset.from_iterable(data)
    given = {"train": data, "validation": validation, **(test if isinstance(test, Mapping) else {"test": test})}
    files = {name: each for name, each in given.items() if each is not None}
    with kept_generators(), TemporaryDirectory() if out is None else nullcontext(out) as place:
        folder = Path(place)
        with cpu_threads.limit_threads(settings.threads or 1):
            decision = with_scale(decide(files, settings, vocabulary, classes), folder)
            if is_crossed(decision):
                decision = cross_fit(decision)
            module = build(decision)

        def leave(model: TreeModel) -> None:
            TrainedModel.of(decision, model).save(folder)

        with lock_folder(folder) if first() else nullcontext():
            with cpu_threads.limit_threads(settings.threads or 1):
                if done := is_finished(folder, decision.options, decision.digest, decision.split):
                    say(f"the training in {folder} is already finished; nothing to do")
                else:
                    print_summary(decision, module)
                    if first():
                        write_split(decision.as_split, folder)
            if not done:
                with decision.computing(module.encoder):
                    trainer = step(decision, module, folder, leave, given_callbacks, loggers)
                    if trainer.is_global_zero:
                        finish(decision, module, folder, command, parts, pictures=out is not None)
                trainer.strategy.barrier()  # until the first process has written all
            return TrainedModel.load(folder)


def _listed(name: str, given: Any, kind: Any) -> list[Any]:
    """Return a list of one object or several of Lightning's."""
    objects = given if isinstance(given, list | tuple) else [given]
    if not all(isinstance(one, kind) for one in objects):
        raise ValueError(f"{name} is {given!r}; give a Lightning {kind.__name__} or a list of {kind.__name__} objects")
    return list(objects)


def print_summary(decision: Decision, module: TreeTraining) -> None:
    """Print what the encoder reads, the model, the data and the classes."""
    splits = decision.splits
    options = decision.options
    found = measure_sensitivity(module.encoder, splits["train"])
    say(f"the encoder reads {found}")
    for what in found.unseen:
        say(f"warning: the encoder ignores {what}: trees that differ only in this have equal vectors")
    counts = ", ".join(f"{len(data)} {name}" for name, data in splits.items())
    say(f"{options.task}: {counts}; {options.encoder} of {options.hidden_size}, {count_weights(module.model)}")
    if (scales := module.encoder.vocabulary.scales) is not None and len(scales.narrowest) > 1:
        say(_of_places(scales))
    for line in _unknown(splits, module.encoder.vocabulary):
        say(line)
    if decision.objective.classes and not options.nodes:
        for line in _of_classes(splits, decision.objective.classes):
            say(line)
    for line in decision.warnings:
        say(f"warning: {line}")


def _of_places(scales: NumberScales) -> str:
    """Which places have a scale of their own, and what their numbers are."""
    each = [f"{one_line(place.name)} ({_range(place.low, place.high)})" for place in scales.narrowest]
    more = f" and {len(each) - MAX_LISTED_PLACES:,} more" if len(each) > MAX_LISTED_PLACES else ""
    return f"numbers in {len(each):,} fields have their own scale: " + (", ".join(each[:MAX_LISTED_PLACES]) + more)


def _range(low: float, high: float) -> str:
    """The ends of the numbers of a place; as dates, if they are Unix times, in seconds or milliseconds."""
    for unit in (1, 1000):
        if MIN_UNIX_TIME <= low / unit <= high / unit <= MAX_UNIX_TIME:
            first, last = (datetime.fromtimestamp(end / unit, UTC).date().isoformat() for end in (low, high))
            return f"times from {first} to {last}"
    return f"{number_text(low)} to {number_text(high)}"


def _unknown(splits: Mapping[str, TreeDataset], vocabulary: Vocabulary) -> Iterator[str]:
    """Which shares of the functions and of the tokens of each split are read as ``<unk>``."""
    shares = {name: unknown_shares(data, vocabulary) for name, data in splits.items()}
    for k, what in enumerate(("functions", "tokens")):
        if any(of[k] for of in shares.values()):
            yield f"{what} read as {UNKNOWN}: " + ", ".join(f"{of[k]:.1%} in {name}" for name, of in shares.items())


def unknown_shares(data: TreeDataset, vocabulary: Vocabulary) -> tuple[float, float]:
    """The shares of the nodes of a data set whose function, and of those with a token whose token, is ``<unk>``."""
    read = data.as_read()
    own = read.own_vocabulary
    functions, tokens = stands_at((block.trees for block in read.blocks()), own)
    strange = [_strange(vocabulary, name, arity) for name, arity in own.functions]
    found = zip(own.tokens, vocabulary.find_tokens(own.tokens), strict=True)
    unknown = [token != UNKNOWN and (i == UNSEEN or vocabulary.tokens[i] == UNKNOWN) for token, i in found]
    return _share(functions, strange), _share(tokens, unknown)


def _strange(vocabulary: Vocabulary, name: str, arity: int | None) -> bool:
    found = vocabulary.find_function(name, arity)
    return name != UNKNOWN and (found is None or vocabulary.functions[found][0] == UNKNOWN)


def _share(counts: torch.Tensor, chosen: Sequence[bool]) -> float:
    return float(counts[torch.tensor(chosen, dtype=torch.bool)].sum() / counts.sum().clamp(min=1))


def _of_classes(splits: Mapping[str, TreeDataset], classes: Sequence[str]) -> Iterator[str]:
    """How many training examples the classes have, and which have one alone, or none in the test set."""
    counts = Counter(splits["train"].labels)
    least = min(counts[name] for name in classes)
    most = max(counts[name] for name in classes)
    each = f"{least:,} training examples each" if least == most else f"{least:,} to {most:,} training examples"
    yield f"{len(classes):,} classes, with {each}"
    rare = [name for name in classes if counts[name] == 1]
    if rare:
        yield f"{_have(rare)} one training example: {first_of(rare)}"
    for split in ("validation", "test"):
        if split in splits:
            missing = sorted(set(classes) - {label for label in splits[split].labels if label is not None})
            if missing:
                yield f"{_have(missing)} no {split} example: {first_of(missing)}"


def _have(names: Sequence[str]) -> str:
    return "1 class has" if len(names) == 1 else f"{len(names):,} classes have"

"""A training on own trees goes from data that was read to a decision, a model, its steps, its end and its answers."""

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import fields, replace
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, get_args

import torch
from lightning import Callback
from lightning.pytorch.loggers import Logger
from torch import Tensor

from dgltree.batching.number_scales import NumberScales
from dgltree.batching.vocabulary import NO_LABEL, UNKNOWN, UNSEEN, Vocabulary, part_table
from dgltree.cells import Cell
from dgltree.datasets.batches import Collate, NodeBatches
from dgltree.datasets.translation import stands_at
from dgltree.datasets.tree_dataset import TreeDataset
from dgltree.encoders import TreeEncoder
from dgltree.models.label_scales import SPREAD, spread, worth_trying
from dgltree.models.readouts import NumberReadout
from dgltree.models.tree_model import TreeModel, evaluating, kept_generators
from dgltree.read.text import first_of, one_line
from dgltree.support.arguments import LabelScaleName, nearest
from dgltree.support.files import lock_folder
from dgltree.training import cpu_threads
from dgltree.training.deciding import Decision, decide
from dgltree.training.encoder_choice import count_weights, token_vectors
from dgltree.training.finishing import finish
from dgltree.training.folder import is_finished, scale_of
from dgltree.training.input_sensitivity import measure_sensitivity
from dgltree.training.objectives import Numbers
from dgltree.training.objectives.numbers import number_text
from dgltree.training.options import BaselineSearch, FitOptions
from dgltree.training.own_cells import register
from dgltree.training.processes import check_started, first, say
from dgltree.training.split_file import write_split
from dgltree.training.stepping.module import TreeTraining, find_unseen_functions
from dgltree.training.stepping.trainer import step
from dgltree.training.trained_model import TrainedModel

TRIAL_NODES, TRIAL_PASSES = 20_000, 10
"""Of the training examples that a short training has, and how often it sees them."""
MAX_LISTED_PLACES = 5
"""Places of numbers that are listed."""
MIN_UNIX_TIME, MAX_UNIX_TIME = 631152000, 4102444800
"""The years 1990 to 2100 as Unix times: numbers of a place all of which are between them are shown as dates."""


def fit(
    data: TreeDataset | Iterable[Any],
    *,
    validation: TreeDataset | None = None,
    test: TreeDataset | Mapping[str, TreeDataset] | None = None,
    parts: Mapping[str, Sequence[int]] | None = None,
    vocabulary: Vocabulary | None = None,
    classes: Sequence[str] | None = None,
    out: str | Path | None = None,
    command: str = "dgltree.fit",
    cell: type[Cell] | str | None = None,
    callbacks: Callback | Sequence[Callback] = (),
    logger: Logger | Sequence[Logger] = (),
    baseline: bool | BaselineSearch | None = None,
    **options: Any,
) -> TrainedModel:
    """Train a model on trees of your own, and leave it in a folder if one is given.

    Examples:
        >>> import tempfile, dgltree
        >>> trees = [dgltree.read_infix(text) for text in ("x + y", "x*y", "y + x", "y*x")] * 10
        >>> data = dgltree.TreeDataset(trees, labels=["sum", "product"] * 20)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     model = dgltree.fit(data, validation=data, out=folder, hidden_size=8, epochs=1)
        validation: accuracy ...
        >>> model.classes
        ('product', 'sum')

    The epoch that is best in validation is kept, by its accuracy or, of numbers, by R2. A training that was
    interrupted continues when it is called again with the same data and settings; one that is done is not done again.
    A training that is stopped has left the best model so far, or within its first epoch that of its steps.

    It draws from torch's generator, which is seeded from ``seed`` and put back at the end; threads share it.

    With ``devices`` or ``machines`` above 1 Lightning starts the program of the caller again for each further process,
    or torchrun has; all of them call this with the same arguments and get the same model. The first one writes.

    Args:
        data: with a column of splits, or split by chance (see :func:`dgltree.datasets.split`); all to train on
            if ``validation`` and ``test`` are given. A generator of trees and labels is read once, as
            :meth:`dgltree.datasets.TreeDataset.from_iterable` does.
        validation: to choose the epoch by.
        test: for the metrics at the end; or several such sets by their names, each of which is measured by itself.
        parts: the numbers of examples of the test set that are measured by themselves, too, by the names of the parts.
        vocabulary, classes: what the model knows, and the names of what it tells apart. Default: what the training set
            has.
        out: None: the model is only returned, and an interrupted training leaves nothing. Or the folder, with
            ``model.safetensors`` and ``reading.json`` (``dgltree.TrainedModel``), ``card.md`` and
            ``card.json``, ``epochs.jsonl``, checkpoints, and of classes ``confusion.tsv`` and ``confusion.png``.
        command: what the card says the training was started by.
        cell: a class of your own, or ``FILE.py:CLASS``; ``TrainedModel.load`` takes the same.
        callbacks: of Lightning, in addition to ours.
        logger: of Lightning, in addition to the one that the option ``log`` names.
        baseline: whether answers may be averaged with those of a baseline; None: they may. "fast": with those of one
            linear model, for which nothing is searched. ``no_baseline=True``, the name of the command's option, is
            deprecated in Python.
        options: of :class:`dgltree.training.options.FitOptions`.

    Raises ``ValueError`` for data that cannot be learnt from, for settings that do not fit it or what torchrun started,
    for a folder with another training, and for one that another run writes to now; ``TypeError`` for an unknown option.

    See also: :class:`dgltree.TrainedModel`, which it returns; :class:`dgltree.TreeClassifier`.
    """
    given_callbacks, loggers = _listed("callbacks", callbacks, Callback), _listed("logger", logger, Logger)
    if cell is not None:
        if "encoder" in options and options["encoder"] is not None:
            raise ValueError("give an encoder or a cell of your own, not both")
        options["encoder"] = register(cell)
    if baseline is not None:
        options |= baseline_options(baseline, options)
    known = [field.name for field in fields(FitOptions)]
    for name in set(options) - set(known):
        raise TypeError(f"fit has no option {name!r}; {nearest(name, known)}")
    settings = FitOptions(**options)
    check_started(settings.devices, settings.machines)
    if out is None and settings.devices * settings.machines > 1:
        raise ValueError("several processes train into one shared folder: give out")
    data = data if isinstance(data, TreeDataset) else TreeDataset.from_iterable(data)
    given = {"train": data, "validation": validation, **(test if isinstance(test, Mapping) else {"test": test})}
    files = {name: each for name, each in given.items() if each is not None}
    with kept_generators(), TemporaryDirectory() if out is None else nullcontext(out) as place:
        folder = Path(place)
        with cpu_threads.limit_threads(settings.threads or 1):
            decision = with_scale(decide(files, settings, vocabulary, classes), folder)
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
                        finish(decision, module, folder, command, parts or {}, pictures=out is not None)
                trainer.strategy.barrier()  # until the first process has written all
            return TrainedModel.load(folder)


def baseline_options(baseline: bool | BaselineSearch, options: Mapping[str, Any]) -> dict[str, Any]:
    """The options that ``baseline`` of :func:`fit` stands for. ``ValueError`` for what it cannot be."""
    kinds = get_args(BaselineSearch)
    if isinstance(baseline, bool) and "no_baseline" not in options:
        return {"no_baseline": not baseline}
    if isinstance(baseline, bool) or baseline not in kinds:
        named = " or ".join(map(repr, kinds))
        raise ValueError(f"baseline is {baseline!r}; give True, False, {named}, and no no_baseline with True or False")
    return {"baseline": baseline}


def _listed(name: str, given: Any, kind: Any) -> list[Any]:
    """One object or several of Lightning's."""
    found = [given] if isinstance(given, kind) else list(given) if isinstance(given, list | tuple) else None
    if found is None or not all(isinstance(each, kind) for each in found):
        raise ValueError(f"{name} is {given!r}; give a lightning {kind.__name__} or a list of them")
    return found


def with_scale(decision: Decision, folder: Path) -> Decision:
    """The decision, whose numbers are on the scale that was asked for, or on the best one in validation.

    One that the folder's training has already chosen is kept.
    """
    objective, asked = decision.objective, decision.options.label_scale
    if not isinstance(objective, Numbers) or not issubclass(decision.readout, NumberReadout):
        if asked not in (None, "none"):
            raise ValueError(f"label_scale is {asked!r}, which is for the task regress and the readout number")
        return decision
    labels = objective.targets(decision.splits["train"].labels)
    name = asked or scale_of(folder, decision.options, decision.digest) or _best_scale(decision, labels)
    return _on_scale(decision, name, labels)


def _on_scale(decision: Decision, name: LabelScaleName, labels: Tensor) -> Decision:
    assert isinstance(decision.objective, Numbers)
    options = replace(decision.options, label_scale=name)
    return replace(decision, options=options, objective=decision.objective.on(name, labels))


def _best_scale(decision: Decision, labels: Tensor) -> LabelScaleName:
    names = worth_trying(labels)
    if len(names) == 1:
        return names[0]
    some = _with_fewer_examples(decision)
    scores = {name: _trial_score(_on_scale(some, name, labels)) for name in names}
    best = max(names, key=lambda name: scores[name])
    listed = ", ".join(f"{name} {scores[name]:.3f}" for name in names)
    say(
        f"some labels are far from all others (from {float(labels.min()):g} to {float(labels.max()):g}, half of them "
        f"within {spread(labels) * SPREAD:g}): learnt on the scale {best!r}, the best in short trainings "
        f"(mean of R2 and rank correlation in validation: {listed}); --label-scale sets it"
    )
    return best


def _with_fewer_examples(decision: Decision) -> Decision:
    """The same with fewer training examples."""
    train = decision.splits["train"]
    [rows, *_] = NodeBatches(train.sizes, TRIAL_NODES, decision.options.seed)
    return replace(decision, splits={**decision.splits, "train": train.select(sorted(rows))})


def _trial_score(decision: Decision) -> float:
    """The mean of R2, at least 0, and rank correlation in validation, after a short training on the CPU."""
    objective, options = decision.objective, decision.options
    with kept_generators():
        module = build(decision)
        optimizer = torch.optim.AdamW(module.parameters(), lr=module.lr, weight_decay=options.weight_decay or 0.0)
        for epoch in range(TRIAL_PASSES):
            _trial_pass(module, decision.splits["train"], optimizer, options, epoch)
        with evaluating(module):
            found = [
                module(part.inputs, part.features) for part in _planned(module, decision.splits["validation"], options)
            ]
    answers = objective.answers(torch.cat(found))
    metrics = objective.evaluation(answers, objective.targets(decision.splits["validation"].labels)).metrics
    r2, correlation = metrics["r2"], metrics["rank_correlation"]
    return (max(0.0, r2) + (0.0 if math.isnan(correlation) else correlation)) / 2


def _trial_pass(
    module: TreeTraining, train: TreeDataset, optimizer: torch.optim.Optimizer, options: FitOptions, epoch: int
) -> None:
    module.train()
    for part in _planned(module, train, options, epoch):
        optimizer.zero_grad()
        loss, _ = module.objective.loss(module(part.inputs, part.features), part.labels, part.weights)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(module.parameters(), options.clip)
        optimizer.step()


def _planned(module: TreeTraining, data: TreeDataset, options: FitOptions, epoch: int | None = None) -> Sequence[Any]:
    """Some examples at a time, planned; in an order of the seed and the epoch, if there is one."""
    assert options.batch_nodes is not None
    seed = None if epoch is None else options.seed
    collate = Collate(None, module.encoder, module.shares_in(epoch is not None))
    return [collate(data.select(rows)) for rows in NodeBatches(data.sizes, options.batch_nodes, seed, epoch or 0)]


def build(decision: Decision) -> TreeTraining:
    """The model of a decision, whose weights follow from its seed.

    Raises ``ValueError`` for options that the encoder has not.
    """
    options, choice, strength = decision.options, decision.encoder, decision.options.token_dropout
    train = decision.splits["train"]
    functions, tokens = stands_at((block.trees for block in train.blocks()), choice.vocabulary)
    dropped: tuple[Tensor | None, Tensor | None] = (None, None)
    if strength:
        dropped = _dropout_shares(functions, tokens, choice.vocabulary, strength)
    torch.manual_seed(options.seed)
    encoder = choice.made()
    model = decision.model(encoder, decision.readout(**decision.readout_options), decision.objective.classes)
    if options.frozen:
        frozen = token_vectors(encoder) if options.from_ is None else encoder.parameters()
        for weights in frozen:
            weights.requires_grad_(False)
    cells = encoder.cells if isinstance(encoder, TreeEncoder) else []
    maps = [each for cell in cells for each in find_unseen_functions(cell, functions)]
    targets = decision.objective.targets(decision.splits["validation"].labels)
    nodes_choose = options.nodes and len(targets.unique()) < 2  # every epoch would be right at roots of one class
    if nodes_choose:
        labels = torch.cat([block.trees.label for block in decision.splits["validation"].blocks()])
        targets = labels[labels != NO_LABEL]
    nothing = decision.objective.nothing(targets)
    return TreeTraining(model, decision.objective, options, *dropped, maps, nothing, nodes_choose)


def _dropout_shares(
    functions: Tensor, tokens: Tensor, vocabulary: Vocabulary, strength: float
) -> tuple[Tensor, Tensor]:
    """(T,) and (F,) float32, with which probability each token and each function is dropped.

    Args:
        functions, tokens: (F,) and (T,) int64, the nodes of the training set that have them.
        vocabulary, strength: of the model and of the dropout.
    """
    parts = part_table(vocabulary.tokens) if vocabulary.parts else None
    if parts is not None:  # of a node with a token of two words, each of them occurs
        counts = tokens.unsqueeze(1).expand_as(parts)[parts >= 0]
        tokens = tokens.index_add(0, parts[parts >= 0], counts)
    names = [name for name, _ in vocabulary.functions]
    of_names: Counter[str] = Counter()
    for name, count in zip(names, functions.tolist(), strict=True):
        of_names[name] += count
    by_name = torch.tensor([of_names[name] for name in names])
    return strength / (strength + tokens.float()), strength / (strength + by_name.float())


def print_summary(decision: Decision, module: TreeTraining) -> None:
    """Print what the encoder reads, the model, the data and the classes."""
    splits, options = decision.splits, decision.options
    found = measure_sensitivity(module.encoder, splits["train"])
    say(f"the encoder reads {found}")
    for what in found.unseen:
        say(f"warning: the encoder ignores {what}: trees that differ only in this get the same vector")
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
    return f"numbers have their own scale at {len(each):,} places: " + (", ".join(each[:MAX_LISTED_PLACES]) + more)


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
    least, most = min(counts[name] for name in classes), max(counts[name] for name in classes)
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

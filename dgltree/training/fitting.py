"""A training on own trees, from data to a folder with the model, its metrics and its card."""

import sys
from collections.abc import Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

from lightning import Callback, Trainer
from lightning.pytorch.callbacks import ProgressBar
from lightning.pytorch.loggers import CSVLogger, Logger, TensorBoardLogger

from dgltree.arguments import nearest
from dgltree.cells import Cell
from dgltree.datasets.labels import with_labels
from dgltree.datasets.loading.from_file import listed
from dgltree.datasets.settings.reading import Reading
from dgltree.datasets.splitting.splits import SPLITS, shared_examples, shared_groups, split
from dgltree.datasets.tree_dataset import TreeDataset
from dgltree.encoders import Encoder
from dgltree.models.readouts import NumberReadout
from dgltree.models.tree_model import TreeModel
from dgltree.read.json_text import write_json
from dgltree.read.text import shown
from dgltree.training import harness, pictures, threads
from dgltree.training.best_so_far import BestSoFar
from dgltree.training.build import Built, build, task_of
from dgltree.training.checkpoints import BEST, checked
from dgltree.training.choices import encoder_for, numbers_are_read
from dgltree.training.data import SplitsModule, loaders
from dgltree.training.evaluation import Evaluation, evaluate
from dgltree.training.folder import CARD, finished, give_up, left_by_now, read_epochs, write
from dgltree.training.model_card import BASELINE as NAME
from dgltree.training.model_card import card, digest_of, markdown
from dgltree.training.module import DivergenceError
from dgltree.training.options import USUAL_EPOCHS, FitOptions
from dgltree.training.own_cells import register
from dgltree.training.plateau import Patience, UsualEpochs
from dgltree.training.processes import check_started, first
from dgltree.training.readable import check_readable
from dgltree.training.report import EpochReport
from dgltree.training.sight import all_equal, sight_of
from dgltree.training.trained_model import TrainedModel

PRECISIONS: dict[str, Any] = {"32": "32-true", "bf16-mixed": "bf16-mixed", "16-mixed": "16-mixed"}
"""Options to what Lightning calls them."""
EQUAL_VECTORS = (
    "warning: all vectors of the validation set are equal, so that all trees get the same answer; try a lower --lr or "
    "another --encoder"
)


def fit(
    data: TreeDataset,
    *,
    validation: TreeDataset | None = None,
    test: TreeDataset | None = None,
    out: str | Path = "runs/fit",
    command: str = "dgltree.fit",
    cell: type[Cell] | str | None = None,
    callbacks: Callback | Sequence[Callback] = (),
    logger: Logger | Sequence[Logger] = (),
    **options: Any,
) -> TrainedModel:
    """Train a model on own trees and leave it in a folder.

    The epoch that is best in validation is kept, by its accuracy or, of numbers, by R2. A training that was
    interrupted goes on when it is called again with the same data and settings; one that is done is not done again.
    A training that is stopped has left the best model so far, or within its first epoch that of its steps.

    With ``devices`` or ``machines`` above 1 Lightning starts the program of the caller again for each further process,
    or torchrun has; all of them call this with the same arguments and get the same model. The first one writes.

    Args:
        data: with a column of splits, or split by chance (see :func:`dgltree.datasets.split`); all to train on
            where ``validation`` and ``test`` are given.
        validation: to choose the epoch by.
        test: for the metrics at the end.
        out: the folder: ``model.safetensors`` and ``reading.json`` (``dgltree.TrainedModel``), ``card.md`` and
            ``card.json``, ``epochs.jsonl``, checkpoints, and of classes ``confusion.tsv`` and ``confusion.png``.
        command: what the card says the training was started by.
        cell: a class of your own, or ``FILE.py:CLASS``; ``TrainedModel.load`` takes the same.
        callbacks: of Lightning, besides ours.
        logger: of Lightning, besides the one that the option ``log`` names.
        options: of :class:`dgltree.training.options.FitOptions`.

    Raises ``ValueError`` for data that cannot be learnt from, for settings that do not fit it or what torchrun started,
    and for a folder with another training; ``TypeError`` for an option that there is not.
    """
    if cell is not None:
        if "encoder" in options and options["encoder"] is not None:
            raise ValueError("give an encoder or a cell of your own, not both")
        options["encoder"] = register(cell)
    known = [field.name for field in fields(FitOptions)]
    for name in set(options) - set(known):
        raise TypeError(f"fit has no option {name!r}; {nearest(name, known)}")
    folder, settings = Path(out), FitOptions(**options)
    check_started(settings.devices, settings.machines)
    given_callbacks = _listed("callbacks", callbacks, Callback)
    loggers = [*_listed("logger", logger, Logger), *_loggers(settings, folder)]
    given = {"train": data, "validation": validation, "test": test}
    files = {name: dataset for name, dataset in given.items() if dataset is not None}
    with threads.limited(settings.threads or 1):
        splits, left_out, built = _prepare(files, settings)
        digest = digest_of(splits)
    if finished(folder, built.options, digest):  # defaults that follow from the data are settings, too
        _say(f"the training in {folder} is already finished; nothing to do")
        return TrainedModel.load(folder)
    reading = splits["train"].reading
    _say_what(splits, built)
    with threads.limited(_threads(built.options, splits["train"])):
        trainer, seconds = _train(built, splits, folder, reading, given_callbacks, loggers)
        trained = _trained(built.module.model.cpu(), built.module.scale, reading)
        if not trainer.is_global_zero:
            trainer.strategy.barrier()  # until the first process has written all
            return trained
        evaluations = {name: evaluate(trained, dataset) for name, dataset in splits.items() if name != "train"}
        beside = {} if settings.no_baseline else _baseline(splits, trained)
        if all_equal(trained.encode(splits["validation"])):
            _say(EQUAL_VECTORS)
    _say_last(folder, built)
    for name, found in evaluations.items():
        _say(f"{name}: {found}")
        if name in beside:
            _say(f"{name}, baseline ({NAME}): {beside[name]}")
    trained.save(folder)
    monitored = built.module.monitored
    level = beside["validation"].metrics[monitored] if beside else None
    if why := pictures.leave(folder, evaluations, monitored, level):
        _say(why)
    made = card(trained, built.options, splits, left_out, evaluations, beside, digest, command, seconds)
    write(folder / "card.md", markdown(made))
    write(folder / CARD, write_json(made, indent=1) + "\n")  # the last one: with it the training is done
    trainer.strategy.barrier()
    return trained


def _prepare(
    files: dict[str, TreeDataset], settings: FitOptions
) -> tuple[dict[str, TreeDataset], dict[str, int], Built]:
    """The splits in the vocabulary of a new model, how many records are left out of them, and that model."""
    for dataset in files.values():
        check_readable(dataset)
    task = settings.task or task_of(files["train"])
    labelled = {name: with_labels(dataset, task == "regress") for name, dataset in files.items()}
    for name, dataset in labelled.items():
        if dataset.bad:
            _say(f"{name}: {listed(dataset.bad)}")
    splits = _splits(labelled, settings.seed)
    if task == "regress" and len(splits["validation"]) < 2:
        raise ValueError("R2 needs at least two validation examples; there is one")
    splits = _with_numbers(splits, settings)
    built = build(splits["train"], replace(settings, task=task))
    _say_sight(built.module.encoder, splits["train"])
    splits = {name: _within(name, dataset, built) for name, dataset in splits.items()}
    bad = {name: labelled[name].bad if name in labelled else [] for name in splits}
    for name, dataset in splits.items():
        if dataset.bad:
            _say(f"{name}: {listed(dataset.bad)}")
    left_out = {name: len(bad[name]) + len(dataset.bad) for name, dataset in splits.items()}
    return splits, left_out, built


def _with_numbers(splits: dict[str, TreeDataset], settings: FitOptions) -> dict[str, TreeDataset]:
    """The splits with leaves that are numbers, where nothing was said of them and they are better read as such."""
    train = splits["train"]
    encoder = settings.encoder or encoder_for(train)
    if train.reading.numbers is None and numbers_are_read(train, encoder, settings.min_count):
        _say("leaves that are written as numbers are read as numbers; --no-numbers reads them as words")
        return {name: data.with_numbers() for name, data in splits.items()}
    return splits


def _say_sight(encoder: Encoder, train: TreeDataset) -> None:
    """What the encoder reads of the trees, and with a warning what it does not see."""
    found = sight_of(encoder, train)
    _say(f"the encoder reads {found}")
    for what in found.unseen:
        _say(f"warning: the encoder does not see {what}: trees that differ in nothing else get the same vector")


def _splits(files: dict[str, TreeDataset], seed: int) -> dict[str, TreeDataset]:
    """The splits, by files of their own where there are some, else out of the training file."""
    data = files["train"]
    given = {name: dataset for name, dataset in files.items() if name != "train"}
    if any(dataset.each != data.each for dataset in given.values()):
        raise ValueError("some files hold trees and others pairs of trees")
    if "validation" in given and not any(data.splits):
        return {"train": data, **given}
    return split(data, seed, SPLITS[:2] if given else SPLITS) | given


def _within(name: str, dataset: TreeDataset, built: Built) -> TreeDataset:
    """A split in the model's vocabulary; labels that no training example has are said."""
    model = built.module.model
    known = dataset.select(range(len(dataset))).within(model.encoder.vocabulary)
    if model.classes:
        known = known.with_classes(model.classes)
        strange = sorted({label for label in known.labels if label not in model.classes and label is not None})
        if strange:
            _say(f"{name}: labels that do not occur in the training set count as errors: {shown(', '.join(strange))}")
    return known


def _say_what(splits: dict[str, TreeDataset], built: Built) -> None:
    counts = ", ".join(f"{len(splits[name])} {name}" for name in SPLITS if name in splits)
    options, weights = built.options, sum(p.numel() for p in built.module.parameters())
    _say(f"{options.task}: {counts}; {options.encoder} of {options.hidden_size}, {weights:,} weights")
    for name, count in shared_examples(splits).items():
        if count:
            _say(f"warning: {count} of {len(splits[name])} {name} examples also occur in the training set")
    for name, count in shared_groups(splits).items():
        if count:
            _say(
                f"warning: {count} files or groups of the {name} set also have examples in the training set; "
                "--group-by file keeps each in one split"
            )


def _threads(options: FitOptions, train: TreeDataset) -> int:
    assert options.batch_nodes is not None
    own, beside = (
        options.batch_nodes // (options.devices * options.machines),
        options.devices * (1 + loaders(train)) - 1,
    )
    return options.threads or threads.worth(own, options.hidden_size, beside)


def _listed(name: str, given: Any, kind: Any) -> list[Any]:
    """One object or several of Lightning's."""
    found = [given] if isinstance(given, kind) else list(given) if isinstance(given, list | tuple) else None
    if found is None or not all(isinstance(each, kind) for each in found):
        raise ValueError(f"{name} is {given!r}; give a lightning {kind.__name__} or a list of them")
    return found


def _loggers(options: FitOptions, folder: Path) -> list[Logger]:
    """Those that the option ``log`` names."""
    loggers: list[Logger] = []
    if options.log == "csv":
        loggers.append(CSVLogger(folder, "logs", version=""))
    if options.log == "tensorboard":
        try:
            loggers.append(TensorBoardLogger(folder, "logs", version=""))
        except ModuleNotFoundError:  # of Lightning's own, without a name
            raise ModuleNotFoundError("log is tensorboard, which is not installed", name="tensorboard") from None
    return loggers


def _train(
    built: Built,
    parts: dict[str, TreeDataset],
    folder: Path,
    reading: Reading,
    callbacks: Sequence[Callback],
    loggers: list[Logger],
) -> tuple[Trainer, float]:
    """Train, and put the best epoch's weights into the module; the seconds of all epochs."""
    options, module = built.options, built.module
    assert options.batch_nodes is not None
    data = SplitsModule(parts["train"], parts["validation"], options.batch_nodes, options.seed)
    with harness.quiet():
        trainer = harness.trainer(
            folder,
            folder,
            module.monitored,
            [
                EpochReport(),
                Patience(module.monitored, mode="max", patience=options.patience),
                *([UsualEpochs(module.monitored, USUAL_EPOCHS, _say)] if options.epochs is None else []),
                BestSoFar(folder / BEST, lambda model: _trained(model, module.scale, reading).save(folder)),
                *([harness.TimeLimit(options.max_time)] if options.max_time else []),
                *callbacks,
            ],
            max_epochs=options.most_epochs,
            precision=PRECISIONS[options.precision],
            accumulate_grad_batches=options.accumulate,
            logger=loggers or False,
            log_every_n_steps=1,
            accelerator={"auto": "auto", "cpu": "cpu", "cuda": "gpu"}[options.device],
            devices=options.devices,
            num_nodes=options.machines,
            gradient_clip_val=harness.CLIP,
            enable_progress_bar=sys.stderr.isatty() or any(isinstance(each, ProgressBar) for each in callbacks),
        )
        try:
            harness.train(trainer, module, data)
        except DivergenceError:
            if trainer.is_global_zero:
                _say(give_up(folder))
            raise
        except BaseException:
            _say(left_by_now(folder))
            raise
    module.load_state_dict(checked(folder / BEST)["state_dict"])
    return trainer, sum(epoch["seconds"] for epoch in read_epochs(folder))


def _say_last(folder: Path, built: Built) -> None:
    """Where the last epoch was the best, that more of them may be better."""
    values = [epoch[built.module.monitored] for epoch in read_epochs(folder)]
    if len(values) > 1 and max(values[:-1]) < values[-1]:
        _say(
            f"the last epoch, {len(values) - 1}, was the best: more may be better; --epochs {2 * len(values)} continues"
        )


def _baseline(splits: dict[str, TreeDataset], trained: TrainedModel) -> dict[str, Evaluation]:
    """What a linear model reaches, where scikit-learn is installed."""
    try:
        from dgltree.training.baseline import baseline
    except ModuleNotFoundError as error:
        _say(f"no baseline: {error}")
        return {}
    return baseline(splits, trained.classes)


def _trained(model: TreeModel, scale: tuple[float, float] | None, reading: Reading) -> TrainedModel:
    if scale is not None:
        assert isinstance(model.readout, NumberReadout)
        model.readout.rescale(*scale)
    return TrainedModel(model, reading)


def _say(text: str) -> None:
    if first():
        print(text, file=sys.stderr, flush=True)

"""A training on own trees: from data that was read to a decision, a model, its steps, its end and its answers."""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import fields
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, get_args

import torch
from lightning import Callback
from lightning.pytorch.loggers import Logger

from dgltree.arguments import nearest
from dgltree.batching.vocabulary import Vocabulary
from dgltree.cells import Cell
from dgltree.datasets.tree_dataset import TreeDataset
from dgltree.locks import lock_folder
from dgltree.models.tree_model import TreeModel
from dgltree.training import threads
from dgltree.training.building import build
from dgltree.training.deciding import decide
from dgltree.training.finishing import finish
from dgltree.training.folder import is_finished, split_rule
from dgltree.training.options import BaselineSearch, FitOptions
from dgltree.training.own_cells import register
from dgltree.training.processes import check_started, first, say
from dgltree.training.scale_choice import with_scale
from dgltree.training.split_file import write_split
from dgltree.training.stepping.trainer import step
from dgltree.training.trained_model import TrainedModel
from dgltree.training.training_summary import print_summary


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
    with _kept_generators(), TemporaryDirectory() if out is None else nullcontext(out) as place:
        folder = Path(place)
        with threads.limit_threads(settings.threads or 1):
            decision = with_scale(decide(files, settings, vocabulary, classes, split_rule(folder)), folder)
            module = build(decision)

        def leave(model: TreeModel) -> None:
            TrainedModel.of(decision, model).save(folder)

        with lock_folder(folder) if first() else nullcontext():
            with threads.limit_threads(settings.threads or 1):
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


def _kept_generators() -> AbstractContextManager[None]:
    """A block after which torch's generators, which a training seeds and draws from, are in the state of before."""
    return torch.random.fork_rng(devices=range(torch.cuda.device_count()) if torch.cuda.is_initialized() else ())


def _listed(name: str, given: Any, kind: Any) -> list[Any]:
    """One object or several of Lightning's."""
    found = [given] if isinstance(given, kind) else list(given) if isinstance(given, list | tuple) else None
    if found is None or not all(isinstance(each, kind) for each in found):
        raise ValueError(f"{name} is {given!r}; give a lightning {kind.__name__} or a list of them")
    return found

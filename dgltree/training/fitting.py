"""``dgltree.fit`` checks its arguments; what trains is imported when it is called, because Lightning takes seconds."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

from dgltree.support.arguments import nearest
from dgltree.training.options import BaselineSearch, FitOptions

if TYPE_CHECKING:
    from lightning import Callback
    from lightning.pytorch.loggers import Logger

    from dgltree.batching.vocabulary import Vocabulary
    from dgltree.cells import Cell
    from dgltree.datasets.tree_dataset import TreeDataset
    from dgltree.training.trained_model import TrainedModel


def fit(
    data: "TreeDataset | Iterable[Any]",
    *,
    validation: "TreeDataset | None" = None,
    test: "TreeDataset | Mapping[str, TreeDataset] | None" = None,
    parts: Mapping[str, Sequence[int]] | None = None,
    vocabulary: "Vocabulary | None" = None,
    classes: Sequence[str] | None = None,
    out: str | Path | None = None,
    command: str = "dgltree.fit",
    cell: "type[Cell] | str | None" = None,
    callbacks: "Callback | Sequence[Callback]" = (),
    logger: "Logger | Sequence[Logger]" = (),
    baseline: bool | BaselineSearch | None = None,
    **options: Any,
) -> "TrainedModel":
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
    if cell is not None:
        from dgltree.training.own_cells import register

        if "encoder" in options and options["encoder"] is not None:
            raise ValueError("give an encoder or a cell of your own, not both")
        options["encoder"] = register(cell)
    if baseline is not None:
        options |= baseline_options(baseline, options)
    known = [field.name for field in fields(FitOptions)]
    for name in set(options) - set(known):
        raise TypeError(f"fit has no option {name!r}; {nearest(name, known)}")
    from dgltree.training.pipeline import train

    return train(
        data,
        FitOptions(**options),
        validation=validation,
        test=test,
        parts=parts or {},
        vocabulary=vocabulary,
        classes=classes,
        out=out,
        command=command,
        callbacks=callbacks,
        logger=logger,
    )


def baseline_options(baseline: bool | BaselineSearch, options: Mapping[str, Any]) -> dict[str, Any]:
    """The options that ``baseline`` of :func:`fit` stands for. ``ValueError`` for what it cannot be."""
    kinds = get_args(BaselineSearch)
    if isinstance(baseline, bool) and "no_baseline" not in options:
        return {"no_baseline": not baseline}
    if isinstance(baseline, bool) or baseline not in kinds:
        named = " or ".join(map(repr, kinds))
        raise ValueError(f"baseline is {baseline!r}; give True, False or {named}; with True or False, omit no_baseline")
    return {"baseline": baseline}

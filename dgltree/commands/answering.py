"""The answers of ``dgltree predict``, ``encode`` and ``evaluate``: a trained model on files of trees."""

import argparse
import csv
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from tqdm import tqdm

from dgltree.commands.on_ray import answer as answer_on_ray
from dgltree.commands.on_ray import say_rows
from dgltree.commands.reading_options import read_given
from dgltree.commands.reports import BadRecords, report_bad, stopwatch
from dgltree.datasets.formats import open_format
from dgltree.datasets.loading.flatten import parts
from dgltree.datasets.loading.from_file import Ids
from dgltree.datasets.splitting import SYNONYMS
from dgltree.datasets.tree_dataset import TreeDataset
from dgltree.datasets.unseen import describe_unseen, find_unseen
from dgltree.datasets.vectors import writer_for
from dgltree.read.json_text import write_json
from dgltree.read.text import one_line
from dgltree.training import cpu_threads
from dgltree.training.objectives.threshold import Threshold, ThresholdRule
from dgltree.training.split_file import also_trained_on, count_split, select_split
from dgltree.training.trained_model import MOST_NODES, RecordBlock, TrainedModel, block_of, names_of
from dgltree.training.unlabelled_model import UnlabelledModel

if TYPE_CHECKING:
    from dgltree.training.objectives.metrics import Evaluation


def answer(name: str, options: argparse.Namespace) -> int:
    """Run one of the commands; the exit code is 1 if a record could not be read."""
    if options.device == "cuda" and not options.ray and not torch.cuda.is_available():
        raise ValueError("--device cuda: torch finds no CUDA device")
    if options.ray:
        return _on_ray(name, options)
    model = TrainedModel.load(options.model, options.device or "cpu", options.cell)
    if name != "encode" and options.threshold is not None:
        _predict_from(model, options.threshold)
    command = {"predict": _predict, "encode": _encode, "evaluate": _evaluate}[name]
    with cpu_threads.computing(model.model.encoder, options.threads, MOST_NODES):
        return command(model, options)


def _predict_from(model: TrainedModel, text: str) -> None:
    """Predict by the threshold that the command line gives."""
    rule = ThresholdRule.of(text)
    if rule.by != "given":
        raise ValueError(
            f"threshold is {text!r:.60}, but only fit can choose a threshold by validation; give CLASS=P here"
        )
    model.predict_from(Threshold(rule.place(model.classes), rule.number) if model.classes else None)


def _blocks(model: TrainedModel, options: argparse.Namespace, answers: bool = True) -> Iterator[RecordBlock]:
    """The records of a file or stream, some at a time, in the order of the file.

    Columns next to the trees are read for answers alone.
    """
    reading = model.reading.but(**read_given(options))
    reading = reading if answers else replace(reading, features=None)
    file = open_format(options.file, reading).with_notation()
    report = BadRecords(options.file, options.strict)
    ids = Ids()
    unseen = Counter[str]()
    with tqdm(unit="record", unit_scale=True, delay=1, disable=None) as bar:
        for part in parts(file):
            block = block_of(model, part, reading, ids.repeated)
            report(block.bad)
            unseen.update(block.unseen)
            yield block
            bar.update(len(block.order))
    report.close()
    _report_unseen(options.file, unseen)


def _report_unseen(file: str, counts: Mapping[str, int]) -> None:
    if counts:
        print(f"{file}: {describe_unseen(counts)}", file=sys.stderr)


def _predict(model: TrainedModel, options: argparse.Namespace) -> int:
    title = "\t".join(["id", "prediction", *map(one_line, model.classes)])
    failed = records = 0
    say = stopwatch()
    for block in _blocks(model, options):
        lines = _answers(model, block)
        lines = lines if records else [title, *lines]  # nothing is printed of a file that cannot be opened
        failed += len(block.bad)
        records += len(block.order)
        if options.csv:
            csv.writer(sys.stdout, lineterminator="\n").writerows(line.split("\t") for line in lines)
        else:
            sys.stdout.write("".join(line + "\n" for line in lines))
    say(records, "records")
    return 1 if failed else 0


def _answers(model: TrainedModel, block: RecordBlock) -> list[str]:
    """One line an example, and one without an answer for what is bad."""
    lines = [] if block.known is None else model.objective.texts(model.answers_to(block.known))
    lines += ["\t" * len(model.classes)] * len(block.bad)
    return [f"{name}\t{lines[i]}" for name, i in zip(names_of(block), block.order, strict=True)]


def _encode(model: TrainedModel, options: argparse.Namespace) -> int:
    failed = count = 0
    encode = model.node_vectors if options.nodes else model.encode
    width = int(model.model.encoder.config["hidden_size"])
    if options.context:
        encode = UnlabelledModel.load(options.model, options.device or "cpu").node_vectors
        width = 2 * width
    with writer_for(options.out, options.nodes, width, model.each) as write:
        for block in _blocks(model, options, answers=False):
            vectors = torch.empty(0, width) if block.known is None else encode(block.known)
            write(block.known, vectors, block.order)
            failed += len(block.bad)
            count += len(vectors)
    print(f"{options.out}: {count} vectors" + (f"; {failed} could not be read" if failed else ""))
    return 1 if failed else 0


def _evaluate(model: TrainedModel, options: argparse.Namespace) -> int:
    if options.against:
        return _compare(model, options)
    labelled = _labelled(model, options)
    if options.of_split:
        labelled = _of_split(labelled, options)
    known = model.dataset(labelled)
    report_bad(options.file, known.bad, options.strict)
    _report_unseen(options.file, {what: len(examples) for what, examples in find_unseen(labelled).items()})
    trained_on = SYNONYMS.get(options.of_split) == "train"
    if not trained_on and (count := also_trained_on(known, Path(options.model))):
        print(f"warning: {count} of {len(known)} examples also occur in the training set of the model", file=sys.stderr)
    if options.by:
        from dgltree.training.by_column import by_column, table

        rows = by_column(model, known)
        as_json = write_json([row._asdict() for row in rows])
        print(as_json if options.json else table(rows, "accuracy" if model.classes else "mae"))
        return 0
    return _say(model.evaluate(known), len(known.bad), options, len(labelled) - len(known))


def _of_split(data: TreeDataset, options: argparse.Namespace) -> TreeDataset:
    """The examples of the file in the split of the training that ``--split`` names; says whether some are missing."""
    folder = Path(options.model)
    found = select_split(data, folder, options.of_split)
    count = count_split(folder, options.of_split)
    if len(found) < count:
        print(
            f"warning: {options.file} contains only {len(found):,} of the {count:,} examples of the "
            f"{options.of_split} split",
            file=sys.stderr,
        )
    return found


def _labelled(model: TrainedModel, options: argparse.Namespace) -> TreeDataset:
    """The examples of the file with a label, as the model reads them."""
    by = {"group_by": options.by} if options.by else {}
    reading = model.reading.but(**read_given(options), **by)
    data = TreeDataset.from_file(options.file, cached=False, progress=True, named=False, **reading.to_json())
    found: TreeDataset = model.objective.labelled(data)
    return found


def _compare(model: TrainedModel, options: argparse.Namespace) -> int:
    from dgltree.training.against import Contender, compare

    old = TrainedModel.load(options.against, options.device or "cpu", options.cell)
    new, before = (
        Contender(each, Path(folder), _labelled(each, options))
        for each, folder in ((model, options.model), (old, options.against))
    )
    report_bad(options.file, new.data.bad, options.strict)
    found = compare(new, before)
    if options.json:
        print(write_json(found.to_json()))
        return 0
    print(
        f"{options.file}: {found.examples:,} of {found.of:,} examples, which were used to train or select neither model"
    )
    print(found)
    return 0


def _say(found: "Evaluation", left_out: int, options: argparse.Namespace, refused: int | None = None) -> int:
    """Print the metrics; the exit code. A cluster counts what is refused with all that is left out: None."""
    if options.json:
        of_them = {} if refused is None else {"refused": refused}
        metrics: dict[str, Any] = {**found.metrics, **found.probabilities}
        if found.by_class:
            metrics["by_class"] = [row._asdict() for row in found.by_class]
        if found.confusion is not None:
            metrics["confusion"] = {"classes": found.names, "labels_in_rows": found.confusion.tolist()}
        print(write_json({"examples": found.examples, "left_out": left_out, **of_them, **metrics}))
        return 0
    print(f"{found}, {left_out} left out")
    if refused:
        from dgltree.training.comparison import with_refused

        print(with_refused(options.file, found, refused))
    print(found.shown_classes(), end="")
    if found.confusion is not None:
        print(found.shown_confusions(), end="")
    return 0


def _on_ray(name: str, options: argparse.Namespace) -> int:
    from dgltree import scale

    given: dict[str, Any] = {"cell": options.cell, **read_given(options)}
    job: scale.Encode | scale.Predict
    if name == "encode":
        job = scale.Encode(options.model, nodes=options.nodes, **given)
    else:
        job = {"predict": scale.Predict, "evaluate": scale.Evaluate}[name](options.model, **given)
    found = answer_on_ray(job, options.file, options, options.device)
    return say_rows(found, options) if found.evaluation is None else _say(found.evaluation, found.left_out, options)

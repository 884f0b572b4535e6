"""``dgltree predict``, ``encode`` and ``evaluate``: a trained model on files of trees."""

import argparse
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

import torch
from torch import Tensor
from tqdm import tqdm

from dgltree.commands.main import COMMANDS
from dgltree.commands.options import option_parser
from dgltree.commands.reading import add_reading, given_reading
from dgltree.commands.usage import stopwatch
from dgltree.datasets.formats import Bad, open_format
from dgltree.datasets.formats.format import in_order
from dgltree.datasets.from_file import FEW
from dgltree.datasets.ids import Ids
from dgltree.datasets.labels import with_labels
from dgltree.datasets.parallel import parts
from dgltree.datasets.parse import Part
from dgltree.datasets.reading import Reading
from dgltree.datasets.tree_dataset import TreeDataset
from dgltree.datasets.vectors import writer_for
from dgltree.read.json_text import write_json
from dgltree.read.text import shown
from dgltree.training import threads
from dgltree.training.trained import MOST_NODES, TrainedModel

EXAMPLES = {
    "predict": """\
examples:
  dgltree predict runs/trees new.tsv > answers.tsv
  cat trees.txt | dgltree predict runs/trees -

Prints a table with one line for each record, in order: its id (or its line number), the prediction, and for classes
the probability of each. A record that cannot be read gets a line without a prediction, and a message on the standard
error.
""",
    "encode": """\
examples:
  dgltree encode runs/trees new.tsv --out vectors.npy
  dgltree encode runs/trees new.tsv --out vectors.parquet --nodes

A .npy file has one row for each tree (two for a pair), filled with NaN where the tree cannot be read. A .parquet file
has the line and the id beside each vector, and with --nodes a row for each node.
""",
    "evaluate": """\
examples:
  dgltree evaluate runs/trees test.tsv --label class
""",
}


def run(name: str, arguments: list[str]) -> int:
    """Run one of the commands; the exit code is 1 where a record could not be read."""
    options = _parse(name, arguments)
    model = TrainedModel.load(options.model, options.device, options.cell)
    command = {"predict": _predict, "encode": _encode, "evaluate": _evaluate}[name]
    width = int(model.model.encoder.config["hidden_size"])
    with threads.limited(options.threads or threads.worth(MOST_NODES, width)):
        return command(model, options)


def _parse(name: str, arguments: list[str]) -> argparse.Namespace:
    parser = option_parser(name, f"{COMMANDS[name][1].capitalize()}.", EXAMPLES[name], "MODEL FILE [options]")
    parser.add_argument("model", metavar="MODEL", help="the folder that 'dgltree fit --out' wrote")
    parser.add_argument(
        "file", metavar="FILE", help="the trees, in any format that fit reads; - reads the standard input"
    )
    parser.add_argument(
        "--device", default="cpu", choices=("cpu", "cuda"), help="compute on the CPU or on a GPU (default: cpu)"
    )
    parser.add_argument("--cell", metavar="FILE.py:CLASS", help="your own cell, where the model was trained with one")
    parser.add_argument(
        "--threads",
        type=int,
        metavar="N",
        help="use this many CPU threads (default: one, or all cores if the model is large enough to gain by it)",
    )
    parser.add_argument("--strict", action="store_true", help="stop at a record that cannot be read")
    if name == "encode":
        parser.add_argument(
            "--out", required=True, metavar="FILE", help="write the vectors to this .npy or .parquet file"
        )
        parser.add_argument("--nodes", action="store_true", help="write a vector for each node (.parquet alone)")
    if name == "evaluate":
        parser.add_argument("--json", action="store_true", help="print the metrics as a JSON object")
    add_reading(parser)
    options = parser.parse_args(arguments)
    if options.device == "cuda" and not torch.cuda.is_available():
        raise ValueError("--device cuda: this torch sees no CUDA device")
    return options


class Block(NamedTuple):
    """Some records: the examples that the model can read, in its vocabulary, and what else there is."""

    known: TreeDataset | None
    bad: list[Bad]
    order: list[int]
    """Of the known examples, followed by the bad ones, in the order of the file."""


class _BadRecords:
    """Says the first few on the standard error, and how many there are; with ``strict`` the first is an error."""

    def __init__(self, file: str, strict: bool) -> None:
        self.file, self.strict, self.count = file, strict, 0

    def __call__(self, bad: Sequence[Bad]) -> None:
        for each in in_order(bad):
            text = each.at(self.file)
            if self.strict:
                raise ValueError(text)
            self.count += 1
            if self.count <= FEW:
                print(f"dgltree: {text}", file=sys.stderr)

    def close(self) -> None:
        """To be called behind the last record."""
        if self.count > FEW:
            print(f"dgltree: {self.file}: {self.count - FEW} more could not be read", file=sys.stderr)


def report_bad(file: str, bad: Sequence[Bad], strict: bool = False) -> None:
    """Say what could not be read of a whole file."""
    report = _BadRecords(file, strict)
    report(bad)
    report.close()


def _blocks(model: TrainedModel, options: argparse.Namespace) -> Iterator[Block]:
    """The records of a file or stream, some at a time, in the order of the file."""
    reading = replace(model.reading, **given_reading(options))
    file = open_format(options.file, reading).with_notation()
    report = _BadRecords(options.file, options.strict)
    ids = Ids()
    with tqdm(unit="record", unit_scale=True, delay=1, disable=None) as bar:
        for part in parts(file):
            block = _block(model, part, reading, ids)
            report(block.bad)
            yield block
            bar.update(len(block.order))
    report.close()


def _block(model: TrainedModel, part: Part, reading: Reading, ids: Ids) -> Block:
    readable, unreadable = ([i for i, could in enumerate(part.could) if could is kind] for kind in (True, False))
    if part.trees is None:
        return Block(None, part.bad, list(range(len(part.bad))))
    data = TreeDataset.of_part(part, reading)
    model.check_kind(data)
    known, unknown = data.known(model.model.encoder.vocabulary)
    wrong = {i: data.bad_at(i, message) for i, message in unknown.items()}
    repeated = ids.repeated(data.ids, data.lines, data.files)
    if repeated and known is not None:
        rows = [i for i in range(len(data)) if i not in wrong]
        fresh = [place for place, i in enumerate(rows) if i not in repeated]
        known = known.select(fresh) if fresh else None
    wrong = dict(sorted((wrong | repeated).items()))
    places = [readable[i] for i in (*(i for i in range(len(data)) if i not in wrong), *wrong)] + unreadable
    return Block(known, [*wrong.values(), *part.bad], sorted(range(len(places)), key=places.__getitem__))


def _predict(model: TrainedModel, options: argparse.Namespace) -> int:
    title = "\t".join(["id", "prediction", *map(shown, model.classes)])
    failed = records = 0
    say = stopwatch()
    for block in _blocks(model, options):
        lines = _answers(model, block)
        lines = lines if records else [title, *lines]  # nothing is printed of a file that cannot be opened
        failed, records = failed + len(block.bad), records + len(block.order)
        sys.stdout.write("".join(line + "\n" for line in lines))
    say(records, "records")
    return 1 if failed else 0


def _answers(model: TrainedModel, block: Block) -> list[str]:
    """One line an example, and one without an answer for what is bad."""
    lines = []
    if block.known is not None:
        names = [name or str(line) for name, line in zip(block.known.ids, block.known.lines, strict=True)]
        predictions = _predictions(model, model.predict(block.known))
        lines = [f"{name}\t{prediction}" for name, prediction in zip(names, predictions, strict=True)]
    nothing = "\t" * (1 + len(model.classes))
    lines += [f"{bad.name}{nothing}" for bad in block.bad]
    return [lines[i] for i in block.order]


def _predictions(model: TrainedModel, answers: Tensor) -> list[str]:
    if model.gives_numbers:
        return [f"{number:.6g}" for number in answers.tolist()]
    classes = [shown(name) for name in model.classes]
    names = [classes[i] for i in answers.argmax(1).tolist()]
    return ["\t".join([name, *map("{:.6f}".format, row)]) for name, row in zip(names, answers.tolist(), strict=True)]


def _encode(model: TrainedModel, options: argparse.Namespace) -> int:
    failed = count = 0
    encode = model.node_vectors if options.nodes else model.encode
    width = int(model.model.encoder.config["hidden_size"])
    with writer_for(options.out, options.nodes, width, model.each) as write:
        for block in _blocks(model, options):
            vectors = torch.empty(0, width) if block.known is None else encode(block.known)
            write(block.known, vectors, block.order)
            failed, count = failed + len(block.bad), count + len(vectors)
    print(f"{options.out}: {count} vectors" + (f", and {failed} that could not be read" if failed else ""))
    return 1 if failed else 0


def _evaluate(model: TrainedModel, options: argparse.Namespace) -> int:
    from dgltree.training.evaluation import evaluate

    reading = replace(model.reading, **given_reading(options))
    data = TreeDataset.from_file(options.file, cached=False, progress=True, named=False, **reading.to_json())
    known = with_labels(model.dataset(data), model.gives_numbers)
    report_bad(options.file, known.bad, options.strict)
    found = evaluate(model, known)
    if options.json:
        print(write_json({"examples": found.examples, "left_out": len(known.bad), **found.metrics}))
        return 0
    print(f"{found}, {len(known.bad)} left out")
    if found.confusion is not None:
        print(found.confusion_table(), end="")
    return 0

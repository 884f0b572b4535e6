"""``dgltree predict``, ``encode`` and ``evaluate``: a trained model on files of trees."""

import argparse
import json
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import torch
from tqdm import tqdm

from dgltree.commands.reading import add_reading, given_reading
from dgltree.commands.usage import stopwatch
from dgltree.dataset.from_file import FEW, with_notation
from dgltree.dataset.parallel import default_workers, parts
from dgltree.dataset.parse import Bad
from dgltree.dataset.sources import STDIN, open_source
from dgltree.dataset.tree_dataset import TreeDataset
from dgltree.dataset.vectors import writer_for
from dgltree.trained import TrainedModel

EXAMPLES = {
    "predict": """\
examples:
  dgltree predict runs/trees new.tsv > answers.tsv
  cat trees.txt | dgltree predict runs/trees -

One line for each record, in order, below a line of names: the answer, then of classes the probability of each. A record
that cannot be read gets a line without an answer, and is reported on the standard error.
""",
    "encode": """\
examples:
  dgltree encode runs/trees new.tsv --out vectors.npy
  dgltree encode runs/trees new.tsv --out vectors.parquet --nodes

A .npy file has one row a tree (two for a pair), of NaN where the tree cannot be read; a .parquet file has the line and
the id beside each vector, and with --nodes a row for each node.
""",
    "evaluate": """\
examples:
  dgltree evaluate runs/trees test.tsv --label class
""",
}


def run(name: str, arguments: list[str]) -> int:
    """Run one of the commands; the exit code is 1 where a record could not be read."""
    options = _parse(name, arguments)
    model = TrainedModel.load(options.model, options.device)
    return {"predict": _predict, "encode": _encode, "evaluate": _evaluate}[name](model, options)


def _parse(name: str, arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog=f"dgltree {name}",
        epilog=EXAMPLES[name],
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("model", metavar="MODEL", help="the folder that 'dgltree fit --out' wrote")
    parser.add_argument("file", metavar="FILE", help="trees, in any format that fit reads; - reads the standard input")
    parser.add_argument("--device", default="cpu", choices=("cpu", "cuda"), help="where to compute (default: cpu)")
    parser.add_argument("--strict", action="store_true", help="stop at a record that cannot be read")
    if name == "encode":
        parser.add_argument("--out", required=True, metavar="FILE", help="a .npy or .parquet file")
        parser.add_argument("--nodes", action="store_true", help="a vector for each node (.parquet)")
    if name == "evaluate":
        parser.add_argument("--json", action="store_true", help="the figures as one JSON object")
    add_reading(parser)
    options = parser.parse_args(arguments)
    if options.device == "cuda" and not torch.cuda.is_available():
        parser.error("--device cuda: this torch sees no CUDA device")
    return options


class Block(NamedTuple):
    """The records of a chunk: those that the model can read, in its vocabulary, and the others."""

    first: int
    records: int
    known: TreeDataset | None
    bad: list[Bad]


def _blocks(model: TrainedModel, options: argparse.Namespace) -> Iterator[Block]:
    """The records of a file or stream, block after block, each in the order of the file."""
    reading = replace(model.reading, **given_reading(options))
    source = with_notation(open_source(options.file, reading))
    large = options.file == STDIN or Path(options.file).is_dir() or Path(options.file).stat().st_size > 1 << 20
    first, reported = source.header + 1, 0
    with tqdm(unit="record", unit_scale=True, delay=1, disable=None) as bar:
        for part in parts(source, default_workers() if large else 0):
            known = None if part.trees is None else model.dataset(TreeDataset.of_part(part, reading))
            bad = part.bad if known is None else known.bad
            for line, message in bad:
                if options.strict:
                    raise ValueError(f"{options.file}, line {line}: {message}")
                reported += 1
                if reported <= FEW:
                    print(f"dgltree: {options.file}, line {line}: {message}", file=sys.stderr)
            yield Block(first, part.records, known if known is not None and len(known) else None, bad)
            first += part.records
            bar.update(part.records)
    if reported > FEW:
        print(f"dgltree: {options.file}: {reported - FEW} more could not be read", file=sys.stderr)


def _predict(model: TrainedModel, options: argparse.Namespace) -> int:
    print("\t".join(["prediction", *model.classes]))
    failed = records = 0
    say = stopwatch()
    for block in _blocks(model, options):
        lines = _answers(model, block)
        failed, records = failed + len(block.bad), records + block.records
        sys.stdout.write("".join(line + "\n" for line in lines))
    say(records, "records")
    return 1 if failed else 0


def _answers(model: TrainedModel, block: Block) -> list[str]:
    """One line a record; of a source file with several trees one a tree."""
    empty = "\t" * len(model.classes)
    rows = [(bad.line, empty) for bad in block.bad]
    if block.known is not None:
        answers = model.predict(block.known)
        if model.gives_numbers:
            texts = [f"{number:.6g}" for number in answers.tolist()]
        else:
            names = [model.classes[i] for i in answers.argmax(1).tolist()]
            rows_of = zip(names, answers.tolist(), strict=True)
            texts = ["\t".join([name, *map("{:.6f}".format, row)]) for name, row in rows_of]
        rows += zip(block.known.lines, texts, strict=True)
    return [text for _, text in sorted(rows, key=lambda row: row[0])]


def _encode(model: TrainedModel, options: argparse.Namespace) -> int:
    failed = count = 0
    encode, width = (
        model.node_vectors if options.nodes else model.encode,
        int(model.model.encoder.config["hidden_size"]),
    )
    with writer_for(options.out, options.nodes, width) as write:
        for block in _blocks(model, options):
            vectors = torch.empty(0, width) if block.known is None else encode(block.known)
            write(block.known, vectors, block.bad * model.each)
            failed, count = failed + len(block.bad), count + len(vectors)
    print(f"{options.out}: {count} vectors" + (f", and {failed} that could not be read" if failed else ""))
    return 1 if failed else 0


def _evaluate(model: TrainedModel, options: argparse.Namespace) -> int:
    from dgltree.evaluate import evaluate

    reading = replace(model.reading, **given_reading(options))
    data = TreeDataset.from_file(options.file, strict=options.strict, progress=True, **reading.to_json())
    known = model.dataset(data)
    for line, message in known.bad[:FEW]:
        print(f"dgltree: {options.file}, line {line}: {message}", file=sys.stderr)
    found = evaluate(model, known)
    if options.json:
        print(json.dumps({"examples": found.examples, "left_out": len(known.bad), **found.metrics}))
        return 0
    print(f"{found}, {len(known.bad)} left out")
    if found.confusion is not None:
        print(found.confusion_table(), end="")
    return 0

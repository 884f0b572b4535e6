"""``dgltree explain``: which subtrees decide a model's predictions."""

import argparse
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dgltree.commands.main import COMMANDS
from dgltree.commands.options import STDIN, check_cell, check_output_file, option_parser
from dgltree.commands.reading_options import add_reading, read_given
from dgltree.datasets.formats import FORMATS
from dgltree.datasets.formats.source import kind_of
from dgltree.datasets.settings import Reading
from dgltree.read.json_schema import Schema
from dgltree.read.json_text import write_json
from dgltree.read.leaf_values import date_text
from dgltree.read.text import WIDTH, brief, one_line
from dgltree.training.model_files import check_answers
from dgltree.trees.tree import Tree, name_of

if TYPE_CHECKING:
    from dgltree.training.explaining import ColumnEffect, Effect, Explanation
    from dgltree.training.trained_model import TrainedModel

EXAMPLES = """\
examples:
  dgltree explain runs/trees "(add x (mul y z))"
  dgltree explain runs/trees "(add x (mul y z))" --picture explained.svg
  dgltree explain runs/trees new.tsv --first 3 --json > effects.jsonl

The command replaces each subtree in turn by an unknown leaf. The effect of a subtree is the drop in the probability of
the predicted class, in percentage points, or in the predicted number. The command lists the subtrees whose removal
changes the log-odds of the class (or the number) most, and marks their ranks on the tree. A subtree comes last if a
smaller subtree inside it accounts for half of its effect.
"""
INDENT = "  "
NEEDS = ("dgltree.training.trained_model",)
Namer = Callable[[Tree], str]
"""How a node is shown."""


def prepare(_: str, arguments: list[str]) -> argparse.Namespace:
    """The options. Raises ``FileNotFoundError`` and ``ValueError``."""
    options = _parse(arguments)
    Reading(**read_given(options))
    check_answers(options.model)
    check_cell(options.cell)
    check_output_file(options.picture)
    is_file(options.trees)
    return options


def run(_: str, options: argparse.Namespace) -> int:
    """Run the command; the exit code is 1 if a record could not be read."""
    from dgltree.training import cpu_threads
    from dgltree.training.trained_model import MOST_NODES, TrainedModel

    model = TrainedModel.load(options.model, cell=options.cell)
    names, examples, failed = _examples(model, options)
    if options.picture and len(names) > 1:
        raise ValueError(f"--picture draws one tree, but the input has {len(names)}; give --first 1")
    with cpu_threads.computing(model.model.encoder, None, MOST_NODES):
        explained = model.explain(examples)
    namer = namer_of(model)
    for place, (name, found) in enumerate(zip(names, explained, strict=True)):
        if options.json:
            print(write_json(_record(name, found, model, options.top, namer)))
        else:
            print(("\n" if place else "") + _text(name, found, model, options.top, namer))
    if options.picture:
        _draw(explained[0], model, Path(options.picture))
    return 1 if failed else 0


def _parse(arguments: list[str]) -> argparse.Namespace:
    parser = option_parser(
        "explain", f"{COMMANDS['explain'][1].capitalize()}.", EXAMPLES, "MODEL (TREE | FILE) [options]"
    )
    parser.add_argument("model", metavar="MODEL", help="the folder that 'dgltree fit --out' wrote")
    parser.add_argument(
        "trees",
        metavar="TREE",
        help="a tree, written as in the training file, or a file of trees in any format that fit reads",
    )
    parser.add_argument(
        "--first", type=int, default=5, metavar="N", help="explain the first N trees of a file (default: 5)"
    )
    parser.add_argument("--top", type=int, default=5, metavar="N", help="list N subtrees of each tree (default: 5)")
    parser.add_argument("--json", action="store_true", help="print a JSON object for each tree, one per line")
    parser.add_argument("--picture", metavar="FILE", help="draw the tree with its effects to this .svg or .png file")
    parser.add_argument("--cell", metavar="FILE.py:CLASS", help="your own cell, if the model was trained with one")
    add_reading(parser)
    options = parser.parse_args(arguments)
    for name in ("first", "top"):
        if getattr(options, name) < 1:
            parser.error(f"--{name} is {getattr(options, name)}; it must be 1 or more")
    if options.picture and Path(options.picture).suffix.lower() not in (".svg", ".png"):
        parser.error(f"--picture {options.picture}: pictures are written as .svg or .png")
    return options


def _examples(model: "TrainedModel", options: argparse.Namespace) -> tuple[list[str], Any, int]:
    """The names of the examples, the examples, and how many could not be read."""
    text = options.trees
    if not is_file(text):
        if model.each == 2:
            raise ValueError(f"{text!r:.80}: found a single tree, but the model reads pairs; give a file of pairs")
        return [one_line(text, WIDTH)], [text], 0
    from dgltree.commands.reports import report_bad
    from dgltree.datasets.tree_dataset import TreeDataset

    reading = model.reading.but(**read_given(options))
    data = TreeDataset.from_file(text, cached=False, progress=True, named=False, **reading.to_json())
    known = model.dataset(data)
    report_bad(text, known.bad)
    some = known.select(range(min(options.first, len(known))))
    return [some.ids[i] or some.bad_at(i, "").name for i in range(len(some))], some, len(known.bad)


def is_file(text: str) -> bool:
    """Whether a file is meant; one that is missing is seen by its suffix, because a lone word may be a tree, too."""
    try:
        if text == STDIN or Path(text).exists():
            return True
    except (OSError, ValueError):  # a long text, or one with a NUL
        return False
    if not any(letter in text for letter in "()[]{} \n") and any(kind_of(text) in each.suffixes for each in FORMATS):
        raise FileNotFoundError(f"{text}: no such file")
    return False


def _record(name: str, found: "Explanation", model: "TrainedModel", top: int, namer: Namer) -> dict[str, Any]:
    probability = {"probability": found.support} if model.classes else {}
    return {
        "tree": name,
        "prediction": found.prediction,
        **probability,
        "effects": [
            {
                **({"side": each.side} if model.each == 2 else {}),
                "node": each.node,
                "effect": each.effect,
                **({"log_odds": each.evidence} if model.classes else {}),
                **({} if namer is name_of else {"path": each.tree.function}),
                "subtree": _brief(each.tree, namer),
            }
            for each in found.ranked[:top]
        ],
        **({"columns": [_of_column(each, model) for each in found.columns]} if found.columns else {}),
    }


def _of_column(each: "ColumnEffect", model: "TrainedModel") -> dict[str, Any]:
    log_odds = {"log_odds": each.evidence} if model.classes else {}
    return {"column": each.name, "value": each.value, "effect": each.effect, **log_odds}


def _brief(tree: Tree, namer: Namer) -> str:
    """A subtree as one line: of a document its root."""
    return brief(tree) if namer is name_of else namer(tree)


def _text(name: str, found: "Explanation", model: "TrainedModel", top: int, namer: Namer) -> str:
    listed = found.ranked[:top]
    what = "points\tlog-odds" if model.classes else "effect"
    lines = [f"{name}: {_answer(found, model)}", "", f"rank\t{what}\tsubtree"]
    for i, each in enumerate(listed):
        log_odds = f"\t{each.evidence:+.2f}" if model.classes else ""
        lines.append(f"{i + 1}\t{_number(each, model)}{log_odds}\t{one_line(_brief(each.tree, namer), WIDTH)}")
    if found.columns:
        lines += ["", f"{what}\tcolumn"]
    for column in sorted(found.columns, key=lambda each: -abs(each.evidence)):
        log_odds = f"\t{column.evidence:+.2f}" if model.classes else ""
        value = "missing" if column.value is None else f"= {column.value}"
        lines.append(f"{_number(column, model)}{log_odds}\t{one_line(f'{column.name} {value}', WIDTH)}")
    return "\n".join([*lines, *_drawn(found, model, listed, namer)])


def _drawn(found: "Explanation", model: "TrainedModel", listed: "Sequence[Effect]", namer: Namer) -> list[str]:
    """A line for each node, below its parent, with its effect and its rank; an empty line before each tree."""
    ranks = {(each.side, each.node): f"[{i + 1}]" for i, each in enumerate(listed)}
    effects = {(each.side, each.node): _number(each, model) for each in found.effects}
    lines = []
    for side, tree in enumerate(found.trees):
        lines.append("")
        stack = [(tree, 0)]
        node = 0
        while stack:
            part, depth = stack.pop()
            stack.extend((child, depth + 1) for child in reversed(part.children))
            effect = effects.get((side, node), "")
            rank = ranks.get((side, node), "")
            lines.append(f"{effect:>9} {rank:>4} {INDENT * depth}{one_line(namer(part), WIDTH)}")
            node += 1
    return lines


def namer_of(model: "TrainedModel") -> Namer:
    """How nodes are shown: those of a document with their paths, and dates as dates."""
    if not isinstance(model.reading.schema, dict):
        return name_of
    schema = Schema.from_json(model.reading.schema)

    def name(node: Tree) -> str:
        if node.token is None and node.value is None:
            return node.function
        place = schema.paths.get(node.function)
        text = node.token
        if node.value is not None:
            is_date = place is not None and "date" in place.kinds and "number" not in place.kinds
            text = date_text(node.value) if is_date else f"{node.value:g}"
        return f"{node.function} = {text}"

    return name


def _answer(found: "Explanation", model: "TrainedModel") -> str:
    if not model.classes:
        return f"{found.support:.6g}"
    return f"{one_line(str(found.prediction))}, probability {found.support:.6f}"


def _number(each: "Effect | ColumnEffect", model: "TrainedModel") -> str:
    return f"{100 * each.effect:+.1f}" if model.classes else f"{each.effect:+.4g}"


def _draw(found: "Explanation", model: "TrainedModel", file: Path) -> None:
    from dgltree.plotting import charts
    from dgltree.plotting.trees import coloured

    if len(found.trees) == 2:
        raise ValueError("--picture draws a single tree, but the model reads pairs")
    values: list[float | None] = [None, *(each.effect for each in found.effects)]
    charts.save_as(coloured(found.trees[0], values, _answer(found, model)), file)

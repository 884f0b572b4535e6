"""``dgltree export``: a model as an ONNX graph, which runs without Python."""

import argparse

from dgltree.commands.main import COMMANDS
from dgltree.commands.options import check_cell, check_output_folder, option_parser
from dgltree.training.model_files import check_answers

EXAMPLES = """\
examples:
  dgltree export runs/trees build/trees

The command writes model.onnx, which ONNX Runtime runs in any language, and reading.json, which describes how a tree
becomes the inputs of the graph (docs/howto/export.md). The graph computes the same predictions as predict. A baseline
cannot be exported: train with dgltree fit --no-baseline, or give --network-only.
"""
NEEDS = ("dgltree.training.trained_model", "onnx")


def prepare(_: str, arguments: list[str]) -> argparse.Namespace:
    """The options. Raises ``FileNotFoundError``, ``NotADirectoryError`` and ``ValueError``."""
    parser = option_parser("export", f"{COMMANDS['export'][1].capitalize()}.", EXAMPLES, "MODEL OUT [options]")
    parser.add_argument("model", metavar="MODEL", help="the folder that 'dgltree fit --out' wrote")
    parser.add_argument("out", metavar="OUT", help="write the graph to this folder")
    parser.add_argument("--cell", metavar="FILE.py:CLASS", help="your own cell, if the model was trained with one")
    parser.add_argument(
        "--network-only",
        action="store_true",
        help="leave out the baseline; the predictions then differ from those of predict",
    )
    options = parser.parse_args(arguments)
    check_answers(options.model)
    check_cell(options.cell)
    check_output_folder(options.out)
    return options


def run(_: str, options: argparse.Namespace) -> int:
    """Run the command; the exit code."""
    from dgltree.exporting.export import export
    from dgltree.training.trained_model import TrainedModel

    model = TrainedModel.load(options.model, cell=options.cell)
    exported = export(model, options.out, network_only=options.network_only)
    size = exported.path.stat().st_size
    print(
        f"the graph is in {exported.path} ({size:,} bytes), and the rules for reading trees are in "
        f"{exported.path.parent}/reading.json"
    )
    return 0

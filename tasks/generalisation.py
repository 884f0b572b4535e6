"""``python -m tasks.generalisation``: accuracy beyond the lengths and depths of training.

``generalisation.tsv`` has one line for each network and test: the accuracy in %, its deviation over seeds, the hours of
a training, the published accuracy, and the page that has the commands and the settings. ``--runs OUT --task TASK``
replaces lines by the results of a folder of ``tasks.compare``. The command prints the table of docs/results.md.
"""

import argparse
import csv
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from dgltree.support.files import replacing
from dgltree.training.folder import CARD, read_epochs
from tasks.fit_cli import read_results
from tasks.tables import Spread, table

EVIDENCE = Path(__file__).with_suffix(".tsv")
TESTS = {
    "lookup_forward": "lookup, 9 and 10 functions (5)",
    "lookup_backward": "the same, backward",
    "arithmetic": "arithmetic, depth 8 and 9 (6)",
    "listops_length": "ListOps, 900 to 1,000 words (100)",
    "listops_arguments": "ListOps, up to 15 arguments (5)",
    "logic": "logic, 12 operators (6)",
    "equations": "equations, depth 8 to 19 (7)",
}
"""Test to its heading, with the most that training has in brackets."""
KEYS = {"lookup": ("lookup_{variant}", "longer"), "arithmetic": ("arithmetic", "deeper")}
"""Task to the name of its test and the metric of it; ``tasks.compare`` calls the folder of the trainings a variant."""
NETWORKS = {
    "tree_rnn": "Tree-RNN, given trees",
    "tree_lstm": "Tree-LSTM, given trees",
    "tree_smu": "Tree-SMU, given trees",
    "tree_cell": "Tree Cell, given trees",
    "grc": "GRC, given trees",
    "efficient_beam_tree": "Efficient Beam Tree",
    "beam_tree": "Beam Tree",
    "ordered_memory": "Ordered Memory",
    "gumbel_tree": "Gumbel Tree-LSTM",
    "on_lstm": "ON-LSTM",
    "lstm": "LSTM",
    "transformer": "Transformer",
    "universal_transformer": "Universal Transformer",
    "tree_transformer": "Tree Transformer",
    "neural_data_router": "Neural Data Router",
}


class EvidenceLine(NamedTuple):
    """A line of the evidence; what is not known is an empty text."""

    test: str
    network: str
    accuracy: str
    deviation: str
    seeds: str
    hours: str
    published: str
    page: str

    @property
    def text(self) -> str:
        """Write ``78.0±0.1 (79.6), 0.3 h``; what was published alone in brackets."""
        deviation = f"±{self.deviation}" if self.deviation else ""
        published = f" ({self.published})" if self.published else ""
        if not self.accuracy:
            return published.strip()
        seeds = f", {self.seeds} seeds" if int(self.seeds) > 1 else ""
        hours = f", {self.hours} h" if self.hours else ""
        return f"{self.accuracy}{deviation}{published}{seeds}{hours}"


def read_lines() -> list[EvidenceLine]:
    """The evidence."""
    with EVIDENCE.open(encoding="utf-8", newline="") as file:
        return [EvidenceLine(**row) for row in csv.DictReader(file, delimiter="\t")]


def write_lines(lines: Iterable[EvidenceLine]) -> None:
    """Put the evidence in its place, in the order of the table."""
    ordered = sorted(lines, key=lambda line: (list(TESTS).index(line.test), list(NETWORKS).index(line.network)))
    with replacing(EVIDENCE) as beside, beside.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, delimiter="\t", lineterminator="\n")
        writer.writerows([EvidenceLine._fields, *ordered])


def lines_of(task: str, out: Path) -> list[EvidenceLine]:
    """The lines of the finished trainings in a folder of ``tasks.compare``, one for all seeds of a network."""
    name, metric = KEYS[task]
    runs: dict[tuple[str, str], list[Path]] = {}
    for card in sorted(out.glob(f"*/*-*/{CARD}")):
        network, _, _ = card.parent.name.rpartition("-")
        test = name.format(variant=card.parent.parent.name)
        runs.setdefault((test, network), []).append(card.parent)
    return [_line(test, network, folders, metric, task) for (test, network), folders in runs.items()]


def _line(test: str, network: str, folders: Sequence[Path], metric: str, task: str) -> EvidenceLine:
    spread = Spread.over([100 * read_results(folder)[metric] for folder in folders])
    seconds = [row["seconds"] for folder in folders for row in read_epochs(folder)]
    return EvidenceLine(
        test,
        network,
        f"{spread.mean:.1f}",
        "" if spread.deviation is None else f"{spread.deviation:.1f}",
        str(spread.seeds),
        f"{sum(seconds) / 3600 / len(folders):.2g}",
        "",
        f"tasks/{task}/README.md#results",
    )


def merge(before: Sequence[EvidenceLine], new: Sequence[EvidenceLine]) -> list[EvidenceLine]:
    """New lines in place of those of the same test and network, whose published accuracy stays."""
    published = {(line.test, line.network): line.published for line in before}
    replaced = {(line.test, line.network) for line in new}
    kept = [line for line in before if (line.test, line.network) not in replaced]
    return kept + [line._replace(published=published.get((line.test, line.network), "")) for line in new]


def render(lines: Sequence[EvidenceLine]) -> list[str]:
    """The table, in Markdown; a network without a line has no row."""
    cells = {(line.network, line.test): line.text for line in lines}
    there = [network for network in NETWORKS if any(line.network == network for line in lines)]
    body = [[NETWORKS[network], *(cells.get((network, test), "") for test in TESTS)] for network in there]
    return table(["network", *TESTS.values()], body)


def main(arguments: list[str] | None = None) -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(prog="python -m tasks.generalisation", description=__doc__)
    parser.add_argument("--runs", type=Path, metavar="OUT", help="reuse these training runs of tasks.compare")
    parser.add_argument("--task", choices=KEYS, help="the task of these training runs")
    options = parser.parse_args(arguments)
    if (options.runs is None) != (options.task is None):
        parser.error("--runs and --task go together")
    if options.runs is not None:
        found = lines_of(options.task, options.runs)
        if not found:
            parser.error(f"{options.runs} has no finished training (OUT/VARIANT/MODEL-SEED/{CARD})")
        write_lines(merge(read_lines(), found))
    print("\n".join(render(read_lines())))


if __name__ == "__main__":
    main()

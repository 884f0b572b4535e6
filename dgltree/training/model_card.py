"""What a training was: beside the weights, for people and for programs."""

import hashlib
import platform
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import torch

from dgltree.datasets.tree_dataset import TreeDataset
from dgltree.read.text import shown
from dgltree.training.evaluation import Evaluation
from dgltree.training.options import FitOptions
from dgltree.training.trained_model import TrainedModel

MARKUP = re.compile(r"[\\`*_{}\[\]<>()#|!~&$]")
BASELINE = "a linear model of the counts of nodes and of parent-child pairs"
PACKAGES = ("dgltree", "torch", "lightning", "numpy")


def digest_of(splits: dict[str, TreeDataset]) -> str:
    """sha256 of all trees, labels and ids, by their splits and in their order."""
    digest = hashlib.sha256()
    for name, data in splits.items():
        digest.update(f"{name} {data.own_vocabulary.to_json()} ".encode())
        for block in data.blocks():
            digest.update(f"{list(block.labels)} {list(block.ids)}".encode())
            trees = block.trees
            for tensor in (trees.function, trees.token, trees.child_ptr, trees.child_index, trees.label, trees.value):
                digest.update(b"none" if tensor is None else tensor.numpy().data)
    return digest.hexdigest()


def card(
    trained: TrainedModel,
    options: FitOptions,
    splits: dict[str, TreeDataset],
    left_out: dict[str, int],
    evaluations: dict[str, Evaluation],
    beside: dict[str, Evaluation],
    digest: str,
    command: str,
    seconds: float,
) -> dict[str, Any]:
    """The card as JSON; ``beside`` has the metrics of the baseline."""
    vocabulary = trained.model.encoder.vocabulary
    return {
        "made": datetime.now(UTC).isoformat(timespec="seconds"),
        "command": command,
        "task": options.task,
        "classes": list(trained.classes),
        "metrics": {name: {"examples": found.examples, **found.metrics} for name, found in evaluations.items()},
        "baseline": {name: found.metrics for name, found in beside.items()},
        "data": {
            "sha256": digest,
            "examples": {name: len(data) for name, data in splits.items()},
            "left out": left_out,
        },
        "vocabulary": {"functions": len(vocabulary.functions), "tokens": len(vocabulary.tokens)},
        "weights": sum(parameter.numel() for parameter in trained.model.parameters()),
        "seconds": round(seconds, 1),
        "options": options.to_json(),
        "reading": trained.reading.to_json(),
        "versions": {"python": platform.python_version(), **_versions()},
    }


def _versions() -> dict[str, str]:
    found = {}
    for package in PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:  # run from a checkout that was not installed
            found[package] = "not installed"
    return found | {"torch": torch.__version__}


def markdown(card: dict[str, Any]) -> str:
    """The card for people."""
    names = list(next(iter(card["metrics"].values())))
    lines = [
        f"# A {card['options']['encoder']} model: {card['task']}",
        "",
        f"Made {card['made']} by {_code(card['command'])} in {card['seconds']} s of training.",
        "",
        f"| split | {' | '.join(names)} |",
        f"| --- |{' ---: |' * len(names)}",
        *(f"| {split} | {' | '.join(f'{found[name]:.4g}' for name in names)} |" for split, found in _rows(card)),
        "",
        *([f"- Baseline: {BASELINE}"] if card["baseline"] else []),
        f"- Classes: {', '.join(map(_escaped, card['classes']))}"
        if card["classes"]
        else "- Gives numbers, in the unit of the labels.",
        f"- Data: sha256 {card['data']['sha256']}; examples: {_listed(card['data']['examples'])}; left out: "
        f"{_listed(card['data']['left out'])}",
        f"- Vocabulary: {card['vocabulary']['functions']} functions, {card['vocabulary']['tokens']} tokens",
        f"- Weights: {card['weights']:,}",
        f"- Options: {_listed(card['options'])}",
        f"- Reading: {_listed(card['reading'])}",
        f"- Versions: {_listed(card['versions'])}",
    ]
    return "\n".join(lines) + "\n"


def _rows(card: dict[str, Any]) -> Iterator[tuple[str, dict[str, float]]]:
    """The metrics of each split, and below them those of the baseline."""
    for split, found in card["metrics"].items():
        yield split, found
        if split in card["baseline"]:
            yield f"{split}, baseline", {"examples": found["examples"], **card["baseline"][split]}


def _listed(values: dict[str, Any]) -> str:
    return ", ".join(f"{name} {_escaped(str(value))}" for name, value in values.items() if value is not None)


def _escaped(text: str) -> str:
    """A text as Markdown that is shown as it is: a class may be called ``<b>`` or ``*``."""
    return MARKUP.sub(r"\\\g<0>", shown(text))


def _code(text: str) -> str:
    """The same as code, in as many backticks as the text has none of."""
    text = shown(text, longest=10_000)
    fence = "`" * (1 + max(map(len, re.findall("`+", text)), default=0))
    return f"{fence} {text} {fence}" if "`" in text else f"`{text}`"

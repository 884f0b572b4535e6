"""The card of a training, for people and for programs."""

import platform
import re
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import torch

from dgltree.read.text import one_line
from dgltree.support.durations import in_seconds
from dgltree.training.comparison import Compared
from dgltree.training.deciding import Decision
from dgltree.training.objectives import Classes
from dgltree.training.trained_model import TrainedModel

MARKUP = re.compile(r"[\\`*_{}\[\]<>()#|!~&$]")
MAX_LISTED_CLASSES = 100
NAMES = {
    "average": "model",
    "network": "network",
    "baseline": "baseline",
    "difference": "model - baseline",
}
"""Names of intervals, for people."""
PACKAGES = ("dgltree", "torch", "lightning", "numpy")


def card(
    decision: Decision,
    trained: TrainedModel,
    compared: Compared,
    command: str,
    epochs: list[dict[str, Any]],
) -> dict[str, Any]:
    """The card as JSON."""
    vocabulary = trained.model.encoder.vocabulary
    average = trained.average
    crossed = decision.crossed
    return {
        "made": datetime.now(UTC).isoformat(timespec="seconds"),
        "command": command,
        "task": decision.options.task,
        "classes": list(trained.classes),
        "metrics": {name: {"examples": found.examples, **found.metrics} for name, found in compared.used.items()},
        "network": _metrics(compared, "network"),
        "baseline": _metrics(compared, "baseline"),
        "average": None if average is None else {"baseline": average.baseline.what, "weight": average.weight},
        "cross-fitting": None if crossed is None else {"epochs": crossed.epochs, "loss": crossed.loss},
        "intervals": {"metric": trained.objective.monitored, **compared.intervals, "difference": compared.differences},
        "tested": compared.tested,
        "probabilities": {name: found.probabilities for name, found in compared.used.items() if found.probabilities},
        "by class": {
            name: [row._asdict() for row in found.by_class] for name, found in compared.used.items() if found.by_class
        },
        "threshold": _threshold(trained),
        "data": {
            "sha256": decision.digest,
            "examples": {name: len(data) for name, data in decision.splits.items()},
            "left out": decision.left_out,
        },
        "vocabulary": {"functions": len(vocabulary.functions), "tokens": len(vocabulary.tokens)},
        "weights": sum(parameter.numel() for parameter in trained.model.parameters()),
        "seconds": round(sum(epoch["seconds"] for epoch in epochs), 6),
        "options": decision.options.to_json(),
        "reading": trained.reading.to_json(),
        "versions": {"python": platform.python_version(), **_versions()},
    }


def _class_names(names: Sequence[str]) -> str:
    """The first ``MAX_LISTED_CLASSES``, and how many more there are; the JSON of the card has all."""
    more = f" and {len(names) - MAX_LISTED_CLASSES:,} more" if len(names) > MAX_LISTED_CLASSES else ""
    return ", ".join(map(_escaped, names[:MAX_LISTED_CLASSES])) + more


def _threshold(trained: TrainedModel) -> dict[str, Any] | None:
    threshold = trained.objective.threshold if isinstance(trained.objective, Classes) else None
    return None if threshold is None else threshold.to_json(trained.classes)


def _metrics(compared: Compared, who: str) -> dict[str, dict[str, float]]:
    return {name: found.metrics for name, found in compared.metrics.get(who, {}).items()}


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
        f"Trained on {card['made']} by {_code(card['command'])} in {in_seconds(card['seconds'])} s.",
        "",
        f"| split | {' | '.join(names)} |",
        f"| --- |{' ---: |' * len(names)}",
        *(f"| {split} | {' | '.join(f'{found[name]:.4g}' for name in names)} |" for split, found in _rows(card)),
        "",
        f"- 95 % of bootstrap resamples, {card['intervals']['metric']}: {'; '.join(_intervals(card))}",
        *(f"- Warning: {_escaped(line)}" for line in card["warnings"]),
        *_intervals_of_tests(card),
        *_probabilities(card),
        *_calibration(card),
        *_average(card),
        f"- Classes: {_class_names(card['classes'])}"
        if card["classes"]
        else "- Predicts numbers, in the unit of the labels.",
        f"- Data: sha256 {card['data']['sha256']}; examples: {_listed(card['data']['examples'])}; left out: "
        f"{_listed(card['data']['left out'])}",
        f"- Vocabulary: {card['vocabulary']['functions']} functions, {card['vocabulary']['tokens']} tokens",
        f"- Weights: {card['weights']:,}",
        f"- Options: {_listed(card['options'])}",
        f"- Reading: {_listed({**card['reading'], 'schema': _paths(card['reading']['schema'])})}",
        f"- Versions: {_listed(card['versions'])}",
        *_classes(card),
    ]
    return "\n".join(lines) + "\n"


def _rows(card: dict[str, Any]) -> Iterator[tuple[str, dict[str, float]]]:
    """The metrics of each split, and where there is a baseline those of the network alone and of the baseline."""
    for split, found in card["metrics"].items():
        yield split, found
        for who in ("network", "baseline") if card["average"] else ():
            yield f"{split}, {who}", {"examples": found["examples"], **card[who][split]}


def _intervals_of_tests(card: dict[str, Any]) -> Iterator[str]:
    for split, of in card["tested"].items():
        each = "; ".join(f"{name} {low:.4g} to {high:.4g}" for name, (low, high) in of.items())
        yield f"- 95 % of bootstrap resamples of {split}, model: {each}"


def _calibration(card: dict[str, Any]) -> Iterator[str]:
    """The log loss and calibration error of the network by split, before and after its temperature divided it."""
    if found := card.get("calibration"):
        yield f"- Temperature of the network: {found['temperature']:.3g}, chosen in validation"
        for split, before in found["before"].items():
            after = found["after"][split]
            errors = f"calibration error {before['calibration_error']:.4g} to {after['calibration_error']:.4g}"
            losses = f"log loss {before['log_loss']:.4g} to {after['log_loss']:.4g}"
            yield f"- The network before and after it, {split}: {losses}, {errors}"


def _probabilities(card: dict[str, Any]) -> Iterator[str]:
    """The log loss and the like of each split, and the threshold."""
    for split, of in card["probabilities"].items():
        yield f"- Probabilities, {split}: {', '.join(f'{name} {value:.4g}' for name, value in of.items())}"
    if card["threshold"]:
        name = _escaped(card["threshold"]["class"])
        number = card["threshold"]["probability"]
        yield f"- Threshold: {name} is predicted if its probability is at least {number:.4g}"


def _classes(card: dict[str, Any]) -> Iterator[str]:
    """The metrics by class of the last split, a test if there is one."""
    for split, rows in list(card["by class"].items())[-1:]:
        yield from (
            "",
            f"| class, {split} | precision | recall | F1 | examples |",
            "| --- | ---: | ---: | ---: | ---: |",
        )
        for row in rows:
            numbers = " | ".join(f"{row[name]:.4g}" for name in ("precision", "recall", "f1"))
            yield f"| {_escaped(row['name'])} | {numbers} | {row['support']} |"


def _average(card: dict[str, Any]) -> list[str]:
    """The kind of baseline, and how much of it is in the answers."""
    average = card["average"]
    if not average:
        return []
    chosen = "" if card["options"].get("baseline") == "fast" else ", chosen by cross-validation on the training set"
    return [
        f"- Baseline: {average['baseline']}{chosen}",
        f"- Predictions: {average['weight']:.0%} network + {1 - average['weight']:.0%} baseline, chosen by the loss "
        f"in {'cross-fitting' if card['cross-fitting'] else 'validation'}",
    ]


def _intervals(card: dict[str, Any]) -> Iterator[str]:
    found = card["intervals"]
    for split in card["metrics"]:
        for who in ("average", "network", "baseline", "difference"):
            if split in found.get(who, {}):
                low, high = found[who][split]
                yield f"{split}, {NAMES[who]} {low:.4g} to {high:.4g}"


def _paths(schema: dict[str, Any] | None) -> str | None:
    """How many paths a schema has; the JSON of the card has all."""
    return None if schema is None else f"of {len(schema['paths']):,} paths"


def _listed(values: dict[str, Any]) -> str:
    return ", ".join(f"{name} {_escaped(str(value))}" for name, value in values.items() if value is not None)


def _escaped(text: str) -> str:
    """A text as Markdown that is shown as it is: a class may be called ``<b>`` or ``*``."""
    return MARKUP.sub(r"\\\g<0>", one_line(text))


def _code(text: str) -> str:
    """Return the text as code, in as many backticks as the text has none of."""
    text = one_line(text, longest=10_000)
    fence = "`" * (1 + max(map(len, re.findall("`+", text)), default=0))
    return f"{fence} {text} {fence}" if "`" in text else f"`{text}`"

"""``python -m benchmarks.sets.objects``: drawn JSON objects of mixed scales and rare classes.

    python -m benchmarks.sets.objects --out RUNS

Prints two tables in Markdown. The first compares the network alone, the model and the baseline on targets that need
quantities of different scales. The second compares recall and F1 of a rare class with class-weighted peers.
"""

import argparse
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import average_precision_score, precision_recall_fscore_support

from dgltree import TreeDataset, fit
from dgltree.datasets import split
from dgltree.training.baseline.baseline import Columns, logs

NUM_OBJECTS, SEEDS = 1500, (0, 1, 2)
RARE = {"4 %": (0.04, 3000), "1 %": (0.01, 8000)}


def mixed(seed: int) -> tuple[list[str], dict[str, list[str]]]:
    """Objects with five quantities from 1e-6 to 1e12, and labels that need them."""
    rng = np.random.default_rng(seed)
    objects: list[dict[str, Any]] = [
        {
            "created": int(1.6e9 + rng.integers(0, 10**8)),
            "age": int(rng.integers(18, 90)),
            "tiny": float(f"{1e-6 * rng.lognormal():.6g}"),
            "amount": float(f"{1e9 * rng.lognormal():.6g}"),
            "at": [float(f"{48.25 + 0.5 * rng.normal():.6f}"), float(f"{11.5 + 0.5 * rng.normal():.6f}")],
        }
        for _ in range(NUM_OBJECTS)
    ]

    def standard(values: list[Any]) -> np.ndarray:
        array = np.array(values, float)
        found: np.ndarray = (array - array.mean()) / array.std()
        return found

    created, age = standard([each["created"] for each in objects]), standard([each["age"] for each in objects])
    tiny = standard(np.log([each["tiny"] for each in objects]).tolist())
    amount = standard(np.log([each["amount"] for each in objects]).tolist())
    labels = {
        "latitude above 48.25": ["north" if each["at"][0] > 48.25 else "south" for each in objects],
        "created after the middle": ["new" if each["created"] > 1.65e9 else "old" for each in objects],
        "created + tiny · age + amount": [f"{value:.5f}" for value in created + tiny * age + amount],
        "Unix time 1.7e9 + 100 · age": [str(int(1.7e9 + 100 * each["age"])) for each in objects],
    }
    return [json.dumps(each) for each in objects], labels


def rare(seed: int, share: float, count: int) -> Iterator[tuple[str, str]]:
    """Payments, of which a share is of a class that kind, country and amount make likely and none of them sure."""
    rng = np.random.default_rng(seed)
    for _ in range(count):
        is_rare = rng.random() < share
        kind = rng.choice(["card", "cash", "wire"], p=[0.2, 0.2, 0.6] if is_rare else [0.45, 0.45, 0.1])
        country = rng.choice(list("ABCDEFGH"), p=[0.05] * 6 + [0.3, 0.4] if is_rare else [0.15] * 6 + [0.05, 0.05])
        amount = rng.lognormal(1.5 if is_rare else 0.0) * 100
        prices = [round(float(rng.lognormal() * 10), 2) for _ in range(rng.integers(1, 4))]
        items = [{"sku": str(rng.choice(list("pqrs"))), "price": price} for price in prices]
        pay = {"kind": str(kind), "country": str(country)}
        yield (
            json.dumps({"pay": pay, "amount": round(float(amount), 2), "items": items}),
            "rare" if is_rare else "usual",
        )


def main(arguments: list[str] | None = None) -> int:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.sets.objects", description=__doc__.split("\n\n")[0])
    parser.add_argument(
        "--out", type=Path, required=True, help="the folder of the training runs; finished runs are not repeated"
    )
    out = parser.parse_args(arguments).out
    print("\n".join([*_mixed_table(out), "", *_rare_table(out)]))
    return 0


def _mixed_table(out: Path) -> list[str]:
    lines = ["| label | metric | network alone | model | baseline |", "| --- | --- | ---: | ---: | ---: |"]
    for k, name in enumerate(mixed(0)[1]):
        found: dict[str, list[float]] = {"network": [], "metrics": [], "baseline": []}
        for seed in SEEDS:
            texts, labels = mixed(seed)
            card = _trained(list(zip(texts, labels[name], strict=True)), out / f"mixed-{k}-{seed}")
            metric = "r2" if card["task"] == "regress" else "accuracy"
            for who, values in found.items():
                values.append(card[who]["test"][metric])
        cells = [f"{np.mean(of):.3f} ({', '.join(f'{value:.3f}' for value in of)})" for of in found.values()]
        lines.append(f"| {name} | {metric} | {' | '.join(cells)} |")
    return lines


def _rare_table(out: Path) -> list[str]:
    lines = [
        "| rare | model | recall | precision | F1 | average precision |",
        "| --- | --- | ---: | ---: | ---: | ---: |",
    ]
    for name, (share, count) in RARE.items():
        rows: dict[str, list[tuple[float, ...]]] = {}
        for seed in SEEDS:
            records = list(rare(seed, share, count))
            for options in ({}, {"class_weights": "balanced"}, {"threshold": "rare=f1"}):
                given = "".join(f" --{key.replace('_', '-')} {value}" for key, value in options.items())
                called = f"`dgltree fit{given}`"
                card = _trained(records, out / f"rare-{share}-{seed}-{'-'.join(options)}", **options)
                [own] = [row for row in card["by class"]["test"] if row["name"] == "rare"]
                precision = card["probabilities"]["test"]["average_precision"]
                rows.setdefault(called, []).append((own["recall"], own["precision"], own["f1"], precision))
            for called, values in _peers(records).items():
                rows.setdefault(called, []).append(values)
        for called, each in rows.items():
            cells = " | ".join(f"{value:.3f}" for value in np.mean(each, axis=0))
            lines.append(f"| {name} | {called} | {cells} |")
    return lines


def _trained(records: list[tuple[str, str]], folder: Path, **options: Any) -> dict[str, Any]:
    if not (folder / "card.json").exists():
        fit(TreeDataset.from_iterable(records, notation="json_object"), out=folder, **options)
    card: dict[str, Any] = json.loads((folder / "card.json").read_text(encoding="utf-8"))
    return card


def _peers(records: list[tuple[str, str]]) -> dict[str, tuple[float, ...]]:
    """Class-weighted models of scikit-learn on the counts that the baseline has, on the split that ``fit`` makes."""
    parts = split(TreeDataset.from_iterable(records, notation="json_object"), 0)
    columns = Columns.of(parts["train"])
    counts = {name: columns(part) for name, part in parts.items()}
    labels = {name: np.array(part.labels) == "rare" for name, part in parts.items()}
    found = {}
    linear = LogisticRegression(class_weight="balanced", max_iter=1000).fit(logs(counts["train"]), labels["train"])
    answers = linear.predict_proba(logs(counts["test"]))[:, 1]
    found["class-weighted logistic regression of counts"] = _measured(answers, labels["test"])
    widest = np.argsort(-counts["train"].getnnz(axis=0), kind="stable")[:256]
    trees = HistGradientBoostingClassifier(class_weight="balanced", random_state=0)
    trees.fit(counts["train"][:, widest].toarray(), labels["train"])
    answers = trees.predict_proba(counts["test"][:, widest].toarray())[:, 1]
    found["class-weighted boosted trees of counts"] = _measured(answers, labels["test"])
    return found


def _measured(answers: np.ndarray, labels: np.ndarray) -> tuple[float, ...]:
    precision, recall, f1, _ = precision_recall_fscore_support(
        labels, answers >= 0.5, average="binary", zero_division=0
    )
    return float(recall), float(precision), float(f1), float(average_precision_score(labels, answers))


if __name__ == "__main__":
    raise SystemExit(main())

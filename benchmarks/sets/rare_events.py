"""Measure how well probabilities rank new events if few events are positive, by seed.

``python -m benchmarks.sets.rare_events [--count 500] [--share 0.1] [--seeds 5] [--baseline]``
"""

import argparse
from typing import Any

import numpy as np
from sklearn.metrics import roc_auc_score

import dgltree
from dgltree.datasets import Reading, TreeDataset
from dgltree.datasets.objects import read_objects, with_notation

COUNTRIES = ("DE", "FR", "PL", "US", "BR")
DEVICES, KINDS = ("phone", "browser", "terminal"), ("card", "transfer", "cash")


def draw_events(count: int, share: float, seed: int) -> tuple[list[dict[str, Any]], list[str]]:
    """Events as JSON has them, and ``fraud`` for the share with the highest risk, ``ok`` for the others.

    Risk is the sum of a device, a foreign country, an age and the hops of a route, and a logistic error.
    """
    random = np.random.default_rng(seed)
    events, risks = [], np.empty(count)
    for i in range(count):
        home, place = random.choice(COUNTRIES, 2, p=[0.4, 0.3, 0.1, 0.1, 0.1]).tolist()
        device, kind = str(random.choice(DEVICES)), str(random.choice(KINDS))
        hops = [str(hop) for hop in random.choice(["bank", "shop", "proxy"], random.integers(1, 5), p=[0.4, 0.4, 0.2])]
        days = int(random.exponential(200))
        events.append(
            {
                "event": {"kind": kind, "device": device, "place": place},
                "account": {"home": home, "days": days},
                "route": [{"hop": hop} for hop in hops],
            }
        )
        risk = 1.5 * (device == "browser") + 1.5 * (home != place) + 1.5 * hops.count("proxy") + 1.5 * (days < 60)
        risks[i] = risk + random.logistic()
    positive = risks >= np.quantile(risks, 1 - share)
    return events, ["fraud" if each else "ok" for each in positive.tolist()]


def data_of(events: list[dict[str, Any]], labels: list[str]) -> TreeDataset:
    """The events as JSON documents."""
    reading = with_notation(events, Reading(missing=""))
    return TreeDataset(read_objects(events, reading), labels, reading=reading)


def auc(model: dgltree.TrainedModel, seed: int, share: float, count: int = 2000) -> float:
    """The area under the ROC curve of a model's probabilities of fraud, on events that it has not seen."""
    events, labels = draw_events(count, share, 1000 + seed)
    positive = np.array(labels) == "fraud"
    answers = model.answers_to(events)[:, list(model.classes).index("fraud")]
    return float(roc_auc_score(positive, answers.numpy()))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=500)
    parser.add_argument("--share", type=float, default=0.1)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--baseline", action="store_true", help="average with the baseline, as by default")
    options = parser.parse_args()
    found = []
    for seed in range(options.seeds):
        data = data_of(*draw_events(options.count, options.share, seed))
        model = dgltree.fit(data, seed=seed, baseline=options.baseline)
        found.append(auc(model, seed, options.share))
        print(f"AUC, seed {seed}: {found[-1]:.4f} ({model.summary})", flush=True)
    print(f"AUC, mean: {np.mean(found):.4f}")


if __name__ == "__main__":
    main()

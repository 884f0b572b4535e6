"""The drawn objects of ``python -m benchmarks.sets.objects``, and its tables on few of them."""

import json
from pathlib import Path

import numpy as np
import pytest

from benchmarks.sets import objects


def test_labels_follow_from_the_quantities_and_draws_from_the_seed() -> None:
    texts, labels = objects.mixed(0)
    drawn = [json.loads(text) for text in texts]
    assert objects.mixed(0) == (texts, labels) != objects.mixed(1)
    for each, north, new, unix in zip(
        drawn, *(labels[name] for name in list(labels) if "tiny" not in name), strict=True
    ):
        assert north == ("north" if each["at"][0] > 48.25 else "south")
        assert new == ("new" if each["created"] > 1_650_000_000 else "old")
        assert int(unix) == 1_700_000_000 + 100 * each["age"]
    assert min(each["tiny"] for each in drawn) < 1e-6 < 1e9 < max(each["amount"] for each in drawn)
    values = np.array(labels["created + tiny · age + amount"], float)
    columns = {key: np.array([each[key] for each in drawn], float) for key in ("created", "age", "tiny", "amount")}
    columns |= {key: np.log(columns[key]) for key in ("tiny", "amount")}
    z = {key: (of - of.mean()) / of.std() for key, of in columns.items()}
    np.testing.assert_allclose(values, z["created"] + z["tiny"] * z["age"] + z["amount"], atol=1e-5)


def test_the_rare_class_has_its_share() -> None:
    labels = [label for _, label in objects.rare(0, 0.04, 5000)]
    assert labels.count("rare") / 5000 == pytest.approx(0.04, abs=0.01)
    assert list(objects.rare(0, 0.04, 5)) == list(objects.rare(0, 0.04, 5000))[:5]


@pytest.mark.slow
def test_the_tables_have_a_row_for_each_label_and_model(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(objects, "NUM_OBJECTS", 240)
    monkeypatch.setattr(objects, "SEEDS", (0,))
    monkeypatch.setattr(objects, "RARE", {"20 %": (0.2, 400)})
    for _ in range(2):  # the second time nothing is trained
        assert objects.main(["--out", str(tmp_path)]) == 0
        rows = [line for line in capsys.readouterr().out.splitlines() if line.startswith("| ")]
    assert len(rows) == 2 + 4 + 2 + 5
    assert [row.split(" | ")[1] for row in rows[-5:]] == [
        "`dgltree fit`",
        "`dgltree fit --class-weights balanced`",
        "`dgltree fit --threshold rare=f1`",
        "class-weighted logistic regression of counts",
        "class-weighted boosted trees of counts",
    ]

"""Trainings whose numbers are of several scales: what is read, kept, answered and said of them."""

import json
import math
import re
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import dgltree
from dgltree import TrainedModel, TreeDataset
from dgltree.batching.number_scales import NORMAL, NumberScales
from dgltree.commands.main import main
from dgltree.models.readouts import NumberReadout
from dgltree.read.leaf_values import moment
from dgltree.training.baseline.baseline import Columns
from dgltree.training.encoder_choice import choose_encoder
from dgltree.training.objectives.numbers import number_text
from dgltree.training.options import FitOptions

QUICK: dict[str, Any] = {"baseline": "fast", "hidden_size": 8, "epochs": 3, "lr": 0.01}


def orders(count: int, seed: int = 0, **more: Any) -> list[str]:
    """JSON objects of a Unix time, an amount, a position and perhaps what else is given."""
    rng = np.random.default_rng(seed)
    return [
        json.dumps(
            {
                "created": int(1.7e9 + rng.integers(0, 10**7)),
                "amount": float(f"{1e-6 * rng.lognormal():.6g}"),
                "at": [float(f"{48.25 + 0.5 * rng.normal():.5f}"), float(f"{11 + rng.normal():.5f}")],
                **{key: value(rng) for key, value in more.items()},
            }
        )
        for _ in range(count)
    ]


def dataset(texts: list[str], label: Any) -> TreeDataset:
    return TreeDataset.from_iterable([(text, label(json.loads(text))) for text in texts], notation="json_object")


def north(order: dict[str, Any]) -> str:
    return "north" if order["at"][0] > 48.25 else "south"


@pytest.mark.slow
def test_a_latitude_next_to_an_amount_and_a_unix_time_is_learnt_by_the_network_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data = dataset(orders(1200), north)
    model = dgltree.fit(data, out=tmp_path, hidden_size=64, epochs=30, baseline="fast")
    card = json.loads((tmp_path / "card.json").read_text())
    assert card["network"]["test"]["accuracy"] > 0.93
    said = capsys.readouterr().err
    assert "numbers in 4 fields have their own scale: $.at[][0] (46" in said
    assert re.search(r"\$\.created \(times from 2023-11-1[45] to 2024-03-0\d\)", said)
    assert "ignores" not in said
    new = orders(50, seed=9)
    again = TrainedModel.load(tmp_path)
    torch.testing.assert_close(again.predict_proba(new), model.predict_proba(new))
    [explained] = again.explain(new[:1])
    effects = {effect.tree.function: abs(effect.evidence) for effect in explained.effects}
    assert len(explained.effects) == 5  # the two numbers of a place, too
    assert "$.at" in effects
    assert main(["explain", str(tmp_path), new[0]]) == 0


def test_the_baseline_has_a_column_for_each_place() -> None:
    data = dataset(orders(40), north).with_numbers()
    scales = NumberScales.of([data.trees])
    assert scales is not None
    plain, more = Columns.of(data), Columns.of(data, scales)
    added = more(data).toarray()[:, ~np.isin(more.codes, plain.codes)]
    values = np.array([[o["created"], o["amount"], *o["at"]] for o in map(json.loads, orders(40))])
    middle = np.median(values, axis=0)
    wanted = (values - middle) / (NORMAL * np.median(abs(values - middle), axis=0))
    order = [int(np.argmin(abs(added.T[:, None] - wanted.T[None]).max(2)[i])) for i in range(4)]
    assert sorted(order) == [0, 1, 2, 3]
    np.testing.assert_allclose(added, wanted[:, order], atol=1e-9)


@pytest.mark.slow
def test_labels_far_from_0_are_learnt_and_answered_in_64_bits(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    texts = orders(300, age=lambda rng: int(rng.integers(18, 90)))
    data = dataset(texts, lambda order: str(1_700_000_000 + order["age"]))  # all equal in 32 bits
    model = dgltree.fit(data, out=tmp_path, hidden_size=32, epochs=40, baseline="fast")
    card = json.loads((tmp_path / "card.json").read_text())
    assert card["network"]["test"]["r2"] > 0.9
    assert card["metrics"]["test"]["r2"] > 0.9
    answers = model.predict(texts[:5])
    assert answers.dtype == torch.float64
    ages = torch.tensor([json.loads(text)["age"] for text in texts[:5]])
    assert float((answers - 1_700_000_000 - ages).abs().max()) < 15
    torch.testing.assert_close(TrainedModel.load(tmp_path).predict(texts[:5]), answers)
    capsys.readouterr()
    (tmp_path / "new.jsonl").write_text("".join(json.dumps({"tree": text}) + "\n" for text in texts[:5]))
    assert main(["predict", str(tmp_path), str(tmp_path / "new.jsonl")]) == 0
    printed = [float(line.split("\t")[1]) for line in capsys.readouterr().out.splitlines()[1:]]
    assert printed == pytest.approx(answers.tolist(), abs=0.006)


@pytest.mark.parametrize(
    ("number", "text"),
    [(1000100.0, "1000100"), (1.7e9 + 128.25, "1700000128.25"), (-1234567.5, "-1234567.5"), (0.1234567, "0.123457"),
     (999999.4, "999999"), (1e300, "1e+300"), (0.0, "0"), (1e15, "1e+15")],
)  # fmt: skip
def test_numbers_are_printed_with_all_digits_before_the_point(number: float, text: str) -> None:
    assert number_text(number) == text


def test_dates_are_unix_times() -> None:
    zone = timezone(timedelta(hours=2))
    assert moment("2026-11-27") == datetime(2026, 11, 27, tzinfo=UTC).timestamp()
    assert moment("2026-11-27T15:04:05Z") == datetime(2026, 11, 27, 15, 4, 5, tzinfo=UTC).timestamp()
    assert moment("2026-11-27 15:04:05.25 +0200") == datetime(2026, 11, 27, 15, 4, 5, 250000, zone).timestamp()
    assert moment("1969-12-31") == -86400
    for text in ("2026-02-30", "20261127", "2026-11", "27.11.2026", "2026-11-27T25:00", "2026-11-27 tea", "", "x"):
        assert moment(text) is None


def test_dates_in_trees_are_read_where_numbers_are_and_the_model_keeps_that(tmp_path: Path) -> None:
    day = lambda rng: (datetime(2024, 1, 1, tzinfo=UTC) + timedelta(days=int(rng.integers(0, 900)))).date().isoformat()  # noqa: E731
    texts = orders(300, due=day)
    model = dgltree.fit(
        dataset(texts, lambda order: "late" if order["due"] > "2025-03-01" else "soon"), out=tmp_path, **QUICK
    )
    assert json.loads((tmp_path / "reading.json").read_text())["schema"]["paths"]["$.due"]["kind"] == "date"
    assert "$.due" in [place.name for place in model.model.encoder.vocabulary.scales.narrowest]
    first, second = (json.dumps({**json.loads(texts[0]), "due": due}) for due in ("2024-01-05", "2026-05-05"))
    assert not torch.equal(model.encode([first]), model.encode([second]))
    again = TrainedModel.load(tmp_path)
    torch.testing.assert_close(again.encode([first]), model.encode([first]))
    plain = choose_encoder(
        TreeDataset.from_iterable([(t, "a") for t in texts], notation="json_object", dates=False), FitOptions()
    )
    assert "$.due" not in [place.name for place in plain.vocabulary.scales.narrowest]  # type: ignore[union-attr]


def test_one_scale_for_all_can_still_be_had() -> None:
    data = dataset(orders(40), north)
    for given in ([0.0, 1.0], None):
        choice = choose_encoder(data, FitOptions(options={"number_scale": given}))
        assert choice.vocabulary.scales is None
        assert choice.options["number_scale"] == given


def test_texts_and_absences_among_numbers_are_seen(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    texts = []
    for text in orders(300):
        order, kind = json.loads(text), rng.integers(3)
        order["amount"] = (order["amount"], "unknown", None)[kind]
        texts.append(json.dumps(order))
    label = lambda order: {float: "number", str: "text"}.get(type(order.get("amount")), "none")  # noqa: E731
    model = dgltree.fit(dataset(texts, label), out=tmp_path, hidden_size=16, epochs=15, lr=0.01, baseline="fast")
    new = [json.dumps({**json.loads(texts[0]), "amount": value}) for value in (2e-6, "unknown", None)]
    assert [model.classes[i] for i in model.predict_proba(new).argmax(1)] == ["number", "text", "none"]


@pytest.mark.parametrize(
    "value", ["1e308", "-1e308", "0", "5e-324", '"inf"', '"nan"', '"twelve"', "null", "[]", "true"]
)
def test_whatever_is_at_the_place_of_a_number_gets_an_answer(
    value: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    model = fitted(tmp_path_factory)
    for key in ("created", "amount"):
        order = json.loads(orders(1)[0])
        text = json.dumps({**order, key: "HERE"}).replace('"HERE"', value)
        answers = model.predict_proba([text])
        assert bool(answers.isfinite().all())
        assert float(answers.sum()) == pytest.approx(1, abs=1e-5)


KEPT: list[TrainedModel] = []


def fitted(factory: pytest.TempPathFactory) -> TrainedModel:
    """One training for all values, with a place that has one number alone and one number that is huge."""
    if not KEPT:
        texts = orders(
            240, constant=lambda rng: 7, huge=lambda rng: 1e308 if rng.random() < 0.1 else float(rng.normal())
        )
        KEPT.append(dgltree.fit(dataset(texts, north), out=factory.mktemp("kept"), **QUICK))
        assert math.isfinite(float(KEPT[0].encode(texts).abs().max()))
    return KEPT[0]


def test_the_readout_keeps_its_centre_and_refuses_one_that_is_none() -> None:
    readout, states = NumberReadout(3), torch.randn(5, 3)
    plain = readout(states)
    readout.rescale(1.7e9, 100.0)
    torch.testing.assert_close(readout(states), 1.7e9 + 100 * plain.double(), rtol=0, atol=1e-6)
    readout.rescale(1.0, 2.0)
    again = NumberReadout(**readout.config)
    again.load_state_dict(readout.state_dict())
    torch.testing.assert_close(again(states), 1 + 2 * (1.7e9 + 100 * plain.double()), rtol=0, atol=1e-6)
    for centre in ([1.0], [1.0, math.inf], [math.nan, 1.0]):
        with pytest.raises(ValueError, match=r"centre is .*; it must be a mean and a standard deviation"):
            NumberReadout(3, centre=centre)


def test_numbers_and_dates_of_documents_can_be_read_as_texts() -> None:
    examples = [({"amount": 3.5 + i, "due": f"2026-11-{10 + i}"}, "a") for i in range(9)]
    assert TreeDataset.from_iterable(examples).has_numbers
    assert not TreeDataset.from_iterable(examples, numbers=False, dates=False).has_numbers

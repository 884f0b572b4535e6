"""The baseline next to every network, and the average of both."""

import json
import os
import random
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from hashlib import sha256
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from own_trees import QUIET, SMALL, rows_of, table, written

import dgltree
from dgltree import TrainedModel, Tree, TreeDataset
from dgltree.commands.main import main
from dgltree.read.sexpr import read_sexpr

pytest.importorskip("lightning", reason="the train extra is not installed")
pytest.importorskip("sklearn")

from scipy.sparse import csr_matrix
from sklearn.ensemble import (
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
)
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from skops.io import dumps, loads

from dgltree.models.label_scales import LabelScale
from dgltree.training.baseline import selection
from dgltree.training.baseline.average import DIGEST, TRUSTED, Average, check
from dgltree.training.baseline.baseline import Baseline, Columns, occurrences
from dgltree.training.baseline.forest import Forest
from dgltree.training.baseline.selection import MIN_EXAMPLES, DistinctColumns, choose
from dgltree.training.objectives import Classes, Numbers

pytestmark = QUIET
RNG = np.random.default_rng(0)
COUNTS = csr_matrix(RNG.poisson(1.0, (300, 7)).astype(float))
KINDS = ("linear", "boosted", "forest")
BOOSTING: dict[str, Any] = {"max_iter": 9, "max_leaf_nodes": 6, "random_state": 0}


def leaf(token: str) -> Tree:
    return Tree("w", token=token)


def drawn(rng: random.Random, depth: int) -> Tree:
    if depth == 0 or rng.random() < 0.3:
        return leaf(rng.choice(["a", "b", "long", "longer"]))
    return Tree(rng.choice("fg"), tuple(drawn(rng, depth - 1) for _ in range(rng.randrange(1, 4))))


def said_of(tree: Tree) -> Iterator[tuple[Any, ...]]:
    """What occurs in a tree, by names: slow and literal."""
    in_order: list[tuple[str, str | None]] = []

    def subtree(node: Tree, edges: int) -> Any:
        below = () if not edges else tuple(sorted(str(subtree(child, edges - 1)) for child in node.children))
        return node.function, node.token, below

    def visit(node: Tree, above: tuple[Tree, ...]) -> Iterator[tuple[Any, ...]]:
        symbol = (node.function, node.token)
        in_order.append(symbol)
        yield "function", node.function
        yield "symbol", symbol
        if node.token is not None:
            yield "token", node.token
            text = f"^{node.token}$"
            yield from (("part", text[i : i + 3]) for i in range(len(text) - 2) if len(node.token) >= 3)
        if above:
            yield "functions", above[-1].function, node.function
            yield "symbols", above[-1].function, above[-1].token, symbol
        if len(above) > 1:
            yield "three", above[-2].function, above[-1].function, symbol
        for first, second in pairwise(node.children):
            yield "siblings", first.function, first.token, second.function, second.token
        yield from (("subtree", edges, subtree(node, edges)) for edges in (1, 2))
        for child in node.children:
            yield from visit(child, (*above, node))

    yield from visit(tree, ())
    for length in (2, 3):
        yield from (("row", *in_order[i : i + length]) for i in range(len(in_order) - length + 1))


def test_counts_are_those_of_a_literal_count_by_names() -> None:
    rng = random.Random(0)
    trees = [drawn(rng, 4) for _ in range(40)]
    example, codes, _ = occurrences(TreeDataset(trees))
    ours, theirs = {}, {}
    for i, code in zip(example.tolist(), codes.tolist(), strict=True):
        ours.setdefault(code, Counter())[i] += 1
    for i, tree in enumerate(trees):
        for name in said_of(tree):
            theirs.setdefault(name, Counter())[i] += 1
    vectors = [sorted(tuple(sorted(counts.items())) for counts in found.values()) for found in (ours, theirs)]
    assert vectors[0] == vectors[1]


def test_codes_are_equal_in_every_file_and_vocabulary() -> None:
    rng = random.Random(1)
    trees = [drawn(rng, 3) for _ in range(30)]
    alone, among = TreeDataset(trees[:1]), TreeDataset([*trees[1:], trees[0]])
    moved = among.within(among.vocabulary(min_count=40, unk=True)).select([29])
    assert sorted(occurrences(alone)[1]) == sorted(occurrences(moved.as_read())[1])
    assert sorted(occurrences(alone)[1]) != sorted(occurrences(moved)[1])


def test_numbers_are_told_apart_by_two_digits() -> None:
    data = TreeDataset([leaf(text) for text in ("1.51", "1.52", "1.6", "-1.5", "15")]).with_numbers()
    example, codes, amounts = occurrences(data)
    found = [set(codes[(example == i) & (amounts == 1)]) for i in range(5)]
    assert found[0] == found[1]
    assert all(found[0] != other for other in found[2:])


def test_numbers_are_summed_by_their_place_by_the_function_above_them_and_by_both() -> None:
    texts = ["(f 1.5 (g 2.25 -4.0) a)", "(g 8.5 (f 0.25 3.0) 1e9)", "7.5", "(f (f (f (f (f (f (f (f (f 2.5)))))))))"]
    trees = [read_sexpr(text) for text in texts]
    example, codes, amounts = occurrences(TreeDataset(trees).with_numbers())
    ours: dict[int, dict[int, float]] = {}
    for i, code, amount in zip(example.tolist(), codes.tolist(), amounts.tolist(), strict=True):
        if amount != 1:
            of_code = ours.setdefault(code, {})
            of_code[i] = of_code.get(i, 0.0) + amount
    theirs = [
        {0: 1.5, 1: 8.5}, {0: 2.25, 1: 0.25}, {0: -4.0, 1: 3.0}, {1: 1e6}, {2: 7.5},  # by place; the last is too deep
        {0: 1.5, 1: 3.25, 3: 2.5}, {0: -1.75, 1: 8.5 + 1e6},  # under f, and under g
        {0: 1.5, 1: 0.25, 3: 2.5}, {1: 3.0}, {0: 2.25, 1: 8.5}, {0: -4.0}, {1: 1e6},  # by place under f, and under g
    ]  # fmt: skip
    assert sorted(map(sorted, (of.items() for of in ours.values()))) == sorted(
        map(sorted, (of.items() for of in theirs))
    )


def test_a_baseline_sees_the_values_of_numbers() -> None:
    rng = random.Random(3)
    pairs = [(round(rng.uniform(-4, 4), 2), round(rng.uniform(-4, 4), 2)) for _ in range(400)]
    trees = [read_sexpr(f"(sub {a} {b})") for a, b in pairs]
    data = TreeDataset(trees, [f"{a - b:.3f}" for a, b in pairs]).with_numbers()
    baseline = choose(data.select(range(300)), Numbers())
    test = data.select(range(300, 400))
    errors = baseline.answers(test).double() - torch.tensor([a - b for a, b in pairs[300:]])
    assert 1 - float(errors.square().mean()) / np.var([a - b for a, b in pairs[300:]]) > 0.9


def test_what_occurs_in_one_example_is_left_out() -> None:
    data = TreeDataset([Tree("f", (leaf("a"),)), Tree("f", (leaf("b"),))])
    assert Columns.of(data)(data).toarray().tolist() == [[1.0] * 4] * 2  # f, w, f as a symbol, and w in f


@pytest.mark.parametrize("classes", [2, 3, 0])
@pytest.mark.parametrize("linear", [True, False])
def test_a_baseline_computes_what_scikit_learn_does_and_never_answers_a_class_without_examples(
    classes: int, linear: bool
) -> None:
    rows = COUNTS.toarray()
    labels = rows[:, 0] * rows[:, 1] - rows[:, 2] + RNG.normal(size=300)
    if classes:
        labels = np.digitize(labels, [0.0, 1.5][: classes - 1]) + 1  # of classes 0 to 3 or 4 that are not all there
    objective = Classes(tuple("abcde")) if classes else Numbers()
    boosted = (HistGradientBoostingClassifier if classes else HistGradientBoostingRegressor)(**BOOSTING)
    theirs: Any = (LogisticRegression(max_iter=200) if classes else Ridge()) if linear else boosted
    given = np.log1p(rows) if linear else rows
    baseline = Baseline(Columns(np.arange(7, dtype=np.uint64)), theirs.fit(given, labels), linear, objective, "a test")
    found = objective.answers(torch.from_numpy(baseline.of(COUNTS)).view(-1, *objective.shape)).numpy()
    if classes:
        np.testing.assert_allclose(found[:, theirs.classes_], theirs.predict_proba(given), atol=1e-6)
        assert found[:, 0].max() < 1e-9
        cooler = torch.from_numpy(replace(baseline, temperature=2.0).of(COUNTS))
        torch.testing.assert_close(cooler, torch.from_numpy(baseline.of(COUNTS)) / 2)
    else:
        np.testing.assert_allclose(found, theirs.predict(given), atol=1e-5)


@pytest.mark.parametrize("numbers", [False, True])
def test_a_forest_answers_as_scikit_learns_does_also_at_its_thresholds(numbers: bool) -> None:
    """Thresholds are written in 32 bits: counts that are equal to one, and the next ones, go where they went."""
    rng = np.random.default_rng(1)
    rows = rng.choice(rng.normal(size=9), (400, 6)).astype(np.float32)
    labels = rows[:, 0] - rows[:, 1] if numbers else np.digitize(rows[:, 0] * rows[:, 1], [-0.3, 0.4]) * 2
    theirs = grown(numbers, n_estimators=9).fit(rows[:300], labels[:300])
    ours, columns = Forest.of(theirs)
    thresholds = np.unique(np.concatenate([tree.tree_.threshold for tree in theirs.estimators_]).astype(np.float32))
    edges = [thresholds, *(np.nextafter(thresholds, np.float32(to)) for to in (-np.inf, np.inf))]
    given = np.concatenate([rows, *(np.repeat(edge[:, None], 6, 1) for edge in edges)])
    if numbers:
        np.testing.assert_allclose(ours.predict(given[:, columns]), theirs.predict(given), rtol=1e-6, atol=1e-6)
    else:
        votes = (theirs.predict_proba(given) * 9 + 1 / 3) / 10
        np.testing.assert_allclose(np.exp(ours.decision_function(given[:, columns])), votes, atol=1e-6)


@pytest.mark.parametrize("kind", ["boosted", "forest"])
def test_answers_are_the_same_whatever_is_dense_at_a_time(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    average, data = averaged(kind)
    whole = average.baseline.answers(data)
    monkeypatch.setattr("dgltree.training.baseline.baseline.MAX_DENSE", 7 * average.baseline.columns.width)
    assert torch.equal(average.baseline.answers(data), whole)


def test_no_column_of_trees_is_another_ones_twin() -> None:
    rng = random.Random(0)
    trees = [drawn(rng, 3) for _ in range(60)]
    data = TreeDataset(trees)
    counts = Columns.of(data)(data)
    dense, distinct = counts.toarray().T, DistinctColumns.of(counts)
    assert len({column.tobytes() for column in dense}) == len(distinct.first) < 0.8 * len(dense)
    for place, column in zip(distinct.place, dense, strict=True):
        assert (dense[distinct.first[place]] == column).all() and (distinct.counts.toarray()[:, place] == column).all()
    assert distinct.twins.sum() == len(dense)


@pytest.mark.parametrize("numbers", [False, True])
def test_a_linear_model_of_distinct_columns_is_the_one_of_all_of_them(
    numbers: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(selection, "TOLERANCE", 1e-9)
    monkeypatch.setattr(selection, "STEPS", 1000)
    rng = random.Random(0)
    trees = [drawn(rng, 3) for _ in range(80)]
    sizes = [str(tree.size) if numbers else str(tree.size > 7) for tree in trees]
    data, objective = TreeDataset(trees, sizes), Numbers() if numbers else Classes(("False", "True"))
    baseline = choose(data, objective, fast=True)
    assert baseline.what == f"{'ridge' if numbers else 'logistic'} regression of counts (penalty 0.1)"
    rows = baseline.columns(data).log1p()
    scaled = rows / np.sqrt(rows.power(2).sum() / len(trees))
    labels = objective.targets(data.labels).numpy()
    theirs: Any = Ridge(0.1, solver="cholesky") if numbers else LogisticRegression(C=10, tol=1e-9, max_iter=1000)
    theirs.fit(scaled.toarray(), labels)
    given = (theirs.predict if numbers else theirs.decision_function)(scaled.toarray())
    answers = baseline.found(data).numpy()
    np.testing.assert_allclose(
        answers if numbers else answers[:, 1], given, atol=(1e-2 if numbers else 1e-4) * np.std(given)
    )


def bags() -> tuple[list[Tree], list[list[str]]]:
    rng = random.Random(0)
    drawn = [[rng.choice("ab") for _ in range(5)] for _ in range(300)]
    return [Tree("f", tuple(map(leaf, bag))) for bag in drawn], drawn


def test_it_finds_what_counts_can_say() -> None:
    trees, drawn = bags()
    classes = TreeDataset(trees, ["a" if bag.count("a") > 2 else "b" for bag in drawn])
    train, test = classes.select(range(200)), classes.select(range(200, 300))
    objective = Classes.of(train, nodes=False, class_weights=False)
    assert (
        objective.score(objective.predicted(choose(train, objective).answers(test)), objective.targets(test.labels))
        > 0.95
    )
    numbers = TreeDataset(trees, [bag.count("a") + 0.5 for bag in drawn])
    found = choose(numbers.select(range(200)), Numbers()).answers(numbers.select(range(200, 300)))
    assert Numbers().score(found, Numbers().targets(numbers.labels[200:])) > 0.9
    noise = TreeDataset(trees, [random.Random(i).choice("ab") for i in range(300)])
    test = noise.select(range(200, 300))
    found = choose(noise.select(range(200)), objective).answers(test)
    assert 0.3 < objective.score(objective.predicted(found), objective.targets(test.labels)) < 0.7


def test_the_two_trees_of_a_pair_are_counted_apart() -> None:
    rng = random.Random(0)
    pairs = [(leaf(rng.choice("ab")), leaf(rng.choice("ab"))) for _ in range(100)]
    data = TreeDataset(pairs, [left.token for left, _ in pairs])
    objective = Classes(("a", "b"))
    assert (
        objective.score(objective.predicted(choose(data, objective).answers(data)), objective.targets(data.labels)) == 1
    )


@pytest.mark.slow
def test_cross_validation_chooses_the_kind_by_the_training_set() -> None:
    rng = random.Random(0)
    drawn = [[rng.randrange(4) for _ in "abcd"] for _ in range(400)]
    words = [[word for word, count in zip("abcd", counts, strict=True) for _ in range(count)] for counts in drawn]
    trees = [Tree("f", [leaf(word) for word in rng.sample([*bag, "e"], len(bag) + 1)]) for bag in words]
    chosen = {}
    for name, labels in (
        ("either", [str((a > 1) != (b > 1)) for a, b, *_ in drawn]),
        ("sum", [str(2 * a + b > 4) for a, b, *_ in drawn]),
    ):
        chosen[name] = choose(TreeDataset(trees, labels), Classes(("False", "True"))).what
    assert chosen["either"] == "boosted trees of counts"
    small = TreeDataset(trees[:100], [str(a > 1) for a, *_ in drawn[:100]])
    assert choose(small, Classes(("False", "True"))).what.startswith("logistic regression of counts (penalty ")
    few = choose(small.select(range(MIN_EXAMPLES - 1)), Classes(("False", "True")))  # too few to choose by
    assert (few.what, few.estimator.C) == ("logistic regression of counts (penalty 0.1)", 10)


def averaged(kind: str = "linear", numbers: bool = False) -> tuple[Average, TreeDataset]:
    trees, drawn = bags()
    labels = [bag.count("a") + 0.5 if numbers else "ab"[bag.count("a") <= 2] for bag in drawn]
    data, objective = TreeDataset(trees, labels), Numbers() if numbers else Classes(("a", "b"))
    columns, targets = Columns.of(data), objective.targets(TreeDataset(trees, labels).labels).numpy()
    counts = columns(data)
    if kind == "linear":
        fitted: Any = (Ridge() if numbers else LogisticRegression()).fit(counts.log1p(), targets)
        fitted.coef_, fitted.intercept_ = (np.float64(np.float32(of)) for of in (fitted.coef_, fitted.intercept_))
    elif kind == "boosted":
        estimator: Any = HistGradientBoostingRegressor if numbers else HistGradientBoostingClassifier
        fitted = estimator(**BOOSTING).fit(counts.toarray(), targets)
    else:
        fitted, looked_at = Forest.of(grown(numbers).fit(counts, targets))
        columns = Columns(columns.codes[looked_at])
    return Average(Baseline(columns, fitted, kind == "linear", objective, "of a test"), 0.35), data


def grown(numbers: bool, **options: Any) -> Any:
    kind: Any = ExtraTreesRegressor if numbers else ExtraTreesClassifier
    return kind(**{"n_estimators": 5, "random_state": 0, **options})


@pytest.mark.parametrize("numbers", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_equal_averages_are_equal_files_whatever_the_time_and_the_addresses(
    kind: str, numbers: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, _ = averaged(kind, numbers)
    one.save(tmp_path / "one")
    now = time.time()
    monkeypatch.setattr(time, "time", lambda: now + 86_400)
    other, data = averaged(kind, numbers)
    other.save(tmp_path / "other")
    assert (tmp_path / "one").read_bytes() == (tmp_path / "other").read_bytes()
    again = Average.load(tmp_path / "one", one.baseline.objective)
    assert torch.equal(again.baseline.answers(data), one.baseline.answers(data))
    again.save(tmp_path / "again")
    assert torch.equal(
        Average.load(tmp_path / "again", one.baseline.objective).baseline.answers(data), one.baseline.answers(data)
    )
    replace(one, weight=0.4).save(tmp_path / "different")
    assert (tmp_path / "one").read_bytes() != (tmp_path / "different").read_bytes()


@pytest.mark.slow
def test_two_trainings_of_other_processes_leave_the_same_baseline(tmp_path: Path) -> None:
    path = written(tmp_path, "trees.tsv", table(160))
    fitted = []
    for seed in ("1", "2"):
        command = [
            sys.executable,
            "-m",
            "dgltree.commands.main",
            "fit",
            str(path),
            *SMALL,
            "--epochs",
            "1",
            "--no-cache",
        ]
        environment = {**os.environ, "PYTHONHASHSEED": seed}
        subprocess.run([*command, "--out", str(tmp_path / seed)], check=True, env=environment, capture_output=True)
        fitted.append((tmp_path / seed / "baseline.skops").read_bytes())
    assert fitted[0] == fitted[1]


def test_the_weight_is_the_one_with_the_smallest_loss() -> None:
    average, data = averaged()
    baseline, targets = average.baseline, average.baseline.objective.targets(data.labels)
    right = torch.nn.functional.one_hot(targets, 2).float()
    assert Average.best(baseline, right, baseline.answers(data), targets).weight == 1
    assert Average.best(baseline, 1 - right, baseline.answers(data), targets).weight == 0
    mixed = torch.where(torch.rand(300, 1, generator=torch.Generator().manual_seed(0)) < 0.9, right, 1 - right)
    mixed = mixed * 0.9 + 0.05
    cool = replace(baseline, temperature=20.0)
    found = Average.best(cool, mixed, cool.answers(data), targets)
    losses = {
        weight / 20: -(weight / 20 * mixed + (1 - weight / 20) * cool.answers(data))[right == 1].log().mean()
        for weight in range(21)
    }
    assert found.weight == min(losses, key=lambda weight: losses[weight])
    assert 0 < found.weight < 1
    mean, objective = found.weight * mixed + (1 - found.weight) * cool.answers(data), baseline.objective
    answers = found.of(mixed, cool.answers(data))
    assert found.temperature < 1, "the mean of two calibrated answers is less sure than it should be"
    torch.testing.assert_close(answers, (mean.log() / found.temperature).softmax(1))
    assert objective.answer_loss(answers, targets) < objective.answer_loss(mean, targets)


def test_the_temperature_of_the_mean_and_the_scale_of_numbers_are_kept(tmp_path: Path) -> None:
    average, data = averaged(numbers=True)
    scale = LabelScale.of("asinh", torch.tensor([0.5, 1.0, 2.0, 5.0, 9.0]))
    scaled = replace(average, baseline=replace(average.baseline, scale=scale), temperature=0.5)
    scaled.save(tmp_path / "baseline.skops")
    found = Average.load(tmp_path / "baseline.skops", Numbers())
    assert (found.temperature, found.baseline.scale) == (0.5, scale)
    torch.testing.assert_close(found.baseline.answers(data), scale.back(average.baseline.answers(data)))


@pytest.mark.parametrize("numbers", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_an_average_is_the_same_from_its_file_and_a_damaged_one_is_refused(
    kind: str, numbers: bool, tmp_path: Path
) -> None:
    average, data = averaged(kind, numbers)
    file, objective = tmp_path / "baseline.skops", average.baseline.objective
    average.save(file)
    found = Average.load(file, objective)
    assert (found.weight, found.baseline.what) == (0.35, "of a test")
    assert torch.equal(found.baseline.answers(data), average.baseline.answers(data))
    with pytest.raises(ValueError, match="its classes differ from the classes of the network"):
        Average.load(file, Classes(("a", "c")))
    content = bytearray(file.read_bytes())
    for place in (3, 2000, len(content) - 3):
        damaged = bytearray(content)
        damaged[place] ^= 1
        file.write_bytes(damaged)
        with pytest.raises(ValueError, match=r"baseline.skops: the contents do not match their hash"):
            Average.load(file, objective)


@pytest.mark.parametrize("kind", KINDS)
def test_whatever_a_file_with_a_right_hash_says_is_one_error(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    average, data = averaged(kind)
    file, objective = tmp_path / "baseline.skops", Classes(("a", "b"))
    average.save(file)
    said = loads(file.read_bytes()[DIGEST:], trusted=TRUSTED)
    wrong: list[Any] = [None, 7, "x", [], {}, -1.5, np.zeros(3), np.full((2, 2), np.nan), StandardScaler()]
    refused = 0
    files = [{**said, name: value} for name in said for value in wrong] + [{}, [], said["estimator"]]
    if kind == "forest":
        grown = said["estimator"]
        arrays = [array for array in grown.values() if isinstance(array, np.ndarray)]
        wrong += [np.full(array.shape, fill, array.dtype) for array in arrays for fill in (-1, 99)]
        files += [{**said, "estimator": {**grown, name: value}} for name in grown for value in wrong]
    for changed in files:
        content = dumps(changed)
        file.write_bytes(sha256(content).hexdigest().encode() + content)
        try:
            assert bool(Average.load(file, objective).baseline.answers(data).isfinite().all())
        except ValueError as error:
            assert str(error).startswith(str(file)), error
            refused += 1
    assert refused > 40


def test_a_type_that_a_baseline_is_not_made_of_is_never_constructed(tmp_path: Path) -> None:
    content = dumps({"weight": FunctionTransformer(print)})
    file = tmp_path / "baseline.skops"
    file.write_bytes(sha256(content).hexdigest().encode() + content)
    with pytest.raises(ValueError, match=r"baseline.skops: .*builtins.print"):
        Average.load(file, Classes(("a", "b")))


@pytest.mark.parametrize(("field", "message"), [("left", "a child"), ("right", "a child"), ("feature_idx", "a column")])
def test_trees_that_do_not_end_or_read_a_column_that_is_not_there_are_refused(field: str, message: str) -> None:
    average, _ = averaged("boosted")
    check(average.baseline)
    nodes = average.baseline.estimator._predictors[0][0].nodes
    inner = int(np.flatnonzero(nodes["is_leaf"] == 0)[-1])
    nodes[field][inner] = 99 if field == "feature_idx" else 0
    with pytest.raises(ValueError, match=f"boosted trees refer to {message} that does not exist"):
        check(average.baseline)


@pytest.mark.slow
def test_network_baseline_and_average_are_printed_written_and_used(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, folder = written(tmp_path, "trees.tsv", table(120)), tmp_path / "model"
    arguments = ["fit", str(path), *SMALL, "--epochs", "1", "--out"]
    assert main([*arguments, str(folder)]) == 0
    said = [line.split(":")[0].split(" (")[0] for line in capsys.readouterr().out.splitlines()[-9:]]
    kinds = ["", ", network alone", ", baseline"]
    lines = [f"{split}{kind}" for split in ("validation", "test") for kind in kinds]
    assert said[:7] == [*lines[:4], "test, 95 % of resamples", *lines[4:]]
    card = json.loads((folder / "card.json").read_text())
    assert all(set(card[who]) == {"validation", "test"} for who in ("metrics", "network", "baseline"))
    assert all(f"| test{kind} |" in (folder / "card.md").read_text() for kind in ("", ", network", ", baseline"))
    model, data = TrainedModel.load(folder), TreeDataset.from_file(path)
    whole = model.answers_to(data)
    assert model.average is not None
    weight, baseline = model.average.weight, model.average.baseline.answers(data)
    assert weight == card["average"]["weight"]
    network = TrainedModel(model.model, model.reading).answers_to(data)
    mean, temperature = weight * network + (1 - weight) * baseline, model.average.temperature
    torch.testing.assert_close(whole, (mean.log() / temperature).softmax(1), rtol=0, atol=1e-6)
    assert main(["predict", str(folder), str(path)]) == 0
    printed = torch.tensor([list(map(float, row[2:])) for row in rows_of(capsys.readouterr().out)[1:]])
    torch.testing.assert_close(printed, whole, rtol=0, atol=1e-6)
    assert main([*arguments, str(tmp_path / "bare"), "--no-baseline"]) == 0
    assert json.loads((tmp_path / "bare" / "card.json").read_text())["baseline"] == {}
    assert not (tmp_path / "bare" / "baseline.skops").exists()


def test_a_split_is_answered_once_and_a_baseline_without_weight_never(
    fitted: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: dict[str, list[int]] = {"network": [], "baseline": []}

    def counting(who: str, real: Any) -> Any:
        def counted(self: Any, part: Any) -> Any:
            asked[who].append(len(part.labels))
            return real(self, part)

        return counted

    monkeypatch.setattr(TrainedModel, "outputs", counting("network", TrainedModel.outputs))
    monkeypatch.setattr(Baseline, "found", counting("baseline", Baseline.found))
    data = TreeDataset.from_file(fitted / "trees.tsv")
    splits = dgltree.datasets.split(data, 0)
    sizes = {name: len(data) for name, data in splits.items()}
    model = dgltree.fit(
        splits["train"],
        validation=splits["validation"],
        test=splits["test"],
        out=tmp_path,
        epochs=1,
        hidden_size=8,
        baseline="fast",
    )
    card = json.loads((tmp_path / "card.json").read_text(encoding="utf-8"))
    assert {who: sum(counts) for who, counts in asked.items()} == dict.fromkeys(asked, len(data) - sizes["train"])
    for who, weight in (("network", 1.0), ("baseline", 0.0)):
        assert model.average is not None
        model.average = replace(model.average, weight=weight, temperature=1.0)
        for name in ("validation", "test"):
            asked["baseline"].clear()
            answers = model.answers_to(splits[name])
            assert sum(asked["baseline"]) == (0 if weight else sizes[name])
            found = model.objective.evaluation(answers, model.objective.targets(splits[name].labels)).metrics
            assert found == pytest.approx(card[who][name], abs=1e-6)

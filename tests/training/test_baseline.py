"""The baseline next to every network, and the average of both."""

import json
import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
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

from safetensors import safe_open
from safetensors.torch import save
from scipy.sparse import csr_matrix
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.linear_model import LogisticRegression, Ridge

from dgltree.models.checkpoint import digest
from dgltree.training.baseline.average import HEADER, Average
from dgltree.training.baseline.baseline import Baseline
from dgltree.training.baseline.boosted import Boosted
from dgltree.training.baseline.choice import choose
from dgltree.training.baseline.codes import occurrences
from dgltree.training.baseline.features import Columns
from dgltree.training.baseline.linear import Linear
from dgltree.training.objectives import Classes, Numbers

pytestmark = QUIET
RNG = np.random.default_rng(0)
COUNTS = csr_matrix(RNG.poisson(1.0, (300, 7)).astype(float))
BOOSTING: dict[str, Any] = {"max_iter": 9, "max_leaf_nodes": 6}


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


def test_numbers_are_summed_by_their_place_and_by_the_function_above_them() -> None:
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
def test_the_arrays_compute_what_scikit_learn_does(classes: int) -> None:
    rows = COUNTS.toarray()
    labels = rows[:, 0] * rows[:, 1] - rows[:, 2] + RNG.normal(size=300)
    if classes:
        labels = np.digitize(labels, [0.0, 1.5][: classes - 1]) + 1  # of classes 0 to 3 or 4 that are not all there
    objective = Classes(tuple("abcde")) if classes else Numbers()
    linear: Any = LogisticRegression(max_iter=200) if classes else Ridge()
    linear.fit(np.log1p(rows) * 0.5, labels)
    boosted: Any = (HistGradientBoostingClassifier if classes else HistGradientBoostingRegressor)(**BOOSTING)
    boosted.fit(rows, labels)
    for model, theirs, given in (
        (Linear.of(linear, 0.5, len(objective.classes)), linear, np.log1p(rows) * 0.5),
        (Boosted.of(boosted, 7, len(objective.classes)), boosted, rows),
    ):
        model.check()
        found = objective.answers(torch.from_numpy(model(COUNTS)).view(-1, *objective.shape)).numpy()
        if classes:
            np.testing.assert_allclose(found[:, theirs.classes_], theirs.predict_proba(given), atol=1e-6)
            assert found[:, 0].max() < 1e-9
        else:
            np.testing.assert_allclose(found, theirs.predict(given), atol=1e-5)


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


def averaged(kind: type[Any] = Linear) -> tuple[Average, TreeDataset]:
    trees, drawn = bags()
    data = TreeDataset(trees, ["a" if bag.count("a") > 2 else "b" for bag in drawn])
    columns, objective = Columns.of(data), Classes(("a", "b"))
    labels = objective.targets(data.labels).numpy()
    if kind is Linear:
        model: Any = Linear.of(LogisticRegression().fit(columns(data).log1p(), labels), 1.0, 2)
    else:
        fitted = HistGradientBoostingClassifier(**BOOSTING).fit(columns(data).toarray(), labels)
        model = Boosted.of(fitted, len(columns.codes), 2)
    return Average(Baseline(columns, model, objective, "of a test"), 0.35), data


def test_the_weight_is_the_one_with_the_smallest_loss() -> None:
    average, data = averaged()
    baseline, targets = average.baseline, average.baseline.objective.targets(data.labels)
    right = torch.nn.functional.one_hot(targets, 2).float()
    assert Average.best(baseline, right, baseline.answers(data), targets).weight == 1
    assert Average.best(baseline, 1 - right, baseline.answers(data), targets).weight == 0
    mixed = torch.where(torch.rand(300, 1, generator=torch.Generator().manual_seed(0)) < 0.9, right, 1 - right)
    mixed = mixed * 0.9 + 0.05
    found = Average.best(baseline.divided(20), mixed, baseline.divided(20).answers(data), targets)
    losses = {
        weight / 20: -(weight / 20 * mixed + (1 - weight / 20) * baseline.divided(20).answers(data))[right == 1]
        .log()
        .mean()
        for weight in range(21)
    }
    assert found.weight == min(losses, key=lambda weight: losses[weight])
    assert 0 < found.weight < 1


@pytest.mark.parametrize("kind", [Linear, Boosted])
def test_an_average_is_the_same_from_its_file_and_a_damaged_one_is_refused(kind: type[Any], tmp_path: Path) -> None:
    average, data = averaged(kind)
    file = tmp_path / "baseline.safetensors"
    average.save(file)
    found = Average.load(file, Classes(("a", "b")))
    assert (found.weight, found.baseline.what) == (0.35, "of a test")
    torch.testing.assert_close(found.baseline.answers(data), average.baseline.answers(data), rtol=0, atol=1e-6)
    with pytest.raises(ValueError, match="its classes are not those of the network next to it"):
        Average.load(file, Classes(("a", "c")))
    content = bytearray(file.read_bytes())
    content[-3] ^= 1
    file.write_bytes(content)
    with pytest.raises(ValueError, match=r"baseline.safetensors: the contents do not match their hash"):
        Average.load(file, Classes(("a", "b")))


def test_boosted_trees_of_numbers_are_the_same_from_their_file(tmp_path: Path) -> None:
    trees, drawn = bags()
    data = TreeDataset(trees, [bag.count("a") + 0.5 for bag in drawn])
    columns = Columns.of(data)
    fitted = HistGradientBoostingRegressor(**BOOSTING).fit(columns(data).toarray(), [float(y) for y in data.labels])
    baseline = Baseline(columns, Boosted.of(fitted, len(columns.codes), 0), Numbers(), "of a test")
    Average(baseline, 0.0).save(tmp_path / "baseline.safetensors")
    found = Average.load(tmp_path / "baseline.safetensors", Numbers()).baseline.answers(data)
    np.testing.assert_allclose(found.numpy(), fitted.predict(columns(data).toarray()), rtol=1e-5)


@pytest.mark.parametrize("kind", [Linear, Boosted])
def test_whatever_a_file_with_a_right_hash_says_is_one_error(kind: type[Any], tmp_path: Path) -> None:
    average, data = averaged(kind)
    file, objective = tmp_path / "baseline.safetensors", Classes(("a", "b"))
    average.save(file)
    with safe_open(file, framework="pt") as opened:
        header = json.loads(opened.metadata()[HEADER])
        tensors = {name: opened.get_tensor(name) for name in opened.keys()}  # noqa: SIM118
    del header["sha256"]
    wrong = [
        torch.zeros(0),
        torch.full((3,), torch.nan),
        torch.ones(2, 2).long(),
        torch.full((9,), 10**12),
        torch.ones(7).half(),
    ]
    changed = [({**header, name: value}, tensors) for name in header for value in (None, 7, "x", [], {}, -1.5)]
    changed += [(header, {**tensors, name: value}) for name in tensors for value in wrong]
    refused = 0
    for said, weights in changed:
        said = {**said, "sha256": digest(said, weights)}
        file.write_bytes(save(weights, {HEADER: json.dumps(said)}))
        try:
            assert bool(Average.load(file, objective).baseline.answers(data).isfinite().all())
        except ValueError as error:
            assert str(error).startswith(str(file)), error
            refused += 1
    assert refused > len(changed) / 2


def test_trees_that_do_not_end_are_refused() -> None:
    model: Any = averaged(Boosted)[0].baseline.model
    model.check()
    inner = int(np.flatnonzero(model.left != np.arange(len(model.left)))[-1])
    model.left[inner] = inner - 1
    with pytest.raises(ValueError, match="boosted trees with a child that is not there"):
        model.check()


def test_network_baseline_and_average_are_printed_written_and_used(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, folder = written(tmp_path, "trees.tsv", table(120)), tmp_path / "model"
    arguments = ["fit", str(path), *SMALL, "--epochs", "1", "--out"]
    assert main([*arguments, str(folder)]) == 0
    said = [line.split(":")[0].split(" (")[0] for line in capsys.readouterr().err.splitlines()[-7:]]
    kinds = ["", ", network alone", ", baseline"]
    assert said[:6] == [f"{split}{kind}" for split in ("validation", "test") for kind in kinds]
    card = json.loads((folder / "card.json").read_text())
    assert all(set(card[who]) == {"validation", "test"} for who in ("metrics", "network", "baseline"))
    assert all(f"| test{kind} |" in (folder / "card.md").read_text() for kind in ("", ", network", ", baseline"))
    model, data = TrainedModel.load(folder), TreeDataset.from_file(path)
    whole = model.predict(data)
    assert model.average is not None
    weight, baseline = model.average.weight, model.average.baseline.answers(data)
    assert weight == card["average"]["weight"]
    model.average = None
    torch.testing.assert_close(whole, weight * model.predict(data) + (1 - weight) * baseline, rtol=0, atol=1e-6)
    assert main(["predict", str(folder), str(path)]) == 0
    printed = torch.tensor([list(map(float, row[2:])) for row in rows_of(capsys.readouterr().out)[1:]])
    torch.testing.assert_close(printed, whole, rtol=0, atol=1e-6)
    assert main([*arguments, str(tmp_path / "bare"), "--no-baseline"]) == 0
    assert json.loads((tmp_path / "bare" / "card.json").read_text())["baseline"] == {}
    assert not (tmp_path / "bare" / "baseline.safetensors").exists()


def test_a_linear_model_of_negative_numbers_computes_what_scikit_learn_does() -> None:
    rows = np.random.default_rng(5).normal(0, 3, (200, 4))
    signed = np.sign(rows) * np.log1p(abs(rows))
    labels = signed @ [1.0, -2.0, 0.5, 0.0] + 1
    ridge = Ridge().fit(signed * 0.5, labels)
    found = Linear.of(ridge, 0.5, 0)(csr_matrix(rows))[:, 0]
    np.testing.assert_allclose(found, ridge.predict(signed * 0.5), rtol=1e-5, atol=1e-5)


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
        splits["train"], validation=splits["validation"], test=splits["test"], out=tmp_path, epochs=1, hidden_size=8
    )
    card = json.loads((tmp_path / "card.json").read_text(encoding="utf-8"))
    assert {who: sum(counts) for who, counts in asked.items()} == dict.fromkeys(asked, len(data) - sizes["train"])
    for who, weight in (("network", 1.0), ("baseline", 0.0)):
        assert model.average is not None
        model.average = replace(model.average, weight=weight)
        for name in ("validation", "test"):
            asked["baseline"].clear()
            answers = model.predict(splits[name])
            assert sum(asked["baseline"]) == (0 if weight else sizes[name])
            found = model.objective.evaluation(answers, model.objective.targets(splits[name].labels)).metrics
            assert found == pytest.approx(card[who][name], abs=1e-6)

"""Numbers on the scale of their place: which places there are, what is read there, and that every engine reads it."""

import math
import sys
from dataclasses import replace

import numpy as np
import pytest
import torch
from engines import ENGINES
from oracle import recursion

import dgltree
from dgltree.batching import Vocabulary
from dgltree.batching.number_scales import (
    FARTHEST,
    MIN_PLACE_NUMBERS,
    NORMAL,
    NumberScales,
    PlaceName,
    PlaceScale,
    measure,
    parents_of,
)
from dgltree.batching.subtrees import subtree_numbers
from dgltree.batching.vocabulary import without_signatures
from dgltree.cells import ChildSumTreeLSTM, TreeLSTM
from dgltree.trees.tree import Tree


def number(value, function="atom"):
    return Tree(function, value=value)


def record(created, amount, at, first=()):
    """An object with keys, a list among them; ``first`` are keys that may be absent."""
    leaves = [Tree("created", value=created), Tree("amount", value=amount), *(Tree("at", value=v) for v in at)]
    return Tree("object", (*first, *leaves))


def records(count=30, seed=0):
    rng = np.random.default_rng(seed)
    absent = [(), (Tree("note", token="x"),)]
    return [
        record(
            1.7e9 + rng.integers(10**7), rng.lognormal() * 1e-6, (48 + rng.normal(), 11 + rng.normal()), absent[i % 2]
        )
        for i in range(count)
    ]


def known(trees):
    plain = Vocabulary.from_trees(trees, unk=True)
    return plain.with_scales(NumberScales.of([dgltree.batch(trees, plain)]))


def by_hand(values):
    """Median and median distance, by numpy alone."""
    values = np.array(values, float)
    return np.median(values), NORMAL * np.median(abs(values - np.median(values)))


def test_keys_and_the_positions_of_a_list_are_places_of_their_own_whatever_comes_before_them():
    trees = records()
    scales = known(trees).scales
    assert {place.name for place in scales.narrowest} == {
        "object.created",
        "object.amount",
        "object.at[0]",
        "object.at[1]",
    }
    first = next(place for place in scales.places if place.name == "object.at[0]")
    lists = [[child.value for child in tree.children if child.function == "at"] for tree in trees]
    assert (first.middle, first.spread) == pytest.approx(by_hand([at[0] for at in lists]))
    read = dgltree.batch(trees, known(trees)).numbers
    there = read[~read.isnan()].view(-1, 4)
    assert there[0, 2].item() == pytest.approx(math.asinh((lists[0][0] - first.middle) / first.spread))
    assert bool((there.abs().median(0).values < 2).all())


def test_arguments_are_counted_among_all_siblings():
    trees = [Tree("item", (number(float(i % 9 + 1)), Tree("g", (number(0.5),)), number(1000.0 + i))) for i in range(20)]
    names = {place.name: place for place in known(trees).scales.narrowest}
    assert set(names) == {"item.atom[0]", "item.atom[2]", "g.atom"}
    assert names["item.atom[2]"].middle == 1009.5


def test_places_with_few_numbers_share_the_scale_of_what_is_left_over():
    trees = [Tree("f", (Tree("often", value=float(i)),)) for i in range(MIN_PLACE_NUMBERS)]
    rare = [Tree("g", (Tree(name, value=1e6 * k),)) for k, name in enumerate("abcde")]
    scales = known([*trees, *rare]).scales
    assert [place.name for place in scales.narrowest] == ["f.often"]
    last = scales.places[-1]
    assert (last.leaf, last.middle, last.low, last.high) == (None, 2e6, 0.0, 4e6)
    one_more = known([*trees[1:], *rare]).scales
    assert [place.leaf for place in one_more.places] == [None]


@pytest.mark.parametrize("values", [[7.0], [0.0], [5e-7], [1e308, -1e308], [1e308, 1e-308, 0.0]])
def test_any_numbers_are_read_as_finite_ones(values):
    vocabulary = known([Tree("f", (number(value),)) for value in values * MIN_PLACE_NUMBERS])
    new = [Tree("f", (number(value),)) for value in (*values, 0.0, 1e308, -1e308, 1e-300)]
    read = dgltree.batch(new, vocabulary).numbers
    assert bool(read[~read.isnan()].isfinite().all())
    cell = TreeLSTM(vocabulary, hidden_size=3, input_size=3, leaf="gates", numbers=True)
    assert bool(dgltree.propagate(dgltree.batch(new, vocabulary), cell)["h"].isfinite().all())


@pytest.mark.parametrize("middle", [0.0, 1e300, -1e300])
def test_no_number_is_farther_from_the_middle_than_farthest(middle):
    places = [PlaceScale(None, None, None, middle, 1e-10, 0.0, 1.0)]
    vocabulary = Vocabulary([("f", 1), ("atom", 0)], []).with_scales(NumberScales(places))
    values = torch.tensor([1.7e308, -1.7e308, math.nan, middle], dtype=torch.float64)
    distances = vocabulary.scale_table.distances(values, torch.zeros(4, dtype=torch.int64)).tolist()
    assert distances[:2] == [FARTHEST, -FARTHEST]
    assert math.isnan(distances[2])
    assert distances[3] == 0.0


@pytest.mark.parametrize("largest", [1e305, sys.float_info.max])
def test_no_number_of_training_is_outside_of_all_that_training_had(largest):
    trees = [Tree("f", (number(value),)) for value in [largest, -largest, 0.0, 1.0] * MIN_PLACE_NUMBERS]
    batch = dgltree.batch(trees, known(trees))
    table = batch.vocabulary.scale_table
    rows = table.rows(batch.function, *parents_of(batch))
    assert not bool(table.outside(batch.value, rows).any())
    assert [(scale.low, scale.high) for scale in known(trees).scales.narrowest] == [(-largest, largest)]


def test_measures_of_infinite_numbers_are_finite():
    measures = measure(np.array([-math.inf, 0.0, math.inf]))
    assert all(map(math.isfinite, measures))
    assert (measures.low, measures.high) == (-sys.float_info.max, sys.float_info.max)


def test_the_columns_of_a_table_move_to_a_device_together():
    trees = records()
    table = known(trees).scale_table
    there = table.on(torch.device("meta"))
    tensors = [*there._columns, *(column for level in there._levels for column in level)]
    assert {tensor.device.type for tensor in tensors} == {"meta"}
    assert table.on(torch.device("meta")) is there
    assert table._columns.name.device.type == "cpu"


def test_roots_with_numbers_are_a_place_of_their_own():
    trees = [Tree("f", (number(float(i)),)) for i in range(MIN_PLACE_NUMBERS)]
    trees += [number(100.0 + i) for i in range(MIN_PLACE_NUMBERS)]
    scales = {scale.place: scale for scale in known(trees).scales.places}
    assert list(scales) == [
        PlaceName("atom", "f"),
        PlaceName("atom", ""),
        PlaceName("atom"),
        PlaceName(),
    ]
    assert (scales[PlaceName("atom", "")].low, scales[PlaceName("atom", "f")].high) == (100.0, 9.0)


def test_an_answer_for_a_place_is_the_narrowest_that_there_is():
    wide = [PlaceName("a", "f", 0), PlaceName("a", "f"), PlaceName("a"), PlaceName("b"), PlaceName("gone", "f")]
    places = [PlaceScale(*place, float(row), 1.0, 0.0, 1.0) for row, place in enumerate([*wide, PlaceName()])]
    table = Vocabulary([("f", 2), ("a", 0), ("b", 0), ("c", 0)], []).with_scales(NumberScales(places)).scale_table
    f, a, b, c = range(4)
    cases = [(a, f, 0, 0), (a, f, 1, 1), (a, -1, 0, 0), (b, f, 0, 0), (c, f, 0, 0)]
    assert table.rows(*torch.tensor(cases).T).tolist() == [0, 1, 2, 3, 5]
    assert [place.wider for place in wide[:3]] == [PlaceName("a", "f"), PlaceName("a"), PlaceName()]


def test_an_outlier_leaves_ordinary_numbers_apart():
    trees = [Tree("f", (number(float(i)),)) for i in range(50)]
    read = dgltree.batch(trees, known([*trees, Tree("f", (number(1e12),))])).numbers
    assert float(read[~read.isnan()].diff().min()) > 0.01


def test_most_equal_numbers_have_the_spread_of_the_others():
    trees = [Tree("f", (number(0.0 if i % 3 else 1.0 + i),)) for i in range(30)]
    [place] = known(trees).scales.narrowest
    assert place.middle == 0
    assert place.spread == pytest.approx(NORMAL * np.median([1.0 + i for i in range(0, 30, 3)]))


@pytest.mark.parametrize("seed", range(20))
def test_every_quantity_of_a_tree_moves_its_vector(seed):
    """Drawn objects with keys of any scale between 1e-6 and 1e12; each number is changed by its own spread."""
    rng = np.random.default_rng(seed)
    keys = {f"k{i}": (10.0 ** rng.uniform(-6, 12), rng.choice([0.01, 0.3, 1.0])) for i in range(rng.integers(2, 9))}

    def drawn():
        return {key: size * (1 + width * rng.normal()) for key, (size, width) in keys.items()}

    def tree(values):
        return Tree("object", [Tree(key, value=value) for key, value in values.items()])

    training = [drawn() for _ in range(40)]
    vocabulary = known(list(map(tree, training)))
    torch.manual_seed(seed)
    options = {"hidden_size": 8, "input_size": 8, "leaf": "gates", "numbers": True, "functions": True}
    cell = ChildSumTreeLSTM(vocabulary, positions=True, **options)
    base = training[0]
    changed = [{**base, key: base[key] + 2 * size * width} for key, (size, width) in keys.items()]
    batch = dgltree.batch(list(map(tree, [base, *changed])), vocabulary)
    h = cell(batch)["h"].detach()[batch.roots]
    assert float((h[1:] - h[0]).abs().amax(1).min()) > 1e-4 * float(h.abs().max())


def test_a_batch_without_vocabulary_and_selections_of_one_are_read_the_same():
    vocabulary = known(trees := records())
    torch.manual_seed(0)
    cell = ChildSumTreeLSTM(vocabulary, hidden_size=4, input_size=4, leaf="gates", numbers=True).double()
    batch = dgltree.batch(trees, vocabulary)
    levels = cell(batch)["h"]
    torch.testing.assert_close(cell(replace(batch, vocabulary=None))["h"], levels)
    torch.testing.assert_close(cell(batch[[3, 1]])["h"], torch.cat([cell(batch[3])["h"], cell(batch[1])["h"]]))


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(("kind", "leaf"), [(TreeLSTM, "gates"), (ChildSumTreeLSTM, "gates"), (TreeLSTM, "embedding")])
def test_every_engine_reads_numbers_on_their_scales(engine, kind, leaf):
    """As the recursion reads, without scales, the numbers that numpy has put on them."""
    vocabulary = known(trees := records())
    torch.manual_seed(0)
    options = {"hidden_size": 4, "input_size": 4, "leaf": leaf, "numbers": True}
    cell, plain = kind(vocabulary, **options).double(), kind(vocabulary.with_scales(None), **options).double()
    plain.load_state_dict(without_signatures(cell.state_dict()), strict=False)
    names = ["created", "amount", "at", "at"]
    values = np.array([[child.value for child in tree.children if child.value is not None] for tree in trees])
    scaled = np.arcsinh(np.stack([(column - by_hand(column)[0]) / by_hand(column)[1] for column in values.T], 1))
    made = []
    for tree, numbers in zip(trees, scaled.tolist(), strict=True):
        first = [child for child in tree.children if child.value is None]
        leaves = [Tree(name, value=number) for name, number in zip(names, numbers, strict=True)]
        made.append(Tree("object", (*first, *leaves)))
    wanted = recursion(plain, dgltree.batch(made, plain.vocabulary))
    found = ENGINES[engine](cell, dgltree.batch(trees, vocabulary))
    torch.testing.assert_close(found["h"].detach(), wanted["h"].detach(), atol=1e-9, rtol=1e-9)


def test_equal_numbers_at_places_of_other_scales_are_no_duplicates():
    trees = [Tree("object", (Tree("f", (number(float(i)),)), Tree("g", (number(1000.0 * i),)))) for i in range(20)]
    vocabulary = known(trees)
    both = Tree("object", (Tree("f", (number(3.0),)), Tree("g", (number(3.0),))))
    batch = dgltree.batch([both], vocabulary)
    numbers = subtree_numbers(batch)
    assert numbers[2] != numbers[4]
    assert subtree_numbers(replace(batch, vocabulary=vocabulary.with_scales(None)))[2] == subtree_numbers(batch)[2]


def test_a_leaf_object_that_is_held_twice_is_read_at_both_places():
    trees = [Tree("object", (Tree("f", (number(float(i)),)), Tree("g", (number(1000.0 * i),)))) for i in range(20)]
    vocabulary, one = known(trees), number(3.0)
    shared = Tree("object", (Tree("f", (one,)), Tree("g", (one,))))
    apart = Tree("object", (Tree("f", (number(3.0),)), Tree("g", (number(3.0),))))
    assert dgltree.batch([shared], vocabulary) == dgltree.batch([apart], vocabulary)
    assert dgltree.unbatch(dgltree.batch([shared], vocabulary)) == [shared]
    graph = replace(dgltree.batch([shared], vocabulary.with_scales(None)), vocabulary=vocabulary)
    cell = TreeLSTM(vocabulary, hidden_size=3, input_size=3, leaf="gates", numbers=True)
    with pytest.raises(
        ValueError,
        match="tree 1, node 3 carries a number, whose scale depends on its parent: give each parent its own leaf",
    ):
        cell(graph)


def test_scales_are_kept_with_a_vocabulary_and_part_of_what_it_is():
    vocabulary = known(records())
    again = Vocabulary.from_json(vocabulary.to_json())
    assert again == vocabulary
    assert again.digest == vocabulary.digest != vocabulary.with_scales(None).digest
    assert "scales" not in vocabulary.with_scales(None).to_json()


@pytest.mark.parametrize(
    "places",
    [
        [],
        ["atom", "f", None, 0.0, 1.0, 0.0, 1.0],
        [["atom", "f", None, 0.0, 1.0, 0.0, 1.0]],
        [[None, None, None, 0.0, 0.0, 0.0, 1.0]],
        [[None, None, None, math.nan, 1.0, 0.0, 1.0]],
        [[None, None, None, 0.0, 1.0, 0.0]],
        [[None, "f", None, 0.0, 1.0, 0.0, 1.0], [None, None, None, 0.0, 1.0, 0.0, 1.0]],
        [["atom", "f", 9, 0.0, 1.0, 0.0, 1.0], [None, None, None, 0.0, 1.0, 0.0, 1.0]],
        [["atom", "f", "0", 0.0, 1.0, 0.0, 1.0], [None, None, None, 0.0, 1.0, 0.0, 1.0]],
        [[3, "f", 0, 0.0, 1.0, 0.0, 1.0], [None, None, None, 0.0, 1.0, 0.0, 1.0]],
        [[None, None, None, 0.0, 1.0, 0.0, 1.0]] * 2,
    ],
)
def test_scales_of_a_file_that_are_none_are_refused(places):
    data = {**Vocabulary([("f", 1)], ["x"]).to_json(), "scales": places}
    with pytest.raises(ValueError, match="scale"):
        Vocabulary.from_json(data)


def test_a_new_number_at_a_place_with_one_value_is_told_apart():
    trees = [Tree("f", (number(1.7e9),))] * 20
    read = dgltree.batch([trees[0], Tree("f", (number(1.8e9),))], known(trees)).numbers
    assert read[1].item() == 0.0
    assert read[3].item() > 0.05
    assert PlaceScale("atom", "f", None, 1.7e9, 1.7e9, 1.7e9, 1.7e9) in known(trees).scales.places

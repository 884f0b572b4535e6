"""Which subtrees decide: the effects of a trained model on trees whose label is planted in one subtree."""

import json
import random
from dataclasses import replace
from types import SimpleNamespace

import pytest
import torch

import dgltree
from dgltree.commands.explain import _drawn
from dgltree.commands.main import main
from dgltree.read.bracket import read_treebank
from dgltree.read.sexpr import read_sexpr
from dgltree.training.explaining import Effect, Explanation
from dgltree.trees.tree import Tree, name_of

COUNT = 240


def planted(rng, label):
    """A tree with one subtree that says its label, and its text."""

    def noise(depth):
        if depth == 0:
            return rng.choice("abcd")
        return f"({rng.choice(['f', 'g', 'h'])} {noise(depth - 1)} {noise(rng.randrange(depth))})"

    key = f"({label} {noise(0)} {noise(0)})"
    for _ in range(2):
        pair = [key, noise(rng.randrange(3))]
        rng.shuffle(pair)
        key = f"({rng.choice(['f', 'g', 'h'])} {' '.join(pair)})"
    return key


@pytest.fixture(scope="module")
def texts():
    rng = random.Random(0)
    labels = [rng.choice(["yes", "no"]) for _ in range(COUNT)]
    return [planted(rng, label) for label in labels], labels


@pytest.fixture(scope="module")
def model(texts, tmp_path_factory):
    data = dgltree.TreeDataset([read_sexpr(text) for text in texts[0]], texts[1], reading=reading())
    out = tmp_path_factory.mktemp("explained") / "model"
    return dgltree.fit(data, validation=data, out=out, hidden_size=16, epochs=8, lr=0.01, dropout=0.0), out


def reading():
    from dgltree.datasets import Reading

    return Reading(notation="sexpr")


def test_the_subtree_that_holds_the_label_comes_first_in_95_percent(model, texts):
    rng = random.Random(1)
    fresh = [planted(rng, rng.choice(["yes", "no"])) for _ in range(100)]
    first = [found.ranked[0].tree.function for found in model[0].explain(fresh)]
    assert sum(name in ("yes", "no") for name in first) >= 95


def without_its_first_child(text):
    """The tree with a leaf that says nothing in place of the first child."""
    tree = read_sexpr(text)
    return tree.replace(children=(Tree("<unk>", token="<unk>"), *tree.children[1:]))


def test_each_effect_is_the_difference_of_two_predictions_of_an_average_with_the_baseline(model, monkeypatch):
    trained, _ = model
    monkeypatch.setattr(trained, "average", replace(trained.average, weight=0.35))
    text = "(f (yes a b) (g c d))"
    [found] = trained.explain([text])
    answers = trained.answers_to([read_sexpr(text), without_its_first_child(text)])
    assert found.answer.tolist() == pytest.approx(answers[0].tolist(), abs=1e-6)
    assert found.support == pytest.approx(float(answers[0].max()), abs=1e-6)
    assert trained.classes[int(answers[0].argmax())] == found.prediction == "yes"
    assert [(each.node, each.parent) for each in found.effects] == [(1, 0), (2, 1), (3, 1), (4, 0), (5, 4), (6, 4)]
    assert found.effects[0].tree == read_sexpr("(yes a b)")
    assert found.effects[0].effect == pytest.approx(float(answers[0, 1] - answers[1, 1]), abs=1e-5)


def test_a_subtree_comes_behind_one_inside_of_it_that_explains_its_effect():
    a, b = Tree("a"), Tree("b")
    low = Tree("low", (a, b))
    top = Tree("top", (low,))
    effects = (
        Effect(top, 0, 1, 0, 0.1, 0.5),
        Effect(low, 0, 2, 1, 0.1, 0.45),
        Effect(a, 0, 3, 2, 0.1, -0.6),
        Effect(b, 0, 4, 2, 0.1, 0.1),
    )
    found = Explanation((Tree("root", (top,)),), torch.tensor(1.0), 1.0, 1.0, effects)
    assert [each.tree.function for each in found.ranked] == ["a", "low", "b", "top"]


@pytest.mark.parametrize("seed", range(30))
def test_subtrees_are_ranked_as_by_a_search_through_all_that_is_inside_of_each(seed):
    """In pairs of trees of many levels; evidence is in quarters, so that half of another's is just that."""
    rng = random.Random(seed)
    effects, below = [], {}
    for side in range(2):
        above = {0: -1}
        for node in range(1, 12):
            above[node] = rng.randrange(max(0, node - 2), node)
            evidence = rng.choice([-2, -1, -0.5, -0.25, 0, 0.25, 0.5, 1, 2])
            effects.append(Effect(Tree(f"{side} {node}"), side, node, above[node], 0.0, evidence))
            place = above[node]
            while place > 0:
                below.setdefault((side, place), []).append(evidence)
                place = above[place]

    def explained(each):
        inside = below.get((each.side, each.node), [])
        return any(0 < abs(each.evidence) / 2 <= abs(one) and one * each.evidence > 0 for one in inside)

    found = Explanation((Tree("a"), Tree("b")), torch.tensor(1.0), 1.0, 1.0, tuple(effects)).ranked
    expected = sorted(effects, key=lambda each: (explained(each), -abs(each.evidence)))
    assert [each.tree.function for each in found] == [each.tree.function for each in expected]


def test_a_number_is_explained_by_what_it_falls_by(tmp_path):
    rng = random.Random(0)
    texts = [f"(add {rng.choice('xyz')} {rng.choice('xyz')})" for _ in range(60)]
    data = dgltree.TreeDataset([read_sexpr(text) for text in texts], [float(text.count("x")) for text in texts])
    trained = dgltree.fit(data, validation=data, out=tmp_path / "m", hidden_size=8, epochs=2, task="regress")
    tree = read_sexpr("(add x y)")
    [found] = trained.explain([tree])
    assert found.prediction == found.support == float(trained.answers_to([tree])[0])
    assert [each.evidence for each in found.effects] == [each.effect for each in found.effects]
    assert len(found.effects) == 2


def test_the_sides_of_a_pair_are_explained_one_after_the_other(tmp_path):
    pairs = [(read_sexpr("(f a b)"), read_sexpr("(g a)")), (read_sexpr("(f b b)"), read_sexpr("(g b)"))] * 10
    data = dgltree.TreeDataset(pairs, ["same", "other"] * 10)
    trained = dgltree.fit(data, validation=data, out=tmp_path / "m", hidden_size=4, epochs=1, task="pair")
    [found] = trained.explain([pairs[0]])
    assert [(each.side, each.node, each.tree.token or each.tree.function) for each in found.effects] == [
        (0, 1, "a"),
        (0, 2, "b"),
        (1, 1, "a"),
    ]
    assert found.answer.tolist() == pytest.approx(trained.answers_to([pairs[0]])[0].tolist(), abs=1e-6)


def test_trees_without_an_unknown_leaf_are_explained_by_a_leaf_of_a_known_function(tmp_path):
    texts = ["(S (A x) (B y))", "(S (A z) (B y))"] * 10
    data = dgltree.TreeDataset([read_treebank(text) for text in texts], ["x", "z"] * 10)
    trained = dgltree.fit(
        data, validation=data, out=tmp_path / "m", hidden_size=4, epochs=1, encoder="tree_rnn", unk=False
    )
    assert trained.model.encoder.vocabulary.find_function("<unk>", 0) is None
    [found] = trained.explain([data[0][0]])
    assert [each.node for each in found.effects] == list(range(1, found.trees[0].size))


def test_a_tree_of_too_many_nodes_is_refused(model):
    text = "(f a " * 600 + "b" + ")" * 600
    with pytest.raises(ValueError, match=r"1,201 nodes; explain takes trees of up to 1,000 nodes"):
        model[0].explain([text])


def test_the_command_prints_the_prediction_a_table_and_the_tree(model, capsys, tmp_path):
    trained, out = model
    text = "(f (yes a b) c)"
    assert main(["explain", str(out), text, "--top", "1", "--picture", str(tmp_path / "p.svg")]) == 0
    lines = capsys.readouterr().out.splitlines()
    [found] = trained.explain([text])
    effects = [f"{100 * each.effect:+.1f}" for each in found.effects]
    whole, without = trained.answers_to([read_sexpr(text), without_its_first_child(text)])[:, 1].double()
    log_odds = float((whole / (1 - whole)).log() - (without / (1 - without)).log())
    assert lines == [
        f"{text}: yes, probability {float(trained.answers_to([text])[0, 1]):.6f}",
        "",
        "rank\tpoints\tlog-odds\tsubtree",
        f"1\t{effects[0]}\t{log_odds:+.2f}\t(yes a b)",
        "",
        f"{'':>9} {'':>4} f",
        f"{effects[0]:>9}  [1]   yes",
        f"{effects[1]:>9}          a",
        f"{effects[2]:>9}          b",
        f"{effects[3]:>9}        c",
    ]
    assert (tmp_path / "p.svg").read_text().count("<svg") == 1


def test_the_command_explains_the_first_trees_of_a_file_as_json(model, capsys, tmp_path):
    (tmp_path / "new.tsv").write_text("id\ttree\none\t(f (no a b) c)\ntwo\t(yes a b)\nthree\t(f a b)\n")
    assert main(["explain", str(model[1]), str(tmp_path / "new.tsv"), "--first", "2", "--json"]) == 0
    records = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [record["tree"] for record in records] == ["one", "two"]
    assert records[0]["prediction"] == "no" and records[0]["effects"][0]["subtree"] == "(no a b)"


@pytest.mark.parametrize(
    "arguments, told",
    [
        (["missing.tsv"], "missing.tsv: no such file"),
        (["(f a"], "tree 1: not a valid sexpr tree"),
    ],
)
def test_what_cannot_be_explained_is_said_in_a_line(model, capsys, arguments, told):
    assert main(["explain", str(model[1]), *arguments]) == 1
    assert capsys.readouterr().err.startswith(f"dgltree: {told}")


def test_each_tree_of_a_pair_is_drawn_with_its_own_effects() -> None:
    trees = (Tree("f", [Tree("a")]), Tree("g", [Tree("b")]))
    effects = tuple(
        Effect(tree.children[0], side, 1, 0, effect, effect)
        for side, (tree, effect) in enumerate(zip(trees, (0.25, -0.5), strict=True))
    )
    found = Explanation(trees, torch.tensor([0.1, 0.9]), "yes", 0.9, effects)
    lines = _drawn(found, SimpleNamespace(classes=("no", "yes")), found.ranked, name_of)  # type: ignore[arg-type]
    assert [line.split() for line in lines] == [[], ["f"], ["+25.0", "[2]", "a"], [], ["g"], ["-50.0", "[1]", "b"]]

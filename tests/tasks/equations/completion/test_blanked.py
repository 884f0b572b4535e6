"""Blanked equations as graphs: the filled equations are those that filling and propagating trees gives."""

from fractions import Fraction

import numpy as np
import pytest
import torch

pytest.importorskip("pyarrow", reason="the train extra is not installed")

from dgltree import Equation, batch, plan
from dgltree.batching.vocabulary import UNKNOWN
from dgltree.cells import CELLS
from dgltree.encoders import TreeEncoder
from dgltree.equations.truth.evaluator import Evaluator, Truth
from dgltree.models import EquationModel, EquationReadout
from dgltree.read.infix import read_equation, read_infix
from dgltree.trees.tree import Tree
from tasks.equations.canonical import word_digest
from tasks.equations.completion import blanked_equations as module
from tasks.equations.completion.arithmetic import equal, values
from tasks.equations.completion.blanked_equations import Maker
from tasks.equations.fillers import fillers
from tasks.equations.generator.chains import correct
from tasks.equations.generator.held_out import held_out
from tasks.equations.generator.identities import World
from tasks.equations.generator.places import Places
from tasks.equations.preorders import Batcher, Preorders
from tasks.equations.vocabulary import elementary_vocabulary, vocabulary
from tasks.equations.words import BLANK, SINGLE, SYMBOLS, equation_word, tree, word

FILLERS = [word(filler) for filler in fillers()]


@pytest.fixture(scope="module")
def sides() -> list[tuple[bytes, bytes]]:
    return [(one.left, one.right) for one in correct((200, "train", "tests", "paper"))]


@pytest.fixture(scope="module")
def drawn(sides: list[tuple[bytes, bytes]]) -> module.Blanked:
    return Maker(sides, FILLERS, 12).make(np.arange(60), np.random.default_rng(0))


def trees_of(drawn: module.Blanked, nodes: torch.Tensor) -> list[Tree]:
    """The trees below nodes of the graph."""
    batch = drawn.planned.batch
    assert batch.vocabulary is not None
    functions, tokens = batch.vocabulary.functions, batch.vocabulary.tokens
    leaves = {node.token: node for filler in fillers() for node in filler.preorder() if not node.children}
    done: dict[int, Tree] = {}

    def build(node: int) -> Tree:
        if node not in done:
            start, stop = batch.child_ptr[node : node + 2].tolist()
            children = [build(child) for child in batch.child_index[start:stop].tolist()]
            token = int(batch.token[node])
            text = None if token < 0 else tokens[token]
            function = functions[int(batch.function[node])][0]
            done[node] = Tree(function, children, text) if text not in leaves else leaves[text]
        return done[node]

    return [build(int(node)) for node in nodes.flatten()]


def roots(drawn: module.Blanked) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """The nodes of candidates, other sides and subtrees."""
    return drawn.parts(drawn.planned.batch.roots)


def test_subtree_sizes_and_heights_are_those_of_the_trees() -> None:
    words = [word(filler) for filler in fillers()[::37]]
    nodes, item = Preorders(words).nodes(np.arange(len(words)))
    expected = [node.depth for text in words for node in tree(text).preorder()]
    assert nodes.height.tolist() == expected
    assert np.bincount(item).tolist() == [len(text) for text in words]


def test_batches_of_words_are_those_of_trees() -> None:
    words = [word(filler) for filler in fillers()[::11]]
    flat, expected = Batcher(vocabulary()).words(words), batch([tree(text) for text in words], vocabulary())
    for name in ("function", "token", "child_ptr", "child_index", "level", "roots", "sizes", "label"):
        assert torch.equal(getattr(flat, name), getattr(expected, name)), name


def blank_places(sides: list[Tree], other: Tree) -> list[tuple[Places, int]]:
    """The places of the first equation whose subtree alone differs in the others, the blank's among them."""
    first, *others = (Places(equation_word(Equation(side, other))) for side in sides)
    return [
        (first, place)
        for place in range(1, len(first.word))
        if all(
            place < len(candidate.word)
            and candidate.word[:place] == first.word[:place]
            and candidate.word[candidate.ends[place] :] == first.word[first.ends[place] :]
            for candidate in others
        )
    ]


def test_candidates_are_the_equation_with_other_fillers_in_one_place(drawn: module.Blanked) -> None:
    candidates, others, _ = roots(drawn)
    for row, other in zip(candidates, trees_of(drawn, others), strict=True):
        assert blank_places(trees_of(drawn, row), other)


def test_labels_are_those_of_the_numeric_decision(drawn: module.Blanked) -> None:
    evaluator, compared = Evaluator(), 0
    candidates, opposite, _ = roots(drawn)
    others = trees_of(drawn, opposite)
    for row, label, other in zip(candidates, drawn.label, others, strict=True):
        for side, known in zip(trees_of(drawn, row), label.tolist(), strict=True):
            truth = evaluator.truth(Equation(side, other))
            if truth is not Truth.UNDECIDED and known == known:
                compared += 1
                assert (known == 1) == (truth is Truth.TRUE), Equation(side, other)
    assert compared > 300


def test_states_are_those_of_whole_trees(drawn: module.Blanked) -> None:
    torch.manual_seed(0)
    known = elementary_vocabulary()
    model = EquationModel(TreeEncoder(CELLS["tree_lstm"](known, 6)), EquationReadout()).double()
    with torch.no_grad():
        found, _, _ = drawn.parts(model.encoder(drawn.planned))
        alone = model.encoder(batch(trees_of(drawn, roots(drawn)[0][:8]), known))
    torch.testing.assert_close(found[:8].flatten(0, 1), alone, rtol=1e-12, atol=1e-14)


def test_subtrees_alike_have_equal_values(drawn: module.Blanked) -> None:
    trees, evaluator = trees_of(drawn, roots(drawn)[2]), Evaluator()
    pairs = torch.nonzero(drawn.alike)[:200].tolist()
    assert pairs
    assert not drawn.alike.diagonal().any()
    for i, j in pairs:
        assert evaluator.truth(Equation(trees[i], trees[j])) is not Truth.FALSE


def test_the_same_random_numbers_give_the_same_batch(sides: list[tuple[bytes, bytes]]) -> None:
    one, two = (Maker(sides, FILLERS, 5).make(np.arange(20), np.random.default_rng(4)) for _ in range(2))
    assert torch.equal(one.planned.batch.child_index, two.planned.batch.child_index)
    assert torch.equal(one.planned.batch.roots, two.planned.batch.roots)


def shapes(text: str) -> list[int]:
    """The digests of an equation with the blank in each of its places, in preorder."""
    places = Places(equation_word(read_equation(text)))
    blanked = (Places(places.replaced(place, SINGLE[BLANK])) for place in range(1, len(places.word)))
    return [word_digest(*each.sides()) for each in blanked]


@pytest.mark.parametrize(
    ("text", "held"),
    [
        ("sin(var_0)^2 + cos(var_0)^2 = 1", held_out()),
        ("2*var_0 = var_0 + var_0", frozenset(shapes("2*var_0 = var_0 + var_0")[3:4])),  # the right side
        ("2*var_0 = var_0 + var_0", frozenset(shapes("2*var_0 = var_0 + var_0")[:1])),  # the left
        ("var_0*sin(var_1) = sin(var_1)*var_0", frozenset(shapes("var_0*sin(var_1) = sin(var_1)*var_0")[::2])),
        ("var_0*sin(var_1) = sin(var_1)*var_0", frozenset(shapes("var_0*sin(var_1) = sin(var_1)*var_0")[1::2])),
    ],
)
def test_shapes_that_are_held_out_are_not_trained_on(
    text: str, held: frozenset[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "held_out", lambda world: held)
    left, right = (word(side) for side in read_equation(text))
    drawn = Maker([(left, right)] * 40, FILLERS, 4).make(np.arange(40), np.random.default_rng(0))
    usable = ~drawn.label.isnan().all(1)
    assert 0 < usable.sum() < len(usable)
    candidates, others, _ = roots(drawn)
    for use, row, other in zip(usable.tolist(), candidates, trees_of(drawn, others), strict=True):
        equation, place = blank_places(trees_of(drawn, row), other)[-1]
        blanked = Places(equation.replaced(place, SINGLE[BLANK]))
        assert use == (word_digest(*blanked.sides()) not in held and equation.at(place) in FILLERS)


def test_the_filler_that_was_there_counts_once_and_is_right(drawn: module.Blanked) -> None:
    again = 0
    for row, label in zip(roots(drawn)[0], drawn.label.tolist(), strict=True):
        own, *others = trees_of(drawn, row)
        assert label[0] == 1 or all(known != known for known in label)
        for side, known in zip(others, label[1:], strict=True):
            if side == own:
                again += label[0] == 1
                assert known != known
    assert again >= 3


@pytest.mark.parametrize("text", ["var_0 + 1 = var_0", "sin(var_0) = cos(var_0)", "var_0*0^-1 = var_0*0^-1"])
def test_nothing_is_known_of_blanks_in_what_is_not_true(text: str) -> None:
    left, right = (word(side) for side in read_equation(text))
    drawn = Maker([(left, right)] * 20, FILLERS, 12).make(np.arange(20), np.random.default_rng(0))
    assert drawn.label.isnan().all()


def test_subtrees_are_inner_nodes_that_have_a_value_at_every_point() -> None:
    texts = ["sin(var_0) = sin(var_0)", "var_0 + 0^-1 = 0^-1 + var_0", "10^4*(10^3*var_0) = 10^3*var_0*10^4"]
    sides = [tuple(word(side) for side in read_equation(text)) for text in texts]
    never, beyond_at_some, seen = read_infix("0^-1"), 0, 0
    for seed in range(20):
        drawn = Maker(sides, FILLERS, 2).make(np.arange(3), np.random.default_rng(seed))
        subtrees = trees_of(drawn, roots(drawn)[2])
        assert subtrees
        assert all(subtree.children for subtree in subtrees)
        assert never not in subtrees
        seen += any(subtree.function == "sin" for subtree in subtrees)
        beyond_at_some += any(subtree.function == "Mul" and subtree.depth == 3 for subtree in subtrees)
    assert seen == 20
    assert beyond_at_some <= 4, "of 20: at four points mostly one is beyond the largest value"


def test_values_are_compared_where_both_are_there_and_at_two_points_at_least() -> None:
    nan = float("nan")
    a = torch.tensor([[1.0, 2, 3, 4], [1, 2, nan, 4], [1, 2, nan, nan], [1, nan, nan, nan], [1, 2, nan, nan]])
    b = torch.tensor([[1.0, 2, 3, 5], [1, 2, 3, nan], [1, 2, 3, 4], [1, 2, 3, 4], [1, nan, 3, 4]])
    for found in (equal(a, b), equal(b, a)):
        torch.testing.assert_close(found, torch.tensor([0.0, 1.0, 1.0, nan, nan]), equal_nan=True)


def test_a_subtree_that_is_no_filler_is_not_blanked() -> None:
    left, right = (word(side) for side in read_equation("sin(cos(tan(var_0))) = sin(cos(tan(var_0)))"))
    drawn = Maker([(left, right)] * 50, FILLERS[:19], 2).make(np.arange(50), np.random.default_rng(0))
    usable = ~drawn.label.isnan().all(1)
    own = trees_of(drawn, roots(drawn)[0][usable][:, 1:])
    assert usable.any()
    assert all(side.size == 4 for side in own), "only the leaf is replaced, by a leaf"


def test_values_follow_the_evaluator() -> None:
    equations = [read_equation(text) for text in ("var_0^-2*var_0^2 = 1", "0^2 = 0", "4^(1/2) = 2", "var_0^var_1 = 1")]
    flat = batch(equations, vocabulary())
    planned = plan(flat, share=True)
    symbols = np.frombuffer(b"".join(word(side) for equation in equations for side in equation), np.uint8)
    value = values(planned, torch.from_numpy(symbols.astype(np.int64)), 4, np.random.default_rng(0))
    sides = value[planned.schedule.row[flat.roots]]
    assert equal(sides[::2], sides[1::2]).tolist() == [1, 1, 1, 0]
    assert equal(torch.full((1, 4), float("nan")), torch.zeros(1, 4)).isnan().all()


def own_labels(text: str, world: World, fillers: list[str]) -> list[float]:
    """The labels of the fillers that were there, for many draws of the blank."""
    left, right = (word(side) for side in read_equation(text))
    maker = Maker([(left, right)] * 30, [word(read_infix(filler)) for filler in fillers], 2, world)
    return maker.make(np.arange(30), np.random.default_rng(0)).label[:, 0].tolist()


def test_variables_are_positive_numbers_in_the_positive_world_alone() -> None:
    logarithms = "log(var_0*var_1) = log(var_0) + log(var_1)"
    assert 1.0 in own_labels(logarithms, "positive", ["var_0", "var_1", "e", "log(var_0)"])
    assert 1.0 not in own_labels(logarithms, "elementary", ["var_0", "var_1", "e", "log(var_0)"])
    assert 1.0 not in own_labels("log(-var_0) = log(-var_0)", "positive", ["var_0", "-1"]), "it is not real"


FUNCTIONS = [name for name, arity, _ in SYMBOLS if arity == 1]


@pytest.mark.parametrize("world", ["elementary", "positive"])
def test_values_of_all_functions_follow_the_bounded_ones(world: World) -> None:
    known = elementary_vocabulary()
    texts = [f"{name}(var_0/3)" for name in FUNCTIONS if name != "acosh"]
    texts += ["acosh(var_0 + 1)", "log(var_0, 10)", "log(var_0)", "2/3*var_0", "e^var_0"]
    flat = Batcher(known, SYMBOLS).words([word(read_infix(text)) for text in texts])
    planned = plan(flat, share=True)
    symbols = torch.from_numpy(np.frombuffer(b"".join(word(read_infix(text)) for text in texts), np.uint8).astype(int))
    value = values(planned, symbols, 5, np.random.default_rng(1), world == "positive")
    variable = value[planned.schedule.row[int(np.flatnonzero(symbols == 0)[0])]].numpy()
    for text, row in zip(texts, value[planned.schedule.row[flat.roots]].numpy(), strict=True):
        expected = exact(read_infix(text), variable)
        there = np.isfinite(row)
        assert there.any()
        np.testing.assert_allclose(row[there], expected[there], rtol=1e-9, err_msg=text)
        assert (np.abs(expected[~there].imag) > 0).all() if world == "positive" else there.all()


def exact(tree_: Tree, variable: np.ndarray) -> np.ndarray:
    """The values by mpmath where the one variable has these."""
    import mpmath

    def combine(node: Tree, children: list[list]) -> list:
        if node.function == "Symbol":
            return [mpmath.mpc(v) for v in variable]
        if not node.children:
            constants = {"e": mpmath.e, "pi": mpmath.pi}
            number = constants[node.token] if node.token in constants else Fraction(str(node.token))
            return [mpmath.mpf(getattr(number, "numerator", number)) / getattr(number, "denominator", 1)] * len(
                variable
            )
        names = {"Add": mpmath.fadd, "Mul": mpmath.fmul, "Pow": mpmath.power, "abs": mpmath.fabs}
        return [
            names.get(node.function, getattr(mpmath, node.function, None))(*each)
            for each in zip(*children, strict=True)
        ]

    return np.array([complex(v) for v in tree_.fold(combine)])


def test_one_rarer_literal_of_a_batch_is_unknown_now_and_then() -> None:
    known = elementary_vocabulary()
    texts = ["var_0 + 17 = 17 + var_0", "var_0*25 = 25*var_0", "2*var_0 = var_0*2"]
    sides = [tuple(word(side) for side in read_equation(text)) for text in texts]
    maker = Maker(sides, [word(read_infix(text)) for text in ("var_0", "17", "25", "2")], 3, "elementary")
    hidden = set()
    for seed in range(150):
        batch_ = maker.make(np.arange(3), np.random.default_rng(seed)).planned.batch
        tokens = {known.tokens[i] for i in batch_.token.tolist() if i >= 0}
        assert {"2", "var_0"} & tokens
        if UNKNOWN in tokens:
            hidden.add(frozenset({"17", "25"} - tokens))
    assert hidden == {frozenset({"17"}), frozenset({"25"})}, "never both, which would make them one"
    maker = Maker(sides, [word(read_infix(text)) for text in ("var_0", "17", "25", "2")], 3, "paper")
    for seed in range(60):
        assert known.token_id(UNKNOWN) not in maker.make(np.arange(3), np.random.default_rng(seed)).planned.batch.token

"""Ranking equals filling the blank and scoring each whole tree."""

import pytest
import torch
from equation_models import candidates, make_model, questions, scores_in_filler_order, whole_scores
from rows import ROWS

import dgltree
from dgltree import BLANK, Equation, Ranker, Tree, rank
from dgltree.cells import CELLS, TreeLSTM
from dgltree.encoders import TreeEncoder
from dgltree.engine.kernels import dispatch
from dgltree.engine.kernels.dispatch import kernels
from dgltree.models import EquationModel, EquationReadout
from dgltree.ranking import path_engine, ranker
from dgltree.ranking.path_engine import ROWS as ROWS_TOGETHER
from dgltree.ranking.path_engine import FusedPaths
from dgltree.ranking.ranker import probabilities
from dgltree.read.infix import read_equation, read_infix


@pytest.mark.parametrize("name", ROWS)
def test_scores_are_those_of_the_filled_trees(name: str) -> None:
    model, equations, fillers = make_model(name), questions(1), candidates(2)
    scores = [whole_scores(model, equation, fillers) for equation in equations]
    for memory_bytes in (1, 20_000, 2**28) if name in CELLS else (20_000,):  # of options one size of blocks
        for ranking, expected in zip(rank(model, equations, fillers, memory_bytes=memory_bytes), scores, strict=True):
            assert float(expected.std()) > 1e-11, "the fillers make no difference: the comparison says nothing"
            found = scores_in_filler_order(ranking)
            torch.testing.assert_close(found, expected, rtol=1e-13, atol=1e-13)
            assert torch.equal(ranking.scores, ranking.scores.sort(descending=True).values)
            assert torch.equal(ranking.probabilities, ranking.scores.sigmoid())
            assert ranking.fillers == tuple(fillers[i] for i in ranking.index.tolist())


@pytest.mark.parametrize("name", ["tree_lstm, inputs", "child_sum, inputs", "stack_tree_rnn, leaf gates"])
def test_inputs_of_nodes_on_the_path_are_not_lost(name: str) -> None:
    model, fillers = make_model(name), candidates(2)
    for token in ("2", "var_1"):
        x, right = Tree("Symbol", token="var_0"), Tree("Integer", token="2")
        equation = Equation(Tree("Add", (Tree("sin", (BLANK,), token=token), x), token="1"), right)
        [ranking] = rank(model, [equation], fillers)
        expected = whole_scores(model, equation, fillers)
        torch.testing.assert_close(scores_in_filler_order(ranking), expected, rtol=1e-13, atol=1e-13)
        bare = Equation(Tree("Add", (Tree("sin", (BLANK,)), x)), right)
        assert not torch.allclose(expected, whole_scores(model, bare, fillers))


def test_equations_and_fillers_that_unfold_to_2_60_nodes_are_ranked_in_their_distinct_objects() -> None:
    def braid(leaf: Tree) -> Tree:
        for _ in range(60):
            leaf = Tree("Add", (leaf, leaf))
        return leaf

    model, x = make_model(), read_infix("x")
    equation = Equation(Tree("Mul", (BLANK, braid(x))), braid(x))
    fillers = [x, braid(x), braid(read_infix("-2"))]
    [ranking] = rank(model, [equation], fillers)
    assert set(ranking.fillers) == set(fillers)
    filled = [equation.fill(filler) for filler in ranking.fillers]
    torch.testing.assert_close(probabilities(model, filled), ranking.probabilities, rtol=1e-13, atol=1e-13)


def test_equal_fillers_score_the_same_to_the_bit_and_stand_in_filler_order() -> None:
    fillers = candidates(2)
    for ranking in rank(make_model(), questions(1), fillers):
        scores = scores_in_filler_order(ranking)
        assert scores[0] == scores[8]
        assert scores[2] == scores[10]
        places = {i: place for place, i in enumerate(ranking.index.tolist())}
        assert places[8] == places[0] + 1
        assert places[10] == places[2] + 1


def test_k_keeps_the_best() -> None:
    model, fillers = make_model(), candidates(2)
    for best, every in zip(rank(model, questions(1), fillers, top=3), rank(model, questions(1), fillers), strict=True):
        assert best.fillers == every.fillers[:3]
        assert torch.equal(best.scores, every.scores[:3])


def test_training_mode_is_left_as_it_was_and_dropout_does_not_act() -> None:
    model = make_model()
    expected = rank(model, questions(1), candidates(2))
    model.encoder.cell.dropout = 0.5
    model.train()
    found = rank(model, questions(1), candidates(2))
    assert model.training and model.encoder.cell.training
    assert all(torch.equal(a.scores, b.scores) for a, b in zip(found, expected, strict=True))


def test_autocast_does_not_reach_into_ranking() -> None:
    model = make_model().float()
    equations, fillers = [read_equation("sin(x)+_ = 2")], [read_infix("x"), read_infix("cos(x)")]
    [expected] = rank(model, equations, fillers)
    with torch.autocast("cpu", torch.bfloat16):
        [found] = rank(model, equations, fillers)
    assert torch.equal(found.scores, expected.scores)


def test_variables_are_mapped_by_first_appearance_and_back() -> None:
    model = make_model()
    fillers = [read_infix("sin(var_0)"), read_infix("var_1"), read_infix("var_2")]
    [plain] = rank(model, [read_equation("var_0 + _ = var_1")], fillers)
    [named] = rank(model, [read_equation("b + _ = a")], fillers)
    assert torch.equal(plain.scores, named.scores)
    back = {"sin(var_0)": "sin(b)", "var_1": "a", "var_2": "var_2"}
    assert [dgltree.write_infix(f) for f in named.fillers] == [back[dgltree.write_infix(f)] for f in plain.fillers]


def test_fillers_in_the_users_own_names_mean_the_equations_variables() -> None:
    model = make_model()
    own = [read_infix("sin(a)"), read_infix("b"), read_infix("c")]
    rankings = rank(model, [read_equation("b + _ = a"), read_equation("a + _ = b")], own)
    in_model_names = (["sin(var_1)", "var_0", "var_2"], ["sin(var_0)", "var_1", "var_2"])
    for ranking, fillers in zip(rankings, in_model_names, strict=True):
        [expected] = rank(model, [read_equation("var_0 + _ = var_1")], [read_infix(f) for f in fillers])
        assert torch.equal(scores_in_filler_order(ranking), scores_in_filler_order(expected))
        assert set(ranking.fillers) == set(own)


def test_a_model_of_x_and_y_ranks_in_its_own_names_and_in_others() -> None:
    sides = [side for text in ("x + y = y + x", "sin(x*y) = 1 + x") for side in read_equation(text)]
    vocabulary = dgltree.Vocabulary.from_trees(sides)
    model = EquationModel(TreeEncoder(TreeLSTM(vocabulary, 6)), EquationReadout()).double().eval()
    fillers = [read_infix(text) for text in ("x", "sin(y)", "x*y")]
    equation = read_equation("y + _ = x + y")
    [ranking] = rank(model, [equation], fillers)
    with torch.no_grad():
        whole = model(dgltree.batch([equation.fill(filler) for filler in fillers], vocabulary))
    torch.testing.assert_close(scores_in_filler_order(ranking), whole)
    [renamed] = rank(model, [read_equation("y + _ = b + y")], fillers)  # b is read as x
    torch.testing.assert_close(renamed.scores, ranking.scores)
    assert {dgltree.write_infix(filler) for filler in renamed.fillers} == {"b", "sin(y)", "b*y"}
    with pytest.raises(ValueError, match=r"3 variables \(a, b, c\); this model reads at most 2"):
        rank(model, [read_equation("a + _ = b + c")], [read_infix("1")])


def test_fillers_with_variables_that_the_equation_lacks_are_left_out_on_request() -> None:
    fillers = [read_infix(text) for text in ("var_0", "var_1", "x", "y", "1")]
    [ranking] = rank(make_model(), [read_equation("x + _ = 2")], fillers, any_variables=False)
    assert sorted(map(dgltree.write_infix, ranking.fillers)) == ["1", "x", "x"]


def test_literals_that_the_model_lacks_are_spelled_by_those_it_has() -> None:
    model = make_model()
    [spelled] = rank(model, [read_equation("x + _ = -2")], [read_infix("1/2")])
    [written] = rank(model, [read_equation("x + _ = Mul(-1, 2)")], [read_infix("Mul(1, 2^-1)")])
    assert torch.equal(spelled.scores, written.scores)
    assert spelled.fillers == (read_infix("1/2"),)


@pytest.mark.parametrize(
    ("equation", "fillers", "options", "message"),
    [
        ("x = x", ["1"], {}, "no blanks"),
        ("_ + x = _", ["1"], {}, "2 blanks"),
        ("_ + _ = x", ["1"], {}, "2 blanks"),
        ("_ = a+b+c+d+f+g+h+i+j+k+l", ["1"], {}, "11 variables .*at most 10"),
        ("_ = tan(x)", ["1"], {}, "unknown function 'tan'; known: Add"),
        ("_ = sin(x)", ["tan(x)"], {}, "filler 1: unknown function 'tan'"),
        ("_ = sin(x)", ["1", "x + _"], {}, "filler 2 contains a blank"),
        ("_ = 0.25", ["1"], {}, "unknown .*'Float'"),
        ("_ = 77", ["1"], {}, "unknown token '77'"),
        ("_ = x", [], {}, "no fillers"),
        ("_ = x", ["1"], {"top": 0}, "top is 0"),
    ],
)
def test_bad_input_is_named(equation: str, fillers: list[str], options: dict[str, int], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        rank(make_model(), [read_equation(equation)], [read_infix(text) for text in fillers], **options)


def test_equations_whose_shared_pieces_reach_further_up_are_ranked_together() -> None:
    def above(*functions: str) -> Equation:
        tree = BLANK
        for function in functions:
            tree = Tree(function, (tree,))
        return Equation(tree, Tree("Symbol", token="var_0"))

    equations = [above("cos", "sin"), above("sin", "sin"), above(*["cos"] * 7, "sin")]
    model, fillers = make_model(), candidates(0)
    for equation, ranking in zip(equations, rank(model, equations, fillers), strict=True):
        expected = whole_scores(model, equation, fillers)
        torch.testing.assert_close(scores_in_filler_order(ranking), expected, rtol=1e-12, atol=1e-12)


def test_a_ranker_computes_its_fillers_once_and_anew_where_the_weights_changed(monkeypatch: pytest.MonkeyPatch) -> None:
    model, fillers, made = make_model(), candidates(2), []
    counting = ranker.FillerStates
    monkeypatch.setattr(ranker, "FillerStates", lambda *given: made.append(1) or counting(*given))
    ours = Ranker(model, fillers)
    for equations in (questions(1), questions(3), questions(1)):
        for found, expected in zip(ours.rank(equations), rank(model, equations, fillers), strict=True):
            assert torch.equal(found.scores, expected.scores)
    assert len(made) == 1 + 3
    with torch.no_grad():
        model.cell.embedding.weight.mul_(2)
    for found, expected in zip(ours.rank(questions(1)), rank(model, questions(1), fillers), strict=True):
        assert torch.equal(found.scores, expected.scores)


def test_a_ranker_keeps_few_ways_to_name_the_fillers_variables() -> None:
    ours = Ranker(make_model(), [read_infix("a + b")])
    names = "abcdfghk"
    texts = [f"{one} + _ = {two}" for one in names for two in names if one != two]
    together = ours.rank([read_equation(text) for text in texts])
    for text, found in zip(texts, together, strict=True):
        [alone] = rank(make_model(), [read_equation(text)], [read_infix("a + b")])
        torch.testing.assert_close(found.scores, alone.scores)


def test_more_fillers_than_rows_of_a_step_are_ranked() -> None:
    names = [Tree("Symbol", token=f"var_{k}") for k in range(10)]
    fillers = [Tree("If", (a, b, c)) for a in names for b in names for c in names]
    fillers += [Tree("If", (Tree("sin", (a,)), b, c)) for a in names for b in names for c in names]
    fillers += [Tree("Add", (tree, names[0])) for tree in fillers[:100]]
    assert len(set(fillers)) > ROWS_TOGETHER
    model, [equation] = make_model("tree_rnn"), [read_equation("sin(_) = x")]
    [ranking] = rank(model, [equation], fillers)
    encoded = Equation(Tree("sin", (BLANK,)), names[0])
    torch.testing.assert_close(scores_in_filler_order(ranking), whole_scores(model, encoded, fillers))


@pytest.mark.parametrize("name", ["tree_lstm, inputs", "child_sum, inputs"])
def test_path_nodes_that_differ_in_their_token_alone_are_told_apart(name: str) -> None:
    x = Tree("Symbol", token="var_0")
    equations = [Equation(Tree("sin", (BLANK,), token=token), x) for token in ("1", "2", "var_1")]
    model, fillers = make_model(name), candidates(2)
    for equation, ranking in zip(equations, rank(model, equations, fillers), strict=True):
        torch.testing.assert_close(scores_in_filler_order(ranking), whole_scores(model, equation, fillers))
    firsts = [scores_in_filler_order(ranking) for ranking in rank(model, equations, fillers)]
    assert not torch.allclose(firsts[0], firsts[1])


def test_a_filler_with_just_the_variables_of_the_equation_is_offered() -> None:
    fillers = [read_infix(text) for text in ("var_0*var_1", "var_0*var_2", "var_1")]
    [ranking] = rank(make_model(), [read_equation("var_0 + _ = var_1")], fillers, any_variables=False)
    assert sorted(ranking.index.tolist()) == [0, 2]


@pytest.mark.parametrize("name", ["tree_smu, no_op", "tree_lstm, inputs", "child_sum", "stack_tree_rnn"])
@pytest.mark.parametrize("mode", ["off", "on"])
def test_many_fillers_go_up_one_path_after_another_with_the_same_scores(
    name: str, mode: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if mode == "on":
        pytest.importorskip("numba", reason="the fast extra is not installed")
    model, fillers, orders = make_model(name), candidates(2), []
    depth_first = path_engine._depth_first
    monkeypatch.setattr(path_engine, "ROWS", 1)
    monkeypatch.setattr(path_engine, "_depth_first", lambda contexts: orders.append(contexts) or depth_first(contexts))
    with kernels(mode):
        for equation, ranking in zip(questions(1), rank(model, questions(1), fillers), strict=True):
            expected = whole_scores(model, equation, fillers)
            torch.testing.assert_close(scores_in_filler_order(ranking), expected, rtol=1e-13, atol=1e-13)
        bare = Equation(BLANK, Tree("Symbol", token="var_0"))
        expected = whole_scores(model, bare, fillers)
        torch.testing.assert_close(scores_in_filler_order(rank(model, [bare], fillers)[0]), expected)
    assert orders
    assert max(context.height for contexts in orders for context in contexts) > 2


@pytest.mark.parametrize("name", ["tree_smu, no_op", "stack_tree_lstm, gated top_k", "tree_lstm, inputs"])
def test_kernels_rank_as_torch_does(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("numba", reason="the fast extra is not installed")
    model, fillers, calls = make_model(name), candidates(2), []
    up = FusedPaths.root_states
    monkeypatch.setattr(FusedPaths, "root_states", lambda self, states: calls.append(self) or up(self, states))
    with kernels("off"):
        expected = rank(model, questions(1), fillers)
    assert not calls
    with kernels("on"):
        found = rank(model, questions(1), fillers)
    assert calls
    for one, other in zip(found, expected, strict=True):
        torch.testing.assert_close(*map(scores_in_filler_order, (one, other)), rtol=1e-13, atol=1e-13)


def test_without_a_blas_paths_run_by_torch(monkeypatch: pytest.MonkeyPatch) -> None:
    model, fillers = make_model("tree_lstm, inputs"), candidates(2)
    with kernels("off"):
        expected = rank(model, questions(1)[:4], fillers)
    monkeypatch.setattr(dispatch, "product_address", lambda dtype: None)
    monkeypatch.setattr(FusedPaths, "root_states", lambda *given: pytest.fail("paths ran through the kernel"))
    with kernels("on"):
        found = rank(model, questions(1)[:4], fillers)
    for one, other in zip(found, expected, strict=True):
        torch.testing.assert_close(*map(scores_in_filler_order, (one, other)), rtol=1e-13, atol=1e-13)


def test_two_threads_rank_several_blocks_of_fillers_to_the_same_scores() -> None:
    block = pytest.importorskip("dgltree.engine.kernels.numba_paths", reason="the fast extra is not installed").BLOCK
    names = [Tree("Symbol", token=f"var_{k}") for k in range(10)]
    fillers = [Tree("If", (a, b, c)) for a in names for b in names for c in names][: 2 * block + 40]
    model, threads, found = make_model(), torch.get_num_threads(), []
    try:
        for count in (1, 2):
            torch.set_num_threads(count)
            found.append(rank(model, questions(1), fillers))
    finally:
        torch.set_num_threads(threads)
    for equation, one, two in zip(questions(1), *found, strict=True):
        one_order, two_order = scores_in_filler_order(one), scores_in_filler_order(two)
        torch.testing.assert_close(one_order, two_order, rtol=1e-13, atol=1e-13)
        expected = whole_scores(model, equation, fillers)
        torch.testing.assert_close(scores_in_filler_order(two), expected, rtol=1e-13, atol=1e-13)


def test_fillers_may_be_any_iterable() -> None:
    model, fillers = make_model(), candidates(2)
    expected = rank(model, questions(1), fillers)
    for one, other in zip(rank(model, questions(1), iter(fillers)), expected, strict=True):
        assert torch.equal(scores_in_filler_order(one), scores_in_filler_order(other))
    with pytest.raises(ValueError, match="no fillers to rank"):
        Ranker(model, iter([]))

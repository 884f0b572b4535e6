"""A model of message functions ranks as the ranker of the same cell does, and says what is wrong."""

from typing import Any

import pytest
import torch
from equation_models import VOCABULARY, candidates, make_model, questions, scores_in_filler_order
from torch import Tensor

import dgltree
from dgltree import Equation, Ranker, Tree
from dgltree.ranking import FunctionRanker

Fields = dict[str, Tensor]


def function_ranker(model: Any, fillers: list[Tree], **options: Any) -> FunctionRanker:
    cell = model.encoder.cell
    options = {"readout": lambda left, right: model.readout(left["h"], right["h"]), "prepare": cell.prepare} | options
    functions = cell.message_func, cell.reduce_func, cell.apply_node_func
    return FunctionRanker(VOCABULARY, *functions, fillers=fillers, **options)


def adding(fillers: list[Tree], **options: Any) -> FunctionRanker:
    """A model that adds up a field of one number a node."""
    send, reduce = (lambda edges: {"h": edges.src["h"]}), (lambda nodes: {"h": nodes.mailbox["h"].sum(1)})
    return FunctionRanker(
        VOCABULARY, send, reduce, None, lambda left, right: left["h"] - right["h"], fillers, **options
    )


@pytest.mark.parametrize("name", ["tree_smu, no_op", "tree_lstm", "child_sum", "tree_cell"])
@pytest.mark.parametrize("nodes", [1, 2**15])
def test_scores_are_those_of_the_ranker_of_the_cell(name: str, nodes: int) -> None:
    model, equations, fillers = make_model(name), questions(1), candidates(2)
    found = function_ranker(model, fillers, nodes=nodes).rank(equations)
    for ours, expected in zip(found, Ranker(model, fillers).rank(equations), strict=True):
        wanted = scores_in_filler_order(expected)
        torch.testing.assert_close(scores_in_filler_order(ours), wanted, rtol=1e-13, atol=1e-13)
    [best] = function_ranker(model, fillers).rank(equations[:1], top=1, any_variables=False)
    [expected] = Ranker(model, fillers).rank(equations[:1], top=1, any_variables=False)
    assert best.fillers == expected.fillers


def test_equal_trees_of_a_pass_are_computed_once() -> None:
    sizes: list[int] = []
    right = Tree("sin", (Tree("Symbol", token="var_0"),))
    equation = Equation(dgltree.BLANK, right)
    leaves = [Tree("Symbol", token=f"var_{k}") for k in (0, 1, 1, 2)]

    def prepare(graph: Any) -> None:
        sizes.append(graph.num_nodes())
        graph.ndata["h"] = graph.ndata["token"].double()

    ranker = adding(leaves, prepare=prepare)
    [ranking] = ranker.rank([equation])
    assert sizes == [3 + 2], "three different fillers and one right side"
    assert scores_in_filler_order(ranking).tolist() == [0, 1, 1, 2]


def test_a_readout_gives_one_logit_for_each_pair() -> None:
    model = make_model("tree_lstm")
    wrong = function_ranker(model, candidates(2), readout=lambda left, right: left["h"])
    with pytest.raises(
        ValueError, match=r"readout returned \(\d+, 4\) for \d+ pairs of roots; return one score per pair"
    ):
        wrong.rank(questions(1)[:1])
    with pytest.raises(ValueError, match="no fillers to rank"):
        function_ranker(model, [])
    with pytest.raises(ValueError, match="nodes is 0"):
        function_ranker(model, candidates(2), nodes=0)


def test_functions_that_read_a_field_that_is_not_there_are_told_so() -> None:
    ranker = adding(candidates(2))
    with pytest.raises(KeyError, match="there is no field 'h'; the fields are function, token"):
        ranker.rank(questions(1)[:1])


def test_no_filler_may_be_left_to_offer() -> None:
    model, fillers = make_model("tree_lstm"), [Tree("Symbol", token="var_1")]
    equation = Equation(dgltree.BLANK, Tree("Symbol", token="var_0"))
    for ranker in (Ranker(model, fillers), function_ranker(model, fillers)):
        [ranking] = ranker.rank([equation], any_variables=False)
        assert ranking.fillers == ()

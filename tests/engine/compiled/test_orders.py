"""Passes in reverse, by an order of the mailbox, and divided by a field by which functions decide, as machine code."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from features import EDGES, FEATURES, NET, Feature, H, copy, fields, largest_difference, outcome
from test_features import COMPILED
from torch import Tensor

import dgltree
from dgltree.engine import why_not
from dgltree.engine.compiled import catalogue, known_functions, run_functions
from dgltree.engine.frontiers import topo_plan
from dgltree.engine.kernels.blas import product_address
from dgltree.engine.kernels.dispatch import kernels

pytest.importorskip("llvmlite", minversion="0.44", reason="llvmlite is not installed, or is too old")
if product_address(torch.float64) is None:
    pytest.skip("the BLAS library of this torch is unknown", allow_module_level=True)

Fields = dict[str, Tensor]


@pytest.fixture(autouse=True)
def new_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DGLTREE_CACHE", str(tmp_path))
    monkeypatch.setattr(run_functions, "_memory", known_functions.Memory())


SEVEN = ("the last message",)
"""Features with six programs, one for each degree; in reverse nodes without messages are a seventh."""


def assert_as_torch(feature: Feature, **options: Any) -> None:
    found, expected = (outcome(feature, mode, **options) for mode in ("required", "off"))
    assert largest_difference(found.states, expected.states) < 1e-12
    assert largest_difference(found.gradients, expected.gradients) < 1e-11


def reason_of(feature: Feature, **options: Any) -> str:
    nodes, edges = fields()
    graph = torch.stack(EDGES), nodes, edges
    return str(why_not(graph, *feature[:3], plan=topo_plan(graph, **options)))


# ---------------------------------------------------------------------------------------------------------------------
# In reverse.


@pytest.mark.parametrize(
    "name",
    [
        name if number % 8 == 0 else pytest.param(name, marks=pytest.mark.slow)
        for number, name in enumerate(COMPILED)
        if name not in SEVEN
    ],
)
def test_in_reverse_messages_bring_what_was_there_before_the_pass(name: str) -> None:
    assert_as_torch(FEATURES[name], reverse=True)


@pytest.mark.slow
@pytest.mark.parametrize("name", SEVEN)
def test_seven_programs_are_one_too_many(name: str) -> None:
    assert "more than 6 programs for different numbers of messages" in reason_of(FEATURES[name], reverse=True)


def test_one_model_runs_both_ways() -> None:
    feature = FEATURES["a sum"]
    for reverse in (False, True, False):
        assert_as_torch(feature, reverse=reverse)


def test_a_new_field_is_0_where_it_is_computed_later() -> None:
    feature = Feature(copy, lambda nodes: {"new": nodes.mailbox["m"].sum(1)})
    assert_as_torch(feature, reverse=True)


@pytest.mark.parametrize("options", [{"reverse": True}, {"by": "token"}])
def test_leaves_that_ask_whether_a_field_is_there_are_left_to_torch_where_others_write_it_before(options: Any) -> None:
    def apply(nodes: Any) -> Fields:
        return {"new": nodes.data["x"] + ("new" in nodes.data)}

    feature = Feature(copy, lambda nodes: {"new": nodes.mailbox["m"].sum(1)}, apply)
    assert "the functions compute something else if the field 'new'" in reason_of(feature, **options)
    assert "new" in outcome(feature, "on", **options).states


# ---------------------------------------------------------------------------------------------------------------------
# The order of mailboxes.


def test_an_order_with_equal_entries_is_by_the_numbers_of_edges() -> None:
    feature = FEATURES["a mailbox laid side by side"]
    nodes, edges = fields()
    ties = {**edges, "slot": torch.arange(len(EDGES[0])).flip(0) // 3}
    assert_as_torch(feature, order="slot", given=(nodes, ties))


# ---------------------------------------------------------------------------------------------------------------------
# By a field.


def by_its_first(nodes: Any) -> Fields:
    layer = (NET.a, NET.b)[int(nodes.data["token"][0]) % 2]
    return {"h": torch.tanh(layer(nodes.mailbox["m"].sum(1)) + nodes.data["x"])}


def by_a_truth(nodes: Any) -> Fields:
    total = nodes.mailbox["m"].sum(1)
    return {"h": total if bool((nodes.data["token"] > 3).all()) else torch.sigmoid(NET.a(total))}


def by_a_list(nodes: Any) -> Fields:
    factor = 0.5 if nodes.data["token"][0].item() in (1, 2, 5) else -2.0
    return {"h": torch.tanh(nodes.mailbox["m"].mean(1) * factor + nodes.data["token"].unsqueeze(1))}


def in_messages(edges: Any) -> Fields:
    return {"m": NET.a(edges.src["h"]) if int(edges.dst["token"].max()) > 2 else edges.src["h"]}


def of_leaves(nodes: Any) -> Fields:
    return {"h": nodes.data["x"] * min(3, 1 + int(nodes.data["token"][-1])) + nodes.data["h"]}


def summed(nodes: Any) -> Fields:
    return {"h": torch.tanh(nodes.mailbox["m"].sum(1))}


def embedded(nodes: Any) -> Fields:
    return {"h": nodes.mailbox["m"].sum(1) * NET.embedding(nodes.data["token"])}


DECIDED = {
    "a layer by the first": Feature(copy, by_its_first),
    "a truth of all": Feature(copy, by_a_truth),
    "one of a list": Feature(copy, by_a_list),
    "in messages": Feature(in_messages, summed),
    "at leaves": Feature(copy, lambda nodes: {"s": nodes.mailbox["m"].sum(1)}, of_leaves),
    "not at all": Feature(copy, embedded),
}


@pytest.mark.parametrize("name", DECIDED)
def test_functions_decide_by_the_number_that_all_nodes_have(name: str) -> None:
    assert_as_torch(DECIDED[name], by="token")


@pytest.mark.parametrize("name", ["not at all", "a truth of all"])
def test_nodes_without_messages_get_0_among_others_with_their_number(name: str) -> None:
    edges = torch.tensor([[0, 1, 0, 1], [2, 2, 3, 3]])
    nodes = {"h": torch.ones(5, H, dtype=torch.float64), "token": torch.tensor([0, 0, 0, 1, 1])}
    found = []
    for mode in ("required", "off"):
        with kernels(mode):
            frontiers = [[2], [3, 4]]
            found.append(dgltree.prop_nodes((edges, dict(nodes)), frontiers, *DECIDED[name][:2], by="token")["h"])
    assert torch.equal(found[0][4], torch.zeros(H, dtype=torch.float64))
    assert torch.allclose(*found, rtol=0, atol=1e-13)


@pytest.mark.parametrize("name", [name for name in DECIDED if name != "not at all"])
def test_without_by_it_is_proposed(name: str) -> None:
    assert "the field 'token', so pass by='token': \"" in reason_of(DECIDED[name])


def test_what_is_not_the_same_at_all_nodes_decides_nothing() -> None:
    def by_a_source(edges: Any) -> Fields:
        return {"m": edges.src["h"] * int(edges.src["token"][0])}

    def by_a_draw(nodes: Any) -> Fields:
        drawn = torch.bernoulli(nodes.data["token"] / 20.0)
        return {"h": nodes.mailbox["m"].sum(1) * float(drawn[0])}

    for feature in (Feature(by_a_source, summed), Feature(copy, by_a_draw)):
        assert "the functions branch on a value" in reason_of(feature, by="token")


def test_a_function_that_changes_for_one_number_alone_is_noticed() -> None:
    factors = {number: 1.0 + number for number in range(3)}

    def reduce(nodes: Any) -> Fields:
        return {"h": torch.tanh(nodes.mailbox["m"].sum(1) * factors[int(nodes.data["token"][0])])}

    feature = Feature(copy, reduce)
    token = torch.arange(len(fields()[0]["h"])) % 3
    given = {**fields()[0], "token": token}, fields()[1]
    assert_as_torch(feature, by="token", given=given)
    for number in (2, 0, 1):
        factors[number] = -0.5 - number
        assert_as_torch(feature, by="token", given=given)


def test_a_number_that_was_not_met_before_is_recorded() -> None:
    nodes, edges = fields()
    for number in (1, 2, 3):
        given = {**nodes, "token": torch.full_like(nodes["token"], number)}, edges
        assert_as_torch(DECIDED["a layer by the first"], by="token", given=given)


def test_numbers_that_were_changed_after_the_plan_was_made_are_left_to_torch() -> None:
    nodes, edges = fields()
    graph = torch.stack(EDGES), nodes, edges
    plan = topo_plan(graph, by="token")
    nodes["token"] = torch.arange(len(nodes["token"])) % 2
    assert "changed after the plan was made" in str(why_not(graph, copy, embedded, plan=plan))
    del nodes["token"]
    assert "the field 'token' no longer exists" in str(why_not(graph, copy, summed, plan=plan))


@pytest.fixture
def records(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The number of nodes of each recording."""
    found: list[int] = []
    original: Callable[..., Any] = catalogue.record

    def counted(functions: Any, situation: Any, edges: Any, rows: int) -> Any:
        found.append(rows)
        return original(functions, situation, edges, rows)

    monkeypatch.setattr(catalogue, "record", counted)
    return found


def test_ten_thousand_numbers_cost_no_recordings_unless_functions_decide_by_them(records: list[int]) -> None:
    count = 10_000
    drawn = torch.Generator().manual_seed(0)
    source, target = torch.arange(count), torch.arange(count) + count
    h = torch.randn(2 * count, H, dtype=torch.float64, generator=drawn)
    nodes = {"h": h, "token": torch.arange(2 * count) % count}
    graph: Any = (torch.stack([source, target]), dict(nodes), {})
    plan = topo_plan(graph, by="token")

    def scaled(nodes: Any) -> Fields:
        return {"h": nodes.mailbox["m"].sum(1) * nodes.data["token"].unsqueeze(1)}

    with kernels("required"):
        found = dgltree.prop_nodes_topo(graph, copy, scaled, plan=plan)["h"]
    assert torch.allclose(found[count:], nodes["h"][:count] * nodes["token"][count:, None], rtol=1e-14)
    assert len(records) < 12
    start = time.process_time()
    why = str(why_not(graph, copy, by_a_list, plan=plan))
    assert "by='token' has more than 64 different values, and each one needs its own program" in why
    assert len(records) < 600 and time.process_time() - start < 60


def test_frontiers_of_one_number_each_need_no_by() -> None:
    nodes, edges = fields()
    graph = torch.stack(EDGES), dict(nodes), dict(edges)
    token = nodes["token"].tolist()
    levels = [level.tolist() for level in dgltree.topological_nodes_generator(graph)]
    frontiers = [[v for v in level if token[v] == kind] for level in levels for kind in sorted(set(token))]
    frontiers = [part for part in frontiers if part]
    with kernels("required"):
        found = dgltree.prop_nodes(graph, frontiers, copy, by_its_first)["h"]
    assert torch.allclose(found, outcome(DECIDED["a layer by the first"], "off", by="token", leaves=False).states["h"])


def test_a_field_that_nodes_with_another_number_write_may_not_change_what_is_computed() -> None:
    def apply(nodes: Any, asks: bool) -> Fields:
        if int(nodes.data["token"][0]) % 2:
            return {"odd": nodes.data["x"] + nodes.data["s"]}
        return {"even": nodes.data["x"] * (1 + (asks and "odd" in nodes.data)) + nodes.data["s"]}

    def reduce(nodes: Any) -> Fields:
        return {"s": nodes.mailbox["m"].sum(1)}

    for asks in (False, True):
        feature = Feature(copy, reduce, lambda nodes, asks=asks: apply(nodes, asks))
        assert (
            "the functions compute something else if the field 'odd'" in reason_of(feature, by="token", leaves=False)
        ) == asks
        found, expected = (outcome(feature, mode, by="token", leaves=False) for mode in ("on", "off"))
        assert largest_difference(found.states, expected.states) < 1e-12


def test_the_number_of_nodes_may_be_asked_of_their_numbers_and_nothing_else() -> None:
    feature = Feature(copy, lambda nodes: {"h": nodes.mailbox["m"].sum(1) / len(nodes.nodes())})
    assert "the functions calculate with the number of nodes in a frontier" in reason_of(feature)
    assert_as_torch(Feature(copy, lambda nodes: {"h": nodes.mailbox["m"].view(len(nodes.nodes()), -1, H).sum(1)}))
    feature = Feature(copy, lambda nodes: {"h": nodes.mailbox["m"].sum(1) * (nodes.nodes() % 2)})
    assert "operand type(s) for %: 'NumbersOfNodes'" in reason_of(feature)
    for ask in (lambda numbers: numbers[0], torch.sin, lambda numbers: numbers.tolist()):
        feature = Feature(copy, lambda nodes, ask=ask: {"h": nodes.mailbox["m"].sum(1) * ask(nodes.nodes())})
        assert 'the functions read node numbers: "' in reason_of(feature)

"""A program is used for the numbers of nodes and messages on which the functions were run, and for no others."""

from collections.abc import Mapping
from typing import Any
from unittest.mock import patch

import pytest
import torch
from features import EDGES, NET, H, copy, each, fields
from interpreter import interpret
from torch import Tensor, nn

import dgltree
from dgltree.engine.compiled.catalogue import Catalogue
from dgltree.engine.compiled.recording import MOST_FIELDS, Kind, PassFunctions, Situation, record
from dgltree.engine.compiled.tensors import NotAProgramError
from dgltree.engine.frames import NodeBatch
from dgltree.engine.frontiers import topo_plan
from dgltree.engine.message_graph import open_graph

WIDE = Kind((H,), torch.float64)
NODES = {"h": WIDE, "x": WIDE}


def functions(reduce: Any, apply: Any = None, message: Any = copy) -> PassFunctions:
    return PassFunctions(message, reduce, False, apply)


def catalogue(reduce: Any, apply: Any = None, nodes: Mapping[str, Kind] = NODES) -> Catalogue:
    return Catalogue(functions(reduce, apply), nodes, {})


def refusal(reduce: Any, *degrees: int, apply: Any = None, nodes: Mapping[str, Kind] = NODES) -> str:
    found = catalogue(reduce, apply, nodes)
    with pytest.raises(NotAProgramError) as raised:
        for degree in degrees or (1, 2, 3):
            found.program(degree)
    return str(raised.value)


def test_a_branch_at_one_message_has_a_program_of_its_own_and_the_others_share_one() -> None:
    found = catalogue(lambda nodes: {"h": nodes.mailbox["m"].sum(1) * (2 if nodes.mailbox["m"].shape[1] == 1 else 1)})
    one, two, many = (found.program(degree) for degree in (1, 2, 61))
    assert one is not two
    assert two is many


def test_a_branch_beyond_the_first_probes_is_seen_when_its_degree_is_met() -> None:
    found = catalogue(lambda nodes: {"h": nodes.mailbox["m"].sum(1) * (2 if nodes.mailbox["m"].shape[1] > 20 else 1)})
    assert found.program(3) is found.program(20)
    assert found.program(21) is found.program(40)
    assert found.program(3) is not found.program(21)


def test_a_number_that_python_takes_from_a_mailbox_follows_the_degree() -> None:
    found = catalogue(lambda nodes: {"h": nodes.mailbox["m"].sum(1) / len(nodes.mailbox["m"][0])})
    assert found.program(1) is found.program(7)


def test_sizes_that_are_those_of_the_probes_are_told_from_counts() -> None:
    nodes = {"h": Kind((13,), torch.float64), "x": Kind((53,), torch.float64)}
    layer = nn.Linear(13, 53).double()

    def reduce(nodes: NodeBatch) -> dict[str, Tensor]:
        mail = nodes.mailbox["m"]
        return {"x": layer(mail.sum(1)) / 13 + nodes.data["x"].view(mail.size(0), -1) / mail.shape[1]}

    assert catalogue(reduce, nodes=nodes).program(2) is not None


def test_a_plain_number_that_equals_a_probed_degree_is_no_degree() -> None:
    found = catalogue(lambda nodes: {"h": nodes.mailbox["m"].sum(1) / 13})
    program = found.program(4)
    assert program is not None
    assert "degree" not in program.text()


@pytest.mark.parametrize(
    "reduce",
    [
        lambda nodes: {"h": nodes.mailbox["m"].sum(1) * (2 if len(nodes) > 1000 else 1)},
        lambda nodes: {"h": nodes.mailbox["m"].sum(1) / len(nodes)},
        lambda nodes: {"h": nodes.mailbox["m"].sum(1) + nodes.data["x"].mean(0)},
        lambda nodes: {"h": nodes.mailbox["m"].sum(1) if nodes.data["x"].shape[0] != 1 else nodes.data["x"]},
    ],
    ids=["a branch", "a divisor", "a mean", "a single one"],
)
def test_what_depends_on_the_number_of_nodes_is_refused(reduce: Any) -> None:
    assert "node" in refusal(reduce)


def test_more_than_six_programs_are_refused_with_the_line_that_needs_them() -> None:
    why = refusal(each(lambda mail, nodes: mail[:, -1]), *range(1, 9))
    assert why.startswith("more than 6 programs for different numbers of messages: a part of the mailbox")
    assert "test_catalogue.py" in why


def test_a_node_of_many_messages_is_not_computed_one_by_one() -> None:
    assert "a part of the mailbox" in refusal(each(lambda mail, nodes: mail[:, -1]), 40)


@pytest.mark.parametrize(
    ("reduce", "why"),
    [
        (lambda nodes: {"h": nodes.mailbox["m"].flatten(1)}, "'h' is Kind(shape=(16,)"),
        (
            lambda nodes: {f"h{nodes.mailbox['m'].shape[1]}": nodes.data["x"]},
            "reduce_func returns different fields for 2 messages",
        ),
        (lambda nodes: {"h": nodes.mailbox["m"].sum(1).float()}, "'h' is Kind(shape=(8,), dtype=torch.float32)"),
        (lambda nodes: {"new": nodes.mailbox["m"].sum(1).float()}, "numbers are torch.float32"),
        (lambda nodes: {"h": nodes.mailbox["m"].sum(1)[:, : nodes.mailbox["m"].shape[1]]}, "'h' is Kind(shape=(1,)"),
        (lambda nodes: None, "reduce_func returned NoneType"),
        (lambda nodes: {"h": nodes.mailbox["m"]}, "'h' is Kind(shape=(1, 8)"),
        (lambda nodes: {"h": nodes.mailbox["m"].sum((0, 1))}, "which is not a tensor with one row per node or edge"),
        (lambda nodes: {"h": nodes.data["missing"]}, "there is no field 'missing'"),
        (lambda nodes: {"h": nodes.nodes().float()}, "the functions read node numbers:"),
        (lambda nodes: {"h": torch.rand_like(nodes.data["h"])}, "random numbers of rand_like"),
        (lambda nodes: {"h": nodes.data["x"][torch.arange(len(nodes))]}, "advanced indexing"),
        (lambda nodes: {"h": nodes.mailbox["m"] @ nodes.mailbox["m"].transpose(1, 2) @ nodes.mailbox["m"]}, "h"),
    ],
)
def test_what_is_no_program_says_why(reduce: Any, why: str) -> None:
    assert why in refusal(reduce)


def test_a_parameter_on_another_device_is_a_reason() -> None:
    layer = nn.Linear(H, H, device="meta")
    assert "random test nodes" in refusal(each(lambda mail, nodes: layer(mail.sum(1).float()).double()))


def test_half_precision_is_refused() -> None:
    nodes = {"h": Kind((H,), torch.float16), "x": Kind((H,), torch.float16)}
    assert "numbers are torch.float16" in refusal(each(lambda mail, nodes: mail.sum(1)), nodes=nodes)


def test_thousands_of_fields_are_refused_before_anything_is_run() -> None:
    many = {f"x{number}": WIDE for number in range(10_000)}

    def never(nodes: NodeBatch) -> dict[str, Tensor]:
        raise AssertionError

    assert f"at most {MOST_FIELDS}" in refusal(never, nodes={**NODES, **many})


def test_functions_are_recorded_without_a_trace_in_random_numbers_or_statistics() -> None:
    norm = nn.BatchNorm1d(H).double()
    before = norm.running_mean.clone(), torch.get_rng_state()
    with pytest.raises(NotAProgramError, match="changes a tensor that outlives the call:"):
        catalogue(each(lambda mail, nodes: norm(NET.dropout(mail.sum(1))))).program(2)
    assert torch.equal(norm.running_mean, before[0])
    assert torch.equal(torch.get_rng_state(), before[1])


def test_questions_about_counts_are_kept_with_their_lines() -> None:
    def reduce(nodes: NodeBatch) -> dict[str, Tensor]:
        mail = nodes.mailbox["m"]
        return {"h": mail.sum(1) if mail.size(1) > 3 and nodes.data["x"].shape[0] else mail.mean(1)}

    questions = record(functions(reduce), Situation(NODES, 13), {}, 53).questions
    assert [(each.counted, each.asked, each.other, each.answer) for each in questions] == [
        ("degree", "gt", 3, True),
        ("rows", "truth", None, True),
    ]
    assert all("mail.size(1) > 3" in str(each.line) for each in questions)


def test_a_field_that_only_nodes_with_messages_write_may_not_change_what_they_compute() -> None:
    def reduce(nodes: NodeBatch) -> dict[str, Tensor]:
        first = nodes.data["depth"] if "depth" in nodes.data else nodes.data["x"]
        return {"depth": nodes.mailbox["m"].sum(1) + first}

    assert "the functions compute something else if the field 'depth'" in refusal(reduce)
    assert catalogue(lambda nodes: {"depth": nodes.mailbox["m"].sum(1)}).program(2) is not None


def test_nodes_without_messages_among_others_get_0_of_what_is_reduced() -> None:
    nodes, edges = fields()
    graph = torch.stack(EDGES)

    def reduce(batch: NodeBatch) -> dict[str, Tensor]:
        return {"c": batch.mailbox["m"].sum(1)}

    def apply(batch: NodeBatch) -> dict[str, Tensor]:
        return {"h": torch.tanh(batch.data["c"] + batch.data["x"])}

    expected = dgltree.prop_nodes_topo((graph, dict(nodes), edges), copy, reduce, reverse=True, apply_node_func=apply)
    given = (graph, dict(nodes), edges)
    found, _ = interpret(open_graph(given), topo_plan(given, reverse=True), copy, reduce, apply)
    assert torch.allclose(found["h"], expected["h"], rtol=0, atol=1e-13)


def test_a_program_is_printed_next_to_the_lines_that_it_comes_from() -> None:
    program = catalogue(each(lambda mail, nodes: NET.a(mail.sum(1)))).program(3)
    assert program is not None
    lines = str(program).splitlines()
    assert lines[0] == "held 0 = outside 0.0"
    assert any("sum_edges" in line and "test_catalogue.py" in line for line in lines)
    assert any(line.startswith("product 0.0 = [0:8 ") for line in lines)
    assert lines[-1].startswith("h = [0:8 ")


def test_dropout_is_a_mask_with_its_probability() -> None:
    program = catalogue(each(lambda mail, nodes: NET.dropout(mail.sum(1)))).program(2)
    assert program is not None
    assert [(mask.probability, mask.width) for mask in program.masks] == [(0.5, H)]


def test_dropout_has_the_states_of_the_same_function_with_its_mask_written_out() -> None:
    nodes, edges = fields()
    given = (torch.stack(EDGES), dict(nodes), dict(edges))
    mask = torch.tensor([1.0, 0.0] * (H // 2), dtype=torch.float64)
    with patch.object(torch, "bernoulli", lambda chances: mask.expand_as(chances)):
        found, _ = interpret(open_graph(given), topo_plan(given), copy, each(lambda m, _: NET.dropout(m.sum(1))))
    expected = dgltree.prop_nodes_topo(given, copy, each(lambda mail, _: mail.sum(1) * mask / 0.5))
    assert torch.allclose(found["h"], expected["h"], rtol=0, atol=1e-13)

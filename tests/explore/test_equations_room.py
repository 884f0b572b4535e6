"""The room of equations: its answers are those of the library."""

import json
from typing import Any

import pytest
from explore_page import ask, refusal

import dgltree
from dgltree.engine.kernels.dispatch import kernels
from dgltree.models.tree_model import evaluating
from dgltree.ranking.filler_list import FillerList
from dgltree.ranking.ranker import Names
from dgltree.read.infix_writer import write_infix

TEXT = "sin(y)^2 + _ = 1"


def test_a_text_is_read_typeset_and_drawn(client: Any) -> None:
    read = ask(client, "equation/read", text="\\frac{x}{2} = _")
    assert read["text"] == "x/2 = _"
    assert read["latex"] == "\\frac{x}{2} = \\square"
    assert read["blanks"] == ["_"]
    assert read["nodes"][0] == {"name": "×", "parent": -1}
    assert read["nodes"][-1] == {"name": "?", "parent": -1}
    assert "there is no '='" in refusal(client, "equation/read", text="x + 1")


def test_the_list_is_ranked_as_the_library_ranks_it(client: Any, opened: Any) -> None:
    found = ask(client, "equation/rank", text=TEXT, model="default")
    equation = dgltree.read_equation(TEXT)
    with kernels("off"):
        [own] = FillerList(opened.equations["default"], dgltree.shipped_fillers()).complete([equation], 3)
    texts = [row["texts"][0] for row in found["fillers"]]
    verdicts = ask(client, "equation/judge", text=TEXT, fillers=texts)["verdicts"]
    assert len(verdicts) == len(texts) and {row["verdict"] for row in found["fillers"]} == {None}
    for row, verdict, filler in zip(found["fillers"], verdicts, own.fillers, strict=False):
        assert row["texts"] == [write_infix(filler.trees[0])]
        assert row["score"] == pytest.approx(filler.score, abs=1e-4)
        assert (verdict["verdict"], verdict["holds"]) == (filler.verdict.short, filler.verdict.holds)
    assert found["fillers"][0]["texts"] == ["cos(y)^2"]
    deep = "sin(" * 70 + "_" + ")" * 70 + " = x"
    assert "70 nodes below" in refusal(client, "equation/rank", text=deep, model="default")
    assert "one blank" in refusal(client, "equation/rank", text="_1 + _2 = x", model="default")
    assert "model is none of default, stack" in refusal(client, "equation/rank", text=TEXT, model="/etc/passwd")


@pytest.mark.parametrize("model", ["default", "stack"])
@pytest.mark.parametrize("text", [TEXT, "1 = _ + sin(y)^2", "x*(y + e + e) = _*x"])
def test_the_score_at_the_end_of_the_path_is_that_of_the_equation(
    client: Any, opened: Any, model: str, text: str
) -> None:
    filler = "cos(y)^2"
    found = ask(client, "equation/path", text=text, model=model, filler=filler)
    whole = dgltree.read_equation(text).fill(dgltree.read_infix(filler))
    network = opened.equations[model]
    names = Names(whole, network.cell.vocabulary)
    with evaluating(network):
        encoded = dgltree.batch(map(names.encode, whole), network.cell.vocabulary)
        assert found["scores"][-1] == pytest.approx(float(network(encoded)[0]), abs=1e-3)
        states = dgltree.propagate(encoded, network.cell)
    nodes, path = found["nodes"], found["path"]
    assert len(found["scores"]) == len(path)
    assert nodes[path[0]]["name"] == "^" and nodes[path[-1]]["parent"] == -1
    assert [nodes[below]["parent"] for below in path[:-1]] == path[1:]
    assert [nodes[node]["name"] for node in found["filler"]] == ["^", "cos", "y", "2"]
    h = {part["name"]: part for part in found["parts"][path[-1]]}["h"]
    root = int(encoded.roots[0 if path[-1] == 0 else 1])
    assert h["rows"][0] == pytest.approx((states["h"][root] * 100).round().tolist(), abs=1)


def test_a_stack_has_rows_and_actions_at_inner_nodes(client: Any) -> None:
    found = ask(client, "equation/path", text=TEXT, model="stack", filler="cos(y)^2")
    root = {part["name"]: part for part in found["parts"][0]}
    assert {"h", "S", "push", "pop", "noop", "o", "u", "g"} == root.keys()
    assert (len(root["S"]["rows"]), len(root["S"]["rows"][0]), len(root["push"]["rows"])) == (3, 8, 1)
    leaf = next(place for place, node in enumerate(found["nodes"]) if node["name"] == "y")
    assert {part["name"] for part in found["parts"][leaf]} == {"h", "S"}
    assert [part["child"] for part in found["parts"][0] if part["name"] == "g"] == [0, 1]


def test_what_a_network_does_not_know_is_told(client: Any) -> None:
    assert "acot" in refusal(client, "equation/path", text="x + _ = 1", model="default", filler="acot(x)")
    assert "blanks" in refusal(client, "equation/path", text="_ + _ = 2*x", model="default", filler="x")


def test_an_equation_without_a_blank_is_verified(client: Any) -> None:
    found = ask(client, "equation/verify", text="sqrt(x^2) = x", model="default")
    assert (found["verdict"], found["holds"]) == ("holds for x ≥ 0 (proved)", True)
    assert found["against"] == "at x = -1 left is 1, right is -1"
    wrong = ask(client, "equation/verify", text="sin(2x) = 2 sin x", model="default")
    assert not wrong["holds"] and wrong["against"].startswith("at x = ")
    assert 0 <= wrong["score"] <= 1
    unknown = ask(client, "equation/verify", text="x + 48611 = 48611 + x", model="default")
    assert (unknown["verdict"], unknown["score"]) == ("holds everywhere (proved)", None)


def test_a_filler_of_ones_own_is_judged_and_scored(client: Any) -> None:
    ranked = ask(client, "equation/rank", text=TEXT, model="default")["fillers"]
    for row in ranked[:3]:
        own = ask(client, "equation/own", text=TEXT, model="default", filler=row["texts"][0])
        assert (own["texts"], own["source"]) == (row["texts"], "yours")
        assert own["score"] == pytest.approx(row["score"], abs=1e-3)
    unknown = ask(client, "equation/own", text=TEXT, model="default", filler="48611")
    assert (unknown["score"], unknown["verdict"]) == (None, "holds for no real y")
    assert "line 1, column" in refusal(client, "equation/own", text=TEXT, model="default", filler="cos(")
    for text in ("ab - 2*1 = _ - 2", "_ - 2 = ab - 2*1"):  # a name on either side, else a product
        assert ask(client, "equation/own", text=text, model="default", filler="ab")["texts"] == ["ab"]
    assert "not a list of up to" in refusal(client, "equation/judge", text=TEXT, fillers="x")


def test_both_sides_are_curves_that_part_where_the_verdict_says(client: Any) -> None:
    shown = ask(client, "equation/plot", text="sqrt(x^2) = x", filler="")["plot"]
    x = shown["x"]
    assert shown["left"] == pytest.approx([abs(v) for v in x], abs=1e-4) and shown["right"] == pytest.approx(
        x, abs=1e-4
    )
    [[first, last]] = shown["apart"]
    assert (x[first], x[last]) == (-5.0, max(v for v in x if v < 0))
    assert shown["part"] == [[0.0, None]]
    one_side = ask(client, "equation/plot", text="log(x^2) = _", filler="2*log(x)")["plot"]
    assert one_side["right"][0] is None and one_side["apart"][0][0] == 0 and one_side["apart"][0][1] < 200
    assert ask(client, "equation/plot", text="sin(y)^2 + _ = 1", filler="cos(y)^2")["plot"]["apart"] == []
    assert ask(client, "equation/plot", text="x + y = y + x", filler="")["plot"] is None


def pieces(answer: Any) -> list[dict[str, Any]]:
    assert answer.headers["content-type"].startswith("text/event-stream")
    return [json.loads(event.removeprefix("data: ")) for event in answer.text.split("\n\n") if event]


def test_a_search_is_streamed_as_it_finds(client: Any) -> None:
    found = pieces(client.post("/api/equation/search", json={"text": "x^3 + _ = sin(x)*y + tan(x*y)"}))
    assert [piece["done"] for piece in found] == [False] * (len(found) - 1) + [True]
    assert len(found) > 1 and found[0]["fillers"]
    several = pieces(client.post("/api/equation/search", json={"text": "x^2 - 5x + 6 = (x - _1)(x - _2)"}))
    assert several[-1]["blanks"] == ["_1", "_2"] and several[-1]["fillers"][0]["texts"] in (["2", "3"], ["3", "2"])
    [refused] = pieces(client.post("/api/equation/search", json={"text": "x + 1 = 2"}))
    assert "no blank" in refused["error"]

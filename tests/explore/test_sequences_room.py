"""The room of sequences: attention, distances and trees are those of the library."""

from typing import Any

import pytest
import torch
from explore_page import COOKIE, HOST, TOKEN, ask, refusal

from dgltree import Tree, Vocabulary, batch
from dgltree.encoders import make_encoder
from dgltree.induction import merged_trees, right_branching, without_tokens
from dgltree.induction.evalb import Parameters, score_sentence
from dgltree.models import ClassifierReadout, TreeModel
from dgltree.ranking.pretrained import logic_model
from dgltree.read.bracket import read_treebank, read_unlabelled
from dgltree.read.formula import read_formula
from dgltree.trees.logic import RELATIONS

pytest.importorskip("starlette", reason="the explore extra is not installed")
from dgltree.explore import sequence_room as room
from dgltree.explore.app import make_app
from dgltree.explore.open_models import Opened
from dgltree.explore.request_fields import RequestFields
from dgltree.explore.sequence_room import true_class

FORMULA = "not not (a and b and (b or d))"  # of which the shipped model misses a bracket


def tree_of(nodes: list[dict[str, Any]]) -> Tree:
    built: list[Tree] = []
    for node in nodes:
        children = [built[child] for child in node.get("children", ())]
        built.append(Tree("phrase", children) if children else Tree("word", token=node["word"]))
    return built[-1]


def test_attention_and_the_tree_found_are_those_of_ordered_memory(client: Any) -> None:
    found = ask(client, "sequence/look", text=FORMULA, other="a", model="logic")
    encoder, given = logic_model().encoder, read_formula(FORMULA)
    flat = batch([given], encoder.vocabulary)
    one = found["sequences"][0]
    assert one["words"] == encoder.words(flat)[0] and one["kind"] == "attention"
    with torch.no_grad():
        scores = (encoder.encoded(flat).parse.scores[0] * 100).round()
    torch.testing.assert_close(torch.tensor(one["scores"]).float(), scores, atol=1, rtol=0)
    assert tree_of(one["given"]) == given
    [whole] = encoder.trees(flat)
    induced = without_tokens(whole, "()")
    assert tree_of(one["found"]) == induced
    counts = score_sentence(given, induced, Parameters(labelled=False))
    assert (one["matched"], one["brackets"]) == (counts.matched, counts.gold)
    for side in ("found", "given"):
        assert sum(node.get("shared", False) for node in one[side]) == counts.matched < counts.gold
    assert sum(row["probability"] for row in found["classes"]) == pytest.approx(1, abs=0.01)


def test_the_published_form_is_read_as_well(client: Any) -> None:
    typed = ask(client, "sequence/look", text="a and not b", other="", model="logic")
    published = ask(client, "sequence/look", text="( a ( and ( not b ) ) )", other="", model="logic")
    assert typed == published and typed["classes"] == []
    assert "line 1, column 6" in refusal(client, "sequence/look", text="a and", other="", model="logic")
    assert "no sequence" in refusal(client, "sequence/look", text=" ", other="", model="logic")
    assert "unknown token 'z'" in refusal(client, "sequence/look", text="z or a", other="", model="logic")


def test_lists_are_read_and_have_distances(client: Any) -> None:
    found = ask(client, "sequence/look", text="[MAX 1 [MIN 2 3] 2]", other="", model="lists")
    [one] = found["sequences"]
    assert one["kind"] == "distances" and len(one["scores"]) == len(one["words"])
    given = read_unlabelled("( ( ( ( [MAX 1 ) ( ( ( [MIN 2 ) 3 ) ] ) ) 2 ) ] )")
    assert tree_of(one["given"]) == given
    assert {row["name"] for row in found["classes"]} == {"a", "b", "<i>c</i>"}


@pytest.mark.parametrize("kind", ["merges", "beams"])
def test_merges_and_beams_are_those_of_the_pass_and_their_first_is_the_tree_found(
    client: Any, opened: Any, kind: str
) -> None:
    [one] = ask(client, "sequence/look", text="the cat sees a dog", other="", model=kind)["sequences"]
    assert one["kind"] == kind and "scores" not in one
    encoder = opened.sequences[kind].encoder
    flat = batch([right_branching(["the", "cat", "sees", "a", "dog"])], encoder.vocabulary)
    with torch.no_grad():
        parse = encoder.encoded(flat).parse
    orders = [parse.order[0]] if kind == "merges" else list(parse.orders[0])
    assert [beam["order"] for beam in one["beams"]] == [order.tolist() for order in orders]
    assert sum(beam["weight"] for beam in one["beams"]) == pytest.approx(100, abs=3)
    assert tree_of(one["found"]) == merged_trees([one["words"]], orders[0].unsqueeze(0))[0]
    [short] = ask(client, "sequence/look", text="cat", other="", model=kind)["sequences"]
    assert short["beams"] == [{"order": [], "weight": 100}]


def test_words_in_context_have_their_attention_to_the_parts_that_they_are_in(client: Any, opened: Any) -> None:
    [one] = ask(client, "sequence/look", text="the cat sees a dog", other="", model="context")["sequences"]
    encoder = opened.sequences["context"].encoder
    flat = batch([right_branching(["the", "cat", "sees", "a", "dog"])], encoder.vocabulary)
    with torch.no_grad():
        shares = encoder.encoded(flat, trace=True).trace["ancestors"][0, 0]
    torch.testing.assert_close(torch.tensor(one["ancestors"]).float(), 100 * shares, atol=0.51, rtol=0)
    assert all(sum(row) == pytest.approx(100, abs=3) for row in one["ancestors"])
    [short] = ask(client, "sequence/look", text="cat", other="", model="context")["sequences"]
    assert short["ancestors"] == [[]]
    [plain] = ask(client, "sequence/look", text="the cat", other="", model="beams")["sequences"]
    assert "ancestors" not in plain


@pytest.mark.parametrize(
    ("left", "right", "answer"),
    [
        ("not (a or b)", "not a and not b", "="),
        ("a", "a or b", "<"),
        ("a and b", "not a", "|"),
        ("a", "b", "#"),
        ("( a ( and b ) )", "a", "<"),
    ],
)
def test_a_truth_table_says_how_two_formulas_are_related(client: Any, left: str, right: str, answer: str) -> None:
    found = ask(client, "sequence/look", text=left, other=right, model="logic")
    assert found["checked"] == {"by": "truth table", "answer": answer, "note": ""}
    assert ask(client, "sequence/look", text=left, other="", model="logic")["checked"] is None


def test_of_a_tautology_the_page_says_that_it_is_one(client: Any) -> None:
    found = ask(client, "sequence/look", text="a", other="b and not b", model="logic")["checked"]
    assert found["answer"] is None and found["note"].startswith("the second formula never holds")


def test_what_lists_are_worth_is_worked_out() -> None:
    tree = read_unlabelled("( ( ( ( [MAX 2 ) 9 ) ( ( ( [SM 4 ) 7 ) ] ) ) ] )")
    assert true_class([*"0123456789"], [tree]) == {"by": "arithmetic", "answer": "9", "note": ""}
    assert true_class(["a", "b"], [tree]) is None
    assert true_class(["0", "1"], [read_unlabelled("7")]) is None, "a sentence of a digit, for another task"
    assert true_class([*"0123456789"], [read_unlabelled("7")]) is None
    assert true_class([*"0123456789"], [right_branching(["a", "list"])]) is None
    many = read_formula(" and ".join(f"v{k}" for k in range(13)))
    assert true_class([*RELATIONS], [many, many]) is None
    assert true_class([*RELATIONS], [right_branching(["a", "b"]), many]) is None


def test_a_sentence_has_no_tree_to_compare_with(client: Any) -> None:
    [bare] = ask(client, "sequence/look", text="the cat sees a dog", other="", model="sentences")["sequences"]
    assert bare["given"] is None and bare["words"] == ["the", "cat", "sees", "a", "dog"]
    assert all(node.get("shared", True) for node in bare["found"])
    [known] = ask(client, "sequence/look", text="((the cat) (sees (a dog)))", other="", model="sentences")["sequences"]
    assert known["given"] is not None and known["brackets"] == 4
    long = "the " * 300
    assert "up to 400" in refusal(client, "sequence/look", text=long, other="", model="sentences")


def test_a_sequence_may_have_as_many_words_as_the_page_shows(client: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = {"text": "the cat sees a dog", "other": "", "model": "sentences"}  # 5 words and 4 brackets
    monkeypatch.setattr(room, "MOST_WORDS", 9)
    assert len(ask(client, "sequence/look", **asked)["sequences"]) == 1
    monkeypatch.setattr(room, "MOST_WORDS", 8)
    assert "9 words and brackets; the page shows up to 8" in refusal(client, "sequence/look", **asked)


def test_brackets_are_counted_of_the_given_tree_and_words_of_the_sentence(client: Any) -> None:
    """A given tree of other brackets than the found one, which always has one less than there are words."""
    text = "(S (D the) (N cat) (VP (V sees) (D a) (N dog)))"
    given = read_treebank(text)
    encoder = make_encoder("on_lstm", Vocabulary.from_trees([given]), 8, order="leaves")
    model = TreeModel(encoder, ClassifierReadout(8, 2), ("a", "b")).eval()
    app = make_app(Opened(sequences={"own": model}), [HOST], TOKEN)
    asked = type(client)(app, base_url=f"http://{HOST}", cookies=COOKIE)
    [one] = ask(asked, "sequence/look", text=text, other="", model="own")["sequences"]
    assert one["words"] == ["the", "cat", "sees", "a", "dog"]
    [found] = encoder.trees(batch([given], encoder.vocabulary))
    counts = score_sentence(given, found, Parameters(labelled=False))
    assert (one["matched"], one["brackets"]) == (counts.matched, counts.gold)
    assert (counts.gold, counts.test) == (2, 4)


def test_the_steps_of_a_neural_data_router_are_its_gates_and_attention() -> None:
    vocabulary = Vocabulary.from_trees([read_unlabelled("( 101 ( a b ) )")])
    torch.manual_seed(0)
    encoder = make_encoder("neural_data_router", vocabulary, 8, order="leaves", num_layers=3, num_heads=2)
    model = TreeModel(encoder, ClassifierReadout(8, 2), classes=("x", "y"))
    opened = Opened(sequences={"router": model})
    found = room.SequencesRoom(opened).look(RequestFields({"model": "router", "text": "( 101 ( a b ) )", "other": ""}))
    [one] = found["sequences"]
    assert one["words"] == ["⊢", "101", "a", "b", "⊣"] and one["kind"] == "steps" and len(found["classes"]) == 2
    trace = encoder.eval().encoded(batch([read_unlabelled("( 101 ( a b ) )")], vocabulary), trace=True).trace
    gates, attention = (torch.tensor(one[name]) / 100 for name in ("gates", "attention"))
    torch.testing.assert_close(gates, trace["gates"][0], atol=0.006, rtol=0)
    torch.testing.assert_close(attention, trace["attention"][0].mean(1), atol=0.006, rtol=0)
    assert (attention.diagonal(dim1=1, dim2=2) == 0).all()  # no place attends to itself

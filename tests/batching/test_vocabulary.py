"""An id is a position in its list: a function at an arity, or a token by its text alone.

Unknown names are errors with the nearest known ones, unless ``<unk>`` takes them; JSON gives the same vocabulary back.
"""

import json

import pytest

from dgltree import Tree, Vocabulary
from dgltree.batching.vocabulary import NO_TOKEN, UNSEEN


def test_one_function_at_two_arities_has_two_ids() -> None:
    vocabulary = Vocabulary([("Call", 2), ("Call", 3)], [])
    assert vocabulary.function_id("Call", 3) == 1
    assert (vocabulary.at_arity(2), vocabulary.arities) == ([0], [2, 3])


def test_a_vocabulary_from_trees_does_not_depend_on_their_order() -> None:
    trees = [Tree("f", (Tree("w", token=t),)) for t in "bca"]
    assert Vocabulary.from_trees(trees) == Vocabulary.from_trees(trees[::-1])
    assert Vocabulary.from_trees(trees).tokens == ("a", "b", "c")


def test_json_round_trip() -> None:
    vocabulary = Vocabulary([("f", 1), ("f", 2), ("w", 0)], ["a", "ü"])
    assert Vocabulary.from_json(json.loads(json.dumps(vocabulary.to_json()))) == vocabulary


@pytest.mark.parametrize(
    ("functions", "tokens", "message"),
    [
        ([("f", 1), ("f", 1)], [], "names the function .* twice"),
        ([], ["a", "b", "a"], "names the token 'a' twice"),
        ([("f", -1)], [], "arity -1"),
    ],
)
def test_bad_vocabularies_are_named(functions: list[tuple[str, int]], tokens: list[str], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Vocabulary(functions, tokens)


def test_unknown_names_come_with_the_nearest_known() -> None:
    vocabulary = Vocabulary([("sin", 1), ("sinh", 1), ("Add", 2)], ["alpha", "beta"])
    with pytest.raises(ValueError, match="unknown function 'sni'; nearest known: sin"):
        vocabulary.function_id("sni", 1)
    with pytest.raises(ValueError, match="'Add' has 3 children here; in this vocabulary it has 2"):
        vocabulary.function_id("Add", 3)
    with pytest.raises(ValueError, match="unknown token 'alfa'; nearest known: alpha"):
        vocabulary.token_id("alfa")
    assert UNSEEN in vocabulary.find_tokens(["alfa"])


def test_functions_of_any_arity_take_any_number_of_children() -> None:
    trees = [Tree("w", (Tree("w", token="a"), Tree("w", token="b")), token="c")]
    vocabulary = Vocabulary.from_trees(trees, any_arity=True)
    assert vocabulary.functions == (("w", None),)
    assert [vocabulary.function_id("w", arity) for arity in (0, 1, 7)] == [0, 0, 0]
    assert Vocabulary.from_json(json.loads(json.dumps(vocabulary.to_json()))) == vocabulary
    with pytest.raises(ValueError, match="unknown function 'v'"):
        vocabulary.function_id("v", 1)
    with pytest.raises(ValueError, match="'w' at arity 2 and at any arity"):
        Vocabulary([("w", None), ("w", 2)], [])


def test_rare_and_unknown_tokens_become_unk_where_that_is_asked_for() -> None:
    trees = [Tree("f", [Tree("w", token=t) for t in "aab"]), Tree("w", token="a")]
    vocabulary = Vocabulary.from_trees(trees, unk=True, min_count=2)
    assert vocabulary.tokens == ("<unk>", "a")
    assert [vocabulary.token_id(t) for t in ("a", "b", "never seen", "<unk>")] == [1, 0, 0, 0]
    back = Vocabulary.from_json(json.loads(json.dumps(vocabulary.to_json())))
    assert back == vocabulary
    assert back.token_id("b") == 0
    assert list(back.find_tokens(["a", None, "b"])) == [1, NO_TOKEN, 0]
    assert vocabulary != Vocabulary(vocabulary.functions, vocabulary.tokens)


@pytest.mark.parametrize("unknown", [1, None])
def test_a_function_is_found_by_its_arity_then_by_any_and_only_then_as_an_unknown_one(unknown: int | None) -> None:
    known = [("<unk>", unknown), ("f", 1), ("g", None)]
    asked = {("f", 1): known[1], ("g", 1): known[2], ("g", 5): known[2], ("h", 1): known[0]}
    asked[("f", 2)] = asked[("h", 0)] = None if unknown else known[0]
    for order in (known, known[::-1]):
        vocabulary = Vocabulary(order, [])
        found = {name: vocabulary.find_function(*name) for name in asked}
        assert {name: i if i is None else order[i] for name, i in found.items()} == asked


@pytest.mark.parametrize("options", [{"min_count": 0}, {"min_count": 2}, {"min_count": 0, "unk": True}])
def test_rare_tokens_are_not_dropped_silently(options: dict[str, int]) -> None:
    with pytest.raises(ValueError, match="min_count"):
        Vocabulary.from_trees([Tree("w", token="a")], **options)


def test_the_position_in_its_list_is_the_id() -> None:
    vocabulary = Vocabulary([("f", 1), ("w", 0), ("f", 2)], ["b", "a"])
    assert [vocabulary.function_id(*function) for function in vocabulary.functions] == [0, 1, 2]
    assert [vocabulary.token_id(token) for token in vocabulary.tokens] == [0, 1]
    assert vocabulary.knows_token("a")
    assert not vocabulary.knows_token("f")


def test_the_order_of_functions_and_tokens_counts_in_equality() -> None:
    vocabulary = Vocabulary([("f", 1), ("w", 0)], ["a", "b"])
    same = Vocabulary([["f", 1], ["w", 0]], ("a", "b"))
    assert vocabulary == same
    assert hash(vocabulary) == hash(same)
    assert vocabulary != Vocabulary([("w", 0), ("f", 1)], ["a", "b"])
    assert vocabulary != Vocabulary([("f", 1), ("w", 0)], ["b", "a"])
    assert vocabulary != "f"


def test_a_name_known_at_two_arities_says_both() -> None:
    with pytest.raises(ValueError, match="'f' has 3 children here; in this vocabulary it has 1 or 2"):
        Vocabulary([("f", 1), ("f", 2)], []).function_id("f", 3)


def test_a_vocabulary_is_made_of_the_distinct_objects_of_a_shared_tree() -> None:
    tree = Tree("w", token="t")
    for _ in range(60):
        tree = Tree("f", (tree, tree))
    assert Vocabulary.from_trees([tree]) == Vocabulary([("f", 2), ("w", 0)], ["t"])


def test_an_arity_is_a_whole_number() -> None:
    with pytest.raises(TypeError, match="cannot be interpreted as an integer"):
        Vocabulary([("f", 2.7)], [])

"""Trees in JSON: read and refused."""

import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dgltree.read.json_tree import Keys, is_node_list, load_json, read_json_tree
from dgltree.trees.tree import Tree


def leaf(token):
    return Tree("leaf", token=token)


x = leaf("x")

READ = {
    '{"label": "x"}': x,
    '{"label": "x", "children": []}': x,
    '{"label": "x", "children": null, "token": null}': x,
    '{"label": "add", "children": [{"label": "x"}, {"label": "y"}]}': Tree("add", (x, leaf("y"))),
    '{"label": "add", "children": ["x", 2, true, {"label": "x"}]}': Tree("add", (x, leaf("2"), leaf("true"), x)),
    '{"label": "NN", "token": "cat"}': Tree("NN", token="cat"),
    '{"label": "NN", "token": ""}': Tree("NN", token=""),
    '{"label": "NP", "token": "the cat", "children": ["x"]}': Tree("NP", (x,), token="the cat"),
    '{"label": 1, "token": 1.50, "children": [-1e999]}': Tree("1", (leaf("-1e999"),), token="1.50"),
    '{"label": false, "token": true}': Tree("false", token="true"),
    '{"label": ""}': leaf(""),
    '{"label": "x", "other": [{"label": []}]}': x,
    '\n{"label": "\\u00e9\\n"}\n': leaf("é\n"),
}


@pytest.mark.parametrize(("text", "tree"), READ.items())
def test_json_is_read(text, tree):
    assert read_json_tree(text) == tree


def test_an_integer_may_be_longer_than_python_reads():
    digits = "7" * 5000
    assert read_json_tree(f'{{"label": {digits}}}') == leaf(digits)


def test_keys_may_have_other_names():
    text = '{"op": "NP", "args": [{"op": "NN", "word": "cat", "label": 3}]}'
    assert read_json_tree(text, Keys("op", "args", "word")) == Tree("NP", (Tree("NN", token="cat"),))
    with pytest.raises(ValueError, match=re.escape("$.args[0]: no 'op'; expected a string or a number")):
        read_json_tree(text.replace('"op": "NN"', '"tag": "NN"'), keys=Keys("op", "args", "word"))


BAD = {
    '{"label": "a", "children": [{"label": "x", "label": "y"}]}': 'the key "label" occurs twice in an object',
    "": "line 1, column 1: Expecting value; expected JSON",
    '{"label":\n  x}': "line 2, column 3: Expecting value; expected JSON",
    '{"label": "x"} 1': "line 1, column 16: Extra data",
    "\ufeff{}": "line 1, column 1: Unexpected UTF-8 BOM",
    '{"NaN": "a\\"NaN",\n "label": NaN}': "line 2, column 11: found NaN, which is not JSON",
    '{"label": "a", "other": -Infinity}': "line 1, column 25: found -Infinity",
    '"x"': '$: found "x"; expected an object, as in {"label": "add", "children": [{"label": "x"}]}',
    "[]": "$: found a list; expected an object",
    "null": "$: found null; expected an object",
    "{}": "$: no 'label'; expected a string or a number, as in {",
    '{"label": null}': "$: no 'label'",
    '{"label": ["x"]}': "$: the 'label' is a list; expected a string or a number",
    '{"label": "x", "token": {}}': "$: the 'token' is an object; expected a string or a number",
    '{"label": "x", "children": "y"}': "$: the 'children' are \"y\"; expected a list",
    '{"label": "x", "children": {"label": "y"}}': "$: the 'children' are an object; expected a list",
    '{"label": "x", "children": 0}': "$: the 'children' are 0; expected a list",
    '{"label": "x", "children": false}': "$: the 'children' are false; expected a list",
    '{"label": "", "children": ["x"]}': "$: the 'label' is empty; expected the node's function",
    '{"label": "", "token": "x"}': "$: the 'label' is empty",
    '{"label": "x", "children": ["y", null]}': "$.children[1]: found null; expected an object, a string or a number",
    '{"label": "x", "children": [[]]}': "$.children[0]: found a list; expected an object, a string or a number",
    '{"label": "f", "children": [{"label": "g", "children": ["x", "x", {}]}]}': (
        "$.children[0].children[2]: no 'label'; expected"
    ),
}


@pytest.mark.parametrize(("text", "message"), BAD.items())
def test_bad_json_is_refused_where_it_goes_wrong(text, message):
    with pytest.raises(ValueError, match=f"^{re.escape(message)}"):
        read_json_tree(text)


def test_a_shallow_tree_may_have_many_nodes():
    text = json.dumps({"label": "f", "children": ["x"] * 100_000})
    assert read_json_tree(text) == Tree("f", (x,) * 100_000)


def test_json_that_nests_too_deeply_for_python_is_refused():
    text = '{"label": "f", "children": [' * 100_000 + '"x"' + "]}" * 100_000
    with pytest.raises(
        ValueError, match="the JSON is nested too deeply for Python's json; expected at most a few hundred levels"
    ):
        read_json_tree(text)


def test_a_tree_of_hundreds_of_levels_is_read():
    text = '{"label": "f", "children": [' * 300 + '"x"' + "]}" * 300
    assert read_json_tree(text).depth == 300


@pytest.mark.parametrize(("child", "is_list"), [(-1, False), (0, True), (1, True), (2, False)])
def test_children_of_a_list_of_nodes_are_numbers_of_nodes_in_it(child, is_list):
    assert is_node_list([{"type": "a", "children": [child]}, {"type": "b"}]) == is_list


def test_numbers_stay_numbers_where_they_are_no_labels():
    assert load_json("[1, 1.5]") == [1, 1.5]
    with pytest.raises(ValueError, match="4300 digits"):
        load_json("7" * 5000)


trees = st.recursive(
    st.builds(leaf, st.text()) | st.builds(lambda name, token: Tree(name, token=token), st.text(min_size=1), st.text()),
    lambda below: st.builds(
        Tree, st.text(min_size=1), st.lists(below, min_size=1, max_size=4), token=st.none() | st.text()
    ),
    max_leaves=20,
)


def as_data(node, children):
    if node.function == "leaf" and not children:
        return {"label": node.token}
    return {"label": node.function, "children": children, "token": node.token}


@given(trees)
def test_random_trees_are_read(tree):
    assert read_json_tree(json.dumps(tree.fold(as_data))) == tree

"""The published equation JSON: read, written and refused."""

import json
import re
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dgltree.read.preorder import (
    read_blanks,
    read_candidates,
    read_equation_record,
    read_preorder,
    write_equation_record,
    write_preorder,
)
from dgltree.trees.equation import BLANK, Equation
from dgltree.trees.tree import Tree

x = Tree("Symbol", token="var_0")
two = Tree("Integer", token="2")
one = Tree("Integer", token="1")

TREES = {
    ("Symbol,#,#", "var_0,#,#"): x,
    ("sin,Symbol,#,#,#", ",var_0,#,#,#"): Tree("sin", (x,)),
    ("Pow,Symbol,#,#,Integer,#,#", ",var_0,#,#,2,#,#"): Tree("Pow", (x, two)),
    ("Add,sin,Symbol,#,#,#,cos,Integer,#,#,#", ",,var_0,#,#,#,,2,#,#,#"): Tree(
        "Add", (Tree("sin", (x,)), Tree("cos", (two,)))
    ),
}


@pytest.mark.parametrize(("texts", "tree"), TREES.items())
def test_preorders_and_tree_say_the_same(texts, tree):
    assert read_preorder(*texts) == tree
    record = write_preorder(tree)
    assert (record["func"], record["vars"]) == texts


@pytest.mark.parametrize(
    ("func", "var", "token"), [("One", "1", "1"), ("Integer", "1", "1"), ("Rational", "0", "0"), ("Integer", "0", "0")]
)
def test_one_and_zero_have_one_name(func, var, token):
    assert read_preorder(f"{func},#,#", f"{var},#,#") == Tree("Integer", token=token)


def test_other_rationals_and_minus_one_are_kept():
    assert read_preorder("Rational,#,#", "2/5,#,#") == Tree("Rational", token="2/5")
    assert read_preorder("NegativeOne,#,#", "-1,#,#") == Tree("NegativeOne", token="-1")


def test_a_record_has_the_published_fields():
    assert write_preorder(Tree("Add", (Tree("sin", (Tree("Symbol", token="var_3"),)), two))) == {
        "func": "Add,sin,Symbol,#,#,#,Integer,#,#",
        "vars": ",,var_3,#,#,#,2,#,#",
        "nodeNum": "0,1,2,#,#,#,3,#,#",
        "depth": "2,1,0,#,#,#,0,#,#",
        "numNodes": "4",
        "variables": {"var_3": 3},
    }


def test_variables_of_other_names_are_numbered_as_they_appear():
    y, z = Tree("Symbol", token="y"), Tree("Symbol", token="z")
    assert write_preorder(Tree("Add", (z, Tree("Add", (y, z)))))["variables"] == {"z": 0, "y": 1}


def test_an_equation_is_the_two_sides_of_an_equality():
    record = write_equation_record(Equation(x, Tree("sin", (two,))))
    assert record["func"] == "Equality,Symbol,#,#,sin,Integer,#,#,#"
    assert read_equation_record(record) == Equation(x, Tree("sin", (two,)))


texts = st.text(st.characters(codec="utf-8", exclude_characters=",#"), min_size=1)
leaves = st.builds(
    lambda function, token: Tree(function, token=token), texts.filter(lambda f: f not in ("One", "Rational")), texts
)
trees = st.recursive(
    leaves,
    lambda below: st.builds(Tree, texts, st.lists(below, min_size=1, max_size=2)),
    max_leaves=30,
)


@given(trees)
def test_trees_survive_writing_and_reading(tree):
    record = write_preorder(tree)
    assert read_preorder(record["func"], record["vars"]) == tree
    assert int(record["numNodes"]) == tree.size
    assert record["depth"].split(",")[0] == str(tree.depth)


@given(st.lists(st.sampled_from([("#", "#"), ("f", ""), ("x", "v"), ("#", "v"), ("f", "#"), ("", "")])))
def test_any_items_are_read_and_written_back_or_refused(items):
    func, vars = (",".join(item[i] for item in items) for i in range(2))
    try:
        tree = read_preorder(func, vars)
    except ValueError as error:
        assert re.search(r"item \d+ of the preorder: .*; expected", str(error))
    else:
        record = write_preorder(tree)
        assert (record["func"], record["vars"]) == (func, vars)


def test_a_deep_chain_is_read_and_written():
    size = 20_000
    func = "sin," * size + "Symbol,#,#" + ",#" * size
    vars = "," * size + "x,#,#" + ",#" * size
    tree = read_preorder(func, vars)
    assert tree.depth == size
    record = write_preorder(tree)
    assert (record["func"], record["vars"]) == (func, vars)


BAD_PREORDERS = {
    ("Symbol,#,#", "x,#"): "'func' has 3 items, but 'vars' has 2; expected equal numbers",
    ("", ""): "item 2 of the preorder: the preorder ends early; expected at least 2 more",
    ("#", "#"): "item 1 of the preorder: no node; expected the root",
    ("#,#", "#,#"): "item 1 of the preorder: no node; expected the root",
    ("Add,Symbol,#,#", ",x,#,#"): "item 5 of the preorder: the preorder ends early; expected at least 1 more",
    ("Add", ""): "item 2 of the preorder: the preorder ends early; expected at least 2 more",
    ("x,#,#,#", "x,#,#,#"): "item 4 of the preorder: '#' is left over; expected an end, since the tree is complete",
    ("x,#,#,y,#", "x,#,#,y,#"): "item 4 of the preorder: 'y' is left over",
    ("sin,#,x,#,#", ",#,x,#,#"): "item 1 of the preorder: 'sin' has a second child but no first child",
    ("sin,x,#,#,#", ",#,#,#,#"): "item 2 of the preorder: 'func' has 'x', but 'vars' has '#'; expected '#' in both",
    ("sin,x,#,#,#", ",x,#,#,y"): "item 5 of the preorder: 'func' has '#', but 'vars' has 'y'",
    ("sin,x,#,#,#", "y,x,#,#,#"): "item 1 of the preorder: an inner node has the function 'sin' and the variable 'y'",
    ("sin,x,#,#,#", ",,#,#,#"): "item 2 of the preorder: a leaf has the function 'x' and the variable ''",
    (",x,#,#,#", ",x,#,#,#"): "item 1 of the preorder: an inner node has the function ''",
}


@pytest.mark.parametrize(("texts", "message"), BAD_PREORDERS.items())
def test_bad_preorders_are_refused_at_the_item(texts, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        read_preorder(*texts)


@pytest.mark.parametrize(
    "node",
    [
        Tree("Add", (x, x, x)),
        Tree("Add", (x, x), token="y"),
        Tree("Add", (x, x), token=""),
        Tree("Add", (x, x), label=1),
        Tree("A,dd", (x, x)),
        Tree("#", (x, x)),
        Tree("Number", value=1.5),
        Tree("Symbol"),
        Tree("Symbol", token=""),
        Tree("Symbol", token="#"),
        Tree("Symbol", token="x", value=1.5),
        Tree("Symbol", token="a,b"),
        Tree("One", token="1"),
        Tree("Rational", token="0"),
        BLANK,
    ],
)
def test_a_node_that_would_not_be_read_back_is_refused(node):
    message = re.escape(f"{node.replace(children=())} with {len(node.children)} children cannot be written")
    with pytest.raises(ValueError, match=message):
        write_preorder(Tree("sin", (node,)))


# --- files


def example(**changes):
    """sin(x) = 1, with sin(x) blanked."""
    record = write_equation_record(Equation(Tree("sin", (x,)), one)) | {
        "func": "Equality,sin,Symbol,#,#,#,One,#,#",
    }
    return {"equation": record | changes.pop("equation", {}), "blankNodeNum": "1", "class": "7"} | changes


@pytest.fixture
def file_of(tmp_path):
    def write(data):
        path = tmp_path / "some.json"
        path.write_bytes(data if isinstance(data, bytes) else json.dumps(data).encode())
        return path

    return write


def test_a_blank_is_cut_out_with_its_published_text(file_of):
    inner, leaf = read_blanks(file_of([[], [example()], [], [example(blankNodeNum="3")]]))
    assert inner.equation == Equation(BLANK, one)
    assert inner.filler == Tree("sin", (x,))
    assert inner.filler_text == ("sin,Symbol,#,#,#", ",var_0,#,#,#")
    assert inner.depth == 1
    assert leaf.equation == Equation(Tree("sin", (x,)), BLANK)
    assert leaf.filler == one
    assert leaf.filler_text == ("One,#,#", "1,#,#")
    assert leaf.depth == 3


def test_a_blank_is_found_by_its_number_whatever_the_numbering(file_of):
    by_level = {"nodeNum": "0,1,3,#,#,#,2,#,#"}
    (found,) = read_blanks(file_of([[example(equation=by_level, blankNodeNum="2")]]))
    assert found.filler == one


def test_only_the_blanked_one_of_equal_nodes_is_replaced(file_of):
    record = write_equation_record(Equation(x, x))
    (found,) = read_blanks(file_of([[{"equation": record, "blankNodeNum": "2"}]]))
    assert found.equation == Equation(x, BLANK)


def test_candidates_keep_their_text_and_class(file_of):
    leaf = {"func": "One,#,#", "vars": "1,#,#"}
    first, second = read_candidates(file_of([[{"equation": leaf, "class": "12"}], [example()]]))
    assert first == (one, ("One,#,#", "1,#,#"), 12)
    assert (second.filler.function, second.class_id) == ("Equality", 7)


def without(record, name):
    return {key: value for key, value in record.items() if key != name}


NO_VARS = {**example(), "equation": without(example()["equation"], "vars")}
BAD_EXAMPLES = {
    "the field 'equation' is missing; expected an object": {"blankNodeNum": "1"},
    "the field 'equation' is missing; expected an object there": "sin",
    "the field 'equation' is None; expected an object": example() | {"equation": None},
    "the field 'vars' is missing; expected a string": NO_VARS,
    "the field 'func' is ['Equality']; expected a string": example(equation={"func": ["Equality"]}),
    "the field 'blankNodeNum' is missing; expected a string": without(example(), "blankNodeNum"),
    "the field 'blankNodeNum' is 1; expected a string": example(blankNodeNum=1),
    "the field 'blankNodeNum' is '9'; expected the number of a node below the root": example(blankNodeNum="9"),
    "the field 'blankNodeNum' is '0'; expected the number of a node below": example(blankNodeNum="0"),
    "the field 'blankNodeNum' is '#'; expected the number of a node below": example(blankNodeNum="#"),
    "'nodeNum' has 3 items, but 'func' has 9; expected equal numbers": example(equation={"nodeNum": "0,1,2"}),
    "'func' has 9 items, but 'vars' has 1; expected equal numbers": example(equation={"vars": ""}),
    "item 1 of the preorder: an inner node has the function 'Equality' and the variable '='": example(
        equation={"vars": "=,,var_0,#,#,#,1,#,#"}
    ),
    "the root is 'Add' with 2 children; expected an 'Equality' of two": example(
        equation={"func": "Add,sin,Symbol,#,#,#,One,#,#"}
    ),
}


@pytest.mark.parametrize(("message", "bad"), BAD_EXAMPLES.items())
def test_a_bad_example_is_refused_with_file_list_and_place(message, bad, file_of):
    with pytest.raises(ValueError, match=re.escape(f"some.json: depth list 2, example 1: {message}")):
        read_blanks(file_of([[], [], [example(), bad]]))


@pytest.mark.parametrize(
    ("message", "bad"),
    {
        "the field 'class' is 'sin'; expected a number": example(**{"class": "sin"}),
        "the field 'class' is missing; expected a string": without(example(), "class"),
        "the field 'vars' is missing; expected a string": NO_VARS,
    }.items(),
)
def test_a_bad_candidate_is_refused_with_file_list_and_place(message, bad, file_of):
    with pytest.raises(ValueError, match=re.escape(f"some.json: depth list 0, example 0: {message}")):
        read_candidates(file_of([[bad]]))


@pytest.mark.parametrize(
    ("message", "data"),
    {
        "line 1, column 2: byte 0xff is not UTF-8 text": b"[\xff]",
        "line 2, column 2: Expecting value; expected JSON": b"[\n[x]]",
        "line 1, column 4: Expecting ',' delimiter": b"[[]",
        "line 1, column 1: Expecting value": b"",
        "maximum recursion depth exceeded": b"[" * 100_000,
        "Exceeds the limit": b"9" * 5_000,
        "found {'a': 1}; expected a list, indexed by depth": {"a": 1},
        "depth list 1: found 'b'; expected a list of examples": [[], "b"],
    }.items(),
)
def test_a_file_of_something_else_is_refused_with_its_name(message, data, file_of):
    for read in (read_blanks, read_candidates):
        with pytest.raises(ValueError, match=re.escape(f"some.json: {message}")):
            read(file_of(data))


@pytest.mark.parametrize(
    ("message", "record"),
    {
        "the field 'func' is missing": {},
        "the field 'vars' is missing": {"func": "Equality"},
        "the root is 'Symbol' with 0 children": {"func": "Symbol,#,#", "vars": "x,#,#"},
        "the root is 'Equality' with 1 children": {"func": "Equality,Symbol,#,#,#", "vars": ",x,#,#,#"},
    }.items(),
)
def test_a_record_of_no_equation_is_refused(message, record):
    with pytest.raises(ValueError, match=re.escape(message)):
        read_equation_record(record)


def test_an_equation_with_a_blank_has_no_record():
    with pytest.raises(ValueError, match=r"Tree\('_'\) with 0 children cannot be written"):
        write_equation_record(Equation(x, BLANK))


# --- published data


@pytest.fixture(scope="module")
def blank_files(published):
    paths = [published / "equations" / "blanks" / f"40k_test_blank_{i}.json" for i in range(15)]
    return {path: [e for depth_list in json.loads(path.read_bytes()) for e in depth_list] for path in paths}


def normalised(record):
    """A published record in which One and the Rational 0 are Integers."""
    pairs = zip(record["func"].split(","), record["vars"].split(","), strict=True)
    funcs = ["Integer" if pair in (("One", "1"), ("Rational", "0")) else pair[0] for pair in pairs]
    return record | {"func": ",".join(funcs)}


def numbered_by_level(record):
    """Whether the nodes are numbered in another order than the preorder."""
    numbers = [number for number in record["nodeNum"].split(",") if number != "#"]
    return numbers != [str(i) for i in range(len(numbers))]


@pytest.mark.data
def test_published_equations_are_written_back_but_for_the_records_numbered_by_level(blank_files):
    by_level = Counter()
    for examples in blank_files.values():
        for record in (example["equation"] for example in examples):
            again = write_equation_record(read_equation_record(record))
            if numbered_by_level(record):
                by_level["records"] += 1
                again["nodeNum"] = record["nodeNum"]
            assert again == normalised(record)
    assert by_level["records"] == 270


@pytest.mark.slow
@pytest.mark.data
def test_published_blanks_filled_with_their_fillers_are_the_published_equations(blank_files):
    count = 0
    for path, examples in blank_files.items():
        for blank, example in zip(read_blanks(path), examples, strict=True):
            equation = read_equation_record(example["equation"])
            assert blank.equation != equation
            assert blank.equation.fill(blank.filler) == equation
            assert read_preorder(*blank.filler_text) == blank.filler
            assert f",{blank.filler_text[0]}," in f",{example['equation']['func']},"
            assert equation.depth == blank.depth
            assert blank.filler.depth <= 1
            count += 1
    assert count == 4159


@pytest.mark.data
def test_published_candidates_are_written_back(published):
    path = published / "equations" / "candidate_classes.json"
    published_candidates = [example for depth_list in json.loads(path.read_bytes()) for example in depth_list]
    candidates = read_candidates(path)
    for candidate, example in zip(candidates, published_candidates, strict=True):
        assert candidate.text == (example["equation"]["func"], example["equation"]["vars"])
        assert write_preorder(candidate.filler) == normalised(example["equation"])
    assert len(candidates) == 1470
    assert len({candidate.filler for candidate in candidates}) == 1216
    assert {candidate.class_id for candidate in candidates} == set(range(602))

"""JSON documents by a schema: paths, kinds, orders, what is missing, and what is refused."""

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest

from dgltree import Tree
from dgltree.read.json_schema import (
    EMPTY,
    MAX_KEYS,
    MAX_WORDS,
    MISSING,
    NULL,
    OTHER,
    WORD,
    PathSchema,
    Schema,
    infer_schema,
    key_of_step,
    read_json_object,
    read_schema,
    step_to,
    steps_of,
)
from dgltree.read.json_tree import load_json
from tests.read.documents import (
    KINDS,
    configuration,
    documents,
    drawn_value,
    feature,
    log_record,
    package,
    permuted,
    pod,
)
from tests.read.documents import plan as query_plan

SPECIAL = (NULL, EMPTY, MISSING, OTHER)


def schema_for(values: list[Any]) -> Schema:
    texts = [json.dumps(value) for value in values]
    return infer_schema(lambda: (load_json(text, numbers_as_text=True) for text in texts))


def leaf(schema: Schema, path: str, document: Any) -> Tree | None:
    """The only node of a path."""
    found = [node for node in schema.read(json.dumps(document)).preorder() if node.function == path]
    assert len(found) <= 1
    return found[0] if found else None


def kinds_of(schema: Schema) -> dict[str, str]:
    return {path: " or ".join(each.kinds) for path, each in schema.paths.items()}


def oracle(value: Any, path: str = "$") -> Iterator[tuple[str, str | None]]:
    """The path of every value, and of null and of what is empty the token, by a recursion of its own."""
    if value is None or (isinstance(value, dict | list | str) and not value):
        yield path, NULL if value is None else EMPTY
        return
    yield path, None
    if isinstance(value, dict):
        for key, item in value.items():
            is_word = bool(key) and all(letter.isalnum() or letter in "_-" for letter in key)
            step = f".{key}" if is_word else f"[{json.dumps(key, ensure_ascii=False)}]"
            yield from oracle(item, path + step)
    elif isinstance(value, list):
        for item in value:
            yield from oracle(item, path + "[]")


@pytest.mark.parametrize("seed", range(40))
def test_every_value_of_drawn_documents_is_at_its_path(seed: int) -> None:
    random = Random(seed)
    values = [{"c": drawn_value(random), "d": drawn_value(random)} for _ in range(8)]
    schema = schema_for(values)
    for value in values:
        nodes = [node for node in schema.read(json.dumps(value)).preorder() if node.token != MISSING]
        found = Counter(
            (node.function, node.token if node.token in SPECIAL else None)
            for node in nodes
            if not node.function.endswith(WORD)
        )
        assert found == Counter(oracle(value))


@pytest.mark.parametrize("seed", range(40))
def test_orders_of_keys_and_items_make_no_difference(seed: int) -> None:
    random = Random(seed)
    values = [{"a": drawn_value(random), "b": [drawn_value(random)]} for _ in range(6)]
    schema = schema_for(values)
    ordered = any(each.ordered for each in schema.paths.values())
    for value in values:
        changed = permuted(value, random, lists=not ordered)
        assert schema.read(json.dumps(changed)) == schema.read(json.dumps(value))
    again = schema_for([permuted(value, random, lists=False) for value in values])
    assert again.to_json() == schema.to_json()


@pytest.mark.parametrize("kind", KINDS)
def test_a_schema_is_the_same_after_its_file(kind: Any, tmp_path: Path) -> None:
    values = documents(kind, 60)
    schema = schema_for(values)
    (tmp_path / "schema.json").write_text(schema.to_text())
    again = read_schema(tmp_path / "schema.json")
    assert again.to_json() == schema.to_json()
    assert str(again) == str(schema)
    for value in values:
        assert again.read(json.dumps(value)) == schema.read(json.dumps(value))


@pytest.mark.parametrize("key", ["a", "a-b", "a b", "", "$.a", "[]", 'a"]', '["a"]', "a\\", "é", "\n", "word"])
def test_the_step_to_a_key_is_read_back(key: str) -> None:
    assert key_of_step(step_to(key)) == key
    assert steps_of(f"$.b{step_to(key)}[]{step_to(key)}") == [".b", step_to(key), "[]", step_to(key)]


def test_a_key_named_like_a_path_is_another_path() -> None:
    schema = schema_for([{"a.b": "x", "a": {"b": "y"}, "[]": "z"}])
    tree = schema.read('{"a": {"b": "y"}, "a.b": "x", "[]": "z"}')
    assert {node.function for node in tree.preorder()} == {"$", '$["[]"]', "$.a", "$.a.b", '$["a.b"]'}


def test_the_kinds_of_documents_as_people_have_them() -> None:
    log = kinds_of(schema_for(documents(log_record, 300)))
    assert log["$.level"] == "category" and log["$.message"] == "text" and log["$.time"] == "date"
    assert log["$.http.status"] == "category" and log["$.http.ms"] == "number"
    spec = "$.spec.template.spec.containers[]"
    manifest = schema_for(documents(pod, 300))
    assert kinds_of(manifest)[f"{spec}.ports[].containerPort"] == "category"
    assert manifest.paths[f"{spec}.ports"].seen["missing"] > 50
    assert manifest.paths["$.metadata.name"].skip
    assert kinds_of(schema_for(documents(configuration, 300)))["$.matrix[]"] == "list"


def test_ids_are_skipped_and_measures_are_not() -> None:
    values = documents(log_record, 300)
    schema = schema_for([{**value, "user_id": 10_000 + i, "bytes": 900 - i} for i, value in enumerate(values)])
    assert [path for path, each in schema.paths.items() if each.skip] == ["$.id", "$.user_id"]
    assert leaf(schema, "$.user_id", {**values[0], "user_id": 3}) is None
    some = schema_for([{**value, "user": {"id": i} if i % 5 else None} for i, value in enumerate(values)])
    assert some.paths["$.user.id"].skip, "of those that have one"


def test_coordinates_are_ordered_and_other_lists_are_not() -> None:
    schema = schema_for(documents(feature, 60))
    assert [path for path, each in schema.paths.items() if each.ordered] == ["$.geometry.coordinates"]
    tree = leaf(schema, "$.geometry.coordinates", {"geometry": {"coordinates": [11.5, 48.1]}})
    assert tree is not None and [child.value for child in tree.children] == [11.5, 48.1]
    assert not schema_for([{"at": [1.5, 2.5]}, {"at": [1.5]}]).is_ordered


def test_plans_nest_at_will_with_few_paths() -> None:
    schema = schema_for(documents(query_plan, 100))
    assert len(schema.paths) == 12
    deep: Any = {"Node Type": "Sort"}
    for _ in range(100):
        deep = {"Node Type": "Sort", "Plans": [deep]}
    functions = Counter(node.function for node in schema.read(json.dumps({"Plan": deep})).preorder())
    assert functions['$.Plan.Plans[].Plans[]["Node Type"]'] == 99
    assert functions.keys() <= schema.paths.keys()


def test_a_key_with_two_types_has_both() -> None:
    schema = schema_for(documents(package, 20))
    assert schema.paths["$.repository"].kinds == ("object", "category")
    assert leaf(schema, "$.repository", {"repository": "github:ann/left"}) == Tree(
        "$.repository", token="github:ann/left"
    )
    found = leaf(schema, "$.repository", {"repository": {"type": "git", "url": "x"}})
    assert found is not None and len(found.children) == 2


AGES = [{"age": 30.5 + i, "name": "Ann", "tags": ["x"], "at": {"x": 1.5}} for i in range(30)]


@pytest.mark.parametrize(
    ("path", "value", "token"),
    [
        ("$.age", None, NULL),
        ("$.age", {}, EMPTY),
        ("$.age", [], EMPTY),
        ("$.age", "", EMPTY),
        ("$.age", "old", OTHER),
        ("$.age", {"years": 3}, OTHER),
        ("$.age", [3], OTHER),
        ("$.age", True, OTHER),
        ("$.name", "<null>", "\\<null>"),
        ("$.name", "\\<null>", "\\\\<null>"),
        ("$.name", 3, "3"),
        ("$.tags", "x", OTHER),
        ("$.at", "x", OTHER),
    ],
)
def test_what_is_not_as_usual_has_a_token_of_its_own(path: str, value: Any, token: str) -> None:
    schema = schema_for(AGES)
    assert leaf(schema, path, {**AGES[0], path[2:]: value}) == Tree(path, token=token)


def test_a_number_that_is_written_as_a_text_is_the_number() -> None:
    schema = schema_for(AGES)
    assert schema.read(json.dumps({**AGES[0], "age": "3"})) == schema.read(json.dumps({**AGES[0], "age": 3}))


def test_what_is_missing_is_said_of_keys_that_most_objects_have() -> None:
    schema = schema_for([*AGES, *AGES, {**AGES[0], "rare": "x"}])
    tree = schema.read('{"name": "Ann"}')
    missing = {node.function for node in tree.preorder() if node.token == MISSING}
    assert missing == {"$.age", "$.tags", "$.at"}
    assert schema.read("{}") == Tree("$", token=EMPTY)


def test_a_path_that_the_schema_lacks_is_one_leaf() -> None:
    assert leaf(schema_for(AGES), "$.new", {"new": {"a": [1, 2, 3]}}) == Tree("$.new")


def test_a_text_is_its_words_in_any_order() -> None:
    values = [{"text": f"error {i} in file {i % 7}"} for i in range(200)]
    schema = schema_for(values)
    words = leaf(schema, "$.text", {"text": "Error in the file, error 404"})
    assert words is not None
    assert sorted(str(child.token) for child in words.children) == ["404", "error", "file", "in", "the"]
    assert leaf(schema, "$.text", {"text": "404: the file in error"}) == words
    many = leaf(schema, "$.text", {"text": " ".join(map(str, range(1000)))})
    assert many is not None and len(many.children) == MAX_WORDS


def test_lists_of_lists_are_nodes_of_lists() -> None:
    schema = schema_for([{"m": [[1.5, 2], [3, 4, 5]]}])
    tree = schema.read('{"m": [[3, 4, 5], [2, 1.5]]}')
    assert Counter(node.function for node in tree.preorder()) == {"$": 1, "$.m": 1, "$.m[]": 2, "$.m[][]": 5}
    assert tree == schema.read('{"m": [[1.5, 2], [4, 5, 3]]}')


@pytest.mark.slow
def test_a_million_items_are_read() -> None:
    count = 10**6
    schema = schema_for([{"m": [[1.5, 2], [3, 4, 5]]}])
    assert schema.read(json.dumps({"m": [list(range(count))]})).size == count + 3


def test_an_object_whose_keys_are_data_is_a_map() -> None:
    values = documents(package, 200)
    schema = schema_for(values)
    assert [each.path for each in schema.maps] == ["$.dependencies"]
    assert schema.paths["$.dependencies[].key"].kinds == ("text",)
    data = schema.to_json()
    data["paths"]["$.dependencies"]["kind"] = "pairs"
    pairs = Schema.from_json(data)
    assert not pairs.maps
    found = leaf(pairs, "$.dependencies", {"dependencies": {"lib-1": "^1.0.0", "lib-2": "^1.0.0"}})
    assert found is not None and [child.function for child in found.children] == ["$.dependencies[]"] * 2
    data["paths"]["$.dependencies"] |= {"kind": "map", "skip": True}
    assert leaf(Schema.from_json(data), "$.dependencies", values[0]) is None
    wide = {f"k{i}": 1 for i in range(MAX_KEYS)}
    assert not schema_for([wide]).maps
    assert schema_for([{**wide, "more": 1}]).maps


def test_maps_in_maps_are_found() -> None:
    outer = [{"a": {f"k{i}{j}": {"m": 1} for j in range(30)}} for i in range(60)]
    assert [each.path for each in schema_for(outer).maps] == ["$.a"]
    inner = [{"a": {f"k{i}{j}": {f"m{i}{j}{k}": 1 for k in range(5)} for j in range(30)}} for i in range(60)]
    assert [each.path for each in schema_for(inner).maps] == ["$.a", "$.a[].value"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"a": NaN}', "line 1, column 7: found NaN"),
        ('{"a": -Infinity}', "line 1, column 7: found -Infinity"),
        ('{"a": 1, "a": 2}', 'the key "a" occurs twice'),
        ("[1, 2]", r"\$: found a list; expected an object"),
        ("3.50", r"\$: found 3\.50; expected an object"),
        ('"x"', r'\$: found "x"; expected an object'),
        ("{", "line 1, column 2"),
    ],
)
def test_what_is_no_document_is_refused(text: str, message: str) -> None:
    for read in (schema_for(AGES).read, read_json_object):
        with pytest.raises(ValueError, match=message):
            read(text)


NUMBER: dict[str, Any] = {"kind": "number"}


@pytest.mark.parametrize(
    ("paths", "message"),
    [
        ({"$.a": NUMBER}, r"\$.a occurs without \$, which must come first"),
        ({"$": {"kind": "object"}, "$.a": {"kind": "numbr"}}, r"\$.a: the kind is 'numbr'; nearest known: number"),
        ({"$": {"kind": "object"}, "$.a": {"kind": "text or category"}}, r"\$.a: the kind is 'text or category'"),
        ({"$": {"kind": "object"}, "$.a": {"kind": "number", "skp": True}}, "'skp' is not a field of a path;"),
        ({"$": {"kind": "object"}, "$.a": {"kind": "number", "skip": 1}}, "skip is 1; it must be true or false"),
        ({"$": {"kind": "object"}, "$.a": {"kind": "number", "ordered": True}}, "only a list can be ordered; this is"),
        ({"$": {"kind": "object"}, "$.a": 3}, r"\$.a: found 3; expected an object"),
        ({"$": {"kind": "object"}, "$..a": NUMBER}, r"'\$\.*a?' is not a path"),
        ({}, "the path '\\$'"),
    ],
)
def test_a_schema_that_is_none_is_refused(paths: dict[str, Any], message: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=message):
        Schema.from_json({"paths": paths})
    (tmp_path / "schema.json").write_text(json.dumps({"paths": paths}))
    with pytest.raises(ValueError, match=r"schema\.json: "):
        read_schema(tmp_path / "schema.json")


def test_a_file_that_is_no_schema_is_refused(tmp_path: Path) -> None:
    (tmp_path / "schema.json").write_text("[1]")
    with pytest.raises(ValueError, match=r'schema\.json: expected an object with "paths"'):
        read_schema(tmp_path / "schema.json")
    with pytest.raises(ValueError, match=r"\$.a occurs twice"):
        Schema([PathSchema("$", ("object",)), *[PathSchema("$.a", ("text",))] * 2])
    with pytest.raises(ValueError, match="no documents"):
        infer_schema(list)


def test_a_schema_of_dictionaries_is_that_of_their_texts() -> None:
    values = documents(package, 40)
    texts = [json.dumps(value) for value in values]
    of_texts = infer_schema(lambda: (load_json(text, numbers_as_text=True) for text in texts))
    assert infer_schema(iter(values)).to_json() == infer_schema(values).to_json() == of_texts.to_json()

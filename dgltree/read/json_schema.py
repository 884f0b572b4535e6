"""JSON documents by a schema: a node's function is its path, so that one key at two paths is two functions.

A schema says of each path what is there: ``$.items`` is the list, ``$.items[]`` each of its items, and
``$.items[].price`` a key of these. It is inferred from documents (:func:`infer_schema`), kept as JSON that a person
edits, and read by (:meth:`Schema.read`): ::

    {"items": [{"price": 9.5}, {"price": 3}], "user": null}
    $($.items($.items[]($.items[].price 9.5), $.items[]($.items[].price 3)), $.user <null>)

The keys of an object are in the order of the schema. The items of a list are in the order of their contents' digests
unless the schema says ``ordered``, so that documents which differ in such orders alone are equal trees.
"""

import json
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from hashlib import blake2b
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from dgltree.read.json_tree import WrittenNumber, load_json, shown
from dgltree.read.leaf_values import moment, number
from dgltree.read.text import one_line
from dgltree.support.arguments import nearest
from dgltree.trees.tree import Tree

ROOT = "$"
ITEM = "[]"
"""The last step of the path of a list's items."""
WORD = " word"
"""The end of the function of a text's words, after its path; no step of a path has a blank outside of quotes."""
NULL, EMPTY, MISSING, OTHER = "<null>", "<empty>", "<missing>", "<other type>"
SPECIAL = frozenset([NULL, EMPTY, MISSING, OTHER])
"""Tokens of leaves without a value. A text that is written as one of them has a backslash before it."""

SCALARS = ("number", "date", "category", "text")
KINDS = ("object", "list", "pairs", "map", *SCALARS)
"""Contents of a path. An object whose keys are data is a ``map``, which is refused, or read as a list of ``pairs``
with ``key`` and ``value``."""
FIELDS = ("kind", "ordered", "skip", "seen")
"""Fields of a path in a schema's file."""
EITHER = " or "
"""Between the kinds of a path that has several."""
TYPES = ("object", "list", "number", "text", "boolean", "null")
"""The types of JSON's values."""

MAX_KEYS = 1000
"""Different keys that an object may have in all documents; with more it is a map."""
MAX_CATEGORIES = 100
"""Different texts, or whole numbers, of a category."""
MIN_CATEGORY_USES, MIN_CODE_USES = 2, 20
"""How often each text of a category occurs on average, and each whole number that is a code and no quantity."""
MAX_TUPLE = 4
"""Numbers of a list that are told apart by their position, if all lists of the path have as many: coordinates."""
MIN_IDS, MAX_IDS = 50, 1000
"""Documents from which a path whose values are all different holds ids, and values that are compared."""
EXPECTED_SHARE = 0.5
"""Share of the objects that have a key from which on its absence in another one is a leaf."""
MAX_NESTED = 2
"""Times that a key may be on a path. At the next the path is that of the last: comments and plans nest at will."""
MAX_WORDS = 100
"""Different words that are read of a text, the first."""

_STEP = re.compile(r'(?s)(.*)(\.[\w-]+|\[\]|\["(?:[^"\\]|\\.)*"\])')
_PLAIN_KEY = re.compile(r"[\w-]+")
_WORDS = re.compile(r"[^\W\d_]{2,}|\d+")
_ID = re.compile(r"(?:.*[_-])?(?:id|uuid|guid)|\w*[a-z](?:Id|ID)", re.ASCII)
"""Keys of ids."""
_ID_TEXT = re.compile(r"[A-Za-z]{0,12}[-_:#/]?[0-9a-fA-F-]*\d[0-9a-fA-F-]*")
"""Texts that are ids: ``order-0012``, a UUID, a hash."""


def step_to(key: str) -> str:
    """The step of a path to a key: ``.name``, or ``["first name"]`` for what is no word."""
    if _PLAIN_KEY.fullmatch(key):
        return f".{key}"
    return f"[{json.dumps(key, ensure_ascii=False)}]"


def key_of_step(step: str) -> str | None:
    """The key of a step, None for that to a list's items. Inverse of :func:`step_to`."""
    if step == ITEM:
        return None
    if step.startswith("."):
        return step[1:]
    key: str = json.loads(step[1:-1])
    return key


def steps_of(path: str) -> list[str]:
    """The steps of a path from the root on. Raises ``ValueError`` for other texts."""
    steps = []
    rest = path
    while rest != ROOT:
        match = _STEP.fullmatch(rest)
        if match is None:
            raise ValueError(f'{one_line(path)!r} is not a path such as $.items[].price or $["first name"]')
        rest, step = match.groups()
        steps.append(step)
    return steps[::-1]


# ---------------------------------------------------------------------------------------------------------------------
# A schema: what is at each path, as JSON and as a tree for people.


@dataclass(frozen=True)
class PathSchema:
    """A path, and its contents in documents.

    Args:
        path: from the root on, such as ``$.items[].price``.
        kinds: some of ``KINDS``, one scalar kind or a number or date next to category or text.
        ordered: whether the order of a list's items says something.
        skip: whether nothing of the path is read.
        seen: how many values of each type of JSON the documents had, with ``null``, ``empty`` and ``missing``, and how
            many were ``different`` (at most ``MAX_IDS`` are counted).

    Raises ``ValueError`` for a path that is none, and for kinds that do not exist or do not go together.
    """

    path: str
    kinds: tuple[str, ...]
    ordered: bool = False
    skip: bool = False
    seen: Mapping[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        steps_of(self.path)
        for kind in self.kinds:
            if kind not in KINDS:
                raise ValueError(f"{self.path}: the kind is {kind!r}; {nearest(kind, KINDS)}")
        if not self.kinds or {"category", "text"} <= {*self.kinds}:
            raise ValueError(f"{self.path}: the kind is {EITHER.join(self.kinds)!r}; give one, as in 'object or text'")
        if self.ordered and "list" not in self.kinds:
            raise ValueError(f"{self.path}: only a list can be ordered; this is {EITHER.join(self.kinds)!r}")

    @property
    def there(self) -> int:
        """How many values the documents had."""
        return sum(self.seen.get(kind, 0) for kind in TYPES)

    @property
    def expected(self) -> bool:
        """Whether most objects that may have the key have it, so that it is missing in one without it."""
        return self.there > 0 and self.there >= EXPECTED_SHARE * (self.there + self.seen.get("missing", 0))

    def to_json(self) -> dict[str, Any]:
        """The value of the path in a schema's file."""
        found: dict[str, Any] = {"kind": EITHER.join(self.kinds)}
        if self.ordered:
            found["ordered"] = True
        if self.skip:
            found["skip"] = True
        found["seen"] = dict(self.seen)
        return found

    @classmethod
    def from_json(cls, path: str, data: Any) -> "PathSchema":
        """Inverse of :meth:`to_json`. Raises ``ValueError`` naming the path and what is wrong with it."""
        if not isinstance(data, dict) or not isinstance(data.get("kind"), str):
            raise ValueError(f'{path}: found {json.dumps(data):.60}; expected an object such as {{"kind": "number"}}')
        for name in data:
            if name not in FIELDS:
                raise ValueError(f"{path}: {name!r} is not a field of a path; {nearest(name, FIELDS)}")
        for name in ("ordered", "skip"):
            value = data.get(name, False)
            if not isinstance(value, bool):
                raise ValueError(f"{path}: {name} is {json.dumps(value):.40}; it must be true or false")
        seen = data.get("seen", {})
        if not isinstance(seen, dict) or not all(type(count) is int for count in seen.values()):
            raise ValueError(f"{path}: seen is {json.dumps(seen):.60}; expected a count for each type")
        return cls(
            path,
            tuple(data["kind"].split(EITHER)),
            ordered=data.get("ordered", False),
            skip=data.get("skip", False),
            seen=seen,
        )


class _Row(NamedTuple):
    """A node in preorder, before its children are there."""

    function: str
    token: str | None = None
    value: float | None = None
    children: int = 0
    is_ordered: bool = True


_Part: TypeAlias = tuple[PathSchema | _Row, Any]
"""A value with its path, or a node that is done."""


class Schema:
    """The contents of documents by their paths, by which they become trees.

    Args:
        paths: the root first, and each path after the one that it continues.
        documents: from how many it was inferred; 0 if that is not known.

    Raises ``ValueError`` for a path that occurs twice, for one whose beginning is not there, and without the root.
    """

    def __init__(self, paths: Iterable[PathSchema], documents: int = 0) -> None:
        self.paths: dict[str, PathSchema] = {}
        self.documents = documents
        self._below: dict[str, dict[str, PathSchema]] = {}
        self._nested: dict[str, dict[str, PathSchema]] = {}
        for each in paths:
            if each.path in self.paths:
                raise ValueError(f"{each.path} occurs twice; expected each path once")
            steps = steps_of(each.path)
            parent = ROOT + "".join(steps[:-1])
            if steps and parent not in self.paths:
                raise ValueError(f"{each.path} occurs without {parent}, which must come first")
            self.paths[each.path] = each
            self._below[each.path] = {}
            self._nested[each.path] = self._last_places(steps)
            if steps:
                self._below[parent][steps[-1]] = each
        if ROOT not in self.paths:
            raise ValueError(f"the path {ROOT!r}, which is the document itself, is missing")

    def _last_places(self, steps: list[str]) -> dict[str, PathSchema]:
        """The paths of the keys that are as often on a path as they may be: where they are for the last time."""
        found = {}
        for step, count in Counter(steps).items():
            if count >= MAX_NESTED and step != ITEM:
                last = len(steps) - steps[::-1].index(step)
                found[step] = self.paths[ROOT + "".join(steps[:last])]
        return found

    @property
    def is_ordered(self) -> bool:
        """Whether the order of some list's items is read."""
        return any(each.ordered and not each.skip for each in self.paths.values())

    @property
    def maps(self) -> list[PathSchema]:
        """The objects whose keys are data, which are to be skipped or read as pairs."""
        return [each for each in self.paths.values() if "map" in each.kinds and not each.skip]

    def to_json(self) -> dict[str, Any]:
        """The schema as a value of JSON: ``documents``, and ``paths`` with what :class:`PathSchema` says of each."""
        return {
            "documents": self.documents,
            "paths": {path: each.to_json() for path, each in self.paths.items()},
        }

    @classmethod
    def from_json(cls, data: Any) -> "Schema":
        """Inverse of :meth:`to_json`. Raises ``ValueError`` naming the path that is wrong."""
        if not isinstance(data, dict) or not isinstance(data.get("paths"), dict):
            raise ValueError('expected an object with "paths", as dgltree inspect --schema-out writes it')
        documents = data.get("documents", 0)
        if type(documents) is not int:
            raise ValueError(f"documents is {json.dumps(documents):.40}; expected a whole number")
        return cls((PathSchema.from_json(path, each) for path, each in data["paths"].items()), documents)

    def to_text(self) -> str:
        """The text of the file that :func:`read_schema` reads, a path a line."""
        rows = []
        for each in self.paths.values():
            rows.append(f"  {json.dumps(each.path)}: {json.dumps(each.to_json())}")
        return f'{{"documents": {self.documents}, "paths": {{\n' + ",\n".join(rows) + "\n}}\n"

    def __str__(self) -> str:
        """The paths as a tree for people: what is there, how often what is missing, null or empty, and what is read."""
        names = []
        texts = []
        for each in self.paths.values():
            last = [ROOT, *steps_of(each.path)]
            indent = "  " * (len(last) - 1)
            names.append(indent + one_line(last[-1], longest=60))
            texts.append(_describe(each))
        width = max(map(len, names))
        return "\n".join(f"{name:<{width}}  {text}" for name, text in zip(names, texts, strict=True))

    # -----------------------------------------------------------------------------------------------------------------
    # Documents to trees.

    def read(self, text: str) -> Tree:
        """The tree of a document.

        Raises ``ValueError`` for what is not JSON (NaN, Infinity and keys that occur twice are not), and for anything
        but an object.
        """
        return self.tree(load_json(text, numbers_as_text=True))

    def tree(self, document: Any) -> Tree:
        """The tree of a document that was loaded, its numbers as they are written. Errors as of :meth:`read`."""
        check_document(document)
        rows = []
        stack: list[_Part] = [(self.paths[ROOT], document)]
        while stack:
            place, value = stack.pop()
            if isinstance(place, _Row):
                rows.append(place)
                continue
            row, parts = self._node(place, value)
            rows.append(row)
            stack.extend(reversed(parts))
        return _tree_of(rows)

    def _node(self, place: PathSchema, value: Any) -> tuple[_Row, list[_Part]]:
        """A node, and what becomes its children."""
        if value is None:
            return _Row(place.path, NULL), []
        if value in ("", {}, []):
            return _Row(place.path, EMPTY), []
        if isinstance(value, dict):
            if "object" in place.kinds:
                parts = self._keys(place, value)
                return _Row(place.path, children=len(parts)), parts
            if "pairs" in place.kinds or "map" in place.kinds:
                pairs = [{"key": key, "value": item} for key, item in value.items()]
                return self._list(place, pairs)
            return _Row(place.path, OTHER), []
        if isinstance(value, list):
            if "list" in place.kinds:
                return self._list(place, value)
            return _Row(place.path, OTHER), []
        return _scalar(place, value)

    def _list(self, place: PathSchema, items: list[Any]) -> tuple[_Row, list[_Part]]:
        """The node of a list, and its items."""
        of_items = self._below[place.path].get(ITEM)
        parts: list[_Part] = []
        if of_items is None:
            unknown = _Row(f"{place.path}{ITEM}")
            parts = [(unknown, None)] * len(items)
        elif not of_items.skip:
            parts = [(of_items, item) for item in items]
        return _Row(place.path, children=len(parts), is_ordered=place.ordered), parts

    def _keys(self, place: PathSchema, value: Mapping[str, Any]) -> list[_Part]:
        """Return the parts of an object at its paths, in the order of the schema, and then those that this lacks."""
        below = self._below[place.path]
        nested = self._nested[place.path]
        found = {step_to(key): item for key, item in value.items()}
        parts: list[_Part] = []
        for step, each in below.items():
            if each.skip:
                continue
            if step in found:
                parts.append((each, found[step]))
            elif each.expected:
                parts.append((_Row(each.path, MISSING), None))
        for step in sorted(found.keys() - below.keys()):
            again = nested.get(step)
            if again is None:
                parts.append((_Row(f"{place.path}{step}"), None))
            elif not again.skip:
                parts.append((again, found[step]))
        return parts


def read_schema(path: str | Path) -> Schema:
    """The schema in a file. Raises ``FileNotFoundError``, and ``ValueError`` for what is none, with file and path."""
    try:
        return Schema.from_json(load_json(Path(path).read_text(encoding="utf-8")))
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None


def read_json_object(text: str) -> Tree:
    """The tree of one JSON document by the schema of it alone; several are compared by one schema of all.

    Raises ``ValueError`` as :meth:`Schema.read`.
    """
    document = load_json(text, numbers_as_text=True)
    return infer_schema(lambda: [document]).tree(document)


def check_document(document: Any) -> None:
    """``ValueError`` for a value of JSON that is no object."""
    if not isinstance(document, dict):
        raise ValueError(f"$: found {shown(document)}; expected an object, {{...}}")


def _scalar(place: PathSchema, value: Any) -> tuple[_Row, list[_Part]]:
    """The node of a text, a number, true or false."""
    text = _text_of(value)
    amount = None
    if "number" in place.kinds and not isinstance(value, bool):
        amount = number(text)
    if "date" in place.kinds and amount is None:
        amount = moment(text)
    if amount is not None:
        return _Row(place.path, value=amount), []
    if "category" in place.kinds:
        if text.lstrip("\\") in SPECIAL:
            text = f"\\{text}"
        return _Row(place.path, text), []
    if "text" in place.kinds:
        words = list(dict.fromkeys(_WORDS.findall(text.casefold())))
        parts: list[_Part] = []
        for word in words[:MAX_WORDS]:
            parts.append((_Row(f"{place.path}{WORD}", word), None))
        return _Row(place.path, children=len(parts), is_ordered=False), parts
    return _Row(place.path, OTHER), []


def _text_of(value: Any) -> str:
    return json.dumps(value) if isinstance(value, bool) else str(value)


def _tree_of(rows: list[_Row]) -> Tree:
    """The tree of nodes in preorder, in which children without an order are sorted by digests of what they hold.

    A digest of 16 bytes takes a microsecond at any size; texts of subtrees would be as long as these, at each level.
    """
    done: list[tuple[bytes, Tree]] = []
    for row in reversed(rows):
        children = [done.pop() for _ in range(row.children)]
        if not row.is_ordered:
            children.sort(key=lambda child: child[0])
        digest = blake2b(f"{row.function}\0{row.token}\0{row.value}".encode("utf-8", "surrogatepass"), digest_size=16)
        for of_child, _ in children:
            digest.update(of_child)
        tree = Tree(row.function, [child for _, child in children], row.token, row.value)
        done.append((digest.digest(), tree))
    return done[0][1]


def _describe(place: PathSchema) -> str:
    """Describe a path in a line."""
    seen = place.seen
    there = place.there
    parts = [EITHER.join(place.kinds)]
    if place.ordered:
        parts.append("ordered")
    if set(SCALARS) & {*place.kinds} and "different" in seen:
        more = "over " if seen["different"] >= MAX_IDS else ""
        parts.append(f"{more}{seen['different']:,} different")
    parts.append(f"{there:,} times")
    for kind in ("null", "empty", "missing"):
        if count := seen.get(kind, 0):
            parts.append(f"{kind} {count / (there + seen.get('missing', 0)):.1%}")
    if place.skip:
        parts.append("skipped")
    elif "map" in place.kinds:
        parts.append('keys that are data: set "skip" or "pairs"')
    return ", ".join(parts)


# ---------------------------------------------------------------------------------------------------------------------
# The schema of some documents.


class _PathCounts:
    """Counts of the values at a path.

    ``counts`` has the types of JSON, and of scalars also how many are numbers, dates or other texts.
    """

    def __init__(self, path: str, steps: tuple[str, ...], above: "_PathCounts | None") -> None:
        self.path = path
        self.steps = steps
        self.above = above
        self.below: dict[str, _PathCounts] = {}
        self.nested: dict[str, _PathCounts] = {}
        if above is not None:
            self.nested = above.nested
        if steps and steps.count(steps[-1]) >= MAX_NESTED and steps[-1] != ITEM:
            self.nested = {**self.nested, steps[-1]: self}
        self.counts = Counter[str]()
        self.values: set[str] = set()
        self.lengths: set[int] = set()
        self.is_map = False

    def at(self, step: str) -> "_PathCounts":
        """Return the counts one step further."""
        found = self.nested.get(step) or self.below.get(step)
        if found is None:
            found = _PathCounts(self.path + step, (*self.steps, step), self)
            self.below[step] = found
        return found

    def add(self, value: Any, is_map: bool) -> Iterator[tuple["_PathCounts", Any]]:
        """Count a value, and yield what is in it with its path."""
        if isinstance(value, dict):
            self.counts["object"] += 1
            self.counts["with keys" if value else "empty"] += 1
            if is_map:
                self.is_map = True
                items = self.at(ITEM)
                yield from ((items, {"key": key, "value": item}) for key, item in value.items())
                return
            for key, item in value.items():
                yield self.at(step_to(key)), item
            if len(self.below) > MAX_KEYS:
                self.is_map = True
        elif isinstance(value, list):
            self.counts["list"] += 1
            self.counts["empty"] += not value
            self.lengths.add(len(value))
            items = self.at(ITEM)
            yield from ((items, item) for item in value)
        else:
            self._add_scalar(value)

    def _add_scalar(self, value: Any) -> None:
        if value is None:
            self.counts["null"] += 1
            return
        kind = "text"
        if isinstance(value, bool):
            kind = "boolean"
        elif isinstance(value, WrittenNumber):
            kind = "number"
        self.counts[kind] += 1
        if value == "":
            self.counts["empty"] += 1
            return
        text = _text_of(value)
        amount = None if kind == "boolean" else number(text)
        if amount is not None:
            self.counts["numbers"] += 1
            self.counts["fractions"] += not amount.is_integer()
        elif kind == "text" and moment(text) is not None:
            self.counts["dates"] += 1
        else:
            self.counts["others"] += 1
        if len(self.values) < MAX_IDS:
            self.values.add(text)

    def kinds(self, amounts: Collection[str]) -> tuple[str, ...]:
        """The kinds of a path: containers, and how its texts and numbers are best read, as ``amounts`` or not."""
        found = []
        if self.is_map:
            found.append("map")
        elif self.counts["object"]:
            found.append("object")
        if self.counts["list"]:
            found.append("list")
        return (*found, *self._scalars(amounts)) or ("category",)  # of nothing but null

    def _scalars(self, amounts: Collection[str]) -> list[str]:
        numbers = self.counts["numbers"]
        dates = self.counts["dates"]
        others = self.counts["others"]
        total = numbers + dates + others
        if not total:
            return ["category"] if self.counts["text"] else []
        different = len(self.values)
        is_few = different <= MAX_CATEGORIES
        is_whole = numbers and not self.counts["fractions"]
        if is_whole and is_few and total >= MIN_CODE_USES * different:
            return ["category"]
        found = []
        left = total
        for kind, count in (("number", numbers), ("date", dates)):
            if kind in amounts and count and count >= others:
                found.append(kind)
                left -= count
        if left and is_few and total >= MIN_CATEGORY_USES * different:
            found.append("category")
        elif left:
            found.append("text")
        return found

    def is_id(self, documents: int) -> bool:
        """Whether each document that has a value here has another one, as of an id."""
        counts = self.counts
        total = counts["numbers"] + counts["others"]
        if ITEM in self.steps or not MIN_IDS <= total <= documents or len(self.values) < min(total, MAX_IDS):
            return False
        if counts["numbers"]:
            key = key_of_step(self.steps[-1]) or ""
            return not counts["fractions"] and _ID.fullmatch(key) is not None
        return all(map(_ID_TEXT.fullmatch, self.values))

    def schema(self, documents: int, amounts: Collection[str]) -> PathSchema:
        """Return the path's schema in so many documents, where texts and numbers may be of these kinds of amounts."""
        seen = {name: self.counts[name] for name in (*TYPES, "empty") if self.counts[name]}
        there = sum(self.counts[name] for name in TYPES)
        if self.above is not None and self.steps[-1] != ITEM and self.above.counts["with keys"] > there:
            seen["missing"] = self.above.counts["with keys"] - there
        if self.values:
            seen["different"] = len(self.values)
        return PathSchema(self.path, self.kinds(amounts), self._is_tuple(amounts), self.is_id(documents), seen)

    def _is_tuple(self, amounts: Collection[str]) -> bool:
        """Whether the items of lists are told apart by their position: numbers, of which each list has as many."""
        if len(self.lengths) != 1 or not 2 <= next(iter(self.lengths)) <= MAX_TUPLE:
            return False
        items = self.below.get(ITEM)
        return items is not None and items.kinds(amounts) == ("number",)


def infer_schema(
    documents: Iterable[Any] | Callable[[], Iterable[Any]], *, numbers: bool = True, dates: bool = True
) -> Schema:
    """The schema of some documents.

    Objects at a path with more than ``MAX_KEYS`` different keys are maps, whose keys and values are then looked at as
    those of a list of pairs; for each level of these the documents are read once more.

    Args:
        documents: dictionaries; or, of more than fit into memory, a function that gives them from the beginning at each
            call, their numbers as they are written (``load_json(text, numbers_as_text=True)``).
        numbers: whether a path may be of the kind ``number``.
        dates: whether it may be of the kind ``date``.

    Raises ``ValueError`` for a document that is no object, and for none.
    """
    if not callable(documents):
        held = [load_json(json.dumps(document), numbers_as_text=True) for document in documents]
        return infer_schema(lambda: held, numbers=numbers, dates=dates)
    maps: set[str] = set()
    while True:
        root = _PathCounts(ROOT, (), None)
        count = 0
        for document in documents():
            check_document(document)
            count += 1
            _count(document, root, maps)
        if not count:
            raise ValueError("no documents: give at least one")
        found = {each.path for each in _walk(root) if each.is_map}
        if found <= maps:
            amounts = ["number"] * numbers + ["date"] * dates
            return Schema((each.schema(count, amounts) for each in _walk(root)), count)
        maps |= found


def _count(document: Any, root: _PathCounts, maps: set[str]) -> None:
    """Count all that is in a document; below what turns out to be a map nothing more until its pairs are read."""
    stack = [(root, document)]
    while stack:
        place, value = stack.pop()
        if not place.is_map or place.path in maps:
            stack.extend(place.add(value, place.path in maps))


def _walk(root: _PathCounts) -> Iterator[_PathCounts]:
    """Yield all paths, each before those that continue it."""
    stack = [root]
    while stack:
        place = stack.pop()
        yield place
        stack.extend(place.below[step] for step in sorted(place.below, reverse=True))

"""Paths of JSON documents that their schema lacks, and values of another type than it says."""

from collections.abc import Mapping, Sequence

import numpy as np

from dgltree.batching.vocabulary import Vocabulary
from dgltree.datasets.tree_dataset import TreeDataset
from dgltree.read.json_schema import EITHER, OTHER, WORD, Schema
from dgltree.read.text import first_of

NEW = "a new path"


def schema_of(data: TreeDataset) -> Schema | None:
    """The schema that the trees of a data set were read by; None if they are no JSON documents."""
    found = data.reading.schema
    return None if found is None else Schema.from_json(found)


def find_unseen(data: TreeDataset) -> dict[str, list[int]]:
    """The numbers of the examples that have something that the schema does not say, by what that is.

    That is ``$.user.vip, a new path`` or ``$.price, not number``. There is none without a schema.
    """
    schema = schema_of(data)
    found: dict[str, list[int]] = {}
    if schema is None:
        return found
    data = data.as_read()
    names = _names(data.own_vocabulary, schema)
    tokens = data.own_vocabulary.tokens
    other = tokens.index(OTHER) if OTHER in tokens else len(tokens)
    first = 0
    for block in data.blocks():
        trees = block.trees
        function = trees.function.numpy()
        is_other = trees.token.numpy() == other
        example = first + np.repeat(np.arange(len(trees)), trees.sizes.numpy()) // data.each
        first += len(block)
        for number, (path, kinds) in names.items():
            nodes = function == number
            what = f"{path}, {NEW}"
            if kinds is not None:
                nodes &= is_other
                what = f"{path}, not {kinds}"
            if nodes.any():
                found.setdefault(what, []).extend(np.unique(example[nodes]).tolist())
    return found


def _names(vocabulary: Vocabulary, schema: Schema) -> dict[int, tuple[str, str | None]]:
    """The path of each function, with the kinds that are there; None for a path that the schema lacks."""
    names: dict[int, tuple[str, str | None]] = {}
    for number, (path, _) in enumerate(vocabulary.functions):
        place = schema.paths.get(path)
        if place is not None:
            names[number] = (path, EITHER.join(place.kinds))
        elif not path.endswith(WORD):
            names[number] = (path, None)
    return names


def describe_unseen(counts: Mapping[str, int]) -> str:
    """A line about what :func:`find_unseen` found, with the number of documents of each, the most frequent first."""
    ordered: Sequence[str] = sorted(counts, key=lambda what: (-counts[what], what))
    listed = [f"{what} ({counts[what]:,} document{'s' * (counts[what] != 1)})" for what in ordered]
    return f"not in the schema: {first_of(listed)}"


def check_schema(data: TreeDataset) -> None:
    """``ValueError`` if the schema of training documents contradicts them, or has objects whose keys are data."""
    schema = schema_of(data)
    if schema is None:
        return
    if schema.maps:
        place = schema.maps[0]
        raise ValueError(
            f"{place.path} is an object with too many different keys, so its keys look like data, not names. Write the "
            'schema with dgltree inspect FILE --schema-out schema.json, give this path "skip": true or the kind '
            '"pairs", and fit with --schema schema.json'
        )
    for what, examples in find_unseen(data).items():
        bad = data.bad_at(examples[0], what)
        raise ValueError(
            f"the schema contradicts the training documents: {bad.where}: {what} ({len(examples):,} of {len(data):,} "
            f"documents); change its kind in the schema, or infer it again (dgltree inspect FILE --schema-out)"
        )

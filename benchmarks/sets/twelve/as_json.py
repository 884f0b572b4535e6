"""A tree in the JSON that ``--notation json`` reads."""

import json
from typing import Any

from dgltree.trees.tree import Tree


def as_json(tree: Tree) -> str:
    """Its text, in a line."""

    def node(tree: Tree, below: list[Any]) -> dict[str, Any]:
        found: dict[str, Any] = {"label": tree.function}
        if tree.token is not None:
            found["token"] = tree.token
        return found | ({"children": below} if below else {})

    return json.dumps(tree.fold(node))

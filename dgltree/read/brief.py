"""A tree as one line for people, as far as there is room."""

from dgltree.trees.tree import Tree

WIDTH = 100
"""Characters of a tree that is shown."""


def brief(tree: Tree) -> str:
    """A tree as one line of brackets, as far as it is printed."""
    parts: list[str] = []
    stack: list[Tree | str] = [tree]
    while stack and sum(map(len, parts)) <= WIDTH:
        node = stack.pop()
        if isinstance(node, str):
            parts.append(node)
            continue
        token = node.token if node.value is None else f"{node.value:g}"
        if node.children:
            parts.append(f" ({node.function}" + (f":{token}" if token is not None else ""))
            stack.append(")")
            stack.extend(reversed(node.children))
        else:
            parts.append(f" {node.function if token is None else token}")
    return "".join(parts).strip() + (" ..." if stack else "")

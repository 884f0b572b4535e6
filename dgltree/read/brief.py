"""A tree as one line for people, as far as there is room."""

from dgltree.trees.tree import Tree, name_of

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
        parts.append(" (" if node.children else " ")
        parts.append(name_of(node))
        if node.children:
            stack.append(")")
            stack.extend(reversed(node.children))
    return "".join(parts).strip() + (" ..." if stack else "")

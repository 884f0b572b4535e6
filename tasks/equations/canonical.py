"""One number for an equation and everything that differs from it in the names of variables or the order of sides."""

from hashlib import blake2b

from dgltree.equation import Equation
from dgltree.tree import Tree


def digest(equation: Equation) -> int:
    """64 bits of the hash of :func:`canonical_key`, the same in every process."""
    return int.from_bytes(blake2b(canonical_key(equation).encode(), digest_size=8).digest(), "big")


def canonical_key(equation: Equation) -> str:
    """The same text for equations that are equal up to renaming variables and swapping the sides, else different ones.

    Variables are numbered by first appearance; of the two orders of the sides the smaller text is taken. The text is
    the preorder of both sides, so it is the same in every process and can be sorted. Labels play no part.
    """
    left, right = _words(equation.left), _words(equation.right)
    return min(_numbered(left, right), _numbered(right, left))


def _words(tree: Tree) -> list[str]:
    """The preorder as texts; a variable's begins with a space, which no other text does."""
    words = []
    stack = [tree]
    while stack:
        node = stack.pop()
        if node.children:
            words.append(f"{node.function}/{len(node.children)}")
            stack.extend(node.children[::-1])
        elif node.function == "Symbol":
            words.append(f" {node.token}")
        else:
            words.append(node.token or node.function)
        if node.value is not None:
            words[-1] += f"#{node.value!r}"
    return words


def _numbered(first: list[str], second: list[str]) -> str:
    numbers: dict[str, str] = {}
    words = [
        numbers.setdefault(word, f"v{len(numbers)}") if word[0] == " " else word for word in (*first, "=", *second)
    ]
    return " ".join(words)

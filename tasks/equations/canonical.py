"""One number for an equation and everything that differs from it in the names of variables or the order of sides."""

from hashlib import blake2b

from dgltree import BLANK as BLANK_TREE
from dgltree import Equation, Tree
from tasks.equations.words import ARITIES, EQUAL, NAMES, SINGLE, Word, rename_variables, tree, variables


def digest(equation: Equation) -> int:
    """64 bits of the hash of :func:`canonical_key`, the same in every process."""
    return _hash(canonical_key(equation))


def word_digest(left: Word, right: Word) -> int:
    """The :func:`digest` of the equation of two words."""
    first = _STARTS[left[0]]
    second = _STARTS[right[0]]
    if first == second:
        return _hash(min(_word_key(left, right), _word_key(right, left)))
    return _hash(_word_key(left, right) if first < second else _word_key(right, left))  # the smaller of both, too


def canonical_key(equation: Equation) -> str:
    """Return one text for equations that are equal up to renaming variables and swapping sides, else different ones.

    Variables are numbered by first appearance; of the two orders of the sides the smaller text is taken. The text is
    the preorder of both sides, so it is the same in every process and can be sorted. Labels play no part.
    """
    left = _tokens(equation.left)
    right = _tokens(equation.right)
    return min(_numbered(left, right), _numbered(right, left))


def _hash(key: str) -> int:
    return int.from_bytes(blake2b(key.encode(), digest_size=8).digest(), "big")


def _tokens(root: Tree) -> list[str]:
    """The preorder as texts; a variable's begins with a space, which no other text does."""
    words = []
    stack = [root]
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


def _word_key(first: Word, second: Word) -> str:
    both = first + SINGLE[EQUAL] + second
    present = variables(both)
    return " ".join(map(_TEXTS.__getitem__, rename_variables(both, present, range(len(present)))))


_TEXTS = [_tokens(tree(bytes([symbol, *[0] * arity])))[0] for symbol, arity in enumerate(ARITIES[:EQUAL])]
_TEXTS += ["=", BLANK_TREE.function]
_TEXTS[: len(NAMES)] = [f"v{number}" for number in range(len(NAMES))]
_STARTS = [f"{'v0' if symbol < len(NAMES) else text} " for symbol, text in enumerate(_TEXTS)]  # of keys

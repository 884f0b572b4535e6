"""Names to numbers: the functions and tokens that a model knows, saved with it."""

from collections.abc import Iterable
from typing import Any

from dgltree.read.text import nearest
from dgltree.tree import Tree


class Vocabulary:
    """Functions with their arity, and tokens; the position in its list is the id.

    Args:
        functions: ``(name, arity)`` pairs. A function used with two arities stands here twice, because typed weights
            belong to a function at an arity. Leaves have functions too, with arity 0 ("Symbol", "DT").
        tokens: texts of leaves (variables, words, constants). A token's id depends on its text alone, so the noun
            "run" and the verb "run" share an embedding.

    Raises ``ValueError`` for an entry that stands twice or a negative arity.
    """

    def __init__(self, functions: Iterable[tuple[str, int]], tokens: Iterable[str]) -> None:
        self.functions = tuple((str(name), int(arity)) for name, arity in functions)
        self.tokens = tuple(tokens)
        self._function_ids = {function: i for i, function in enumerate(self.functions)}
        self._token_ids = {token: i for i, token in enumerate(self.tokens)}
        for kind, entries, ids in (
            ("function", self.functions, self._function_ids),
            ("token", self.tokens, self._token_ids),
        ):
            if len(ids) < len(entries):
                twice = next(entry for i, entry in enumerate(entries) if ids[entry] != i)  # type: ignore[index]
                raise ValueError(f"the vocabulary names the {kind} {twice!r} twice")
        for name, arity in self.functions:
            if arity < 0:
                raise ValueError(f"the function {name!r} has arity {arity}; an arity is 0 or more")

    @classmethod
    def from_trees(cls, trees: Iterable[Tree]) -> "Vocabulary":
        """Everything that stands in ``trees``, sorted, so that their order does not matter."""
        functions: set[tuple[str, int]] = set()
        tokens: set[str] = set()
        for tree in trees:
            for node in tree.distinct():
                functions.add((node.function, len(node.children)))
                if node.token is not None:
                    tokens.add(node.token)
        return cls(sorted(functions), sorted(tokens))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Vocabulary):
            return NotImplemented
        return self.functions == other.functions and self.tokens == other.tokens

    def __hash__(self) -> int:
        return hash((self.functions, self.tokens))

    def __repr__(self) -> str:
        return f"<Vocabulary: {len(self.functions)} functions, {len(self.tokens)} tokens>"

    def knows_token(self, token: str) -> bool:
        return token in self._token_ids

    def function_id(self, name: str, arity: int) -> int:
        """Raises ``ValueError`` for an unknown name (with the nearest known ones) or a known name at another arity."""
        try:
            return self._function_ids[name, arity]
        except KeyError:
            arities = [known for other, known in self.functions if other == name]
            if arities:
                known = " or ".join(map(str, arities))
                raise ValueError(f"{name!r} has {arity} children here; this model knows it with {known}") from None
            raise ValueError(f"unknown function {name!r}; {nearest(name, (f for f, _ in self.functions))}") from None

    def token_id(self, token: str) -> int:
        """Raises ``ValueError`` for an unknown token, with the nearest known ones."""
        try:
            return self._token_ids[token]
        except KeyError:
            raise ValueError(f"unknown token {token!r}; {nearest(token, self.tokens)}") from None

    def at_arity(self, arity: int) -> list[int]:
        """Ids of the functions of one arity, ascending: the order in which a cell stacks their weights."""
        return [i for i, (_, known) in enumerate(self.functions) if known == arity]

    @property
    def arities(self) -> list[int]:
        return sorted({arity for _, arity in self.functions})

    def to_json(self) -> dict[str, Any]:
        return {"functions": [list(function) for function in self.functions], "tokens": list(self.tokens)}

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> "Vocabulary":
        return cls([(name, arity) for name, arity in data["functions"]], data["tokens"])

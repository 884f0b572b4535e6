"""Names to numbers: the functions and tokens that a model knows, saved with it."""

import hashlib
import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise, repeat
from operator import index
from typing import Any

import torch
from torch import Tensor, nn

from dgltree.batching.number_scales import NumberScales, ScaleTable
from dgltree.support.arguments import nearest
from dgltree.support.lazy import cached_property
from dgltree.trees.tree import Tree, flat_trees

# ---------------------------------------------------------------------------------------------------------------------
# The words that tokens are made of, such as ``user`` and ``name`` of ``userName``: what unknown tokens are read by.


LETTERS = re.compile(r"[^\W\d_]+")
# A word is an entry of a vocabulary with ``parts`` as ``<part:name>``.
BEGIN = "<part:"
END = ">"


def words_of(token: str) -> list[str]:
    """The words of two letters and more, in small letters, between underscores, digits, signs and capital letters.

    Examples:
        >>> words_of("getHTTPResponse_2"), words_of("x1"), words_of("well-made")
        (['get', 'http', 'response'], [], ['well', 'made'])
    """
    words = []
    for letters in LETTERS.findall(token):
        for first, last in pairwise(_word_bounds(letters)):
            word = letters[first:last].casefold()
            if len(word) > 1:
                words.append(word)
    return words


def _word_bounds(letters: str) -> list[int]:
    """Where words begin and end: a word begins with a capital letter, an abbreviation with the first of several.

    ``getHTTPResponse`` is ``get``, ``HTTP`` and ``Response``: the last of several capitals begins the word after them.
    """
    is_capital = [letter.isupper() for letter in letters]
    bounds = [0]
    for k in range(1, len(letters)):
        follows_capital = is_capital[k - 1]
        precedes_small = not all(is_capital[k + 1 : k + 2])
        if is_capital[k] and (precedes_small or not follows_capital):
            bounds.append(k)
    bounds.append(len(letters))
    return bounds


def parts_of(tokens: Iterable[str]) -> list[str]:
    """The entries of the words that two of these tokens have, one of them among others, sorted.

    Raises ``ValueError`` for a token that is written as such an entry.
    """
    counts = Counter[str]()
    with_others = set[str]()
    for token in tokens:
        if token.startswith(BEGIN) and token.endswith(END):
            raise ValueError(
                f"the token {token!r:.60} looks like a part of a token, as token_parts writes it: leave out "
                "token_parts, or write the token differently"
            )
        words = words_of(token)
        counts.update(set(words))
        if len(words) > 1:
            with_others.update(words)
    common = (word for word in with_others if counts[word] > 1)
    return sorted(f"{BEGIN}{word}{END}" for word in common)


def part_ids(tokens: Sequence[str]) -> dict[str, int]:
    """The ids of the words that a vocabulary's tokens have entries for."""
    ids = {}
    for i, token in enumerate(tokens):
        if token.startswith(BEGIN):
            word = token[len(BEGIN) : -len(END)]
            ids[word] = i
    return ids


def part_table(tokens: Sequence[str]) -> Tensor | None:
    """(T, P) int64, the ids of the known words of each token, filled up with -1; None if no token has one.

    ``tokens`` are those of a vocabulary with ``parts``.
    """
    ids = part_ids(tokens)
    rows = []
    for token in tokens:
        row = []
        if not token.startswith(BEGIN):
            words = dict.fromkeys(words_of(token))
            row = [ids[word] for word in words if word in ids]
        rows.append(row)
    most = max(map(len, rows), default=0)
    if not most:
        return None
    for row in rows:
        missing = most - len(row)
        row += [-1] * missing
    return torch.tensor(rows)


NameAndArity = tuple[str, int | None]
ANY_ARITY = None
UNKNOWN = "<unk>"
NO_TOKEN = -1
"""The token id of a node without a token."""
UNSEEN = -2
"""The id of a name that a vocabulary lacks."""
NO_LABEL = -100
"""The class number of an example without a label, which torch's losses ignore by default."""


class Vocabulary:
    """Functions with their arity, and tokens; the position in its list is the id.

    Examples:
        >>> import dgltree
        >>> vocabulary = dgltree.Vocabulary.from_trees([dgltree.read_infix("sin(x)^2 + 3")])
        >>> vocabulary.functions
        (('Add', 2), ('Integer', 0), ('Pow', 2), ('Symbol', 0), ('sin', 1))
        >>> vocabulary.tokens
        ('2', '3', 'x')

    Args:
        functions: ``(name, arity)`` pairs. A function used with two arities is listed twice, because typed weights
            belong to a function at an arity. Leaves have functions too, with arity 0 ("Symbol", "DT"). A function of
            arity ``ANY_ARITY`` may have any number of children, none included; a cell that sums over children reads it.
        tokens: texts of leaves (variables, words, constants). A token's id depends on its text alone, so the noun
            "run" and the verb "run" share an embedding.
        unk: whether a token that is not among ``tokens`` gets the id of ``<unk>``, which is then one of them (the first
            unless it occurs elsewhere). Otherwise it is an error. An unknown function is an error too, because
            it would have no weights, unless ``<unk>`` is among ``functions`` with its number of children.
        parts: whether entries of ``tokens`` such as ``<part:name>`` are words, which tokens are read by; an unknown one
            whose last known word is "name" gets that id. See :mod:`dgltree.batching.vocabulary`.
        scales: of numbers at leaves, by their place, on which cells read them; None: as a cell's ``number_scale`` says.

    Raises ``ValueError`` for an entry that occurs twice, a negative arity, or a function of one arity and of any, and
    ``TypeError`` for an arity that is not a whole number.

    See also: :func:`dgltree.batch`, and the cells, which take one.
    """

    def __init__(
        self,
        functions: Iterable[NameAndArity],
        tokens: Iterable[str],
        *,
        unk: bool = False,
        parts: bool = False,
        scales: NumberScales | None = None,
    ) -> None:
        entries = []
        for name, arity in functions:
            if arity is not ANY_ARITY:
                arity = index(arity)
            entries.append((str(name), arity))
        self.functions = tuple(entries)
        self.tokens = tuple(tokens)
        if unk and UNKNOWN not in self.tokens:
            self.tokens = (UNKNOWN, *self.tokens)
        self.unk = unk
        self.parts = parts
        self.scales = scales
        self._function_ids = _ids("function", self.functions)
        self._token_ids: dict[str | None, int] = {**_ids("token", self.tokens), None: NO_TOKEN}
        self._parts = part_ids(self.tokens) if unk and parts else {}
        for name, arity in self.functions:
            if arity is ANY_ARITY:
                continue
            if arity < 0:
                raise ValueError(f"the function {name!r} has arity {arity}; an arity must be 0 or more")
            if (name, ANY_ARITY) in self._function_ids:
                raise ValueError(f"the vocabulary names the function {name!r} at arity {arity} and at any arity")

    @classmethod
    def from_trees(
        cls,
        trees: Iterable[Tree | tuple[Tree, ...]],
        *,
        any_arity: bool = False,
        unk: bool = False,
        min_count: int = 1,
    ) -> "Vocabulary":
        """The vocabulary of ``trees``, sorted, so that their order does not matter.

        Args:
            trees: where functions and tokens are taken from; pairs, such as equations, are flattened, as by ``batch``.
            any_arity: give every function ``ANY_ARITY`` instead of the arities at which it occurs.
            unk: see :class:`Vocabulary`.
            min_count: a token that occurs at fewer nodes becomes ``<unk>``; objects that a tree holds twice count once.

        Raises ``ValueError`` for a ``min_count`` below 1, or above 1 without ``unk``.
        """
        if min_count < 1 or (min_count > 1 and not unk):
            raise ValueError(f"min_count is {min_count}; it must be 1 or more, and a value above 1 needs unk=True")
        functions = set()
        counts: Counter[str] = Counter()
        for tree in flat_trees(trees):
            for node in tree.distinct():
                arity = ANY_ARITY if any_arity else len(node.children)
                functions.add((node.function, arity))
                if node.token is not None:
                    counts[node.token] += 1
        tokens = (token for token, count in counts.items() if count >= min_count)
        by_name = sorted(functions, key=_name_and_children)
        return cls(by_name, sorted(tokens), unk=unk)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Vocabulary):
            return NotImplemented
        return self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def _key(self) -> tuple[object, ...]:
        return self.functions, self.tokens, self.unk, self.parts, self.scales

    def __repr__(self) -> str:
        return f"<Vocabulary: {len(self.functions)} functions, {len(self.tokens)} tokens>"

    def knows_token(self, token: str) -> bool:
        return token in self._token_ids

    def function_id(self, name: str, arity: int | None) -> int:
        """The id of a function, or of the one that is read in its place.

        Raises ``ValueError`` for an unknown name (with the nearest known ones) or a known name at another arity.
        """
        number = self.find_function(name, arity)
        if number is not None:
            return number
        arities = [str(other_arity) for other, other_arity in self.functions if other == name]
        if arities:
            raise ValueError(f"{name!r} has {arity} children here; in this vocabulary it has {' or '.join(arities)}")
        names = (function for function, _ in self.functions)
        raise ValueError(f"unknown function {name!r}; {nearest(name, names)}")

    def find_function(self, name: str, arity: int | None) -> int | None:
        """The id of a function, or of the one that is read in its place; None for an unknown one."""
        for key in ((name, arity), (name, ANY_ARITY), (UNKNOWN, arity), (UNKNOWN, ANY_ARITY)):
            if key in self._function_ids:
                return self._function_ids[key]
        return None

    def token_id(self, token: str) -> int:
        """The id of a token; that of a known word of it or of ``<unk>`` for an unknown one.

        Raises ``ValueError`` for an unknown token without ``unk``, with the nearest known ones.
        """
        if token in self._token_ids:
            return self._token_ids[token]
        if self.unk:
            return self._stand_in(token)
        raise ValueError(f"unknown token {token!r}; {nearest(token, self.tokens)}")

    def find_tokens(self, tokens: Iterable[str | None]) -> Iterator[int]:
        """The id of each token, ``NO_TOKEN`` for None, and ``UNSEEN`` if :meth:`token_id` raises an error."""
        if self._parts:
            return (self._token_ids[token] if token in self._token_ids else self._stand_in(token) for token in tokens)
        unknown = self._token_ids[UNKNOWN] if self.unk else UNSEEN
        return map(self._token_ids.get, tokens, repeat(unknown))

    def _stand_in(self, token: str | None) -> int:
        """The id of the last known word of an unknown token, else that of ``<unk>``."""
        if self._parts and token:
            for word in reversed(words_of(token)):
                if word in self._parts:
                    return self._parts[word]
        return self._token_ids[UNKNOWN]

    def at_arity(self, arity: int | None) -> list[int]:
        """Ids of the functions of one arity, ascending: the order in which a cell stacks their weights."""
        return [i for i, (_, function_arity) in enumerate(self.functions) if function_arity == arity]

    @property
    def arities(self) -> list[int]:
        """All arities, ascending, without ``ANY_ARITY``."""
        return sorted({arity for _, arity in self.functions if arity is not ANY_ARITY})

    def with_scales(self, scales: NumberScales | None) -> "Vocabulary":
        """A vocabulary of these names with other scales of numbers."""
        return Vocabulary(
            self.functions,
            self.tokens,
            unk=self.unk,
            parts=self.parts,
            scales=scales,
        )

    @cached_property
    def scale_table(self) -> ScaleTable | None:
        """``scales`` by ids; None without."""
        if self.scales is None:
            return None
        return ScaleTable(self.scales, self.functions)

    @property
    def digest(self) -> str:
        """A hash of all entries in their order, by which weights know their vocabulary."""
        return hashlib.sha256(json.dumps(self.to_json()).encode()).hexdigest()

    def to_json(self) -> dict[str, Any]:
        """A value of JSON, with lists of the functions and tokens."""
        data: dict[str, Any] = {
            "functions": [list(function) for function in self.functions],
            "tokens": list(self.tokens),
            "unk": self.unk,
        }
        # Only if they are used, because the digest of a vocabulary is that of its JSON, and files have digests from
        # before there were words and scales.
        if self.parts:
            data["parts"] = True
        if self.scales is not None:
            data["scales"] = self.scales.to_json()
        return data

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> "Vocabulary":
        """Inverse of :meth:`to_json`. Raises ``ValueError`` for names that are not text, and as :class:`Vocabulary`."""
        functions = data["functions"]
        tokens = data["tokens"]
        unk = data["unk"]
        parts = data.get("parts", False)
        for entry in functions:
            is_pair = isinstance(entry, list) and len(entry) == 2
            if not is_pair or not isinstance(entry[0], str):
                raise ValueError("each function of a vocabulary must be a list of a name (a string) and an arity")
        is_list = isinstance(tokens, list)
        if not is_list or not all(isinstance(token, str) for token in tokens):
            raise ValueError("the tokens of a vocabulary must be a list of strings")
        has_truth_as_arity = any(isinstance(arity, bool) for _, arity in functions)
        if has_truth_as_arity or not isinstance(unk, bool) or not isinstance(parts, bool):
            raise ValueError(
                "in a vocabulary, an arity must be a whole number or null, and unk and parts must be true or false"
            )
        if unk and UNKNOWN not in tokens:
            raise ValueError(f"a vocabulary with unk must contain the token {UNKNOWN!r}")
        scales = None
        if "scales" in data:
            scales = NumberScales.from_json(data["scales"])
        return cls(
            functions,
            tokens,
            unk=unk,
            parts=parts,
            scales=scales,
        )


def _name_and_children(function: NameAndArity) -> tuple[str, int]:
    name, arity = function
    return name, arity or 0


def _ids(kind: str, entries: Sequence[Any]) -> dict[Any, int]:
    """The index of each entry. Raises ``ValueError`` for one that occurs twice."""
    ids = {}
    for i, entry in enumerate(entries):
        if entry in ids:
            raise ValueError(f"the vocabulary names the {kind} {entry!r} twice")
        ids[entry] = i
    return ids


# ---------------------------------------------------------------------------------------------------------------------
# State dicts that say of which vocabulary they are: rows of weights belong to its functions and tokens, in order.


EXTRA = "_extra_state"
"""Ends the name by which torch has the extra state of a module in a state dict."""


class VocabularySigned(nn.Module):
    """A module whose state dicts carry the digest of its vocabulary as a tensor, and which refuses those of another.

    A tensor among the others stays where a dict is copied, written by safetensors, stripped of a prefix or averaged.
    """

    vocabulary: Vocabulary

    def get_extra_state(self) -> Tensor:
        """(32,) uint8, the digest of the vocabulary."""
        digest = bytes.fromhex(self.vocabulary.digest)
        return torch.tensor(list(digest), dtype=torch.uint8, device="cpu")

    def set_extra_state(self, state: Tensor) -> None:
        """Do nothing: the hook of :meth:`sign` compared it, which knows the name of the module at hand."""

    def sign(self) -> None:
        """Compare, from now on, the vocabulary of every state dict before it is loaded."""
        self.register_load_state_dict_pre_hook(_check)


def with_signatures(module: nn.Module, tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Tensors of a file that names its vocabulary elsewhere, as a state dict of a module with that vocabulary."""
    state_dict = {}
    for name, part in module.named_modules():
        if isinstance(part, VocabularySigned):
            key = f"{name}.{EXTRA}".removeprefix(".")
            state_dict[key] = part.get_extra_state()
    state_dict.update(tensors)
    return state_dict


def without_signatures(state_dict: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The weights of a state dict alone, for a file that names its vocabulary elsewhere."""
    return {name: tensor for name, tensor in state_dict.items() if not name.endswith(EXTRA)}


def _check(
    module: Any,
    state_dict: Any,
    prefix: str,
    local_metadata: dict[str, Any],
    strict: bool,  # True whatever the caller of load_state_dict said
    missing: list[str],
    unexpected: list[str],
    errors: list[str],
) -> None:
    """Report a vocabulary that is missing from a state dict, or another one: torch's hook before loading."""
    key = prefix + EXTRA
    if key not in state_dict:  # torch names it where strict=True
        missing.append(
            f"{key} (the digest of a vocabulary: check that the weights and this {type(module).__name__} list "
            "functions and tokens in the same order, then load the weights with strict=False)"
        )
    elif bytes(state_dict[key].tolist()).hex() != module.vocabulary.digest:
        weights = "the weights"
        if prefix:
            weights += f" {prefix[:-1]!r}"
        errors.append(
            f"{weights} belong to another vocabulary, or to the same vocabulary in another order: build the "
            f"{type(module).__name__} with the vocabulary of the training"
        )
    state_dict[key] = module.get_extra_state()  # so that torch does not name it once more

"""Words and brackets of a forest, and what the brackets of two forests have to do with each other."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from dgltree.induction.evalb.parameters import Parameters
from dgltree.trees.tree import Tree

Forest = Tree | Sequence[Tree]


class Span(NamedTuple):
    """A bracket around words ``start`` to ``end - 1``."""

    start: int
    end: int
    label: str


@dataclass(frozen=True)
class Brackets:
    """The rest of a forest: words with their tags, and brackets, outer ones before what they hold."""

    words: list[str]
    tags: list[str]
    spans: list[Span]
    length: int

    @classmethod
    def of(cls, forest: Forest, parameters: Parameters) -> "Brackets":
        words: list[str] = []
        tags: list[str] = []
        length = 0
        starts: list[tuple[int, str]] = []
        ends: list[int] = []
        stack: list[Tree | int] = [forest] if isinstance(forest, Tree) else list(reversed(forest))
        while stack:
            node = stack.pop()
            if isinstance(node, int):  # the bracket of this number ends
                ends[node] = len(words)
            elif node.children:
                stack.append(len(starts))
                starts.append((len(words), node.function))
                ends.append(0)
                stack.extend(reversed(node.children))
            else:
                length += node.function not in parameters.delete_for_length
                if node.function not in parameters.delete:
                    words.append(node.function if node.token is None else node.token)
                    tags.append(node.function)
        spans = [Span(start, end, _stem(label)) for (start, label), end in zip(starts, ends, strict=True)]
        return cls(words, tags, [span for span in spans if _counts(span, parameters)], length)


def _stem(label: str) -> str:
    """``NP`` of ``NP-SBJ-1`` and of ``NP=2``."""
    return label.partition("-")[0].partition("=")[0]


def _counts(span: Span, parameters: Parameters) -> bool:
    return span.start < span.end and not any(parameters.same_label(span.label, label) for label in parameters.delete)


def mismatch(gold: list[str], test: list[str], parameters: Parameters) -> str:
    """The fault of the words, if there is one."""
    for number, (a, b) in enumerate(zip(gold, test, strict=False), 1):
        if not parameters.same_word(a, b):
            return f"word {number} is {a!r} in gold and {b!r} in test"
    return "" if len(gold) == len(test) else f"gold has {len(gold)} words and test has {len(test)}"


def count_matches(gold: list[Span], test: list[Span], parameters: Parameters) -> int:
    """How many brackets have a partner; each takes the first that is left."""
    left: dict[tuple[int, int], list[str]] = defaultdict(list)
    for start, end, label in test:
        left[start, end].append(label)
    count = 0
    for start, end, label in gold:
        labels = left[start, end]
        for i, other in enumerate(labels):
            if not parameters.labelled or parameters.same_label(label, other):
                del labels[i]
                count += 1
                break
    return count


def crossing(gold: list[Span], test: list[Span], words: int) -> int:
    """How many of ``test`` cross one of ``gold``.

    The brackets of ``gold`` that hold both words next to a place between two words lie one in another. If the innermost
    does not cross a test bracket that begins or ends there, none of the others does.
    """
    around: list[Span] = []  # for each place, 0 to words, the innermost; around none, a span that nothing crosses
    nothing = Span(-1, words + 1, "")
    open_, following = [nothing], 0
    for place in range(words + 1):
        while open_[-1].end <= place:
            open_.pop()
        around.append(open_[-1])
        while following < len(gold) and gold[following].start == place:
            open_.append(gold[following])
            following += 1
    return sum(around[start].end < end or around[end].start > start for start, end, _ in test)

"""ListOps (Nangia and Bowman 2018): nested lists of digits under four operators, worth a digit.

An expression is its words without brackets, ``[MAX 2 9 [MIN 4 7 ] ]``, which say it all. The published text binarises
it to the left, ``( ( ( ( [MAX 2 ) 9 ) ( ( ( [MIN 4 ) 7 ) ] ) ) ] )``; that is also its tree, every word a leaf.
"""

from collections.abc import Callable, Sequence
from statistics import median

OPERATORS: dict[str, Callable[[Sequence[int]], int]] = {
    "[MIN": min,
    "[MAX": max,
    "[MED": lambda digits: int(median(digits)),
    "[SM": lambda digits: sum(digits) % 10,
}
DIGITS = tuple("0123456789")
END = "]"


def bracketed(words: Sequence[str]) -> str:
    """The published text of an expression: a list is one pair of brackets more for each word or list in it.

    ``( ( ( ( [MAX 2 ) 9 ) ( ( ( [MIN 4 ) 7 ) ] ) ) ] )``; a word that begins with ``[`` begins a list. Raises
    ``ValueError`` naming the place, from 1, of the first word that is wrong.
    """
    lists: list[str] = []
    for place, word in enumerate(words, 1):
        if word.startswith("["):
            lists.append(word)
            continue
        if word == END:
            if not lists:
                raise ValueError(f"word {place}: found ']' where no list is open")
            word = f"( {lists.pop()} ] )"
        if lists:
            lists[-1] = f"( {lists[-1]} {word} )"
        elif place == len(words):
            return word
        else:
            raise ValueError(f"word {place + 1}: found {words[place]!r} after the end of the expression")
    raise ValueError(f"found no end of the list {lists[-1].split()[-1]!r}; expected ']'" if lists else "found no words")


def read_words(text: str) -> tuple[list[str], int]:
    """The words of an expression, brackets left out, and the digit that it is worth.

    Raises ``ValueError`` naming the place, from 1, of the first word that is wrong: one that is none of the language, a
    list that does not end or holds nothing, an end without a list, and more than one expression; and for no expression.
    """
    words = [word for word in text.split() if word not in ("(", ")")]
    lists: list[list[int]] = [[]]
    open_: list[tuple[int, str]] = []

    def fail(place: int, found: str) -> ValueError:
        return ValueError(f"word {place} without the brackets: {found}")

    for place, word in enumerate(words, 1):
        if not open_ and lists[0]:
            raise fail(place, f"found {word!r} after the end of the expression")
        if word in OPERATORS:
            open_.append((place, word))
            lists.append([])
        elif word == END:
            if not open_:
                raise fail(place, "found ']' where no list is open; expected an operator or a digit")
            start, operator = open_.pop()
            digits = lists.pop()
            if not digits:
                raise fail(start, f"found nothing in the list {operator!r}; expected digits or lists")
            lists[-1].append(OPERATORS[operator](digits))
        elif word in DIGITS:
            lists[-1].append(int(word))
        else:
            raise fail(place, f"found {word!r}; expected one of {' '.join((*OPERATORS, END))} or a digit")
    if open_:
        raise fail(open_[-1][0], f"found no end of the list {open_[-1][1]!r}; expected ']'")
    if not words:
        raise ValueError("found no words; expected an expression such as ( ( ( [MAX 2 ) 9 ) ] )")
    return words, lists[0][0]

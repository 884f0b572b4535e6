"""ListOps without its brackets (Nangia and Bowman 2018): ``[MAX 2 9 [MIN 4 7 ] ]``, which says it all."""

from collections.abc import Sequence

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

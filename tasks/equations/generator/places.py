"""Places of the subtrees of an equation, for changing one of them."""

from random import Random

from dgltree.support.lazy import cached_property
from tasks.equations.words import ARITIES, Word, variables


class Places:
    """The subtrees of an equation's ``word``: place 0 is the root, and what begins there ends before ``ends[place]``.

    ``depth`` counts the edges from the equals sign to the deepest leaf, as ``Equation.depth`` does.
    """

    __slots__ = ("__dict__", "depth", "ends", "word")

    def __init__(self, word: Word) -> None:
        place = len(word)
        ends = [0] * place
        depths = [0] * place
        for symbol in reversed(word):
            place -= 1
            arity = ARITIES[symbol]
            if arity == 2:
                second = ends[place + 1]
                ends[place] = ends[second]
                a = depths[place + 1]
                b = depths[second]
                depths[place] = (a if a > b else b) + 1
            elif arity:
                ends[place] = ends[place + 1]
                depths[place] = depths[place + 1] + 1
            else:
                ends[place] = place + 1
        self.word = word
        self.ends = ends
        self.depth = depths[0]

    def at(self, place: int) -> Word:
        """The subtree of a place."""
        return self.word[place : self.ends[place]]

    def children(self, place: int) -> list[int]:
        """The places of the children."""
        arity = ARITIES[self.word[place]]
        if not arity:
            return []
        return [place + 1] if arity == 1 else [place + 1, self.ends[place + 1]]

    def sides(self) -> tuple[Word, Word]:
        """The left and the right side."""
        middle = self.ends[1]
        return self.word[1:middle], self.word[middle:]

    def replaced(self, place: int, new: Word) -> Word:
        """The equation with ``new`` in ``place``."""
        return self.word[:place] + new + self.word[self.ends[place] :]

    def any_place(self, random: Random) -> int:
        """A random place below the root."""
        return 1 + int(random.random() * (len(self.word) - 1))  # a third of the time that ``randrange`` takes

    @cached_property
    def variables(self) -> list[int]:
        """The distinct variables of the equation."""
        return variables(self.word)

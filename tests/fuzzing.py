"""What ``scripts/fuzz`` is made of: texts and bytes with pieces changed, and what a target is.

What is tried is in ``hostile_*.py`` and ``tampered.py``. A reader reads or raises
``ValueError``; what is read and can be written reads to the same again. A damaged file is refused, or nothing of it is
different. Everything else is a defect.
"""

from collections.abc import Callable
from random import Random
from typing import Any, NamedTuple

from hypothesis import strategies as st

PIECES = [
    *'()[]{}"\\,:;|#_=<>*^+-/.\t\n\r\0 0129eE',
    "nan",
    "-Infinity",
    "1e999999999",
    "\ud800",
    "\u2028",
    "²",
    "((((",
    "))))",
]


class Target(NamedTuple):
    """What is tried."""

    example: st.SearchStrategy[Any]
    run: Callable[[Any], bool]
    """Whether the example was taken; a refusal is ``False``, a defect an exception."""
    together: int = 100
    """Examples between two looks at the clock."""


class SlowTarget(NamedTuple):
    """What takes seconds an example, which is tried only if it is asked for; nothing looks for a smaller example."""

    example: Callable[[Random], Any]
    run: Callable[[Any], bool]
    """As of :class:`Target`."""


@st.composite
def mutated(draw: st.DrawFn, text: str) -> str:
    """``text`` with a few pieces cut out, doubled, moved or put in."""
    for _ in range(draw(st.integers(0, 4))):
        start, stop = sorted((draw(st.integers(0, len(text))), draw(st.integers(0, len(text)))))
        piece = draw(st.sampled_from(PIECES) | st.text(max_size=3))
        text = draw(
            st.sampled_from(
                [
                    text[:start] + text[stop:],
                    text[:start] + piece + text[start:],
                    text[:stop] + text[start:stop] * draw(st.sampled_from([1, 2, 50])) + text[stop:],
                    text[stop:] + text[:start],
                ]
            )
        )
    return text


def flipped(data: bytes) -> st.SearchStrategy[bytes]:
    """``data`` with a bit flipped, cut short, or with bytes put in."""

    def flip(place: int, bit: int) -> bytes:
        return data[:place] + bytes([data[place] ^ (1 << bit)]) + data[place + 1 :]

    places = st.integers(0, len(data) - 1)
    return (
        st.builds(flip, places, st.integers(0, 7))
        | places.map(lambda stop: data[:stop])
        | st.builds(lambda place, more: data[:place] + more + data[place:], places, st.binary(min_size=1, max_size=9))
    )


def refuses(run: Callable[[], object]) -> bool:
    """Whether ``run`` raises ``ValueError`` with one line of less than a screen."""
    try:
        run()
    except ValueError as error:
        assert len(str(error)) < 4000, "a message of more than a screen"
        return True
    return False

"""Messages about input that can mean two things: both are named, so that a person can write one."""

import re
from collections.abc import Sequence

from dgltree.arguments import nearest
from dgltree.read.text import error_at
from dgltree.read.typed.calls import Head
from dgltree.read.typed.items import OPERANDS, Item
from dgltree.read.typed.spelling import GREEK_COMMANDS, GREEK_LETTERS, SPELLINGS


class Refusals:
    """Errors about places of ``text``."""

    def __init__(self, text: str) -> None:
        self.text = text

    def _said(self, start: int, stop: int) -> str:
        return self.text[start:stop].strip()

    def _either(self, start: int, stop: int, one: str, other: str) -> ValueError:
        shown = self._said(start, stop)
        return error_at(self.text, start, f"'{shown}' can mean {one} or {other}; write the one you mean")

    def number(self, last: Item, item: Item, behind: Sequence[Item]) -> ValueError:
        """A number after another value."""
        before, number = self._said(last.start, last.stop), item.text
        stop = item.stop
        if last.kind == "number":
            if [other.kind for other in behind] == ["/", "number"]:
                number, stop = f"{number}/{behind[1].text}", behind[1].stop
            if "/" in number:
                return self._either(last.start, stop, f"{before} + {number}", f"{before}*{number}")
            return self._either(last.start, stop, f"{before}*{number}", before + number)
        if last.kind == "blank":
            return error_at(self.text, item.start, f"a number right after the blank; write {before}*{number}")
        return self._either(last.start, stop, f"{before}*{number}", f"{before}^{number}")

    def blanks(self, last: Item) -> ValueError:
        """Two blanks with nothing between them."""
        return error_at(self.text, last.start, "two blanks side by side; write _*_ for a product, or _ for one blank")

    def argument(self, head: Head, start: int, stop: int, operator: str, more: int, end: int) -> ValueError:
        """A function's argument without brackets, from ``start`` to ``stop``, and what may be part of it."""
        inner, factor = self._said(start, stop), self._said(more, end)
        one, other = f"{head.name}({inner}){operator}{factor}", f"{head.name}({inner}{operator}{factor})"
        return self._either(head.start, end, one, other)

    def run(self, last: Item, operator: str, following: Item) -> ValueError:
        """``ln xy/z``: letters side by side as an argument without brackets, and what may be part of it."""
        said, factor = self._said(last.start, last.stop), self._said(following.start, following.stop)
        name, _, inner = said.partition(" ")
        one, other = f"{name}({inner}){operator}{factor}", f"{name}({inner}{operator}{factor})"
        return self._either(last.start, following.stop, one, other)

    def root_of_power(self, head: Head, start: int, sign: Item, behind: Sequence[Item]) -> ValueError:
        """``√x^2``."""
        last = next((item for item in behind if item.kind in OPERANDS), sign)
        inner, exponent = self._said(start, sign.start), self._said(sign.stop, last.stop)
        one, other = f"{head.name}({inner})^{exponent}", f"{head.name}({inner}^{exponent})"
        return self._either(head.start, last.stop, one, other)

    def quotient(self, term: int, slash: int, under: int, stop: int, more: int, end: int) -> ValueError:
        """``1/2x``: a factor right after a denominator, which goes from ``under`` to ``stop``."""
        above, below, factor = self._said(term, slash), self._said(under, stop), self._said(more, end)
        return self._either(term, end, f"({above}/{below})*{factor}", f"{above}/({below}*{factor})")

    def power(self, base: Item, start: int, last: Item, item: Item) -> ValueError:
        """``e^2x``: a factor right after an exponent, which goes from ``start`` to the end of ``last``."""
        raised, exponent = self._said(base.start, base.stop), self._said(start, last.stop)
        factor = self._said(item.start, item.stop)
        one, other = f"{raised}^({exponent}*{factor})", f"{raised}^{exponent}*{factor}"
        return self._either(base.start, item.stop, one, other)

    def root(self, base: Item, start: int, last: Item, under: Item) -> ValueError:
        """``x^1/2``."""
        raised, exponent = self._said(base.start, base.stop), self._said(start, last.stop)
        one, other = f"{raised}^({exponent}/{under.text})", f"({raised}^{exponent})/{under.text}"
        return self._either(base.start, under.stop, one, other)

    def application(self, name: Item, group: Item) -> ValueError:
        """A name that occurs nowhere but before brackets."""
        stem = name.text.split("_")[0].rstrip("0123456789")
        if len(stem) > 1 and stem not in GREEK_COMMANDS and stem not in GREEK_LETTERS:
            hint = nearest(name.text, SPELLINGS)
            product = f"for a product write {name.text}*(...)"
            return error_at(self.text, name.start, f"unknown function '{name.text}' ({hint}); {product}")
        inner = re.sub(r"^(\\left)?\s*[(\[]|(\\right)?\s*[)\]]$", "", self._said(group.start, group.stop)).strip()
        said = self._said(name.start, name.stop)
        return self._either(name.start, group.stop, f"{said}*({inner})", f"the function {said} of {inner}")

    def comma(self, place: int, before: Item | None) -> ValueError:
        """A comma that parts no arguments."""
        if before is not None and before.kind in ("name", "word"):
            hint = nearest(before.text, SPELLINGS)
            return error_at(self.text, before.start, f"unknown function '{before.text}' ({hint})")
        left = re.search(r"(?<![.0-9])[0-9]+$", self.text[max(0, place - 20) : place])
        right = re.match(r"[0-9]+", self.text[place + 1 : place + 20])
        if left and right:
            start, stop = place - len(left[0]), place + 1 + len(right[0])
            point = f"{left[0]}.{right[0]}"
            if len(right[0]) == 3:
                return self._either(start, stop, point, left[0] + right[0])
            shown = self.text[start:stop]
            return error_at(self.text, start, f"'{shown}' can mean {point} or two numbers; write {point}")
        return error_at(self.text, place, "unexpected ','; only the arguments of a function have one between them")

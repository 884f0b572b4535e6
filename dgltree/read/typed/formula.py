"""Where the equation is in what was copied: without the box around it and the full stop after it."""

import re

END = re.compile(r"(?<![.\\])[.,;]?(?:\s|\\\\|\$|\\[)\]]|\\end\{[a-z]+\*?\})*\Z")
"""Signs that a sentence or LaTeX puts after an equation."""
LONGEST_END = 80
WIKIPEDIA = re.compile(r"\{\\displaystyle(?![A-Za-z])")
"""Wikipedia copies an equation twice: as broken text, and after it in LaTeX."""
BOX = re.compile(r"(?:\s|\$|\\[(\[])*\\f?boxe?d?\s*(?=\{)")
LEADING = re.compile(r"\s*=(?=\s*[^\s=])")
BRACE = re.compile(r"[{}]")


def formula(text: str) -> tuple[int, int]:
    """The place where the equation in ``text`` begins, and the one after its end."""
    start, stop = _start(text), _end(text)
    found = WIKIPEDIA.search(text)
    if found and _closing(text, found.start()) == stop - 1:
        return found.end(), _end(text[: stop - 1])
    found = BOX.match(text)
    if found and "=" in text and _closing(text, found.end()) == stop - 1:
        return found.end() + 1, _end(text[: stop - 1])
    return start, stop


def _start(text: str) -> int:
    """After the sign with which a formula of a table begins: ``=SQRT(2) = _``."""
    found = LEADING.match(text)
    return found.end() if found and "=" in text[found.end() :] else 0


def _end(text: str) -> int:
    found = END.search(text, max(0, len(text.rstrip()) - LONGEST_END))
    return found.start() if found else len(text)


def _closing(text: str, start: int) -> int:
    """Where the brace that opens at ``start`` is closed; -1 if it is not."""
    depth = 0
    for brace in BRACE.finditer(text, start):
        depth += 1 if brace[0] == "{" else -1
        if depth == 0:
            return brace.start()
    return -1

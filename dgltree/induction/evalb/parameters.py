"""Parameters of EVALB: which brackets count, and which are equal."""

from dataclasses import dataclass

from dgltree.arguments import nearest

Pairs = tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Parameters:
    """The options of EVALB's parameter file, which :func:`read_parameters` reads."""

    labelled: bool = True
    """LABELED: a bracket matches one of the same label only."""
    delete: tuple[str, ...] = ()
    """DELETE_LABEL: words with these tags are left out, and brackets with these labels, but not what they hold."""
    delete_for_length: tuple[str, ...] = ()
    """DELETE_LABEL_FOR_LENGTH: words with these tags, and no others, do not count for a sentence's length."""
    equal_labels: Pairs = ()
    """EQ_LABEL: pairs of labels, or tags, that are taken to be equal."""
    equal_words: Pairs = ()
    """EQ_WORD: pairs of words that are taken to be equal."""
    cutoff: int = 40
    """CUTOFF_LEN: the length up to which sentences are reported once more."""
    max_errors: int = 0
    """MAX_ERROR: how many sentences may have trees over different words; one more is an error."""

    def same_label(self, a: str, b: str) -> bool:
        return a == b or (a, b) in self.equal_labels or (b, a) in self.equal_labels

    def same_word(self, a: str, b: str) -> bool:
        return a == b or (a, b) in self.equal_words or (b, a) in self.equal_words


_LISTS = {
    "DELETE_LABEL": "delete",
    "DELETE_LABEL_FOR_LENGTH": "delete_for_length",
    "EQ_LABEL": "equal_labels",
    "EQ_WORD": "equal_words",
}
_NUMBERS = {"LABELED": "labelled", "CUTOFF_LEN": "cutoff", "MAX_ERROR": "max_errors"}
_UNUSED = "DEBUG"  # what EVALB prints as well


def read_parameters(text: str) -> Parameters:
    """EVALB's parameter file: lines ``NAME value`` or ``NAME value value``, and comments with ``#``.

    What it does not say has EVALB's defaults: labels count, ``CUTOFF_LEN 40``, ``MAX_ERROR 10``. ``DEBUG`` is
    skipped.

    Raises ``ValueError`` with the line for a name that is not known, a missing or surplus value, and one that is no
    number where one is needed.
    """
    lists: dict[str, list] = {name: [] for name in _LISTS.values()}
    numbers: dict[str, int] = {"max_errors": 10}
    for number, line in enumerate(text.splitlines(), 1):
        name, *values = line.split() or ["#"]
        if name.startswith("#") or name == _UNUSED:
            continue
        if name not in _LISTS and name not in _NUMBERS:
            raise ValueError(f"line {number}: unknown parameter {name!r}; {nearest(name, (*_LISTS, *_NUMBERS))}")
        wanted = 2 if name.startswith("EQ_") else 1
        if len(values) != wanted:
            raise ValueError(f"line {number}: {name} has {len(values)} values, {' '.join(values)!r}; it takes {wanted}")
        if name in _LISTS:
            lists[_LISTS[name]].append(values[0] if wanted == 1 else tuple(values))
        else:
            numbers[_NUMBERS[name]] = _natural(values[0], f"line {number}: {name}")
    labelled = bool(numbers.pop("labelled", 1))
    return Parameters(labelled=labelled, **{k: tuple(v) for k, v in lists.items()}, **numbers)  # type: ignore[arg-type]


def _natural(text: str, what: str) -> int:
    if not (text.isascii() and text.isdigit()):
        raise ValueError(f"{what} is {text!r}; it must be a whole number from 0")
    return int(text)

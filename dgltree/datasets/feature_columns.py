"""Columns next to the tree as numbers that a model reads next to the vector of a root: on a scale, or one-hot.

What training has not seen says nothing, which is a row of zeros: a number that is missing is then read as the median, a
text that is missing or unknown as no category.
"""

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from math import isfinite
from typing import Any, ClassVar

import numpy as np

from dgltree.batching.number_scales import FARTHEST, measure
from dgltree.batching.vocabulary import UNKNOWN
from dgltree.datasets.settings import missing_texts, other_spelling
from dgltree.read.leaf_values import moment, number
from dgltree.read.text import one_line

MAX_CATEGORIES = 100
"""Texts of a column that are categories of their own, the most frequent; the others are one."""
MIN_CATEGORY_EXAMPLES = 2
"""Training examples of a category."""

Texts = Sequence[str | None]


@dataclass(frozen=True)
class NumberFeature:
    """A column of numbers or dates: v is read as ``asinh((v - middle) / spread)``."""

    kind: ClassVar[str] = "number"
    name: str
    middle: float
    """The median of training."""
    spread: float
    """The spread, as of a place (:class:`dgltree.batching.number_scales.PlaceScale`)."""
    low: float
    high: float
    missing: bool
    """Whether training had examples without a number, so that a second number says which these are."""

    def __post_init__(self) -> None:
        numbers = (self.middle, self.spread, self.low, self.high)
        if not all(type(each) in (int, float) and isfinite(each) for each in numbers) or not self.spread > 0:
            raise ValueError(
                f"the scale of a column must be four finite numbers with a spread above 0, not {numbers!r:.80}"
            )

    @property
    def width(self) -> int:
        return 1 + self.missing

    def rows(self, texts: Texts) -> np.ndarray:
        """(E, width) float64. ``ValueError`` for a text that is not a number."""
        values = np.array([np.nan if text is None else number_of(text) for text in texts], float)
        values = np.clip(values, -FARTHEST, FARTHEST)
        with np.errstate(over="ignore"):  # what is infinite becomes FARTHEST
            half_distances = (values / 2 - self.middle / 2) / self.spread
        found = np.arcsinh(np.clip(half_distances, -FARTHEST / 2, FARTHEST / 2) * 2)
        known = [np.nan_to_num(found), np.isnan(values).astype(float)]
        return np.stack(known[: self.width], 1)

    @property
    def described(self) -> str:
        """For people."""
        return f"{one_line(self.name)} ({self.low:g} to {self.high:g})"


@dataclass(frozen=True)
class CategoryFeature:
    """A column of texts, one-hot."""

    kind: ClassVar[str] = "category"
    name: str
    values: tuple[str, ...]
    """The categories that occur in several training examples."""
    unknown: bool
    """Whether training had others, which are read as ``<unk>``."""
    missing: bool
    """Whether training had examples without a text."""

    def __post_init__(self) -> None:
        if not all(isinstance(value, str) for value in self.values) or len({*self.values}) < len(self.values):
            raise ValueError(f"the categories of a column must be different strings, not {self.values!r:.80}")

    @property
    def width(self) -> int:
        return len(self.values) + self.unknown + self.missing

    def rows(self, texts: Texts) -> np.ndarray:
        """(E, width) float64."""
        place: dict[str | None, int] = {value: i for i, value in enumerate(self.values)}
        if self.missing:
            place[None] = self.width - 1
        other = len(self.values) if self.unknown else self.width
        found = np.zeros((len(texts), self.width + 1))  # the last column is dropped
        at = [place.get(text, other if text is not None else self.width) for text in texts]
        found[np.arange(len(texts)), at] = 1
        return found[:, : self.width]

    @property
    def described(self) -> str:
        """For people."""
        others = f" and {UNKNOWN}" if self.unknown else ""
        count = f"{len(self.values)} {'category' if len(self.values) == 1 else 'categories'}"
        return f"{one_line(self.name)} ({count}{others})"


Feature = NumberFeature | CategoryFeature


class FeatureColumns:
    """The columns that a model reads next to the trees, in their order.

    Args:
        columns: each with a name of its own.
    """

    def __init__(self, columns: Sequence[Feature]) -> None:
        self.columns = tuple(columns)

    @classmethod
    def of(cls, names: Sequence[str], table: Sequence[Texts]) -> "FeatureColumns":
        """Return the columns of training examples.

        A column is one of numbers if all that it has are numbers or dates.

        Args:
            names: of the columns.
            table: of each column the texts of all examples, None for none.

        Raises ``ValueError`` for a column that no example has.
        """
        return cls([_feature(name, texts) for name, texts in zip(names, table, strict=True)])

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(column.name for column in self.columns)

    @property
    def width(self) -> int:
        """F, the numbers of an example."""
        return sum(column.width for column in self.columns)

    @property
    def spans(self) -> Iterator[tuple[str, slice]]:
        """Each column with its place among the numbers of an example."""
        start = 0
        for column in self.columns:
            yield column.name, slice(start, start + column.width)
            start += column.width

    def rows(self, table: Sequence[Texts]) -> np.ndarray:
        """(E, F) float32 of the texts of each column. ``ValueError`` for a text in a column of numbers."""
        parts = [column.rows(texts) for column, texts in zip(self.columns, table, strict=True)]
        return np.concatenate(parts, 1).astype(np.float32)

    def faults(self, table: Sequence[Texts]) -> dict[int, str]:
        """Return texts in columns of numbers, by the index of their example."""
        found: dict[int, str] = {}
        for column, texts in zip(self.columns, table, strict=True):
            for i, text in enumerate(texts) if column.kind == "number" else ():
                if text is not None and _number(text) is None:
                    found.setdefault(
                        i, f"{column.name}: {text!r:.60} is not a number, but the column held numbers in training"
                    )
        return found

    def warnings(self, table: Sequence[Texts]) -> Iterator[str]:
        """A line for each column that says nothing in training, or less than it has."""
        for column, texts in zip(self.columns, table, strict=True):
            values = len({text for text in texts if text is not None})
            name = one_line(column.name)
            if len({*texts}) == 1:
                yield f"warning: {name} is the same in all training examples and not informative"
            elif column.kind == "category" and (text := _no_number_among_numbers(texts)) is not None:
                spelled = "" if (spelling := other_spelling(text)) is None else f", as it has {spelling}"
                yield f"warning: {name} is read as categories, because {one_line(text, 60)!r} is not a number{spelled}"
            elif column.kind == "category" and not column.values:  # type: ignore[union-attr]
                yield f"warning: no value of {name} occurs in two training examples; the column is not informative"
            elif column.kind == "category" and values > MAX_CATEGORIES:
                kept = len(column.values)  # type: ignore[union-attr]
                yield (
                    f"{name} has {values:,} different values; the {kept:,} most frequent values are categories, and "
                    f"all others are read as {UNKNOWN}"
                )

    def to_json(self) -> list[dict[str, Any]]:
        return [{"kind": column.kind, **asdict(column)} for column in self.columns]

    @classmethod
    def from_json(cls, data: Any) -> "FeatureColumns":
        """Inverse of :meth:`to_json`. Raises ``ValueError`` for anything else."""
        kinds = {kind.kind: kind for kind in (NumberFeature, CategoryFeature)}
        try:
            made = []
            for row in data:
                parts = dict(row)
                kind = kinds[parts.pop("kind")]
                made.append(
                    kind(**{**parts, **({"values": tuple(parts["values"])} if kind is CategoryFeature else {})})
                )
        except (TypeError, KeyError, ValueError) as error:
            raise ValueError(f"the description of the columns next to a tree is damaged: {error}") from None
        if not made or len({column.name for column in made}) < len(made):
            raise ValueError("the columns next to a tree must have different names")
        return cls(made)


def unpacked(rows: Sequence[str | None], count: int, missing: str) -> list[list[str | None]]:
    """The texts of all examples in each of ``count`` columns; None for those that ``missing`` names, too."""
    none = missing_texts(missing)

    def value(text: str | None) -> str | None:
        return None if text is None or text.strip() in none else text.strip()

    table = [[None] * count if row is None else json.loads(row) for row in rows]
    return [[value(row[k]) for row in table] for k in range(count)]


def number_of(text: str) -> float:
    """The number or the Unix time of a text. ``ValueError`` for another one."""
    found = _number(text)
    if found is None:
        raise ValueError(f"{text!r:.60} is not a number")
    return found


def _number(text: str) -> float | None:
    found = number(text)
    return moment(text) if found is None else found


def _no_number_among_numbers(texts: Texts) -> str | None:
    """The first text that is not a number, of a column in which most are one, in whatever spelling; None of another."""
    present = list(dict.fromkeys(text for text in texts if text is not None))
    others = [text for text in present if _number(text) is None]
    strange = [text for text in others if other_spelling(text) is None]
    return others[0] if others and 2 * len(strange) < len(present) else None


def _feature(name: str, texts: Texts) -> Feature:
    there = [text for text in texts if text is not None]
    if not there:
        raise ValueError(f"no training example has a value in the column {name!r} (--features)")
    missing = len(there) < len(texts)
    numbers = [_number(text) for text in there]
    if None not in numbers:
        return NumberFeature(name, *measure(np.array(numbers, float)), missing)
    counts = Counter(there)
    several = [text for text, count in counts.most_common(MAX_CATEGORIES) if count >= MIN_CATEGORY_EXAMPLES]
    return CategoryFeature(name, tuple(sorted(several)), len(several) < len(counts), missing)

"""Which trainings the tests need: one training serves every test that it can.

A test trains on some depths and reads some ranges of depth of the test set. The papers are Arabshahi et al. 2019 (A)
and 2021 (B, arXiv 1911.01545).
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from tasks.equations.generator.presets import PAPER_TEST, PAPER_TRAIN

Depths = tuple[int, int]
"""Lowest and highest depth of an equation."""
Options = tuple[tuple[str, int], ...]
"""Options of the cell that replace those of the configuration."""

MAX_DEPTH = max(PAPER_TEST.counts)
ALL_DEPTHS, SHALLOW_DEPTHS, DEEP_DEPTHS = (1, max(PAPER_TRAIN.counts)), (1, 7), (8, MAX_DEPTH)
WHOLE = ("lstm_whole", "transformer_whole", "tree_transformer_whole")
"""Sequence models that read the equation, as those of B do; the others of their names read each side by itself."""
COMPARED = ("majority", "lstm", "transformer", "tree_transformer", *WHOLE, "tree_rnn", "tree_lstm", "tree_smu")
"""The models that B compares on the tests of compositionality."""


@dataclass(frozen=True)
class TrainingJob:
    """One training: a configuration's name, the depths and the share of the training equations, options and seed."""

    model: str
    depths: Depths
    seed: int
    percent: int = 100
    options: Options = ()

    @property
    def name(self) -> str:
        """The name of its folder."""
        first, last = self.depths
        parts = [self.model, f"depth_{first}-{last}"]
        parts += [f"{self.percent}_percent"] if self.percent < 100 else []
        parts += [f"{option}_{value}" for option, value in self.options]
        return "-".join([*parts, f"seed_{self.seed}"])


@dataclass(frozen=True)
class Variant:
    """A row of a table in addition to the plain model."""

    label: str
    percent: int = 100
    options: Options = ()


PLAIN = (Variant(""),)


@dataclass(frozen=True)
class Test:
    """The models to train, and the depths of the test set to read; ``models`` None: all that there are."""

    title: str
    depths: Depths
    ranges: tuple[Depths, ...] = ()
    models: tuple[str, ...] | None = None
    variants: tuple[Variant, ...] = field(default=PLAIN)

    def rows(self, models: Sequence[str]) -> list[tuple[str, Variant]]:
        """Model and variant of each row of the test's table, of those of ``models`` that the test is for."""
        chosen = [model for model in models if self.models is None or model in self.models]
        return [(model, variant) for model in chosen for variant in self.variants]

    def job(self, model: str, variant: Variant, seed: int) -> TrainingJob:
        return TrainingJob(model, self.depths, seed, variant.percent, variant.options)


TESTS = {
    "table": Test("Equation verification", ALL_DEPTHS, ((8, ALL_DEPTHS[1]), DEEP_DEPTHS)),
    "localism": Test("Localism", (5, ALL_DEPTHS[1]), ((1, 4),), COMPARED),
    "productivity": Test("Productivity", SHALLOW_DEPTHS, ((8, ALL_DEPTHS[1]), DEEP_DEPTHS)),
    "systematicity": Test("Systematicity", SHALLOW_DEPTHS, (SHALLOW_DEPTHS,)),
    "substitutivity": Test("Substitutivity", ALL_DEPTHS),
    "sample-efficiency": Test(
        "Sample efficiency",
        SHALLOW_DEPTHS,
        (DEEP_DEPTHS,),
        ("tree_lstm", "tree_smu"),
        tuple(Variant(f"{percent} %", percent) for percent in (25, 50, 75, 90, 100)),
    ),
    "stack-size": Test(
        "Stack size",
        SHALLOW_DEPTHS,
        (DEEP_DEPTHS,),
        ("tree_smu",),
        tuple(Variant(f"p = {p}", options=(("stack_size", p),)) for p in (1, 2, 3, 7, 14)),
    ),
}


def jobs(tests: Sequence[str], models: Sequence[str], seeds: Sequence[int]) -> list[TrainingJob]:
    """The trainings that these tests need, each once, the first seed's first."""
    return list(dict.fromkeys(job for seed in seeds for name in tests for job in _jobs(TESTS[name], models, seed)))


def _jobs(test: Test, models: Sequence[str], seed: int) -> Iterator[TrainingJob]:
    return (test.job(model, variant, seed) for model, variant in test.rows(models))

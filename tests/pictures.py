"""Trainings that make their pictures and do not paint them, which takes more than half of a small one."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest import mock


@contextmanager
def unpainted() -> Iterator[None]:
    """Within it a training leaves empty files for its pictures."""
    from dgltree.plotting import charts
    from dgltree.training import finishing

    def left_empty(figure: Any, stem: str | Path) -> None:
        assert figure.axes
        for kind in ("png", "svg"):
            Path(f"{stem}.{kind}").touch()

    draw = finishing._draw

    def drawn(*given: Any) -> Any:
        with mock.patch.object(charts, "save", left_empty):
            return draw(*given)

    with mock.patch.object(finishing, "_draw", drawn):
        yield

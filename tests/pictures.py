"""Trainings that make their pictures and do not paint them, which takes more than half of a small one."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest import mock


@contextmanager
def unpainted() -> Iterator[None]:
    """Within it a training leaves empty files for its pictures."""
    from dgltree.plotting import charts
    from dgltree.training import contest, finishing

    def left_empty(figure: Any, stem: str | Path) -> None:
        assert figure.axes
        for kind in ("png", "svg"):
            Path(f"{stem}.{kind}").touch()

    def quick(draw: Callable[..., Any]) -> Callable[..., Any]:
        def drawn(*given: Any) -> Any:
            with mock.patch.object(charts, "save", left_empty):
                return draw(*given)

        return drawn

    with (
        mock.patch.object(finishing, "_draw", quick(finishing._draw)),
        mock.patch.object(contest, "_draw", quick(contest._draw)),
    ):
        yield

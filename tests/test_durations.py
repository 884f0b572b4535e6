"""Durations, as people read them."""

import pytest

from dgltree.durations import in_seconds


@pytest.mark.parametrize(
    ("duration", "text"),
    [
        (0, "0"),
        (4.2e-5, "4.2e-05"),
        (0.0412, "0.041"),
        (0.096, "0.096"),
        (0.14159, "0.14"),
        (1.023, "1.02"),
        (34.01, "34.0"),
        (4321.98, "4322.0"),
    ],
)
def test_no_duration_is_written_as_nothing(duration: float, text: str) -> None:
    assert in_seconds(duration) == text
    assert float(text) == pytest.approx(duration, rel=0.05)

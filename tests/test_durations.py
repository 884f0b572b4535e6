"""Durations, as people read them."""

import pytest

from dgltree.support.durations import in_seconds


@pytest.mark.parametrize(
    ("duration", "text"),
    [
        (0, "0"),
        (4.2e-5, "0.000042"),
        (0.0412, "0.041"),
        (0.096, "0.096"),
        (0.14159, "0.14"),
        (0.102, "0.10"),
        (0.996, "1.00"),
        (1.023, "1.0"),
        (1.639653, "1.6"),
        (9.96, "10.0"),
        (34.01, "34.0"),
        (99.6, "99.6"),
        (123.4, "123"),
        (4321.98, "4322"),
    ],
)
def test_no_duration_is_written_as_nothing(duration: float, text: str) -> None:
    assert in_seconds(duration) == text
    assert float(text) == pytest.approx(duration, rel=0.05)

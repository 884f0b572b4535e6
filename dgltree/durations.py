"""Durations as people read them."""


def in_seconds(duration: float) -> str:
    """A duration in seconds as text, with two true digits at least, however short: ``12.3``, ``0.14``, ``0.0042``."""
    if duration >= 10:
        return f"{duration:.1f}"
    return f"{duration:.2f}" if duration >= 0.1 else f"{duration:.2g}"

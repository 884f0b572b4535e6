"""Errors of the processes of a cluster, as they would be here."""

from collections.abc import Iterator
from contextlib import contextmanager

TOLD = "\nFailed to "
"""How what Ray Data adds to a message begins: how often it tried, and how to let it try more often."""


@contextmanager
def as_here() -> Iterator[None]:
    """A block that raises what a worker raised, as if it had been raised here; and what Ray itself says in one line."""
    from ray.exceptions import RayError, RayTaskError

    try:
        yield
    except RayTaskError as error:
        cause = error.cause
        if cause.args and isinstance(cause.args[0], str):
            cause.args = (cause.args[0].partition(TOLD)[0], *cause.args[1:])
        raise cause from None
    except RayError as error:
        raise OSError(f"the cluster of Ray failed: {' '.join(str(error).split())}") from None

"""Errors of the processes of a cluster, as they would be here."""

from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def as_here() -> Iterator[None]:
    """A block that raises what a worker raised, as if it had been raised here; and what Ray itself says in one line."""
    from ray.exceptions import RayError, RayTaskError

    try:
        yield
    except RayTaskError as error:
        raise (error.cause if isinstance(error.cause, Exception) else error) from None
    except RayError as error:
        raise OSError(f"the cluster of Ray failed: {' '.join(str(error).split())}") from None

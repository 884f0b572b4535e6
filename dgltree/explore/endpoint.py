"""What a room answers: under which path, and by which worker."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from dgltree.explore.asked import Asked
from dgltree.explore.worker import Send, Stop


@dataclass(frozen=True)
class Endpoint:
    """One path. It has an ``answer`` or a ``stream``; both raise ``ValueError`` for what is to be told to the user."""

    path: str
    worker: str
    answer: Callable[[Asked], dict[str, Any]] | None = None
    stream: Callable[[Asked, Send, Stop], None] | None = None
    first: Callable[[], object] | None = None
    """What makes the first answer as fast as the others; done while the page opens."""

"""The process behind equations/marking/check.py: marks the answers that come over a socket, until it is closed."""

import sys
from contextlib import suppress
from multiprocessing.connection import Connection
from typing import Any

from dgltree.equations.marking.check import Marking


def serve(connection: "Connection[Any, Any]") -> None:
    """Answer tasks until there are no more, or nobody hears the answers."""
    marking = Marking()
    with suppress(EOFError, ConnectionError):
        connection.send("ready")
        while True:
            connection.send(marking.mark(connection.recv()))


if __name__ == "__main__":
    serve(Connection(int(sys.argv[1])))

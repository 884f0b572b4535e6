"""The process behind equations/marking/check.py: marks the answers that come over a socket, until it is closed."""

import signal
import sys
from multiprocessing.connection import Connection
from typing import Any

from dgltree.equations.marking.check import Marking


def serve(connection: "Connection[Any, Any]") -> None:
    """Answer tasks until there are no more."""
    marking = Marking()
    connection.send("ready")
    while True:
        try:
            task = connection.recv()
        except EOFError:
            return
        connection.send(marking.mark(task))


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the process that began this one
    serve(Connection(int(sys.argv[1])))

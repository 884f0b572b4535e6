"""What worker processes have in common."""

import multiprocessing
import os
import threading


def end_with_parent() -> None:
    """In a worker: end when the parent has, which may be killed and then cannot say so."""
    parent = multiprocessing.parent_process()
    assert parent is not None

    def wait() -> None:
        parent.join()
        os._exit(1)

    threading.Thread(target=wait, daemon=True).start()

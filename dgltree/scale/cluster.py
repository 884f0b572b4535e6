"""A cluster of Ray: one of this machine alone, or one that runs already."""

import logging
import os
import signal
import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from dgltree.training.threads import cores

LOCAL = "local"
STORE = 1 << 30
"""Bytes of shared memory for what is on its way between processes here; what is more is spilled to the disk."""
LOOPBACK = "127.0.0.1"
ANY_ADDRESS = "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"
"""Ray's setting for its processes to listen on all addresses or, with 0, on that of the node alone."""
WAIT = 5.0  # seconds for an address to answer
MISSING = "Ray is not installed (the extra 'ray' of dgltree); install it with: pip install 'ray[data]'"


@contextmanager
def start_cluster(address: str = LOCAL) -> Iterator[None]:
    """A block with a cluster, unless this process has one already.

    Args:
        address: ``local`` starts a cluster on this machine, which ends with the block; else that of a running one, such
            as ``auto`` or ``10.0.0.1:6379``.

    Raises ``ValueError`` if Ray is not installed, if no cluster answers, and for an address if Ray was kept to
    the loopback, for a cluster of this machine, when it was imported.
    """
    if address == LOCAL and "ray" not in sys.modules:  # which reads it when it is imported
        os.environ.setdefault(ANY_ADDRESS, "0")
    try:
        import ray
        import ray.data
    except ModuleNotFoundError as error:
        raise ValueError(f"{MISSING} ({error})") from None
    _be_quiet()
    if ray.is_initialized():
        yield
        return
    handler = signal.getsignal(signal.SIGTERM)
    _start(address)
    try:
        if signal.getsignal(signal.SIGTERM) is not handler:
            signal.signal(signal.SIGTERM, handler)  # ours clears away, and says why it ends
        yield
    finally:
        ray.shutdown()


def _start(address: str) -> None:
    import ray

    if address != LOCAL:
        if os.environ.get(ANY_ADDRESS) == "0":
            raise ValueError(
                f"in this process Ray listens on this machine alone ({ANY_ADDRESS}=0, set for this machine's own "
                f"cluster, "
                f"which was started first); connect to {address} in a new process"
            )
        _check(address)
        try:
            ray.init(address=address, log_to_driver=False, logging_level=logging.ERROR)
        except (ConnectionError, RuntimeError) as error:
            raise ValueError(f"no Ray cluster answers at {address}: {' '.join(str(error).split())}") from None
        return
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    # The model, the reader and the writer wait most of the time: they are one process more than there are cores.
    with _quiet():
        ray.init(
            address=LOCAL,
            _node_ip_address=LOOPBACK,
            num_cpus=cores() + 1,
            object_store_memory=STORE,
            include_dashboard=False,
            log_to_driver=False,
            logging_level=logging.ERROR,
        )


@contextmanager
def _quiet() -> Iterator[None]:
    """A block without what Ray's own core, which is not Python, says on the standard error; errors are exceptions."""
    os.environ.setdefault("RAY_BACKEND_LOG_LEVEL", "fatal")
    sys.stderr.flush()
    own = os.dup(2)
    with Path(os.devnull).open("wb") as nowhere:
        os.dup2(nowhere.fileno(), 2)
    try:
        yield
    finally:
        os.dup2(own, 2)
        os.close(own)


def _check(address: str) -> None:
    """``ValueError`` for HOST:PORT if nothing listens: Ray itself waits minutes for it."""
    host, colon, port = address.removeprefix("ray://").rpartition(":")
    if not colon:
        return
    try:
        socket.create_connection((host, int(port)), WAIT).close()
    except (OSError, ValueError) as error:
        raise ValueError(
            f"no Ray cluster answers at {address}: {error}; give HOST:PORT of one that 'ray start --head' started, or "
            "--ray alone to use this machine"
        ) from None


def _be_quiet() -> None:
    from ray.data import DataContext

    context = DataContext.get_current()
    context.enable_progress_bars = context.print_on_execution_start = False
    logging.getLogger("ray.data").setLevel(logging.CRITICAL)  # errors are raised

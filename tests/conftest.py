"""What all tests share."""

import os
from pathlib import Path

import pytest

try:
    from hypothesis import HealthCheck, settings
except ModuleNotFoundError:  # the tests of a GPU need torch, numpy and pytest alone
    pass
else:
    # An example may import Lark or SymPy: no deadline. The same examples every time: no surprise on another machine.
    settings.register_profile("steady", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
    settings.load_profile("steady")


@pytest.fixture(scope="session")
def published() -> Path:
    """The folder of published data."""
    folder = os.environ.get("DGLTREE_DATA")
    if not folder:
        pytest.skip("DGLTREE_DATA does not name the folder of published data")
    return Path(folder)

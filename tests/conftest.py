"""What the reader tests share."""

import os
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def published() -> Path:
    """The folder of published data."""
    folder = os.environ.get("DGLTREE_DATA")
    if not folder:
        pytest.skip("DGLTREE_DATA does not name the folder of published data")
    return Path(folder)

"""Sample data from outside the repository."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from running import SHARED


def shared_data(path: str) -> Path:
    """A file of the folder beside the checkout. Without it the test is skipped, in CI it fails."""
    found = SHARED / "data" / path
    if not found.exists():
        give_up = pytest.fail if os.environ.get("GDB_PROF_CI") else pytest.skip
        give_up("no sample data: %s does not exist" % found)
    return found

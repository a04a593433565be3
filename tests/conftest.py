"""What the tests share: the firmware, built once, and GDB with QEMU behind it."""

from __future__ import annotations

import fcntl
import subprocess
from pathlib import Path

import pytest

from running import FIRMWARE, ROOT


@pytest.fixture(scope="session", autouse=True)
def firmware() -> Path:
    """The demo programs, up to date."""
    with open(ROOT / "firmware" / ".lock", "w", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # for tests that run side by side
        made = subprocess.run(
            ["make", "-C", str(ROOT / "firmware"), "-j2"], capture_output=True, text=True, check=False
        )
    assert made.returncode == 0, made.stdout[-3000:] + made.stderr[-3000:]
    return FIRMWARE

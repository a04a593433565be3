"""gdb_prof: a sampling profiler and FreeRTOS tracer for ARM Cortex-M inside GDB.

Importing the package in a GDB adds its commands; anywhere else it only gives the
rooms that need no debugger (``gdb_prof.profile``, ``gdb_prof.trace``).
"""

from __future__ import annotations

import sys

__version__ = "0.1.0"


def load() -> None:
    """Add the commands to the GDB that this runs in; a second time does nothing.

    Where a library is missing, a line says what to run, and there are no commands.
    """
    from gdb_prof import commands

    commands.register()


if "gdb" in sys.modules:
    load()

"""gdb_prof: a sampling profiler for ARM Cortex-M inside GDB.

Importing the package in a GDB adds its commands; anywhere else it only gives the
rooms that need no debugger (``gdb_prof.profile``).
"""

from __future__ import annotations

import sys

__version__ = "0.1.0"

if "gdb" in sys.modules:
    from gdb_prof import commands

    commands.register()

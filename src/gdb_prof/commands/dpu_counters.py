"""`dpu counters`."""

from __future__ import annotations

from gdb_prof.commands.dpu import Workbench


def register(workbench: Workbench) -> None:
    """Add the subcommands."""

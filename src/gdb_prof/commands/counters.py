"""`counters`."""

from __future__ import annotations

from gdb_prof.target.images import Images


def register(images: Images) -> None:
    """Add the command and its subcommands."""

"""What the user types. `register` is the one list of commands."""

from __future__ import annotations


def register() -> None:
    """Add every command to GDB. Called once. Raises gdb.GdbError where a library is missing."""
    from gdb_prof.commands import dependencies

    dependencies.require()

    from gdb_prof.commands import (
        prof,
        prof_dump,
        prof_files,
        prof_record,
        prof_start,
        prof_status,
        prof_stop,
        settings,
    )

    prof.Prof()
    settings.register()
    workbench = prof.Workbench()
    for command in (
        prof_start.Start,
        prof_stop.Stop,
        prof_status.Status,
        prof_record.Record,
        prof_dump.Dump,
        prof_files.Save,
        prof_files.Load,
    ):
        command(workbench)

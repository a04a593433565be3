"""What the user types. `register` is the one list of commands."""

from __future__ import annotations

import contextlib

import gdb

_registered: "list[bool]" = []


def register() -> None:
    """Add every command to GDB, once; none where a library is missing."""
    from gdb_prof.commands import dependencies

    if _registered or not dependencies.present():
        return

    from gdb_prof.commands import (
        counters,
        dpu,
        mtb,
        prof,
        prof_annotate,
        prof_callers,
        prof_check,
        prof_compare,
        prof_diff,
        prof_dump,
        prof_files,
        prof_record,
        prof_start,
        prof_status,
        prof_stop,
        prof_swo,
        rtos_control,
        rtos_files,
        rtos_report,
        rtos_trace,
        settings,
    )
    from gdb_prof.target.images import Images

    _registered.append(True)
    prof.Prof()
    settings.register()
    images = Images()
    workbench = prof.Workbench(images)
    for command in (
        prof_start.Start,
        prof_stop.Stop,
        prof_status.Status,
        prof_record.Record,
        prof_dump.Dump,
        prof_annotate.Annotate,
        prof_callers.Callers,
        prof_check.Check,
        prof_files.Save,
        prof_files.Load,
        prof_diff.Diff,
        prof_compare.CompareSources,
        prof_swo.Swo,
    ):
        command(workbench)
    with contextlib.suppress(gdb.error):  # `d` stays dump's, though diff begins with it, too
        gdb.execute("alias -a prof d = prof dump")
    rtos_trace.RtosTrace()
    traces = rtos_trace.Workbench(images)
    for trace_command in (
        rtos_control.Arm,
        rtos_control.Start,
        rtos_control.Stop,
        rtos_control.Status,
        rtos_files.Save,
        rtos_report.Diag,
        rtos_report.Lanes,
        rtos_files.Svg,
        rtos_report.Assert,
    ):
        trace_command(traces)
    dpu.register(images)
    counters.register(images)
    mtb.register(images)

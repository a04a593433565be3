"""Sampling over SWO from its start to its stop: what runs in the core, and the file that grows."""

from __future__ import annotations

import dataclasses
from typing import Optional

import gdb

from gdb_prof.errors import FileError, UsageError
from gdb_prof.files import read_file
from gdb_prof.profile.from_swo import nonsense, profile_of
from gdb_prof.profile.samples import Profile, Timing
from gdb_prof.swo.capture import read_capture
from gdb_prof.target.core_trace import CoreTrace
from gdb_prof.target.images import Program
from gdb_prof.target.swo_probe import Recording


def _connection() -> object:
    """Tells one connection from the next; GDB before 12 does not say."""
    return getattr(getattr(gdb.selected_inferior(), "connection", None), "num", None)


@dataclasses.dataclass
class SwoSession:
    """`recording` is None where the user records the stream."""

    trace: CoreTrace
    recording: Optional[Recording]
    timing: Timing
    program: Program
    connection: object = dataclasses.field(default_factory=_connection)

    @property
    def alive(self) -> bool:
        """Whether the target is still the one that samples."""
        return gdb.selected_inferior().pid != 0 and _connection() == self.connection

    def profile(self) -> Profile:
        """Of what is recorded by now; the target, if it is alive, is stopped. Raises GdbProfError."""
        if self.recording is None:
            raise UsageError("the SWO stream is recorded elsewhere: `prof swo FILE`")
        if self.alive:
            self.recording.flush()
        capture = read_capture([read_file(self.recording.path)])
        functions = self.program.functions
        why = nonsense(capture, capture.part(lambda pc: functions.at(pc) is not None))
        if why:
            raise FileError(looks_wrong(self.recording.path, why))
        profile = profile_of(capture, self.timing, self.recording.path)
        fault = (self.recording.fault,) if self.recording.fault else ()
        return dataclasses.replace(
            profile,
            build_id=self.program.build_id,
            program=self.program.name,
            remarks=(*profile.remarks, *fault),
        )

    def stop(self) -> None:
        """The core's registers as they were, where it is alive, and no more recorded. Raises TargetError
        where a register is not: then again."""
        try:
            if self.alive:
                self.trace.stop()
        finally:
            if self.recording is not None:
                self.recording.stop()


def looks_wrong(file: str, why: str) -> str:
    return "%s looks wrong: %s: is the bit rate or the core's clock another one?" % (file, why)

"""Sampling over SWO from its start to its stop: what runs in the core, and the file that grows."""

from __future__ import annotations

import contextlib
import dataclasses
from typing import Optional

from gdb_prof.errors import TargetError, UsageError
from gdb_prof.files import read_file
from gdb_prof.profile.from_swo import profile_of
from gdb_prof.profile.samples import Profile, Timing
from gdb_prof.swo.capture import read_capture
from gdb_prof.target import session
from gdb_prof.target.core_trace import CoreTrace, used
from gdb_prof.target.images import Program
from gdb_prof.target.swo_probe import Recording


@dataclasses.dataclass
class SwoSession:
    """`recording` is None where the user records the stream."""

    trace: CoreTrace
    recording: Optional[Recording]
    timing: Timing
    program: Program
    connection: object = dataclasses.field(default_factory=session.connection)
    ended: bool = False
    """The core's registers are as they were."""

    def __post_init__(self) -> None:
        used("prof stop", lambda: self.alive and not self.ended)

    @property
    def alive(self) -> bool:
        """Whether the target is still the one that samples."""
        return session.is_still(self.connection)

    def profile(self) -> Profile:
        """Of what is recorded by now; the target, if it is alive, is stopped. Raises GdbProfError."""
        if self.recording is None:
            raise UsageError("the SWO stream is recorded elsewhere: `prof swo FILE`")
        if self.alive:
            self.recording.flush()
        capture = read_capture([read_file(self.recording.path)])
        profile = profile_of(capture, self.timing, self.recording.path, self.program.is_code)
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
        alive = self.alive
        try:
            if alive:
                self.trace.stop()
            self.ended = True
        finally:
            if self.recording is not None:
                # a server that is gone cannot be told, and records no more
                with contextlib.nullcontext() if alive else contextlib.suppress(TargetError):
                    self.recording.stop()

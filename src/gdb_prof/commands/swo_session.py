"""Sampling over SWO from its start to its stop: what runs in the core, and the file that grows."""

from __future__ import annotations

import dataclasses
from typing import Optional

from gdb_prof.errors import UsageError
from gdb_prof.files import read_file
from gdb_prof.profile.from_swo import profile_of
from gdb_prof.profile.samples import Profile, Timing
from gdb_prof.swo.capture import read_capture
from gdb_prof.target.core_trace import CoreTrace
from gdb_prof.target.swo_probe import Recording


@dataclasses.dataclass
class SwoSession:
    """`recording` is None where the user records the stream."""

    trace: CoreTrace
    recording: Optional[Recording]
    timing: Timing
    build_id: str
    program: str

    def profile(self) -> Profile:
        """Of what is recorded by now. The target is stopped. Raises GdbProfError."""
        if self.recording is None:
            raise UsageError("the SWO stream is recorded elsewhere: `prof swo FILE`")
        self.recording.flush()
        capture = read_capture([read_file(self.recording.path)])
        profile = profile_of(capture, self.timing, self.recording.path)
        return dataclasses.replace(profile, build_id=self.build_id, program=self.program)

    def stop(self) -> None:
        """The core's registers as they were, and no more recorded. Raises TargetError."""
        try:
            self.trace.stop()
        finally:
            if self.recording is not None:
                self.recording.stop()

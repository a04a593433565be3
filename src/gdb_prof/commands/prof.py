"""The prefix `prof`, and what its commands share."""

from __future__ import annotations

import contextlib
import dataclasses
from typing import Optional, Tuple

import gdb

from gdb_prof.commands import settings
from gdb_prof.commands.armed import Armed
from gdb_prof.commands.cli import Command, say, show
from gdb_prof.commands.swo_session import SwoSession
from gdb_prof.errors import GdbProfError, ProgramError, UsageError
from gdb_prof.profile.circumstances import SAME, Circumstances
from gdb_prof.profile.program.code import Build
from gdb_prof.profile.program.names import Names, collected
from gdb_prof.profile.samples import RECORDING, Profile
from gdb_prof.target import session
from gdb_prof.target.circumstances import circumstances
from gdb_prof.target.code import DisassembledCode
from gdb_prof.target.images import Images, Program
from gdb_prof.target.lines import DebugLines, demangle
from gdb_prof.target.sampler import Sampler
from gdb_prof.wording import count


class Prof(gdb.Command):
    """Sample where the program spends its time.

    A timer interrupt in the firmware (firmware/prof) keeps the interrupted PC:
      prof start, continue, prof dump    or in one:  prof record"""

    def __init__(self) -> None:
        super().__init__("prof", gdb.COMMAND_USER, gdb.COMPLETE_NONE, True)


class Workbench:
    """What the profiler has open: the loaded images, a loaded profile, sampling over SWO, a waiting stop."""

    def __init__(self, images: Images) -> None:
        self.images = images
        self.loaded: Optional[Profile] = None
        self.swo: Optional[SwoSession] = None
        self._armed = Armed()
        self._code: Optional[DisassembledCode] = None
        self._seen: Optional[Circumstances] = None
        gdb.events.cont.connect(lambda event: self._resumed())
        gdb.events.exited.connect(lambda event: self._resumed())
        if hasattr(gdb.events, "gdb_exiting"):  # GDB 12
            gdb.events.gdb_exiting.connect(lambda event: self._leaving())

    def sampler(self) -> Sampler:
        """The sampler in the live, stopped target. Raises GdbProfError."""
        session.require_stopped()
        return Sampler(self.images.program(), settings.clock_hz(), settings.shift())

    def sampling_over_swo(self) -> Optional[SwoSession]:
        """The session that goes on; one whose target is gone has ended."""
        swo = self.swo
        if swo is not None and not swo.alive:
            self.swo = None
            swo.stop()
            where = " in %s: `prof swo` it" % swo.recording.path if swo.recording else " elsewhere"
            say("the target that sampled over SWO is gone; what was recorded is%s" % where)
        return self.swo

    def _leaving(self) -> None:
        """GDB ends, and lets the target go: not with the trace on."""
        swo, self.swo = self.swo, None
        if swo is not None:
            with contextlib.suppress(GdbProfError, gdb.error):  # it may be running, or gone
                swo.stop()

    def demand_no_swo(self) -> None:
        """Raises UsageError while the core samples over SWO."""
        if self.sampling_over_swo() is not None:
            raise UsageError("sampling over SWO goes on: `prof stop` first")

    def program(self) -> Program:
        return self.images.program()

    def current(self, check: bool = True) -> Profile:
        """The loaded profile, or what the target holds now. Raises GdbProfError. Without `check` of
        what stands around it only what the table itself needs is read."""
        if self.loaded is not None:
            return self.loaded
        swo = self.sampling_over_swo()
        if swo is not None:
            session.require_stopped()
            return self.observed(swo.profile(), check=check)
        sampler = self.sampler()
        profile = sampler.profile(self.program().build_id)
        return self.observed(profile, sampler.info.exception, check)

    def observed(self, profile: Profile, exception: int = 0, check: bool = True) -> Profile:
        """The profile with what stands around the sampler, whose interrupt has that number, in the
        target: read once while it stands."""
        if self._seen is None or (check and self._seen.contents != SAME):  # it may be loaded meanwhile
            self._seen = circumstances(self.program(), self.code(), exception, profile, check)
        return dataclasses.replace(profile, circumstances=self._seen)

    def code(self) -> DisassembledCode:
        """The loaded program's instructions, each function of them disassembled once."""
        program = self.program()
        if self._code is None or self._code.program is not program:
            self._code = DisassembledCode(program)
        return self._code

    def build(self, profile: Profile) -> Build:
        """The program that a profile is of: the loaded one, or where that is another build what
        was saved with the profile. Raises ProgramError where there is neither."""
        names = self.own_names(profile)
        if names is not None:
            return names.build()
        return Build(self.program().functions, DebugLines(), self.code(), demangle=demangle)

    def own_names(self, profile: Profile) -> Optional[Names]:
        """The names that were saved with a profile, where they are not the loaded program's."""
        names, program = profile.names, self._loaded_program()
        same = names is not None and program is not None and names.build_id == program.build_id != ""
        return None if same else names

    def names(self, profile: Profile) -> Optional[Names]:
        """What is to be saved with a profile; None where only another build is at hand."""
        program = self._loaded_program()
        if profile.names is not None or program is None or not _may_be_of(profile, program):
            return profile.names
        return collected(profile, self.build(profile), program.build_id, program.name)

    def remarks(self, profile: Profile) -> Tuple[str, ...]:
        """What is to be said of a profile's names. Raises ProgramError where there are none."""
        names, program = self.own_names(profile), self._loaded_program()
        if names is None:
            program = self.program()
            if _may_be_of(profile, program):
                return program.remarks
            of, build_id, end = profile.program or program.name, profile.build_id, "names may be wrong"
            told = program.remarks
        elif program is None:
            return ("no ELF file is loaded: names are those saved with the profile",)
        else:
            of, build_id, told = names.program, names.build_id, ()
            end = "names are those saved with it"
        here = "here " + _short(program.build_id)
        other = "%s belongs to another build of %s (%s; %s): %s"
        return (*told, other % (profile.origin, of, _short(build_id), here, end))

    def _loaded_program(self) -> Optional[Program]:
        try:
            return self.program()
        except ProgramError:
            return None

    def _resumed(self) -> None:
        """A recording is shown while the program stands where it ended, a file's profile longer."""
        self._seen = None
        if self.loaded is not None and self.loaded.origin == RECORDING:
            self.loaded = None

    def arm(self, sampler: Sampler) -> None:
        """Have `continue` come back when the limit is met."""
        self._armed.arm(sampler.done, self._limit_met)

    def disarm(self) -> None:
        self._armed.disarm()

    def _limit_met(self) -> None:
        try:
            taken = self.sampler().taken()
        except GdbProfError as error:
            show("prof: the limit is met, but %s\n" % error)
        else:
            show("prof: %s samples are taken: see `prof dump`\n" % count(taken))


def _may_be_of(profile: Profile, program: Program) -> bool:
    return profile.build_id in ("", program.build_id) or not program.build_id


def _short(build_id: str) -> str:
    if not build_id:
        return "build unknown"
    kind, _, digest = build_id.rpartition(":")
    return "%s %s…" % (kind or "build-id", digest[:8])


class ProfCommand(Command):
    """A subcommand of `prof`."""

    def __init__(self, workbench: Workbench) -> None:
        self.workbench = workbench
        super().__init__()

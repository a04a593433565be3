"""The prefix `prof`, and what its commands share."""

from __future__ import annotations

from typing import Optional

import gdb

from gdb_prof.commands import settings
from gdb_prof.commands.armed import Armed
from gdb_prof.commands.cli import Command, show
from gdb_prof.errors import GdbProfError
from gdb_prof.profile.samples import RECORDING, Profile
from gdb_prof.target import session
from gdb_prof.target.images import Images, Program
from gdb_prof.target.sampler import Sampler
from gdb_prof.wording import count


class Prof(gdb.Command):
    """Sample where the program spends its time.

    A timer interrupt in the firmware (firmware/prof) keeps the interrupted PC:
      prof start, continue, prof dump    or in one:  prof record"""

    def __init__(self) -> None:
        super().__init__("prof", gdb.COMMAND_USER, gdb.COMPLETE_NONE, True)


class Workbench:
    """What the profiler has open: the loaded images, a loaded profile, a waiting stop."""

    def __init__(self, images: Images) -> None:
        self.images = images
        self.loaded: Optional[Profile] = None
        self._armed = Armed()
        gdb.events.cont.connect(lambda event: self._resumed())

    def sampler(self) -> Sampler:
        """The sampler in the live, stopped target. Raises GdbProfError."""
        session.require_stopped()
        return Sampler(self.images.program(), settings.clock_hz(), settings.shift())

    def program(self) -> Program:
        return self.images.program()

    def current(self) -> Profile:
        """The loaded profile, or what the target holds now. Raises GdbProfError."""
        if self.loaded is not None:
            return self.loaded
        sampler = self.sampler()
        return sampler.profile(self.program().build_id)

    def _resumed(self) -> None:
        """A recording is shown while the program stands where it ended, a file's profile longer."""
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


class ProfCommand(Command):
    """A subcommand of `prof`."""

    def __init__(self, workbench: Workbench) -> None:
        self.workbench = workbench
        super().__init__()

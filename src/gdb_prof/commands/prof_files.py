"""`prof save` and `prof load`."""

from __future__ import annotations

import argparse
import dataclasses
import os

from gdb_prof.commands import cli, settings
from gdb_prof.commands.prof import ProfCommand
from gdb_prof.errors import FileError, UsageError
from gdb_prof.files import read_file, write_file
from gdb_prof.profile.samples import Profile
from gdb_prof.profile.saved import savefile, uart_text
from gdb_prof.wording import plural

_NO_PROFILE = (
    "neither a file of `prof save` nor a log with the text of prof_dump(): "
    "is it for `prof swo`, a recorded stream?"
)


class Save(ProfCommand):
    """Save the profile that `prof dump` shows to a file.

    The file describes itself: samples in order, tasks with their names, period,
    source, build, and the functions and lines of the sampled addresses, by which
    it is reported when the program has long been rebuilt. A file that exists is
    kept unless -force is given."""

    name = "prof save"

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("file", metavar="FILE", help="where to; quote a name with blanks")
        parser.add_argument("-force", action="store_true", help="overwrite FILE")

    def run(self, args: argparse.Namespace) -> None:
        profile = self.workbench.current()
        if not profile.kept:
            raise UsageError("no sample is taken yet: `prof start`, then `continue`")
        profile = dataclasses.replace(profile, names=self.workbench.names(profile))
        write_file(args.file, savefile.dumps(profile), args.force)
        cli.show("prof: %s saved to %s\n" % (plural(profile.kept, "sample"), args.file))


class Load(ProfCommand):
    """Load a profile from a file, for `prof dump`.

    FILE is of `prof save`, or a log with the text that prof_dump() printed over a
    UART. No target is needed; the ELF only for a log, which holds no names. The
    profile is shown until `prof load -live`, `prof start` or `prof record`."""

    name = "prof load"

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        what = parser.add_mutually_exclusive_group(required=True)
        what.add_argument("file", metavar="FILE", nargs="?", help="the file; quote a name with blanks")
        what.add_argument("-live", action="store_true", help="back to what the target holds")

    def run(self, args: argparse.Namespace) -> None:
        if args.live:
            self.workbench.loaded = None
            return
        profile = load(args.file)
        self.workbench.loaded = profile
        cli.show("prof: %s from %s: see `prof dump`\n" % (plural(profile.kept, "sample"), profile.origin))


def load(path: str) -> Profile:
    """The profile in a file of `prof save` or a UART's log. Raises FileError."""
    raw = read_file(path)
    origin = os.path.basename(path)
    try:
        if raw.startswith(savefile.MAGIC):
            return savefile.loads(raw, origin)
        if b"\0" in raw:
            raise FileError(_NO_PROFILE)
        return uart_text.loads(raw.decode("utf-8", "replace"), origin, settings.clock_hz())
    except FileError as error:
        raise FileError("%s: %s" % (path, error)) from None

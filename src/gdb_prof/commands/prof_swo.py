"""`prof swo`: a recorded SWO stream: its profile, and what else is in it."""

from __future__ import annotations

import argparse
import dataclasses
import itertools
import os
from typing import Callable, Iterator, Optional

from gdb_prof.commands import cli, prof_dump
from gdb_prof.commands.prof import ProfCommand
from gdb_prof.errors import FileError, ProgramError, UsageError
from gdb_prof.profile.from_swo import profile_of, timing
from gdb_prof.profile.samples import Profile
from gdb_prof.swo import exceptions, exceptions_text, listing, stimulus
from gdb_prof.swo.capture import read_capture
from gdb_prof.wording import count, percent

_PART = 1 << 20
_ROWS = 200


class Swo(ProfCommand):
    """Show the profile in a recorded SWO stream, or what else is in it.

    FILE holds the bytes of the pin as the probe received them: ITM and DWT
    packets (Armv7-M, Armv8-M), bare or in TPIU frames, which is found out. Without
    a synchronisation packet it is decoded from the first byte, unless -sync is
    given. A stream that looks wrong, since the bit rate or the core's clock was
    another one, is refused: nothing is made up from it. No target is needed. The
    profile is kept as `prof load` keeps one: for prof dump, check, annotate, save,
    diff.

    -text shows what the program wrote to a stimulus port, control characters
    escaped. -exceptions shows how often and how long each exception ran, inclusive
    and without those that interrupted it. -events lists all packets with their
    offsets. Examples:
      prof swo run.swo -period 16384 -clock 168000000
      prof swo -text 0 run.swo"""

    name = "prof swo"

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("file", metavar="FILE", help="the stream; quote a name with blanks")
        what = parser.add_mutually_exclusive_group()
        what.add_argument("-text", type=cli.stimulus_port, metavar="PORT", help="the text on a stimulus port")
        what.add_argument("-exceptions", action="store_true", help="the exceptions' times")
        what.add_argument("-events", action="store_true", help="all packets")
        parser.add_argument("-sync", action="store_true", help="begin at the first synchronisation")
        parser.add_argument(
            "-tpiu", type=cli.trace_id, metavar="ID|auto", help="in TPIU frames: the trace ID, or by content"
        )
        parser.add_argument("-period", type=cli.word32, metavar="CYCLES", help="from sample to sample")
        parser.add_argument("-clock", type=cli.positive, metavar="HZ", help="of the core; of the timestamps")
        parser.add_argument(
            "-from", dest="start", type=cli.natural, default=0, metavar="OFFSET", help="events: from there"
        )
        parser.add_argument(
            "-rows",
            type=cli.positive,
            default=_ROWS,
            metavar="N",
            help="events: so many (default: %d)" % _ROWS,
        )
        prof_dump.add_view(parser)

    def run(self, args: argparse.Namespace) -> None:
        path = os.path.expanduser(args.file)
        self._demand_fit(args)
        if os.path.exists(path) and not os.path.isfile(path):
            raise FileError("%s is no regular file: record the stream to one first" % args.file)
        if args.text is not None:
            cli.show(self._text(path, args))
        elif args.exceptions:
            facts = exceptions.read(_parts(path), args.sync, args.tpiu)
            if not facts.packets:
                raise UsageError(
                    "%s holds no exception packets: `prof start -source swo -exceptions`" % args.file
                )
            cli.show(exceptions_text.report(facts, cli.width(80), args.clock))
        elif args.events:
            self._events(path, args)
        else:
            profile = self._profile(path, args)
            self.workbench.loaded = profile
            prof_dump.show_profile(self.workbench, profile, args)

    def _demand_fit(self, args: argparse.Namespace) -> None:
        """Raises UsageError for options that would do nothing."""
        events = ("start", "rows")
        if not args.events and any(getattr(args, o) != self.parser.get_default(o) for o in events):
            raise UsageError("-from and -rows go with -events")
        if args.text is None and not args.exceptions and not args.events:
            return
        view = ("by", "top", "min", "merge_clones", "no_check", "first", "task", "period")
        for option in view:
            if getattr(args, option) != self.parser.get_default(option):
                raise UsageError("-%s goes with the profile" % option.replace("_", "-"))

    def _profile(self, path: str, args: argparse.Namespace) -> Profile:
        capture = read_capture(_parts(path), args.sync, args.tpiu)
        if not capture.size_bytes:
            raise FileError("%s is empty" % args.file)
        if args.sync and not capture.syncs:
            raise UsageError("%s has no synchronisation packet: leave out -sync" % args.file)
        profile = profile_of(capture, timing(args.period, args.clock), args.file, self._is_code())
        contents = listing.contents(capture)
        if not profile.kept:
            raise UsageError("%s holds no PC samples: %s" % (args.file, contents))
        cli.say("%s; %s of the bytes in packets" % (contents, percent(capture.quality)))
        return dataclasses.replace(profile, origin=os.path.basename(path))

    def _is_code(self) -> Optional[Callable[[int], bool]]:
        """Which addresses are the loaded program's; None without one."""
        try:
            return self.workbench.program().is_code
        except ProgramError:
            return None

    @staticmethod
    def _text(path: str, args: argparse.Namespace) -> str:
        text = stimulus.text(_parts(path), args.text, args.sync, args.tpiu)
        if not text:
            ports = sorted(read_capture(_parts(path), args.sync, args.tpiu).stimulus)
            there = "there %s %s" % (
                "is port" if len(ports) == 1 else "are ports",
                ", ".join(map(str, ports)),
            )
            raise UsageError(
                "nothing was written to port %d: %s" % (args.text, there if ports else "nor to another")
            )
        return text

    def _events(self, path: str, args: argparse.Namespace) -> None:
        lines = listing.lines(_parts(path), args.sync, args.tpiu)
        wanted = itertools.dropwhile(lambda line: line[0] < args.start, lines)
        last = 0
        for offset, text in itertools.islice(wanted, args.rows):
            cli.show(text + "\n")
            last = offset
        following = next(wanted, None)
        if following is not None:
            cli.show("(more: -from 0x%x)\n" % following[0])
        elif not last and args.start:
            raise UsageError("%s holds nothing from offset %s on" % (args.file, count(args.start)))


def _parts(path: str) -> Iterator[bytes]:
    """A file's content in pieces. Raises FileError."""
    try:
        with open(path, "rb") as file:
            while True:
                part = file.read(_PART)
                if not part:
                    return
                yield part
    except OSError as error:
        raise FileError("%s: %s" % (path, error.strerror)) from None

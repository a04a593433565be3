"""How a command is declared: its words, its help and its errors, in one place.

A command is a subclass of Command with a `name`, a docstring (the help's text), the
options it adds to an argparse parser, and `run`. The parser makes the usage and the
options' part of the help; completion comes from it, too.
"""

from __future__ import annotations

import argparse
import codecs
import functools
import shlex
import sys
from typing import Any, Callable, List, NoReturn, Optional, Sequence, Union

import gdb

from gdb_prof.errors import GdbProfError, UsageError
from gdb_prof.target.running import settings
from gdb_prof.wording import wrapped

_ASCII = {"±": "+-", "µ": "u", "…": "..."}


class Command(gdb.Command):
    """One subcommand. Errors become `NAME: message`; anything else is a bug's traceback."""

    name: str

    def __init__(self) -> None:
        self.parser = _Parser(
            prog=self.name,
            add_help=False,
            formatter_class=functools.partial(
                argparse.RawDescriptionHelpFormatter, width=79, max_help_position=24
            ),
        )
        self.add_arguments(self.parser)
        self.__doc__ = _help(self.__doc__ or "", self.parser)
        super().__init__(self.name, gdb.COMMAND_USER)

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Declare options and positional arguments; none by default."""

    def run(self, args: argparse.Namespace) -> None:
        raise NotImplementedError

    def invoke(self, argument: str, from_tty: bool) -> None:
        self.dont_repeat()
        try:
            self.run(self.parser.parse_args(_split(argument)))
        except GdbProfError as error:
            raise gdb.GdbError(encodable("%s: %s" % (self.name, error))) from None
        except gdb.error as error:  # GDB's own complaint, such as a connection that broke
            raise gdb.GdbError(encodable("%s: %s" % (self.name, error))) from None
        except KeyboardInterrupt:
            raise gdb.GdbError("%s: interrupted" % self.name) from None

    def complete(self, text: str, word: Optional[str]) -> Any:
        words = text.split(" ")
        last, before = words[-1], (words[-2] if len(words) > 1 else "")
        actions = self.parser.by_option()
        if before in actions and actions[before].nargs is None:
            candidates = [str(c) for c in actions[before].choices or ()]
        elif last.startswith("-"):
            candidates = sorted(actions)
        elif self.parser.takes_file:
            return gdb.COMPLETE_FILENAME
        else:
            candidates = []
        typed = len(last) - len(word or "") if word is not None else 0
        return [c[typed:] for c in candidates if c.startswith(last)]


class UnitCommand(Command):
    """A command that reads registers outside the memory map that some servers have. The setting that lets it
    changes once, not for each word: a front end is told of every change."""

    def invoke(self, argument: str, from_tty: bool) -> None:
        with settings(("mem inaccessible-by-default", "off")):
            super().invoke(argument, from_tty)


class _Parser(argparse.ArgumentParser):
    """argparse for a prompt: errors are raised, nothing exits, nothing is printed."""

    def error(self, message: str) -> NoReturn:
        message = message.replace("argument ", "", 1)
        if message.startswith("unrecognized arguments: "):
            extra = message.split(": ", 1)[1].split()[0]
            kind = "option" if extra.startswith("-") else "word"
            message = "unknown %s %s: see `help %s`" % (kind, extra, self.prog)
        raise UsageError(message)

    def exit(self, status: int = 0, message: Optional[str] = None) -> NoReturn:
        raise UsageError(message or "wrong use: see `help %s`" % self.prog)

    def by_option(self) -> dict[str, argparse.Action]:
        return {o: action for action in self._actions for o in action.option_strings}

    @property
    def takes_file(self) -> bool:
        return any(not a.option_strings and a.metavar == "FILE" for a in self._actions)


def _help(text: str, parser: argparse.ArgumentParser) -> str:
    """The summary, the usage, the options, the rest: in GDB's manner."""
    summary, _, rest = text.partition("\n")
    usage = parser.format_usage().replace("usage:", "Usage:", 1)
    options = parser.format_help()[len(parser.format_usage()) :]
    # drop argparse's own headings, which differ between versions of Python
    lines = [line for line in options.splitlines() if line.startswith("  ")]
    parts = [summary.strip(), usage.rstrip()]
    if lines:
        parts.append("\n".join(lines))
    body = "\n".join(line[4:] if line.startswith("    ") else line for line in rest.splitlines()).strip()
    if body:
        parts.append(body)
    return "\n\n".join(parts)


def _split(text: str) -> List[str]:
    """Words as a shell has them, with quotes of both kinds, but a backslash is a letter:
    Windows paths. Raises UsageError for a quote that is not closed."""
    lexer = shlex.shlex(text, posix=True, punctuation_chars=False)
    lexer.whitespace_split = True
    lexer.escape = ""
    lexer.commenters = ""
    try:
        return list(lexer)
    except ValueError:
        raise UsageError("a quote is not closed") from None


def one_of(choices: Sequence[str]) -> Callable[[str], str]:
    """One of these words, which may be shortened; for `type=` beside `choices=`."""

    def expand(text: str) -> str:
        found = [choice for choice in choices if choice.startswith(text)]
        return found[0] if len(found) == 1 else text

    return expand


def number(text: str) -> int:
    """A whole number, decimal, 0x… or as 1e8; for `type=`."""
    try:
        return int(text, 0)
    except ValueError:
        value = _real(text)
        if value.is_integer():
            return int(value)
        raise argparse.ArgumentTypeError("expected a whole number, found '%s'" % text) from None


def _real(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return float("nan")  # which lies in no range


def _between(parse: Callable[[str], Any], least: float, most: float, expected: str) -> Callable[[str], Any]:
    def check(text: str) -> Any:
        value = parse(text)
        if not least <= value <= most:
            raise argparse.ArgumentTypeError("expected %s, found '%s'" % (expected, text))
        return value

    return check


positive = _between(number, 1, float("inf"), "a number above 0")
natural = _between(number, 0, float("inf"), "a number, 0 or more")
word32 = _between(number, 0, 0xFFFFFFFF, "0 to 4294967295")
positive_real = _between(_real, sys.float_info.min, sys.float_info.max, "a number above 0")
real = _between(_real, -1e12, 1e12, "a number")
tcp_port = _between(number, 1, 65535, "a port of 1 to 65535")
stimulus_port = _between(number, 0, 255, "0 to 255")
percent = _between(_real, 0, 100, "0 to 100")


def trace_id(text: str) -> Union[int, str]:
    """A trace ID of TPIU frames, or `auto`; for `type=`."""
    if text == "auto":
        return text
    value = number(text)
    if not 1 <= value <= 0x6F:
        raise argparse.ArgumentTypeError("expected auto or an ID of 1 to 111, found '%s'" % text)
    return value


def width(unlimited: int = 10_000) -> int:
    """The console's columns; `unlimited` where GDB does not wrap (a pipe, MI, -batch)."""
    columns = gdb.parameter("width")
    return int(columns) if columns else unlimited


def show(text: str) -> None:
    """Print to GDB's console, in characters that its charset has."""
    gdb.write(encodable(text))


def speaker(who: str) -> Callable[..., None]:
    """What says lines of text as this command, in lines of the console's width."""

    def says(*lines: str) -> None:
        show("".join(part + "\n" for line in lines for part in wrapped("%s: %s" % (who, line), width())))

    return says


say = speaker("prof")


def encodable(text: str) -> str:
    charset = _charset()
    try:
        text.encode(charset)
    except UnicodeEncodeError:
        for character, plain in _ASCII.items():
            text = text.replace(character, plain)
        text = text.encode(charset, "backslashreplace").decode(charset)
    return text


def _charset() -> str:
    name = getattr(gdb, "host_charset", None)
    charset = name() if name else str(gdb.parameter("host-charset"))
    try:
        codecs.lookup(charset)
    except LookupError:
        return "ascii"
    return charset

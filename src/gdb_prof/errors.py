"""What is raised for the person at the prompt.

A message says what was found, what was expected and what to do next, in one line and
without the command's name, which the command adds.
"""

from __future__ import annotations


class GdbProfError(Exception):
    """The base of all errors that are shown without a traceback."""


class UsageError(GdbProfError):
    """The words of a command do not fit its declaration."""


class TargetError(GdbProfError):
    """The target is absent, running, or does not answer as it should."""


class ProgramError(GdbProfError):
    """The program lacks something: a symbol, an ELF file, a build option."""


class FileError(GdbProfError):
    """A file cannot be read, written or understood."""


class ProfileError(GdbProfError):
    """A profile is not as good as was demanded."""

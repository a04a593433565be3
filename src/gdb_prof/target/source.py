"""The text of source files, where GDB finds them, and the calls that were inlined."""

from __future__ import annotations

import functools
import os
from typing import Dict, List, Optional, Sequence, Tuple

import gdb

from gdb_prof.errors import FileError
from gdb_prof.files import read_file
from gdb_prof.printable import printable
from gdb_prof.target.lines import functions_at
from gdb_prof.wording import some

_LARGEST = 16 << 20
_TAB = 4


class SourceFiles:
    """Answers for one report, each file read once (see profile.one_function.annotate.Source)."""

    def __init__(self) -> None:
        self._texts: Dict[str, Sequence[str]] = {}
        self._remarks: List[str] = []
        self._missing: List[str] = []
        self.calls = functools.lru_cache(maxsize=None)(_calls)

    @property
    def remarks(self) -> List[str]:
        """What the reader must know of the files that were asked for."""
        if not self._missing:
            return self._remarks
        missing = "no source file %s: see `help set substitute-path` and `help directory`"
        return [*self._remarks, missing % some(self._missing, 2)]

    def text(self, address: int) -> Sequence[str]:
        try:
            symtab = gdb.find_pc_line(address).symtab
            path = symtab.fullname() if symtab is not None else ""
        except (gdb.error, RuntimeError):
            return ()
        if path and path not in self._texts:
            self._texts[path] = self._read(path, symtab.objfile.filename or "")
        return self._texts.get(path, ())

    def begin(self, address: int) -> Optional[Tuple[str, int]]:
        functions = functions_at(address)
        return _place(functions[-1]) if functions else None

    def _read(self, path: str, program: str) -> Sequence[str]:
        shown = printable(path)
        # no device and no pipe: a path of debug information may name anything
        if not os.path.isfile(path):
            self._missing.append(shown)
            return ()
        try:
            if os.path.getsize(path) > _LARGEST:
                self._remarks.append("%s is too large for a source file: not shown" % shown)
                return ()
            content = read_file(path)
            newer = os.path.getmtime(path) > os.path.getmtime(program)
        except FileError as error:
            self._remarks.append(printable(str(error)))
            return ()
        except OSError:
            newer = False  # the program's file is gone, which others say
        if newer:
            name, built = os.path.basename(shown), os.path.basename(printable(program))
            self._remarks.append("%s is newer than %s: lines may have moved" % (name, built))
        lines = content.decode("utf-8", "surrogateescape").split("\n")
        return [printable(line.rstrip("\r").expandtabs(_TAB)) for line in lines]


def _calls(address: int) -> Tuple[Optional[Tuple[str, int]], ...]:
    # GDB gives the symbol of a function that is inlined the file and line of the call
    return tuple(_place(function) for function in functions_at(address)[:-1])


def _place(function: gdb.Symbol) -> Optional[Tuple[str, int]]:
    if function.symtab is None or not function.line:
        return None
    return printable(function.symtab.filename), int(function.line)

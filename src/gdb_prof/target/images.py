"""The ELF files that GDB has loaded, where they lie, and whether they are still the same."""

from __future__ import annotations

import dataclasses
import hashlib
import os
import re
from typing import Any, Dict, List, Optional, Tuple

import gdb
from elftools.elf.elffile import ELFFile

from gdb_prof.errors import FileError, ProgramError
from gdb_prof.profile.program.functions import FunctionMap
from gdb_prof.profile.program.image import Image, Symbol

_SECTION = re.compile(r"^\s*(0x[0-9a-f]+) - (0x[0-9a-f]+) is (\S+)(?: in (.*))?$")

_Identity = Tuple[int, int, int]


@dataclasses.dataclass(frozen=True)
class Program:
    """All loaded images together.

    `remarks` are for a report: a file that changed since GDB read it, a stripped one.
    """

    images: Tuple[Tuple[Image, Dict[int, int]], ...]
    functions: FunctionMap
    build_id: str
    name: str
    entry: Optional[int]
    remarks: Tuple[str, ...]

    def is_code(self, address: int) -> bool:
        return self.functions.at(address) is not None

    def find(self, name: str) -> Optional[Symbol]:
        """A symbol of that name at its run-time address, in the first image that has it."""
        for image, offsets in self.images:
            symbol = image.find(name)
            if symbol is not None:
                return symbol._replace(address=symbol.address + offsets.get(symbol.section, 0))
        return None

    def find_static(self, name: str) -> Optional[Symbol]:
        """`find`, also under the names that link-time optimisation gives to a file's own."""
        return self.find(name) or next(
            (found for n in range(4) for found in [self.find("%s.lto_priv.%d" % (name, n))] if found), None
        )

    def variables(self) -> List[Symbol]:
        """The sized data objects of all images at their run-time addresses."""
        return [
            symbol._replace(address=symbol.address + offsets.get(symbol.section, 0))
            for image, offsets in self.images
            for symbol in image.variables()
        ]


class Images:
    """Reads each file once. One for the life of the GDB."""

    def __init__(self) -> None:
        self._at_load: Dict[str, Optional[_Identity]] = {}
        self._parsed: Dict[Tuple[str, Optional[_Identity]], Image] = {}
        self._digests: Dict[Tuple[str, Optional[_Identity]], str] = {}
        self._program: Optional[Tuple[Any, Program]] = None
        for objfile in gdb.objfiles():
            self._note(objfile)
        gdb.events.new_objfile.connect(lambda event: self._note(event.new_objfile))

    def _note(self, objfile: gdb.Objfile) -> None:
        if objfile.filename:
            self._at_load[objfile.filename] = _identity(objfile.filename)

    def program(self) -> Program:
        """What is loaded now. Raises ProgramError when nothing is."""
        files = [o.filename for o in gdb.objfiles() if o.filename and o.is_valid()]
        files = [f for f in files if not f.startswith("system-supplied")]
        if not files:
            raise ProgramError("no ELF file: load the program's with `file`")
        layout = _layout()
        key = (tuple((f, _identity(f)) for f in files), tuple(sorted(layout.items())))
        if self._program is None or self._program[0] != key:
            self._program = (key, self._read(files, layout))
        return self._program[1]

    def _read(self, files: List[str], layout: Dict[Tuple[str, str], int]) -> Program:
        images: List[Tuple[Image, Dict[int, int]]] = []
        remarks: List[str] = []
        failures: List[str] = []
        main = _main_file() or files[0]
        build_id, name, entry = "", os.path.basename(main), None
        for path in files:
            loaded = self._at_load.get(path)
            now = _identity(path)
            image = self._parsed.get((path, loaded))
            if image is None:
                try:
                    image = Image(path)
                except FileError as error:
                    failures.append(str(error))
                    continue
                self._parsed[path, now] = image
            if now is None:
                remarks.append("%s is gone: its symbols are those read before" % image.name)
            elif loaded is not None and now != loaded:
                remarks.append(
                    "%s has changed since GDB read it: names may be wrong until `file %s`"
                    % (image.name, path)
                )
            offsets = {
                index: layout[path, section.name] - section.address
                for index, section in image.sections.items()
                if (path, section.name) in layout
            }
            images.append((image, offsets))
            if path == main or not build_id:
                build_id, name, entry = self._build_id(path, now, image), image.name, image.entry
        if not images:
            raise ProgramError("no symbols: %s" % failures[0])
        if all(image.stripped for image, _ in images):
            remarks.append(
                "%s has no function symbols (stripped): addresses are grouped by section" % images[0][0].name
            )
        return Program(tuple(images), FunctionMap(images), build_id, name, entry, tuple(remarks + failures))

    def _build_id(self, path: str, identity: Optional[_Identity], image: Image) -> str:
        """The build-id, or where there is none a digest of the code and constants."""
        if image.build_id:
            return image.build_id
        if (path, identity) not in self._digests:
            self._digests[path, identity] = _digest(path)
        return self._digests[path, identity]


def _digest(path: str) -> str:
    digest = hashlib.sha256()
    try:
        with open(path, "rb") as file:
            for section in ELFFile(file).iter_sections():
                if section["sh_flags"] & 0x4 and section["sh_type"] == "SHT_PROGBITS":
                    digest.update(section.data())
    except Exception:  # pyelftools raises many kinds on a damaged file
        return ""
    return "sha256:" + digest.hexdigest()


def _identity(path: str) -> Optional[_Identity]:
    """What tells a rebuilt file from the one before it; None when there is no file."""
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size, status.st_ino


def _main_file() -> str:
    space = gdb.current_progspace()
    return (space.filename if space else None) or ""


def _layout() -> Dict[Tuple[str, str], int]:
    """Where the sections of each file lie, from GDB's own table: (file, section) -> address.

    `info files` names no file for the sections of the main one.
    """
    layout: Dict[Tuple[str, str], int] = {}
    main = _main_file()
    for line in gdb.execute("info files", to_string=True).splitlines():
        match = _SECTION.match(line)
        if match:
            layout[match.group(4) or main, match.group(3)] = int(match.group(1), 16)
    return layout

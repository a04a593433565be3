"""What stands around the sampler in the target: other interrupts, the code, the server.

Registers: ARMv7-M ARM, B3.2 (System Control Space) and B3.4 (NVIC); the same addresses in
v6-M and v8-M. All are read in place, nothing is written.
"""

from __future__ import annotations

import collections
import struct
from typing import Dict, Iterable, List, Mapping, Optional, Tuple

import gdb

from gdb_prof.errors import TargetError
from gdb_prof.profile.circumstances import SAME, Circumstances, Handler
from gdb_prof.profile.program.code import Code
from gdb_prof.profile.program.functions import FunctionMap
from gdb_prof.profile.samples import Profile
from gdb_prof.target import session
from gdb_prof.target.freertos import Kernel
from gdb_prof.target.images import Program
from gdb_prof.target.memory import Memory
from gdb_prof.target.running import settings
from gdb_prof.target.sampler import Info

_ICTR, _SYST_CSR, _VTOR, _AIRCR, _SHPR = 0xE000E004, 0xE000E010, 0xE000ED08, 0xE000ED0C, 0xE000ED18
_ISER, _IPR = 0xE000E100, 0xE000E400
_NMI, _SVCALL, _PENDSV, _SYSTICK = 2, 11, 14, 15
_NOTE = struct.Struct("<III4s")
_CHUNK = 256
_CHUNKS, _HOT = 16, 4
"""Compared: so many pieces of the code, spread over it, and around so many hot addresses."""

_TICKS = (
    *("xTaskIncrementTick", "xPortSysTickHandler"),  # FreeRTOS
    *("sys_clock_announce", "osRtxTick_Handler", "_tx_timer_interrupt", "OSTimeTick"),
)
"""What an RTOS's tick interrupt comes to: FreeRTOS, Zephyr, RTX, ThreadX, uC/OS."""
_DEEP = 3


def circumstances(program: Program, code: Code, info: Info, profile: Profile) -> Circumstances:
    """Of the live, stopped target. What cannot be read stays unknown; nothing is raised."""
    vectors = _vectors()
    own, hidden = _hidden(vectors, info.exception)
    hot = [pc for pc, _ in collections.Counter(profile.pcs).most_common(_HOT)]
    return Circumstances(
        sampler_priority=own,
        hidden=hidden,
        vectors=vectors,
        contents=_contents(program, hot),
        emulator="QEMU" if _is_qemu() else "",
        tick=_tick(program.functions, code, vectors.get(info.exception)),
        idle_tags=_idle_tags(program, profile.tag_names),
    )


def _words(address: int, number: int, what: str) -> Tuple[int, ...]:
    """Raises TargetError."""
    with settings(("mem inaccessible-by-default", "off")):
        return struct.unpack("<%dI" % number, session.read(address, 4 * number, what))


def _vectors() -> Dict[int, int]:
    """The handlers in the vector table that is in use, without the Thumb bit."""
    try:
        lines = (_words(_ICTR, 1, "ICTR")[0] & 0xF) + 1
        table = _words(_VTOR, 1, "VTOR")[0] & ~0x7F
        words = _words(table, 16 + 32 * lines, "the vector table")
    except TargetError:
        return {}
    # A table may be shorter than the controller: what no vector can be ends it.
    return {number: word & ~1 for number, word in enumerate(words) if number and word & 1}


def _hidden(vectors: Dict[int, int], exception: int) -> Tuple[Optional[int], Optional[Tuple[Handler, ...]]]:
    """The sampler's priority, and the enabled interrupts that are at it or above."""
    try:
        lines = (_words(_ICTR, 1, "ICTR")[0] & 0xF) + 1
        enabled = _words(_ISER, lines, "NVIC_ISER")
        priorities = struct.pack("<%dI" % (8 * lines), *_words(_IPR, 8 * lines, "NVIC_IPR"))
        system = struct.pack("<3I", *_words(_SHPR, 3, "SHPR"))
        group = (_words(_AIRCR, 1, "AIRCR")[0] >> 8 & 7) + 1
        ticking = _words(_SYST_CSR, 1, "SYST_CSR")[0] & 3 == 3
    except TargetError:
        return None, None
    if exception < 4:
        return None, None

    def priority(number: int) -> int:
        return system[number - 4] if number < 16 else priorities[number - 16]

    own = priority(exception)
    active = [16 + irq for irq in range(32 * lines) if enabled[irq // 32] >> irq % 32 & 1]
    # Every program has a PendSV and an SVC; only one with a handler of its own uses it. An SVC's time shows
    # in the samples after it.
    shared = {number for number in vectors if list(vectors.values()).count(vectors[number]) > 1}
    active += [_PENDSV] if _PENDSV in vectors and _PENDSV not in shared else []
    active += [_SYSTICK] if ticking else []
    return own, tuple(
        Handler(number, vectors.get(number, 0), priority(number))
        for number in sorted(active)
        if number != exception and priority(number) >> group <= own >> group
    )


def _contents(program: Program, hot: Iterable[int]) -> str:
    """How the target's code compares with the ELF's. The vector table may be patched."""
    other = _other_build_id(program)
    if other:
        return "its build-id is %s…, the file's %s…" % other
    compared = 0
    for start, expected in _pieces(program, hot):
        try:
            there = session.read(start, len(expected), "the code")
        except TargetError:
            continue
        compared += 1
        if there != expected:
            at = next(i for i, (a, b) in enumerate(zip(there, expected)) if a != b) & ~1
            return "at 0x%08x the target has %s, the file %s" % (
                *(start + at, there[at : at + 4].hex(), expected[at : at + 4].hex()),
            )
    return SAME if compared else ""


def _other_build_id(program: Program) -> Optional[Tuple[str, str]]:
    """The build-ids of the target and of the file, where both have one and they differ.

    A note (ELF gABI, Note Section): sizes of name and description, type 3, `GNU`, the id.
    A file may have one that was not put into flash: what is no such note tells nothing.
    """
    for image, offsets in program.images:
        for index, section in image.sections.items():
            note = image.content(index) if section.name == ".note.gnu.build-id" else b""
            if len(note) <= _NOTE.size:
                continue
            try:
                there = session.read(section.address + offsets.get(index, 0), len(note), "the build-id")
            except TargetError:
                continue
            if there != note and there[: _NOTE.size] == note[: _NOTE.size]:
                return there[_NOTE.size :].hex()[:8], note[_NOTE.size :].hex()[:8]
    return None


def _pieces(program: Program, hot: Iterable[int]) -> Iterable[Tuple[int, bytes]]:
    """Pieces of the code in read-only sections: spread over all of it, and around hot addresses."""
    sections: List[Tuple[int, bytes]] = []
    for image, offsets in program.images:
        for index, section in image.sections.items():
            content = image.content(index) if section.executable and not section.writable else b""
            if content:
                sections.append((section.address + offsets.get(index, 0), content))
    total = sum(len(content) for _, content in sections)
    step = max(_CHUNK, total // _CHUNKS)
    for base, content in sections:
        functions = [a for a in range(base, base + len(content), step)]
        for address in [*functions, *hot]:
            found = program.functions.at(address)
            if not base <= address < base + len(content) or found is None or not found.symbol:
                continue  # not code: the vector table among it, which a program may patch
            start = max(address & ~0xF, found.address)
            yield start, content[start - base : min(start + _CHUNK, found.end) - base]


def _is_qemu() -> bool:
    """Asked of its stub by a packet that others answer with nothing (GDB's remote protocol)."""
    try:
        return "ENABLE=" in gdb.execute("maintenance packet qqemu.sstepbits", to_string=True)
    except gdb.error:
        return False


def _tick(functions: FunctionMap, code: Code, vector: Optional[int]) -> str:
    """The RTOS's tick, where the sampler's vector comes to it by direct calls."""
    seen = set()
    reached = [vector] if vector else []
    for _ in range(_DEEP):
        further = []
        for address in reached:
            function = functions.at(address)
            if function is None or function.address in seen:
                continue
            seen.add(function.address)
            if function.name.split(".", 1)[0] in _TICKS:
                return function.name
            further += [i.target for i in code.function(address) if i.target is not None]
        reached = further
    return ""


def _idle_tags(program: Program, names: Mapping[int, str]) -> Tuple[int, ...]:
    """By the kernel's own word, else by the name that it gives the idle task."""
    if not names:
        return ()
    kernel = Kernel(program, Memory())
    try:
        idle = kernel.idle(kernel.tasks())
    except TargetError:
        idle = None
    return (idle.block,) if idle is not None else tuple(t for t, name in names.items() if name == "IDLE")

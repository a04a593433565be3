"""What stands around the sampler in the target: other interrupts, the code, the server.

Registers: Armv7-M ARM, B3.2 (System Control Space) and B3.4 (NVIC); the same addresses in v8-M,
and in v6-M, where ICTR and PRIGROUP do not exist and are read as 0, which is right: 32 interrupts, no
groups. All are read as aligned words, since v6-M has no other access to them; none is written.
"""

from __future__ import annotations

import collections
import dataclasses
import struct
from typing import Dict, FrozenSet, Iterable, List, Mapping, Optional, Tuple

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

_ICTR, _SYST_CSR, _VTOR, _AIRCR = 0xE000E004, 0xE000E010, 0xE000ED08, 0xE000ED0C
_SHPR2, _ISER, _IPR = 0xE000ED1C, 0xE000E100, 0xE000E400
_FIRST_SYSTEM = 8
"""The exception whose priority is the first byte of SHPR2."""
_PENDSV, _SYSTICK, _FIRST_IRQ = 14, 15, 16
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


def circumstances(
    program: Program, code: Code, exception: int, profile: Profile, check: bool = True
) -> Circumstances:
    """Of the live, stopped target. What cannot be read stays unknown; nothing is raised.

    `exception`: the number of the sampler's interrupt; 0 where no interrupt takes the samples.

    Without `check` only what tells sleep from work is read: handlers and idle tasks.
    """
    controller = _controller()
    vectors = _vectors(controller)
    idle = _idle_tags(program, profile.tag_names)
    if not check:
        return Circumstances(vectors=vectors, idle_tags=idle)
    own, hidden = _hidden(controller, vectors, exception)
    return Circumstances(
        sampler_priority=own,
        hidden=hidden,
        vectors=vectors,
        contents=_contents(program, _hottest(profile)),
        emulator="QEMU" if _is_qemu() else "",
        tick=_tick(program.functions, code, vectors.get(exception)),
        idle_tags=idle,
    )


@dataclasses.dataclass(frozen=True)
class _Controller:
    """The NVIC: the enabled exceptions, the priority byte of each from 8 on, and the bits of a
    priority that do not count for preemption."""

    enabled: FrozenSet[int]
    priorities: bytes
    group: int

    def priority(self, exception: int) -> int:
        return self.priorities[exception - _FIRST_SYSTEM]


def _words(address: int, number: int, what: str) -> Tuple[int, ...]:
    """Raises TargetError."""
    with settings(("mem inaccessible-by-default", "off")):
        return struct.unpack("<%dI" % number, session.read(address, 4 * number, what))


def _controller() -> Optional[_Controller]:
    try:
        lines = min((_words(_ICTR, 1, "ICTR")[0] & 0xF) + 1, 15)
        enabled = _words(_ISER, lines, "NVIC_ISER")
        system = _words(_SHPR2, 2, "SHPR")
        irqs = _words(_IPR, 8 * lines, "NVIC_IPR")
        group = (_words(_AIRCR, 1, "AIRCR")[0] >> 8 & 7) + 1
        ticking = _words(_SYST_CSR, 1, "SYST_CSR")[0] & 3 == 3
    except TargetError:
        return None
    numbers = {_FIRST_IRQ + irq for irq in range(32 * lines) if enabled[irq // 32] >> irq % 32 & 1}
    numbers |= {_SYSTICK} if ticking else set()
    return _Controller(frozenset(numbers), struct.pack("<%dI" % (2 + 8 * lines), *system, *irqs), group)


def _vectors(controller: Optional[_Controller]) -> Dict[int, int]:
    """The handlers of the core's own exceptions and of enabled interrupts, without the Thumb bit."""
    wanted = {*range(1, _FIRST_IRQ), *(controller.enabled if controller else ())}
    try:
        table = session.read_system_word(_VTOR, "VTOR") & ~0x7F
        words = struct.unpack(
            "<%dI" % (max(wanted) + 1), session.read(table, 4 * max(wanted) + 4, "the vector table")
        )
    except TargetError:
        return {}
    return {number: words[number] & ~1 for number in sorted(wanted) if words[number] & 1}


def _hidden(
    controller: Optional[_Controller], vectors: Mapping[int, int], exception: int
) -> Tuple[Optional[int], Optional[Tuple[Handler, ...]]]:
    """The sampler's priority, and the enabled interrupts that are at it or above."""
    if controller is None or not _FIRST_SYSTEM <= exception < _FIRST_SYSTEM + len(controller.priorities):
        return None, None
    own, group = controller.priority(exception), controller.group
    # Every program has a PendSV and an SVC; only one with a handler of its own uses it. An SVC's time shows
    # in the samples after it.
    shared = collections.Counter(vectors.values())
    active = set(controller.enabled)
    if shared[vectors.get(_PENDSV, 0)] == 1:
        active.add(_PENDSV)
    return own, tuple(
        Handler(number, vectors.get(number, 0), controller.priority(number))
        for number in sorted(active)
        if number != exception and controller.priority(number) >> group <= own >> group
    )


def _hottest(profile: Profile) -> List[int]:
    histogram = profile.histogram
    if histogram is None:
        return [pc for pc, _ in collections.Counter(profile.pcs).most_common(_HOT)]
    bins = sorted(range(len(histogram.counts)), key=lambda i: -histogram.counts[i])
    return [histogram.base + (i << histogram.shift) for i in bins[:_HOT]]


def _contents(program: Program, hot: Iterable[int]) -> str:
    """How the target's code compares with the ELF's. The vector table may be patched."""
    other = _other_build_id(program)
    if other:
        return "its build-id is %s…, the file's %s…" % other
    compared = 0
    unreadable: List[range] = []
    for section, start, expected in _pieces(program, hot):
        if section in unreadable:
            continue  # locked flash answers each read with a fault
        try:
            there = session.read(start, len(expected), "the code")
        except TargetError:
            unreadable.append(section)
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


def _pieces(program: Program, hot: Iterable[int]) -> Iterable[Tuple[range, int, bytes]]:
    """Pieces of the code in read-only sections, spread over all of it and around hot addresses, each
    with its section. Not of overlays: of those that share an address one at most is there."""
    sections: List[Tuple[range, bytes]] = []
    for image, offsets in program.images:
        for index, section in image.sections.items():
            content = image.content(index) if section.executable and not section.writable else b""
            if content:
                base = section.address + offsets.get(index, 0)
                sections.append((range(base, base + len(content)), content))
    places = [place for place, _ in sections]
    step = max(_CHUNK, sum(map(len, places)) // _CHUNKS)
    for place, content in sections:
        if any(p is not place and p.start < place.stop and place.start < p.stop for p in places):
            continue
        for address in (*place[::step], *hot):
            found = program.functions.at(address)
            if address not in place or found is None or not found.symbol:
                continue  # not code: the vector table among it, which a program may patch
            start, end = max(address & ~0xF, found.address), min(found.end, place.stop)
            yield place, start, content[start - place.start : min(start + _CHUNK, end) - place.start]


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
    usual = tuple(tag for tag, name in names.items() if name == "IDLE")
    if usual:
        return usual
    kernel = Kernel(program, Memory())
    try:
        idle = kernel.idle(kernel.tasks())
    except TargetError:
        return ()
    return (idle.block,) if idle is not None else ()

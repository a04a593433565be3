"""The trace half of the simulated DPU: records, bursts, and the virtual trace buffer (VTB) that they reach.

Invented where the article is silent; each such choice is said where it is made.
"""

from __future__ import annotations

import struct
from typing import Callable, Dict, Optional, Tuple

from dpu_workload import Quirks, Recorded, Truth
from gdb_prof.counters.description import Description, Field

VTB, VTB_SIZE = 0x60000000, 1 << 20
_BURST = 16
_ALIGNMENT = 32
_GARBLE = 0xA5
_LOCKED = ("TMODE", "VTBWM", "BURST_SIZE")


class Fields:
    """Where a description has the fields, looked up once each, and what is in them."""

    def __init__(self, description: Description) -> None:
        self._description = description
        self._found: Dict[Tuple[str, str], Field] = {}
        self._meanings: Dict[Tuple[str, int], str] = {}

    def _field(self, register: str, name: str) -> Field:
        found = self._found.get((register, name)) or self._description.field(register, name)
        assert found is not None and found.lsb is not None, (register, name)
        self._found[register, name] = found
        return found

    def mask(self, register: str, name: str) -> int:
        return self._field(register, name).mask

    def of(self, register: str, name: str, word: int) -> int:
        return self._field(register, name).of(word)

    def meaning(self, register: str, name: str, word: int) -> str:
        """Empty where no code is the field's number."""
        number = self.of(register, name, word)
        if (name, number) not in self._meanings:
            codes = [code.meaning for code in self._description.codes(name) if code.value == number]
            self._meanings[name, number] = codes[0] if codes else ""
        return self._meanings[name, number]


class TraceUnit:
    """Works on the registers in `words`, which the machine has. `step`: which one is being done.

    - EN from 0 to 1 begins at DP_TSA. A start address outside the VTB or not aligned to 32, an end that is
      no later or outside, or a burst size other than 16: nothing is recorded.
    - A record fills a burst buffer. A full burst is under way until the next step, or until TWBA is read as
      busy for the last time; then it is in the VTB, and DP_TW behind it.
    - TMPDIS or the end of EN flushes what is left in the same way. What was under way when they came is lost:
      that is why TWBA has to be waited for.
    - A change of configuration while EN is set or TWBA busy garbles all that reaches the VTB from then on,
      until EN is set anew.
    - Mode single ends at the end address, and request records so from an access at DP_TER on.
    """

    def __init__(
        self, fields: Fields, words: Dict[str, int], truth: Truth, little: bool, quirks: Quirks
    ) -> None:
        self.vtb = bytearray(VTB_SIZE)
        self.step = -1
        self._fields = fields
        self._words = words
        self._truth = truth
        self._order = "<" if little else ">"
        self._quirks = quirks
        self._burst = b""
        self._under_way = b""
        self._busy = 0
        self._was_busy = False
        self._wrapped = self._full = self._requested = self._garbled = False

    def _control(self, name: str, word: Optional[int] = None) -> int:
        """What a field of DP_TC has, or had."""
        return self._fields.of("DP_TC", name, self._words["DP_TC"] if word is None else word)

    def _meaning(self, name: str) -> str:
        return self._fields.meaning("DP_TC", name, self._words["DP_TC"])

    # -- the debugger's side ---------------------------------------------------------

    def status(self) -> int:
        """DP_SR, as a read of it finds it: time passes with it."""
        busy = self._busy > 0 or (self._was_busy and self._quirks.twba_stays)
        if self._busy > 0 and not self._quirks.twba_stays:
            self._busy -= 1
            if self._busy == 0:
                self._land()
        flags = {"TWBA": busy, "WRAP": self._wrapped and self._quirks.wrap_flag}
        return sum(self._fields.mask("DP_SR", name) for name, value in flags.items() if value)

    def configured(self, register: str, before: int) -> None:
        """DP_TSA, DP_TEA or DP_TER was written."""
        if self._words[register] != before and (self._enabled() or self._busy):
            self._garbled = True

    def controlled(self, before: int) -> None:
        """DP_TC was written."""
        was_on, was_paused = self._control("EN", before), self._control("TMPDIS", before)
        if was_on and self._enabled():
            changed = [n for n in _LOCKED if self._control(n) != self._control(n, before)]
            self._garbled = self._garbled or bool(changed)
        if self._enabled() and not was_on:
            self._begin()
        elif was_on and not was_paused and (not self._enabled() or self._paused()):
            self._flush()
        elif was_on and not self._enabled() and self._busy:
            self._under_way, self._busy = b"", 0

    def _begin(self) -> None:
        self._land()
        self._burst = b""
        self._wrapped = self._full = self._requested = self._garbled = False
        self._words["DP_TW"] = self._words["DP_TSA"]

    def _flush(self) -> None:
        left, self._burst = self._burst, b""
        if left and self._quirks.pads_flush:
            left = left.ljust(self._room(), b"\0")
        self._send(left)

    # -- the program's side ----------------------------------------------------------

    def stepped(self, step: int) -> None:
        """What is under way arrives while the program runs."""
        self.step = step
        self._land()

    def accessed(self, address: int) -> None:
        if self._enabled() and address == self._words["DP_TER"]:
            self._requested = True

    def record(self, kind: str, content: Callable[[], Tuple[int, ...]]) -> None:
        """`content`: its words, asked for where it is recorded."""
        if not self._records(kind):
            return
        words = content()
        self._truth.records.append(Recorded(kind, words, self.step, self._garbled))
        self._burst += struct.pack("%s%dI" % (self._order, len(words)), *words)
        while len(self._burst) >= self._room():
            self._land()
            if self._full:
                self._burst = b""
                break
            room = self._room()
            burst, self._burst = self._burst[:room], self._burst[room:]
            self._send(burst)

    def _records(self, kind: str) -> bool:
        if not self._enabled() or self._paused() or self._full or self._meaning("TMODE") != kind:
            return False
        if self._meaning("VTBWM") not in ("overwrite", "single", "request") or not self._sound():
            return False
        return self._meaning("VTBWM") != "request" or self._requested

    def _sound(self) -> bool:
        start, end = self._words["DP_TSA"], self._words["DP_TEA"]
        inside = VTB <= start < end < VTB + VTB_SIZE
        return inside and start % _ALIGNMENT == 0 and self._meaning("BURST_SIZE") == "16"

    def _enabled(self) -> bool:
        return bool(self._control("EN"))

    def _paused(self) -> bool:
        return bool(self._control("TMPDIS"))

    # -- bursts ----------------------------------------------------------------------

    def _room(self) -> int:
        """To the next burst's boundary, where a flush has left an incomplete one."""
        return _BURST - (self._words["DP_TW"] + len(self._under_way)) % _BURST

    def _send(self, content: bytes) -> None:
        self._under_way = content
        self._busy = self._quirks.twba_reads
        self._was_busy = self._was_busy or self._busy > 0
        if self._busy == 0:
            self._land()

    def _land(self) -> None:
        content, self._under_way, self._busy = self._under_way, b"", 0
        if self._garbled:
            content = bytes(byte ^ _GARBLE for byte in content)
        start, beyond = self._words["DP_TSA"], self._words["DP_TEA"] + 1
        for at in range(0, len(content), 4):
            pointer = self._words["DP_TW"]
            if self._full or not VTB <= pointer <= VTB + VTB_SIZE - 4:
                return
            self.vtb[pointer - VTB : pointer - VTB + 4] = content[at : at + 4]
            self._words["DP_TW"] = pointer + 4
            if pointer + 4 >= beyond:
                if self._meaning("VTBWM") == "overwrite":
                    self._words["DP_TW"], self._wrapped = start, True
                else:
                    self._full = True

"""What can be counted, by the names that the user writes."""

from __future__ import annotations

import dataclasses
import difflib
import functools
from typing import Dict, List, Optional, Sequence, Tuple

from gdb_prof.counters.cortexm import dwt
from gdb_prof.counters.cortexm.counter import CCNTR, CYCCNT
from gdb_prof.counters.cortexm.pmu import CHAIN
from gdb_prof.counters.description import Code, Description, packaged
from gdb_prof.counters.registers import Setting
from gdb_prof.errors import UsageError
from gdb_prof.printable import printable

_FIELD = "EVENT"
_MOST = 0xFFFF
_CHAINS = "CHAIN joins two counters to one of 32 bits: that is done without being asked"


@dataclasses.dataclass(frozen=True)
class Chosen:
    """`dwt`: events of its counters. `ccntr`: the PMU's cycle counter. `pmu`: by name, as
    shown, the event's name or number."""

    dwt: Tuple[str, ...] = ()
    ccntr: bool = False
    pmu: Tuple[Tuple[str, Setting], ...] = ()


@functools.lru_cache(maxsize=None)
def packaged_once(name: str) -> Description:
    """What the package knows of `dwt` or `pmu`, which nobody completes."""
    return packaged(name, name.upper())


def names(pmu: Description) -> List[str]:
    """All that can be asked for."""
    return [*dwt.REGISTERS, CCNTR, *(code.meaning for code in _codes(pmu))]


def chosen(words: Sequence[str], pmu: Description) -> Chosen:
    """Each once. Raises UsageError for what is no event."""
    own: List[str] = []
    events: Dict[str, Setting] = {}
    ccntr = False
    by_name = {code.meaning: code for code in _codes(pmu)}
    for word in words:
        if word.lower() in dwt.REGISTERS:
            own.append(word.lower())
        elif word.lower() == CCNTR:
            ccntr = True
        elif word.upper() in by_name:
            events[word.upper()] = word.upper()
        elif word.upper() == CHAIN:
            raise UsageError(_CHAINS)
        else:
            number = _number(word)
            if number is None:
                raise UsageError(_unknown(word, names(pmu)))
            name = name_of(pmu, number)
            if name == CHAIN:
                raise UsageError(_CHAINS)
            events[name] = name if name in by_name else number
    return Chosen(tuple(dict.fromkeys(own)), ccntr, tuple(events.items()))


def name_of(pmu: Description, number: int) -> str:
    """Of an event's number; the number where it has no name, or more than one."""
    codes = [code for code in pmu.codes(_FIELD) if code.value == number]
    return codes[0].meaning if len(codes) == 1 else "0x%04x" % number


def meaning(pmu: Description, name: str) -> str:
    """What an event counts, or empty."""
    if name in dwt.MEANINGS:
        return dwt.MEANINGS[name]
    if name == CCNTR:
        return dwt.MEANINGS[CYCCNT]
    return next((code.fact.note for code in pmu.codes(_FIELD) if code.meaning == name), "")


def _codes(pmu: Description) -> Tuple[Code, ...]:
    return tuple(code for code in pmu.codes(_FIELD) if code.meaning != CHAIN)


def _number(word: str) -> Optional[int]:
    try:
        number = int(word, 0)
    except ValueError:
        return None
    return number if 0 <= number <= _MOST else None


def _unknown(word: str, known: Sequence[str]) -> str:
    written = {name.upper(): name for name in known}
    alike = [written[near] for near in difflib.get_close_matches(word.upper(), list(written), 2, 0.7)]
    said = "is it %s?" % " or ".join(alike) if alike else "see `help counters start`"
    return "no event %s (names, or numbers of 0 to 0xffff): %s" % (printable(word), said)

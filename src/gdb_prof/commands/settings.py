"""`set prof …`, `set rtos-trace …`: what stays from one command to the next."""

from __future__ import annotations

from typing import Sequence

import gdb

from gdb_prof.counters.description import address
from gdb_prof.target.recorder import Settings


class _Set(gdb.Command):
    """Settings of gdb_prof."""

    def __init__(self, prefix: str) -> None:
        super().__init__("set " + prefix, gdb.COMMAND_DATA, gdb.COMPLETE_NONE, True)


class _Show(gdb.Command):
    """Settings of gdb_prof; alone it shows all of them."""

    def __init__(self, prefix: str, names: Sequence[str]) -> None:
        self._prefix = prefix
        self._names = names
        super().__init__("show " + prefix, gdb.COMMAND_DATA, gdb.COMPLETE_NONE, True)

    def invoke(self, argument: str, from_tty: bool) -> None:
        if argument:
            raise gdb.GdbError(
                "show %s: no setting %s: there are %s" % (self._prefix, argument, ", ".join(self._names))
            )
        for name in self._names:
            gdb.write(gdb.execute("show %s %s" % (self._prefix, name), to_string=True))


def prefixes(prefix: str, names: Sequence[str]) -> None:
    """`set PREFIX` and `show PREFIX`, which lists the settings of these names."""
    _Set(prefix)
    _Show(prefix, names)


class Address(gdb.Parameter):
    """`set PREFIX base`: where a unit's registers lie; 0 is `not given`."""

    def __init__(self, prefix: str, unit: str, help_text: str) -> None:
        self._what = "the address of the %s's registers" % unit
        self.set_doc = "Set %s." % self._what
        self.show_doc = "Show %s." % self._what
        self.__doc__ = help_text
        self._prefix = prefix
        self._good = 0
        super().__init__(prefix + " base", gdb.COMMAND_DATA, gdb.PARAM_ZUINTEGER)
        self.value = 0

    def get_set_string(self) -> str:
        given, self.value = int(str(self.value)), self._good
        try:
            self._good = address(hex(given))
        except ValueError as error:
            raise gdb.GdbError("set %s base: %s" % (self._prefix, error)) from None
        self.value = self._good
        return ""

    def get_show_string(self, value: str) -> str:
        shown = "0x%08x" % int(value) if value != "0" else "not given (0)"
        return "T%s is %s." % (self._what[1:], shown)


class _Number(gdb.Parameter):
    """A whole number; 0 is `not given`."""

    def __init__(self, name: str, summary: str, help_text: str) -> None:
        self.set_doc = "Set %s." % summary
        self.show_doc = "Show %s." % summary
        self.__doc__ = help_text
        self._summary = summary
        super().__init__(name, gdb.COMMAND_DATA, gdb.PARAM_ZUINTEGER)
        self.value = 0

    def get_set_string(self) -> str:
        return ""

    def get_show_string(self, value: str) -> str:
        return "%s is %s." % (
            self._summary[0].upper() + self._summary[1:],
            value if value != "0" else "not given (0)",
        )


def register() -> None:
    prefixes("prof", ("clock-hz", "shift"))
    prefixes("rtos-trace", ("clock-hz", "tick-hz"))
    _Number(
        "prof clock-hz",
        "the clock of the sampler's timer, in Hz",
        "Counts a second of the clock that feeds the sampler's timer, before its prescaler.\n"
        "0: SysTick counts at SystemCoreClock, where the program has that variable; other\n"
        "timers are reported in ticks.",
    )
    _Number(
        "prof shift",
        "the width of a histogram's bins, as a power of two of bytes",
        "Needed only for a firmware whose `prof_hist` comes without `prof_info`:\n"
        "4 is 16 bytes a bin, the first one at `_stext`.",
    )
    _Number(
        "rtos-trace clock-hz",
        "the clock that stamps trace records, in Hz",
        "Counts a second. 0: what the trace says, else its tick records give the scale; without\n"
        "either, times are counts.",
    )
    _Number(
        "rtos-trace tick-hz",
        "the kernel's tick rate, in Hz",
        "configTICK_RATE_HZ. 0: what the trace or the program's debug information says, else 1000.",
    )


def clock_hz() -> int:
    return int(gdb.parameter("prof clock-hz") or 0)


def trace() -> Settings:
    """The user's word on a trace's rates."""
    return Settings(
        int(gdb.parameter("rtos-trace clock-hz") or 0), int(gdb.parameter("rtos-trace tick-hz") or 0)
    )


def shift() -> int:
    return int(gdb.parameter("prof shift") or 0)

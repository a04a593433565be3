"""`set prof …`, `set rtos-trace …`: what stays from one command to the next."""

from __future__ import annotations

import gdb

from gdb_prof.target.recorder import Settings


class _Prefix(gdb.Command):
    """Settings of gdb_prof."""

    def __init__(self, words: str) -> None:
        super().__init__(words, gdb.COMMAND_DATA, gdb.COMPLETE_NONE, True)


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
    for prefix in ("set prof", "show prof", "set rtos-trace", "show rtos-trace"):
        _Prefix(prefix)
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

"""`set prof …`: what stays from one command to the next."""

from __future__ import annotations

import gdb


class _SetProf(gdb.Command):
    """Settings of the profiler."""

    def __init__(self, verb: str) -> None:
        super().__init__("%s prof" % verb, gdb.COMMAND_DATA, gdb.COMPLETE_NONE, True)


class _Number(gdb.Parameter):
    """A whole number; 0 is `not given`."""

    def __init__(self, name: str, summary: str, help_text: str) -> None:
        self.set_doc = "Set %s." % summary
        self.show_doc = "Show %s." % summary
        self.__doc__ = help_text
        self._summary = summary
        super().__init__("prof " + name, gdb.COMMAND_DATA, gdb.PARAM_ZUINTEGER)
        self.value = 0

    def get_set_string(self) -> str:
        return ""

    def get_show_string(self, value: str) -> str:
        return "%s is %s." % (
            self._summary[0].upper() + self._summary[1:],
            value if value != "0" else "not given (0)",
        )


def register() -> None:
    _SetProf("set")
    _SetProf("show")
    _Number(
        "clock-hz",
        "the clock of the sampler's timer, in Hz",
        "Counts a second of the clock that feeds the sampler's timer, before its prescaler.\n"
        "0: SysTick counts at SystemCoreClock, where the program has that variable; other\n"
        "timers are reported in ticks.",
    )
    _Number(
        "shift",
        "the width of a histogram's bins, as a power of two of bytes",
        "Needed only for a firmware whose `prof_hist` comes without `prof_info`:\n"
        "4 is 16 bytes a bin, the first one at `_stext`.",
    )


def clock_hz() -> int:
    return int(gdb.parameter("prof clock-hz") or 0)


def shift() -> int:
    return int(gdb.parameter("prof shift") or 0)

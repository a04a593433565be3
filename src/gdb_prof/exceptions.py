"""The names of exceptions by their numbers (Armv6-M ARM, B1.5.2; Armv7-M ARM, B1.5.2; Armv8-M ARM, B3.8)."""

from __future__ import annotations

THREAD = 0
FIRST_INTERRUPT = 16
_NAMES = {
    **{THREAD: "thread", 1: "Reset", 2: "NMI", 3: "HardFault"},
    **{4: "MemManage", 5: "BusFault", 6: "UsageFault", 7: "SecureFault"},
    **{11: "SVCall", 12: "DebugMonitor", 14: "PendSV", 15: "SysTick"},
}


def name_of(number: int) -> str:
    """`SysTick`, `IRQ 6`."""
    if number >= FIRST_INTERRUPT:
        return "IRQ %d" % (number - FIRST_INTERRUPT)
    return _NAMES.get(number, "exception %d" % number)

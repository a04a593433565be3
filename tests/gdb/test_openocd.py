"""Debian's OpenOCD in front of a simulated Cortex-M4: attaching, and every source of samples."""

from __future__ import annotations

import re
import time
from typing import Iterator, List, Tuple

import pytest

from openocd import SHARES, OpenOcd, openocd
from running import elf, rows, within

DEMCR, DWT_CTRL, ITM_TER, ITM_TCR = 0xE000EDFC, 0xE0001000, 0xE0000E00, 0xE0000E80
BUSY = 1 << 23
DHCSR, C_HALT = 0xE000EDF0, 2


@pytest.fixture
def server() -> Iterator[OpenOcd]:
    with openocd(elf("three_loops")) as server:
        yield server


# -- the model -----------------------------------------------------------------------


def test_attaching_halts_the_core_where_it_is(server: OpenOcd) -> None:
    output = server.gdb("info registers pc lr", "backtrace")
    found = {name: int(value, 16) for name, value in re.findall(r"^(pc|lr) +0x(\w+)", output, re.MULTILINE)}
    assert found == {"pc": server.core.registers[15], "lr": server.core.registers[14]}
    assert re.search(r"in run \(\)", output) or found["lr"] == 0xFFFFFFFF, output


def test_memory_is_that_of_the_elf(server: OpenOcd) -> None:
    output = server.gdb(
        "compare-sections .text", "print/x SystemCoreClock", "set var laps = 77", "print laps"
    )
    assert "Section .text, range" in output and "matched" in output
    assert "= 0xa037a00" in output and "$2 = 77" in output, output


def test_breakpoints_are_met_in_the_order_of_the_loops(server: OpenOcd) -> None:
    output = server.gdb(
        *("monitor reset halt", "maintenance flush register-cache", "tbreak main", "continue"),
        *("break hot_b", "break hot_c", "continue", "continue", "continue"),
    )
    met = re.findall(r"[Bb]reakpoint (\d), (?:0x\w+ in )?(\w+) \(", output)
    assert met == [("1", "main"), ("2", "hot_b"), ("3", "hot_c"), ("2", "hot_b")], output


# -- the linked sampler --------------------------------------------------------------


def test_the_linked_sampler_is_called_and_read(server: OpenOcd) -> None:
    output = server.gdb(
        *("info registers", "python print('== called')", "prof start -period 2013 -limit 10000"),
        *("info registers", "python print('== returned')", "continue", "prof dump", "prof status"),
    )
    before, after = output.split("== called")[0], output.split("== called")[1].split("== returned")[0]
    assert _registers(before) and _registers(before) == _registers(after)
    assert "prof: 10,000 samples are taken" in output
    table = rows(output)
    assert sum(table.values()) == 10_000, output
    for name, share in SHARES.items():
        assert within(table.get(name, 0), 10_000, share), (name, output)
    assert re.search(r"^state +stopped$", output, re.MULTILINE), output


def _registers(output: str) -> List[Tuple[str, str]]:
    return re.findall(r"^(\w+) +(0x\w+) ", output, re.MULTILINE)


def test_what_interrupted_the_sampler_at_its_limit_is_below_it(server: OpenOcd) -> None:
    output = server.gdb("prof start -period 2013 -limit 100", "continue", "backtrace")
    assert re.search(r"#0 .*\n#1 +<signal handler called>\n#2 .* (hot_[abc]|run) \(", output), output


# -- halting -------------------------------------------------------------------------


def test_halting_gives_the_shares_of_the_core(server: OpenOcd) -> None:
    output = server.gdb("prof start -source halt -samples 400", "prof dump")
    table = rows(output)
    assert sum(table.values()) == 400, output
    for name in ("hot_a", "hot_b", "hot_c"):
        assert within(table.get(name, 0), 400, SHARES[name]), (name, output)


@pytest.mark.parametrize(("every", "seconds", "most"), [(10, 0.7, 3), (1, 0.15, 4)])
def test_slow_halts_end_nothing_and_are_sampled_once(
    server: OpenOcd, monkeypatch: pytest.MonkeyPatch, every: int, seconds: float, most: int
) -> None:
    """An interrupt is then sent again. OpenOCD keeps that one, and halts the core as soon as it runs again,
    where nothing is to be sampled; nor is the user's next `continue` to end there."""
    samples, halts, write = 18, 0, server.core.write

    def slow(address: int, value: int, size: int) -> None:
        nonlocal halts
        if address == DHCSR and value & C_HALT and not server.core.halted:
            halts += 1
            if halts % every == 0:
                time.sleep(seconds)
        write(address, value, size)

    monkeypatch.setattr(server.core, "write", slow)
    output = server.gdb(
        *(f"prof start -source halt -samples {samples}", "prof dump"),
        *("python print('== continued')", "tbreak hot_c", "continue"),
    )
    recorded, continued = output.split("== continued")
    assert f"prof: {samples} samples by halting" in recorded and "interrupted" not in recorded, output
    assert any("not running when halt was requested" in line for line in server.log), server.log
    assert "Temporary breakpoint" in continued and "SIGINT" not in continued, output
    attached = 1
    assert 1 <= halts - attached - samples <= most, halts


def test_halting_with_backtrace_shows_who_called(server: OpenOcd) -> None:
    output = server.gdb("prof start -source halt -samples 60 -backtrace", "prof callers hot_a")
    assert "60 samples by halting" in output
    assert re.search(r"\d %.*\brun\b", output), output


# -- the model's own quirks, on which tests of others rest ----------------------------


def test_the_locked_itm_takes_nothing(server: OpenOcd) -> None:
    server.gdb(f"set *(unsigned *) {ITM_TER:#x} = 5")
    assert server.core.word(ITM_TER) == 0
    server.gdb("set *(unsigned *) 0xe0000fb0 = 0xc5acce55", f"set *(unsigned *) {ITM_TER:#x} = 5")
    assert server.core.word(ITM_TER) == 5


def test_without_trace_enable_the_units_read_as_zero_and_take_nothing(server: OpenOcd) -> None:
    ctrl = f"*(unsigned *) {DWT_CTRL:#x}"
    output = server.gdb(
        *(f"print/x {ctrl}", f"set *(unsigned *) {DEMCR:#x} = 0", f"print/x {ctrl}", f"set {ctrl} = 1"),
    )
    assert re.findall(r"\$\d = (0x\w+)", output) == ["0x40000000", "0x0"]
    assert server.core.word(DWT_CTRL) == 0x40000000

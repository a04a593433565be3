"""Debian's OpenOCD in front of a simulated Cortex-M4: attaching, and every source of samples."""

from __future__ import annotations

import re
from typing import Dict, Iterator, List, Tuple

import pytest
from cortex_m4 import Quirks
from openocd import SHARES, OpenOcd, openocd

from running import complaint, elf, functions_of, rows, within

DEMCR, DWT_CTRL, ITM_TER, ITM_TCR = 0xE000EDFC, 0xE0001000, 0xE0000E00, 0xE0000E80
TPIU = 0xE0040000
ACPR, SPPR, FFCR = 0x010, 0x0F0, 0x304
PCSAMPLENA, POSTCNT = 1 << 12, 0x1FE
BUSY = 1 << 23
SWO = "prof start -source swo -clock 168000000 -baud 2000000"


@pytest.fixture
def server() -> Iterator[OpenOcd]:
    with openocd(elf("three_loops")) as server:
        yield server


def trace_registers(server: OpenOcd, tpiu: int = TPIU) -> Dict[str, int]:
    """As they are now, by name."""
    places = {"DWT_CTRL": DWT_CTRL, "ITM_TER": ITM_TER, "ITM_TCR": ITM_TCR}
    places.update({"TPIU_SPPR": tpiu + SPPR, "TPIU_ACPR": tpiu + ACPR, "TPIU_FFCR": tpiu + FFCR})
    return {name: server.core.word(address) for name, address in places.items()}


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


# -- the core's own samples over SWO -------------------------------------------------


def test_swo_sets_the_trace_registers(server: OpenOcd) -> None:
    found = trace_registers(server)
    server.gdb(SWO + " -tap 1024 -postcnt 9 -ports 0,31", "detach")
    assert found == {
        "DWT_CTRL": 0x40000000,
        "ITM_TER": 0,
        "ITM_TCR": 0,
        "TPIU_SPPR": 1,
        "TPIU_ACPR": 0,
        "TPIU_FFCR": 0x102,
    }
    # NUMCOMP 4, PCSAMPLENA, SYNCTAP 1, CYCTAP, POSTINIT and POSTPRESET 9, CYCCNTENA
    assert trace_registers(server) == {
        "DWT_CTRL": 0x4000_0000 | PCSAMPLENA | 1 << 10 | 1 << 9 | 9 << 5 | 9 << 1 | 1,
        "ITM_TER": 0x8000_0001,
        # TraceBusID 1, timestamps of 64 cycles, DWTENA, SYNCENA, TSENA, ITMENA
        "ITM_TCR": 1 << 16 | 3 << 8 | 0xF,
        "TPIU_SPPR": 2,
        "TPIU_ACPR": 168_000_000 // 2_000_000 - 1,
        "TPIU_FFCR": 0x100,
    }


def test_swo_sets_the_period_before_it_is_in_use(server: OpenOcd) -> None:
    server.gdb(SWO + " -tap 64 -postcnt 15")
    values = [value for address, value in server.core.writes if address == DWT_CTRL]
    first = next(n for n, value in enumerate(values) if value & PCSAMPLENA)
    assert values[first - 1] & POSTCNT == 0x1FE and values[first] & POSTCNT == 0x1FE


def test_swo_writes_to_no_lock_but_that_of_the_itm(server: OpenOcd) -> None:
    server.gdb(SWO, "prof stop")
    assert {address for address, _ in server.core.writes if address & 0xFFF == 0xFB0} == {0xE0000FB0}


def test_prof_stop_puts_the_trace_registers_back(server: OpenOcd) -> None:
    before = trace_registers(server)
    output = server.gdb(SWO, "prof stop")
    assert trace_registers(server) == before, output


@pytest.mark.parametrize(
    "name, address, bits",
    [("TPIU_ACPR", TPIU + ACPR, 2), ("DWT_CTRL", DWT_CTRL, PCSAMPLENA), ("ITM_TCR", ITM_TCR, 8)],
)
def test_a_bit_that_does_not_take_is_told_and_all_put_back(name: str, address: int, bits: int) -> None:
    with openocd(elf("three_loops"), quirks=Quirks(stuck={address: bits})) as server:
        before = trace_registers(server)
        said = complaint(server.gdb(SWO), "prof start")
        assert said.startswith("prof start: %s at 0x%08x did not take 0x" % (name, address))
        assert trace_registers(server) == before


def test_a_part_with_its_trace_port_elsewhere() -> None:
    """As on an STM32H7, whose SWO unit is at 0x5c003000."""
    with openocd(elf("three_loops"), quirks=Quirks(tpiu=0x5C003000)) as server:
        said = complaint(server.gdb(SWO), "prof start")
        assert said.startswith("prof start: no trace port unit at 0xe0040000") and "-tpiu-base" in said
        server.gdb(SWO + " -tpiu-base 0x5c003000")
        assert trace_registers(server, 0x5C003000)["TPIU_ACPR"] == 83


def test_a_core_without_trace_hardware() -> None:
    with openocd(elf("three_loops"), quirks=Quirks(trace=False)) as server:
        output = server.gdb(SWO)
    assert "no trace hardware answers here" in complaint(output, "prof start")


# -- halting -------------------------------------------------------------------------


def test_halting_gives_the_shares_of_the_core(server: OpenOcd) -> None:
    output = server.gdb("prof start -source halt -samples 400", "prof dump")
    table = rows(output)
    assert sum(table.values()) == 400, output
    for name in ("hot_a", "hot_b", "hot_c"):
        assert within(table.get(name, 0), 400, SHARES[name]), (name, output)


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


def test_without_trace_enable_the_units_read_as_zero(server: OpenOcd) -> None:
    output = server.gdb(f"set *(unsigned *) {DEMCR:#x} = 0", f"output/x *(unsigned *) {DWT_CTRL:#x}")
    assert output.endswith("0x0") or "0x0" in output.splitlines()[-1]
    assert functions_of(server.elf)

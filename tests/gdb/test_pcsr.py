"""DWT_PCSR read while the program runs: by OpenOCD, by its Tcl server, by a non-stop server."""

from __future__ import annotations

import os
import re
import signal
import socket
from typing import Iterator

import pytest

import running
from cortex_m4 import CortexM4, Quirks
from nonstop_stub import NonStopStub
from openocd import SHARES, OpenOcd, openocd
from running import complaint, elf, functions_of, rows, started, within

DEMCR, TRCENA = 0xE000EDFC, 1 << 24
PC = 15
WAYS = ("OpenOCD", "OpenOCD's Tcl server", "a non-stop server")


@pytest.fixture(params=["monitor", "tcl"])
def server_and_options(request: pytest.FixtureRequest) -> "Iterator[tuple[OpenOcd, str]]":
    with openocd(elf("three_loops"), quirks=Quirks(lap_s=0.2)) as server:
        yield server, "" if request.param == "monitor" else " -tcl-port %d" % server.tcl_port


def sampled(way: str, quirks: Quirks, *commands: str) -> str:
    """What GDB printed, attached in this way; `-source pcsr` is put into the commands for `PCSR`."""
    program = elf("three_loops")
    if way == "a non-stop server":
        with NonStopStub(CortexM4(program, SHARES, quirks)) as stub:
            attached = ["set non-stop on", stub.connect]
            typed = [command.replace("PCSR", "-source pcsr") for command in commands]
            return running.gdb(f"file {program}", *attached, *typed, target=False).stdout
    with openocd(program, quirks=quirks) as server:
        option = " -tcl-port %d" % server.tcl_port if "Tcl" in way else ""
        return server.gdb(*(command.replace("PCSR", "-source pcsr" + option) for command in commands))


@pytest.mark.parametrize("way", WAYS)
def test_five_thousand_samples_have_the_shares_of_the_core(way: str) -> None:
    output = sampled(way, Quirks(), "prof start PCSR -samples 5000", "prof dump")
    assert f"5,000 samples by DWT_PCSR through {way}, " in output, output
    table = rows(output)
    assert sum(table.values()) == 5_000, output
    for name, share in SHARES.items():
        assert within(table.get(name, 0), 5_000, share), (name, output)


@pytest.mark.parametrize("way", WAYS)
def test_a_core_that_sleeps_a_third_of_the_time(way: str) -> None:
    output = sampled(way, Quirks(asleep=1 / 3), "prof start PCSR -samples 3000", "prof dump")
    match = re.search(r"([\d,]+) +\(?asleep or unavailable", output)
    assert match, output
    assert within(int(match.group(1).replace(",", "")), 3_000, 1 / 3), output


def test_the_target_is_left_stopped_and_gdb_knows_where(
    server_and_options: "tuple[OpenOcd, str]",
) -> None:
    server, option = server_and_options
    output = server.gdb(
        "info registers pc", f"prof start -source pcsr -samples 50{option}", "info registers pc", "backtrace"
    )
    assert server.core.halted
    before, after = re.findall(r"^pc +0x(\w+)", output, re.MULTILINE)
    assert int(after, 16) == server.core.registers[PC], (before, output)
    assert re.search(r"^#0 .*hot_|^#0 .*run", output, re.MULTILINE), output


def test_the_trace_enable_is_put_back(server_and_options: "tuple[OpenOcd, str]") -> None:
    server, option = server_and_options
    output = server.gdb(
        f"set *(unsigned *) {DEMCR:#x} = 0x400", f"prof start -source pcsr -samples 50{option}"
    )
    assert "50 samples by DWT_PCSR" in output
    written = [value for address, value in server.core.writes if address == DEMCR]
    assert written[-3:] == [0x400, 0x400 | TRCENA, 0x400]


def test_the_users_settings_are_as_before(server_and_options: "tuple[OpenOcd, str]") -> None:
    server, option = server_and_options
    shown = ("show mem inaccessible-by-default", "show language", "info breakpoints")
    output = server.gdb(
        *("break main", "python print('== before')", *shown, "python print('== sampled')"),
        *(f"prof start -source pcsr -samples 50{option}", "python print('== after')", *shown),
        "python print('== end')",
    )
    before, _, after = re.findall(r"== (?:before|sampled|after)\n(.*?)(?=\n==)", output, re.DOTALL)
    assert "breakpoint" in before and before == after, output


def test_a_mean_interval_is_kept(server_and_options: "tuple[OpenOcd, str]") -> None:
    """300 intervals of 2.5 to 7.5 ms: their sum spreads by 25 ms. A busy machine makes it more, never less."""
    server, option = server_and_options
    output = server.gdb(f"prof start -source pcsr -rate 200 -samples 300{option}")
    rate = re.search(r"([\d,]+) a second", output)
    assert rate and int(rate.group(1)) <= 200 / (1 - 3.5 * 0.025 / 1.5), output


def test_seconds_end_it(server_and_options: "tuple[OpenOcd, str]") -> None:
    server, option = server_and_options
    output = server.gdb(f"prof start -source pcsr -seconds 0.3{option}", "prof dump")
    assert re.search(r"prof: [\d,]+ samples by DWT_PCSR", output), output
    assert "after" not in output and server.core.halted, output


# -- breakpoints ---------------------------------------------------------------------


@pytest.mark.parametrize("way", WAYS[1:])
def test_a_breakpoint_ends_it_with_what_there_is(way: str) -> None:
    output = sampled(
        *(way, Quirks(lap_s=0.2), "break hot_b", "prof start PCSR -samples 1000000", "info registers pc"),
    )
    assert re.search(
        r"^prof: stopped by breakpoint 1 after [1-9][\d,]* of 1,000,000 samples", output, re.M
    ), output
    assert "%#x" % functions_of(elf("three_loops"))["hot_b"][0] in output


@pytest.mark.parametrize("way", WAYS[1:])
def test_a_breakpoint_whose_condition_is_false_does_not(way: str) -> None:
    output = sampled(way, Quirks(lap_s=0.2), "break hot_b if laps == 77", "prof start PCSR -seconds 1")
    assert "samples by DWT_PCSR" in output and "stopped by" not in output, output


def test_by_monitor_they_are_not_active_and_it_says_so() -> None:
    commands = ("break hot_b", "break hot_c", "prof start PCSR -samples 200")
    output = sampled("OpenOCD", Quirks(), *commands)
    assert "prof: breakpoints 1, 2 were not active while it was sampled" in output
    assert "200 samples by DWT_PCSR" in output


# -- Ctrl-C --------------------------------------------------------------------------


def test_ctrl_c_keeps_what_there_is(server_and_options: "tuple[OpenOcd, str]") -> None:
    server, option = server_and_options
    output = interrupted(server.core, server.connect, option=option)
    assert re.search(r"prof: interrupted after [1-9][\d,]* of 1,000,000 samples", output), output
    assert sum(rows(output).values()) == 100, output
    assert server.core.halted


def test_ctrl_c_under_non_stop_keeps_what_there_is() -> None:
    with NonStopStub(CortexM4(elf("three_loops"), SHARES)) as stub:
        output = interrupted(stub.core, "set non-stop on", stub.connect)
        assert stub.core.halted
    assert re.search(r"prof: interrupted after [1-9][\d,]* of 1,000,000 samples", output), output
    assert sum(rows(output).values()) == 100, output


def interrupted(core: CortexM4, *attach: str, option: str = "") -> str:
    """Ctrl-C once 200 samples are read, then a second run of 100; what GDB printed."""
    process = started(
        *(f"file {elf('three_loops')}", *attach),
        *(f"prof start -source pcsr -samples 1000000{option}", "prof status"),
        *(f"prof start -source pcsr -samples 100{option}", "prof dump"),
    )
    while core.polled < 200:
        assert process.poll() is None
    os.kill(process.pid, signal.SIGINT)
    return process.communicate(timeout=60)[0]


# -- where it cannot be --------------------------------------------------------------


def test_a_core_without_the_register_is_told() -> None:
    output = sampled("OpenOCD", Quirks(pcsr=False), "prof start PCSR -samples 10")
    assert complaint(output, "prof start").startswith(
        "prof start: DWT_PCSR at 0xe000101c reads 0: this core has none"
    )


def test_a_core_without_trace_hardware_is_told() -> None:
    output = sampled("OpenOCD", Quirks(trace=False), "prof start PCSR -samples 10")
    assert "no trace hardware answers here" in complaint(output, "prof start")


def test_qemu_has_no_trace_hardware() -> None:
    output = running.gdb("prof start -source pcsr -samples 10", program=elf("three_loops")).stdout
    assert "no trace hardware answers here" in complaint(output, "prof start")


def test_a_port_where_nobody_listens() -> None:
    with socket.socket() as taken, openocd(elf("three_loops")) as server:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
        output = server.gdb(f"prof start -source pcsr -tcl-port {port}")
    assert f"no Tcl server at 127.0.0.1:{port}" in complaint(output, "prof start")


def test_another_openocd_is_not_taken_for_this_one() -> None:
    with openocd(elf("three_loops")) as server, openocd(elf("three_loops")) as other:
        output = server.gdb(f"prof start -source pcsr -tcl-port {other.tcl_port}")
    assert "is not the Tcl server of the OpenOCD that GDB is connected to" in complaint(output, "prof start")
    assert other.core.polled == 0

"""`prof start -source swo`: the core's registers, through the real OpenOCD, and what it records."""

from __future__ import annotations

import contextlib
import random
import re
import socket
import threading
from pathlib import Path
from typing import Iterator, List, Tuple

import pytest

from cortex_m4 import Quirks
from openocd import OpenOcd, openocd
from running import complaint, elf, functions_of, gdb, rows
from swo_streams import stream_of

LOOPS = elf("three_loops")
DEMCR, DWT_CTRL = 0xE000EDFC, 0xE0001000
ITM_TER, ITM_TPR, ITM_TCR, ITM_LAR = 0xE0000E00, 0xE0000E40, 0xE0000E80, 0xE0000FB0
TPIU = 0xE0040000
ACPR, SPPR, FFCR = 0x010, 0x0F0, 0x304
PCSAMPLENA, EXCTRCENA, CYCEVTENA = 1 << 12, 1 << 16, 1 << 22
CLOCK = 168_000_000
START = "prof start -source swo -clock %d" % CLOCK


@pytest.fixture
def server() -> Iterator[OpenOcd]:
    with openocd(LOOPS) as server:
        yield server


def left(server: OpenOcd, *commands: str) -> str:
    """GDB lets the target go with the trace on, which quitting does not."""
    return server.gdb(*commands, "detach")


def written(server: OpenOcd, address: int) -> List[int]:
    return [value for to, value in server.core.writes if to == address]


def period(ctrl: int) -> int:
    """Cycles from sample to sample, as the Armv7-M ARM has it (C1.8.7)."""
    return (1024 if ctrl >> 9 & 1 else 64) * ((ctrl >> 1 & 0xF) + 1)


def test_the_registers_are_such_that_the_core_samples(server: OpenOcd) -> None:
    output = left(server, START + " -tap 1024 -postcnt 15 -baud 2000000")
    assert "prof: sampling by DWT over SWO, one per 16,384 cycles (97,524 ns)" in output
    word = server.core.word
    assert word(DEMCR) >> 24 & 1
    assert word(TPIU + SPPR) == 2 and word(TPIU + ACPR) == CLOCK // 2_000_000 - 1
    assert word(TPIU + FFCR) & 3 == 0, "the formatter is off"
    assert word(ITM_TCR) & 0xF == 0xF, "on, with DWT's packets, timestamps and synchronisation"
    assert word(ITM_TCR) >> 16 & 0x7F, "a trace ID"
    ctrl = word(DWT_CTRL)
    assert ctrl & PCSAMPLENA and ctrl & 1 and ctrl >> 10 & 3 and not ctrl & (EXCTRCENA | CYCEVTENA)
    assert period(ctrl) == 16_384


def test_their_values_to_the_bit(server: OpenOcd) -> None:
    left(server, START + " -tap 1024 -postcnt 9 -ports 0,31 -baud 2000000")
    word = server.core.word
    # NUMCOMP 4, PCSAMPLENA, SYNCTAP 1, CYCTAP, POSTINIT and POSTPRESET 9, CYCCNTENA
    assert word(DWT_CTRL) == 4 << 28 | PCSAMPLENA | 1 << 10 | 1 << 9 | 9 << 5 | 9 << 1 | 1
    # TraceBusID 1, timestamps of 64 cycles, DWTENA, SYNCENA, TSENA, ITMENA
    assert word(ITM_TCR) == 1 << 16 | 3 << 8 | 0xF
    assert word(ITM_TER) == 0x80000001 and word(TPIU + FFCR) == 0x100


def test_they_are_written_in_the_order_that_the_units_demand(server: OpenOcd) -> None:
    left(server, START + " -tap 64 -postcnt 4")
    off, choice, on = written(server, DWT_CTRL)
    assert not off & (PCSAMPLENA | CYCEVTENA) and not choice & (PCSAMPLENA | CYCEVTENA)
    assert period(choice) == period(on) == 320 and on & PCSAMPLENA
    order = [address for address, _ in server.core.writes]
    assert order.index(ITM_LAR) < order.index(ITM_TCR) and dict(server.core.writes)[ITM_LAR] == 0xC5ACCE55
    disabled, enabled = written(server, ITM_TCR)
    assert not disabled & 1 and enabled & 1
    assert not written(server, ITM_TPR) and not written(server, TPIU + 0xFB0)


@pytest.mark.parametrize("tap", [64, 1024])
@pytest.mark.parametrize("postcnt", [0, 1, 7, 15])
def test_each_choice_is_the_period_that_is_said(tap: int, postcnt: int, server: OpenOcd) -> None:
    output = left(server, "%s -tap %d -postcnt %d" % (START, tap, postcnt))
    said = re.search(r"one per ([\d,]+) cycles", output)
    assert said and int(said.group(1).replace(",", "")) == tap * (postcnt + 1)
    assert period(server.core.word(DWT_CTRL)) == tap * (postcnt + 1)


@pytest.mark.parametrize("rate, cycles", [(20_000, 8192), (164_062, 1024), (2_625_000, 64), (9_000, 16_384)])
def test_a_rate_is_the_nearest_period_there_is(rate: int, cycles: int, server: OpenOcd) -> None:
    left(server, "%s -rate %d" % (START, rate))
    assert period(server.core.word(DWT_CTRL)) == cycles


def test_exceptions_and_ports_are_enabled_when_asked_for(server: OpenOcd) -> None:
    left(server, START + " -exceptions -ports 0,31")
    assert server.core.word(DWT_CTRL) & EXCTRCENA
    assert server.core.word(ITM_TER) == 0x80000001 and server.core.word(ITM_TPR) == 0


BEFORE = {
    DWT_CTRL: 0x40000000 | CYCEVTENA | 1 << 9 | 5 << 5 | 3 << 1 | 1,
    ITM_TER: 0x00000010,
    ITM_TCR: 0x00050001,
    TPIU + ACPR: 0x123,
    TPIU + SPPR: 1,
}


def test_stop_puts_back_what_was_there(server: OpenOcd) -> None:
    set_up = ["set {unsigned}0x%x = 0x%x" % (DEMCR, 1 << 24), "set {unsigned}0x%x = 0xc5acce55" % ITM_LAR]
    for address, value in BEFORE.items():
        if address == DWT_CTRL:  # what POSTCNT reloads, then what uses it
            set_up.append("set {unsigned}0x%x = 0x%x" % (address, value & ~CYCEVTENA))
        set_up.append("set {unsigned}0x%x = 0x%x" % (address, value))
    output = server.gdb(
        *set_up, START + " -exceptions -ports 3 -tap 64 -postcnt 9", "x/wx 0x%x" % DWT_CTRL, "prof stop"
    )
    assert "prof: the trace registers are as they were" in output, output
    assert period(int(re.findall(r"0xe0001000:\s+(0x\w+)", output)[-1], 16)) == 640
    assert {address: server.core.word(address) for address in BEFORE} == BEFORE


@pytest.mark.parametrize(
    "stuck, name",
    [
        ({DWT_CTRL: PCSAMPLENA}, "DWT_CTRL"),
        ({TPIU + ACPR: 0xFF}, "TPIU_ACPR"),
        ({TPIU + SPPR: 2}, "TPIU_SPPR"),
        ({ITM_TCR: 8}, "ITM_TCR"),
    ],
)
def test_a_bit_that_does_not_take_is_named_and_all_is_as_before(stuck: "dict[int, int]", name: str) -> None:
    with openocd(LOOPS, quirks=Quirks(stuck=stuck)) as server:
        places = (DWT_CTRL, ITM_TCR, ITM_TER, TPIU + ACPR, TPIU + SPPR, TPIU + FFCR)
        server.gdb("set {unsigned}0x%x = 0x%x" % (DEMCR, 1 << 24))
        before = [server.core.word(place) for place in places]
        output = server.gdb(START)
        line = complaint(output, "prof start")
        assert re.fullmatch(r"prof start: %s at 0x\w{8} did not take 0x\w{8}: it reads 0x\w{8}" % name, line)
        assert [server.core.word(place) for place in places] == before


def test_a_trace_port_elsewhere_is_asked_for_and_used() -> None:
    with openocd(LOOPS, quirks=Quirks(tpiu=0x5C003000)) as server:
        assert complaint(left(server, START), "prof start").startswith(
            "prof start: no trace port unit at 0xe0040000: its component ID reads 00 00 00 00, expected"
        )
        assert "sampling by DWT" in left(server, START + " -tpiu-base 0x5c003000")
        assert server.core.word(0x5C003000 + SPPR) == 2


NONE = "no trace hardware answers here: DEMCR.TRCENA does not stay set (QEMU has none): sample by a timer"


def test_a_core_without_trace_units_is_told_in_one_line() -> None:
    with openocd(LOOPS, quirks=Quirks(trace=False)) as server:
        output = server.gdb(START, "prof status")
        assert complaint(output, "prof start") == "prof start: " + NONE
        assert "not started" in output


@pytest.mark.parametrize("board", ["netduinoplus2", "mps2-an505"])
def test_qemu_has_none(board: str) -> None:
    output = gdb(START, "prof start -source swo", program=elf("three_loops", board), board=board).stdout
    lines = [line for line in output.splitlines() if line.startswith("prof start: ")]
    assert lines == ["prof start: " + NONE] * 2 and "Traceback" not in output


@contextlib.contextmanager
def serving(raw: bytes, close: bool = False) -> Iterator[int]:
    """The port of a server that sends these bytes to whoever connects, and then keeps the line open."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        held: List[socket.socket] = []

        def serve() -> None:
            with contextlib.suppress(OSError):
                while True:
                    connection, _ = listening.accept()
                    held.append(connection)
                    with contextlib.suppress(OSError):
                        connection.sendall(raw)
                    if close:
                        connection.close()

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield listening.getsockname()[1]
        for connection in held:
            connection.close()
        with contextlib.suppress(OSError):
            listening.shutdown(socket.SHUT_RDWR)
        thread.join(5)


def pcs() -> List[int]:
    functions = functions_of(LOOPS)
    return [
        functions[name][0] for name, n in (("hot_a", 700), ("hot_b", 200), ("hot_c", 100)) for _ in range(n)
    ]


def test_what_a_port_serves_is_recorded_and_is_the_profile(server: OpenOcd, tmp_path: Path) -> None:
    file = tmp_path / "run.swo"
    raw = stream_of(pcs())
    with serving(raw) as port:
        output = server.gdb(
            "%s -port %d -file %s -seconds 0.5" % (START, port, file), "prof dump", "prof save %s.prof" % file
        )
    assert file.read_bytes() == raw
    assert "prof: 1,025 samples are recorded: see `prof dump`" in output, output
    assert rows(output) == {"hot_a": 700, "hot_b": 200, "hot_c": 100}
    assert "one per 14,336 cycles" in output and "25 asleep" in output
    assert not server.core.word(DWT_CTRL) & PCSAMPLENA, "it was stopped at the end"


def test_status_and_dump_on_the_way_then_stop(server: OpenOcd, tmp_path: Path) -> None:
    with serving(stream_of(pcs())) as port:
        output = server.gdb(
            *("%s -port %d" % (START, port), "python import time; time.sleep(0.5)", "prof status"),
            *("prof dump -no-check", "prof start", "prof stop", "prof dump"),
        )
    assert re.search(
        r"^state +sampling\nsource +DWT over SWO\nperiod +one per 14,336 cycles", output, re.M
    ), output
    assert re.search(r"^samples +1,025\noverflows +1$", output, re.M)
    assert output.count("100.00 %") == 2
    assert complaint(output, "prof start") == "prof start: sampling over SWO goes on: `prof stop` first"
    assert "prof: stopped after 1,025 samples, in " in output


def test_dither_changes_the_period_while_nothing_samples(server: OpenOcd) -> None:
    with serving(stream_of(pcs())) as port:
        output = server.gdb(
            "%s -port %d -tap 1024 -postcnt 7 -seconds 1.5 -dither" % (START, port), "prof dump"
        )
    said = re.search(r"one per ([\d,]+)\.\.([\d,]+) cycles", output)
    assert said, output
    ctrls = written(server, DWT_CTRL)
    for before, after in zip(ctrls, ctrls[1:]):
        if period(before) != period(after):
            assert not (before | after) & (PCSAMPLENA | CYCEVTENA)
    sampled = {period(ctrl) for ctrl in ctrls if ctrl & PCSAMPLENA}
    assert len(sampled) >= 2 and min(sampled) >= 8192
    assert int(said.group(1).replace(",", "")) in sampled and int(said.group(2).replace(",", "")) in sampled


def test_openocd_that_cannot_record_says_so_and_leaves_no_file(server: OpenOcd, tmp_path: Path) -> None:
    """Its adapter here captures no trace."""
    file = tmp_path / "run.swo"
    places = (DWT_CTRL, ITM_TCR, TPIU + ACPR, TPIU + SPPR, TPIU + FFCR)
    server.gdb("set {unsigned}0x%x = 0x%x" % (DEMCR, 1 << 24))
    before = [server.core.word(place) for place in places]
    line = complaint(server.gdb("%s -file %s" % (START, file)), "prof start")
    assert line.startswith(
        "prof start: OpenOCD does not record SWO, its own messages say why (can the adapter?)"
    )
    assert not file.exists() and [server.core.word(place) for place in places] == before


def test_the_clock_is_the_programs_or_asked_for(server: OpenOcd) -> None:
    output = server.gdb(
        "prof start -source swo", "prof stop", "set var SystemCoreClock = 0", "prof start -source swo"
    )
    assert "one per 14,336 cycles (85,333 ns)" in output
    assert complaint(output, "prof start") == (
        "prof start: the core's clock is not known (no SystemCoreClock, or not set yet): give -clock HZ"
    )


WRONG: List[Tuple[str, str]] = [
    (START[11:] + " -dither", "-dither needs -seconds S: the period is changed while the program stands"),
    (START[11:] + " -tap 32", "-tap: invalid choice"),
    (START[11:] + " -postcnt 16", "-postcnt: expected 0 to 15, found '16'"),
    (START[11:] + " -ports 0,40", "-ports: expected numbers 0 to 31 such as 0,31, found '0,40'"),
    (START[11:] + " -rate 100 -tap 64", "-rate and -tap, -postcnt say the same: give one"),
    (
        START[11:] + " -rate 1",
        "1 samples a second are not to be had: from 10,254 to 2,625,000, with a clock of 168,000,000",
    ),
    (START[11:] + " -seconds 1", "-seconds needs -file or -port: else nothing records while it runs"),
    (START[11:] + " -itm-base 0x20000000", "no ITM at 0x20000000: its component ID reads 00 00 00 00"),
    (START[11:] + " -port 99999", "-port: expected a port of 1 to 65535, found '99999'"),
    (START[11:] + " -baud 100", "the trace clock divided by 1680000: the divider goes from 1 to 65536"),
    (START[11:] + " -limit 5", "-limit goes with -source timer; swo takes "),
    (START[11:] + " -file %s" % LOOPS, "%s exists: give another name" % LOOPS),
    ("-clock 5", "-clock goes with -source swo; the timer takes "),
]


@pytest.mark.parametrize("typed, expected", WRONG)
def test_wrong_use_is_answered_in_one_line(typed: str, expected: str, server: OpenOcd) -> None:
    assert complaint(server.gdb("prof start " + typed), "prof start").startswith("prof start: " + expected)


JLINK = '''
import re
import gdb
from gdb_prof.target import swo_probe

buffer = bytearray(open({stream!r}, "rb").read())

def answer(text):
    """As J-Link's manual has it (UM08001, 3.3.4); it holds the bytes from the start on."""
    if text.startswith("qSeggerSWO:read:"):
        size = int(text.split(":")[2], 16)
        part = bytes(buffer[:size])
        del buffer[:size]
        return part.hex()
    return {{"qSeggerSWO:start:0:1e8480": "OK", "qSeggerSWO:stop": "0"}}.get(text) or {{
        "qSeggerSWO:GetNumBytes": "%x" % len(buffer), "qSeggerSWO:GetSpeedInfo:0": "1"}}.get(text, "")

swo_probe._packet = answer
swo_probe.monitor = lambda command: "J-Link"
'''


def test_a_j_link_is_asked_for_its_bytes(server: OpenOcd, tmp_path: Path) -> None:
    """The packets are answered by a stand-in that follows the manual: no J-Link was seen."""
    raw, script, file = stream_of(pcs() * 9), tmp_path / "jlink.py", tmp_path / "run.swo"
    (tmp_path / "raw").write_bytes(raw)
    script.write_text(JLINK.format(stream=str(tmp_path / "raw")))
    output = server.gdb(
        "source %s" % script, "%s -file %s" % (START, file), "prof dump -no-check", "prof stop"
    )
    assert file.read_bytes() == raw
    assert rows(output)["hot_a"] == 9 * 700 and "prof: stopped after 9,225 samples" in output


@pytest.mark.parametrize(
    "said, expected",
    [
        (
            "Black Magic Probe v1.10",
            "Black Magic sends SWO over its own USB interface: `monitor swo enable 2000000`",
        ),
        ("", "this server cannot be told to record SWO: start pyOCD with -O enable_swv=1"),
    ],
)
def test_other_servers_are_not_told_but_the_user_is(
    said: str, expected: str, server: OpenOcd, tmp_path: Path
) -> None:
    pretend = "python from gdb_prof.target import swo_probe; swo_probe.monitor = lambda c: %r" % said
    line = complaint(server.gdb(pretend, "%s -file %s" % (START, tmp_path / "run.swo")), "prof start")
    assert line.startswith("prof start: " + expected)


def test_quitting_gdb_leaves_no_trace_on(server: OpenOcd) -> None:
    before = server.core.word(DWT_CTRL), server.core.word(ITM_TCR), server.core.word(TPIU + SPPR)
    output = server.gdb(START)
    assert "sampling by DWT" in output
    assert (server.core.word(DWT_CTRL), server.core.word(ITM_TCR), server.core.word(TPIU + SPPR)) == before


def test_a_stop_that_fails_is_not_taken_for_done(server: OpenOcd) -> None:
    output = server.gdb(
        "python from gdb_prof.target import core_trace; from gdb_prof.errors import TargetError",
        START,
        "python real = core_trace.CoreTrace._restore",
        "python core_trace.CoreTrace._restore = lambda s, a: (_ for _ in ()).throw(TargetError('cannot write'))",
        "prof stop",
        "python core_trace.CoreTrace._restore = real",
        "prof stop",
    )
    assert complaint(output, "prof stop") == "prof stop: cannot write"
    assert output.index("prof stop: cannot write") < output.index(
        "prof: the trace registers are as they were"
    )
    assert not server.core.word(DWT_CTRL) & PCSAMPLENA


def test_without_a_program_nothing_is_touched(server: OpenOcd) -> None:
    before = server.core.word(DWT_CTRL), server.core.word(ITM_TCR)
    output = server.gdb("file", START)
    assert complaint(output, "prof start").startswith("prof start: no ELF file")
    assert (server.core.word(DWT_CTRL), server.core.word(ITM_TCR)) == before


def test_the_lock_of_the_itm_is_as_it_was(server: OpenOcd) -> None:
    output = server.gdb("x/wx 0xe0000fb4", START, "x/wx 0xe0000fb4", "prof stop", "x/wx 0xe0000fb4")
    assert re.findall(r"0xe0000fb4:\s+(\w+)", output) == ["0x00000003", "0x00000001", "0x00000003"]
    with openocd(LOOPS, quirks=Quirks(tpiu=0x5C003000)) as other:
        other.gdb(START)  # which fails before the ITM is touched
        assert not written(other, ITM_LAR)


def test_what_the_itm_sends_changes_only_while_it_is_off_and_idle(server: OpenOcd) -> None:
    server.gdb(
        *("set {unsigned}0x%x = 0xc5acce55" % ITM_LAR, "set {unsigned}0x%x = 0x10001" % ITM_TCR),
        *(START, "prof stop"),
    )
    order = [(a, v) for a, v in server.core.writes if a in (ITM_TCR, TPIU + SPPR, TPIU + ACPR, TPIU + FFCR)][
        1:
    ]
    on = True
    for address, value in order:
        if address == ITM_TCR:
            on = bool(value & 1)
        else:
            assert not on, order
    assert server.core.word(ITM_TCR) == 0x10001


def test_a_busy_itm_is_waited_for_and_one_that_stays_busy_is_told(server: OpenOcd) -> None:
    busy = "python from gdb_prof.target import core_trace; core_trace._BUSY_READS = %d"
    on = ("set {unsigned}0x%x = 0xc5acce55" % ITM_LAR, "set {unsigned}0x%x = 0x10001" % ITM_TCR)
    output = server.gdb(*on, busy % 2, START)
    assert complaint(output, "prof start") == "prof start: ITM_TCR.BUSY stays set: reset the target"
    assert "sampling by DWT" in server.gdb(*on, busy % 10, START)


def test_noise_from_a_live_target_is_refused_too(server: OpenOcd) -> None:
    with serving(random.Random(1).randbytes(20_000)) as port:
        output = server.gdb("%s -port %d" % (START, port), "python import time; time.sleep(0.5)", "prof dump")
    assert " looks wrong: " in complaint(output, "prof dump")


def test_a_stream_that_ends_is_told(server: OpenOcd) -> None:
    with serving(stream_of(pcs()), close=True) as port:
        output = server.gdb("%s -port %d" % (START, port), "python import time; time.sleep(0.5)", "prof dump")
    assert "! the server of the stream closed the connection" in output
    assert rows(output)["hot_a"] == 700


def test_a_target_that_is_gone_ends_it(server: OpenOcd, tmp_path: Path) -> None:
    file = tmp_path / "run.swo"
    with serving(stream_of(pcs())) as port:
        output = server.gdb(
            *(
                "%s -port %d -file %s" % (START, port, file),
                "python import time; time.sleep(0.5)",
                "disconnect",
            ),
            *("prof status", server.connect, "prof start -source swo", "prof stop"),
        )
    assert "prof: the target that sampled over SWO is gone; what was recorded is in %s" % file in output
    assert "sampling over SWO goes on" not in output
    assert len(file.read_bytes()) == len(stream_of(pcs()))


def test_a_server_that_dies_on_the_way_leaves_what_was_recorded(server: OpenOcd, tmp_path: Path) -> None:
    file = tmp_path / "run.swo"
    die = "python import threading; threading.Timer(1.0, lambda: __import__('socket').create_connection("
    die += "('127.0.0.1', %d)).sendall(b'shutdown\\x1a')).start()" % server.tcl_port
    with serving(stream_of(pcs())) as port:
        output = server.gdb(die, "%s -port %d -file %s -seconds 5" % (START, port, file), "prof dump")
    assert rows(output)["hot_a"] == 700, output
    assert re.search(r"! .* before 5 s had passed", output)

"""`dpu status`, `dpu counters`, `dpu counter`, `dpu size` in GDB, against a simulated unit and without one."""

from __future__ import annotations

import re
from typing import Iterator, List, Tuple

import pytest

import running
from dpu_machine import BASE, ROWS, DebugEv, DpuMachine, Mark, Quirks, Run
from mi import Mi, streamed
from remote_server import DeviceServer
from running import complaint

DESCRIBED = "set dpu description %s" % ROWS
ENABLED = "set {unsigned}0x%08x = 0x1" % BASE
WORKLOAD = [Mark(), Run(1, 1000, {"dcache_thrash": 7}), Run(2, 5_000_000_000), DebugEv()]


def attached(*commands: str, machine: DpuMachine) -> Tuple[str, DeviceServer]:
    """What GDB printed, and the server that it was attached to."""
    with DeviceServer(machine) as server:
        output = running.gdb(server.connect, DESCRIBED, *commands, target=False).stdout
    return output, server


def to(machine: DpuMachine, step: int) -> Tuple[str, str]:
    return "tbreak *0x%x" % machine.address(step), "continue"


def alone(*commands: str) -> str:
    return running.gdb(*commands, target=False).stdout


# -- dpu status ----------------------------------------------------------------------


def test_status_reads_the_unit_once() -> None:
    machine = DpuMachine([])
    without = attached("info registers pc", machine=machine)[1].reads
    output, server = attached("info registers pc", "dpu status", machine=DpuMachine([]))
    assert "DP_CA0C  0x00000000  article     CENM=none" in output
    assert server.reads - without == 1


def test_status_of_the_unit_elsewhere_and_in_either_byte_order() -> None:
    machine = DpuMachine([], little=False)
    machine.words["DP_TSA"] = 0x60000020
    output, _ = attached("set dpu byte-order big", "dpu status", machine=machine)
    assert "dpu: registers at 0x50000000 (documented: the simulation), big-endian" in output
    assert "DP_TSA   0x60000020  documented" in output


def test_status_says_where_the_base_comes_from() -> None:
    output, _ = attached("set dpu base 0x50000000", "dpu status", machine=DpuMachine([]))
    assert "dpu: registers at 0x50000000 (set dpu base), little-endian" in output


def test_what_does_not_answer_is_one_line() -> None:
    output, _ = attached("dpu status", machine=DpuMachine([], quirks=Quirks(faults=True)))
    assert complaint(output, "dpu status").startswith("dpu status: cannot read DP_CR at 0x50000000: ")


# -- dpu counter and dpu counters ----------------------------------------------------


def test_a_counter_is_set_in_order_and_counts_what_happens() -> None:
    machine = DpuMachine(WORKLOAD)
    output, _ = attached(
        ENABLED,
        "dpu counter a0 -event dcache_thrash -start mark -stop debugev",
        *to(machine, 4),
        "dpu counters",
        machine=machine,
    )
    assert machine.writes == [
        ("DP_CR", 1),
        ("DP_CA0C", 0),
        ("DP_CA0V", 0x7FFFFFFF),
        ("DP_CA0C", 0x10C08000),
    ]
    assert "dpu: A0 counts dcache_thrash from mark to debugev, oneshot, filter any\n" in output
    assert "dpu: DP_CA0V = 0x7fffffff, DP_CA0C = 0x10c08000, read back\n" in output
    assert "  rests on article (one on the MSC8251's DPU): CENM.none, " in output
    assert re.search(r"^A0  0x7ffffff8  oneshot  dcache_thrash  mark   debugev +7$", output, re.M), output


def test_more_than_31_bits_by_two_counters() -> None:
    machine = DpuMachine(WORKLOAD)
    output, _ = attached(
        ENABLED,
        "dpu counter A1 -event overflow -start mark -stop debugev",
        "dpu counter A2 -event cycles -start mark -stop debugev -mode extended",
        *to(machine, 4),
        "dpu counters",
        machine=machine,
    )
    assert machine.truth.count("cycles") == 5_000_001_000
    assert "A1 and A2: 5,000,001,000 cycles = 2 overflows * 2^31 + 705,033,704" in output
    assert "dpu: A2 is in mode oneshot, where it does not overflow again and again" in output


def test_counters_are_read_at_once_and_a1_again() -> None:
    setting = (
        "dpu counter A1 -event overflow -start mark -stop debugev",
        "dpu counter A2 -event cycles -start mark -stop debugev -mode extended",
    )
    without = attached(*setting, machine=DpuMachine([]))[1].reads
    assert attached(*setting, "dpu counters", machine=DpuMachine([]))[1].reads - without == 2


def test_a_preset_is_forgotten_where_the_user_writes_the_value() -> None:
    output, _ = attached(
        "dpu counter A0 -event cycles -preset 1000",
        "dpu counters",
        "set {unsigned}0x%x = 900" % (BASE + 0x30),
        "dpu counters",
        machine=DpuMachine([]),
    )
    rows = re.findall(r"^A0  (0x\w+) .* (\S+)$", output, re.M)
    assert rows == [("0x000003e8", "0"), ("0x00000384", "?")]


def test_a_preset_is_forgotten_with_the_connection() -> None:
    with DeviceServer(DpuMachine([])) as first, DeviceServer(DpuMachine([])) as second:
        output = running.gdb(
            *(first.connect, DESCRIBED, "dpu counter A0 -event cycles", "disconnect"),
            *(second.connect, "set {unsigned}0x%x = 0x30000000" % (BASE + 0x2C), "dpu counters"),
            target=False,
        ).stdout
    assert "A0: preset not known: this session did not write it" in output


@pytest.mark.parametrize("little", [True, False])
def test_a_unit_that_is_off_is_switched_on_once(little: bool) -> None:
    machine = DpuMachine([], little=little)
    order = "set dpu byte-order %s" % ("little" if little else "big")
    counter = "dpu counter A0 -event cycles"
    output, _ = attached(order, counter, counter, machine=machine)
    assert output.count("dpu: the unit as a whole was off: DP_CR.EN is set now") == 1
    assert machine.words["DP_CR"] == 1


@pytest.mark.parametrize(
    ("quirks", "end"),
    [
        (Quirks(drops_writes=True), "DP_CA0V at 0x50000030 did not take 0x7fffffff: it reads 0x00000000"),
        (
            Quirks(stuck={"DP_CA0C": 1 << 28}),
            "DP_CA0C at 0x5000002c did not take 0x10008000: it reads 0x00008000",
        ),
    ],
)
def test_what_does_not_take_is_named(quirks: Quirks, end: str) -> None:
    output, _ = attached(
        "dpu counter A0 -event cycles -start mark -stop debugev", machine=DpuMachine([], quirks=quirks)
    )
    assert complaint(output, "dpu counter") == "dpu counter: " + end


def test_a_counter_that_was_only_half_set_is_not_believed() -> None:
    """`immediate` has bit 29, which does not take here, `mark` has not."""
    output, _ = attached(
        *("dpu counter A0 -event cycles -start mark -preset 9", "dpu counters"),
        *("dpu counter A0 -event cycles -start immediate -preset 9", "dpu counters"),
        machine=DpuMachine([], quirks=Quirks(stuck={"DP_CA0C": 1 << 29})),
    )
    assert "DP_CA0C at 0x5000002c did not take 0x30000000" in complaint(output, "dpu counter")
    assert re.findall(r"^A0 .* (\S+)$", output, re.M) == ["0", "?"]


def test_nothing_unverified_is_written_without_force() -> None:
    base = "set dpu base %#x" % BASE
    for force in (False, True):
        machine = DpuMachine([])
        with DeviceServer(machine) as server:  # with the description of the real unit
            output = running.gdb(
                server.connect, base, "dpu counter A0 -raw 0x10008000" + " -force" * force, target=False
            ).stdout
        if force:
            assert machine.writes[-1] == ("DP_CA0C", 0x10008000)
            assert "rests on unverified (memory map of the SmartDSP OS headers)" in output
        else:
            assert machine.writes == []
            assert "nothing is written: unverified (memory map" in complaint(output, "dpu counter")
            assert "-force writes it all the same" in output


# -- without a target ----------------------------------------------------------------


def test_printed_for_the_real_unit_without_a_target() -> None:
    output = alone("dpu counter A0 -event dcache_thrash -start mark -stop debugev -print -c")
    assert "*(volatile uint32_t *)(DPU_BASE + 0x30u) = 0x7fffffffu;" in output
    assert "DPU_CENM(0x1u) | DPU_CE(0x4u) | DPU_CEP(0x0u) | DPU_CDM(0x1u)" in output
    assert "unverified (memory map of the SmartDSP OS headers)" in output.replace("\n  ", " ")


def test_printed_with_a_description_and_a_base() -> None:
    output = alone(DESCRIBED, "dpu counter A0 -event dcache_thrash -start mark -stop debugev -print -c")
    assert "*(volatile uint32_t *)0x5000002cu = 0x10c08000u;" in output


@pytest.mark.parametrize(
    ("command", "end"),
    [
        (
            "dpu counter A0 -event cycles -start mark -stop debugev",
            "where CENM, CE, CEP, CDM lie in DP_CA0C is not known: set dpu description FILE, or give "
            "-raw VALUE, or -print",
        ),
        ("dpu counter C0 -event cycles", "no counter C0: there are A0, A1, A2, B0, B1, B2"),
        ("dpu counter A0 -raw 1 -event cycles", "-raw is the whole control register: it goes without -event"),
        ("dpu counter A0 -event cycles -start mark -stop debugev -c", "-c belongs to -print"),
        ("dpu counter", "the following arguments are required: NAME"),
        ("dpu size -rate 1000", "give -seconds S or -size BYTES"),
        ("dpu size -rate 1e300 -seconds 1e300", "inf records are more than 32 bits of address hold"),
        ("dpu status now", "unknown word now: see `help dpu status`"),
    ],
)
def test_wrong_use_is_one_line(command: str, end: str) -> None:
    words = " ".join(command.split()[:2])
    assert complaint(alone(command), words) == "%s: %s" % (words, end)


def test_without_a_base_or_a_target_the_next_step_is_said() -> None:
    assert complaint(alone("dpu counters"), "dpu counters").endswith(": set dpu base ADDRESS")
    output = alone("set dpu base 0x50000000", "dpu counters")
    assert complaint(output, "dpu counters") == (
        "dpu counters: no target: connect to one first (target remote …)"
    )


def test_completion_offers_what_the_description_has() -> None:
    assert "dpu counter A0 -start watchpoint" in alone("complete dpu counter A0 -start w")
    assert "dpu counter A0 -start immediate" not in alone("complete dpu counter A0 -start i")
    assert "dpu counter A0 -start immediate" in alone(DESCRIBED, "complete dpu counter A0 -start i")


def test_the_size_of_the_articles_example() -> None:
    assert "9,362 records of 28 bytes: 9.36 s at 1,000 a second" in alone("dpu size -rate 1000 -size 0x40000")


@pytest.mark.parametrize("name", ["status", "counters", "counter", "check", "size"])
def test_help_is_narrow(name: str) -> None:
    lines = alone("help dpu " + name).splitlines()
    assert any(line.startswith("Usage: dpu " + name) for line in lines)
    assert max(map(len, lines)) < 80


# -- a front end ---------------------------------------------------------------------


@pytest.fixture
def front_end() -> "Iterator[Tuple[Mi, DpuMachine]]":
    machine = DpuMachine(WORKLOAD)
    with DeviceServer(machine) as server:
        session = Mi("mi2")
        session.console("source gdb_prof")
        session.send("-target-select " + server.connect.split(" ", 1)[1])
        session.console(DESCRIBED)
        yield session, machine
        session.close()


def test_through_mi(front_end: "Tuple[Mi, DpuMachine]") -> None:
    session, machine = front_end
    answers: List[str] = []
    for command in (ENABLED, "dpu counter A0 -event cycles", "dpu counters", "dpu check", "dpu status"):
        records = session.console(command)
        assert records[-1] == "^done", records
        answers.append(streamed(records))
    assert machine.words["DP_CA0V"] == 0x7FFFFFFF
    assert "A0  0x7fffffff  oneshot  cycles" in answers[2]
    assert answers[3].startswith("dpu: nothing found\n")
    assert session.console("dpu counter Z9")[-1].startswith('^error,msg="dpu counter: no counter Z9')

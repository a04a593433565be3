"""`dpu status`, `dpu counters`, `dpu counter`, `dpu size` in GDB, against a simulated unit and without one."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Iterator, List, Tuple

import pytest

import running
from dpu_gdb import DESCRIBED, poke, session, sessions, to_end
from dpu_machine import BASE, DESCRIPTION, ROWS, VTB, DebugEv, DpuMachine, Mark, Quirks, Run
from mi import Mi, streamed
from remote_server import DeviceServer
from running import complaint

WORKLOAD = [Mark(), Run(1, 1000, {"dcache_thrash": 7}), Run(2, 5_000_000_000), DebugEv()]
PAIR = (
    "dpu counter A1 -event overflow -start mark -stop debugev",
    "dpu counter A2 -event cycles -start mark -stop debugev -mode extended",
)
END = to_end(DpuMachine(WORKLOAD))
CLOSE = "DP_CA0C, DP_CA0V put back as before"


def attached(*commands: str, machine: DpuMachine) -> Tuple[str, DeviceServer]:
    """What GDB printed, and the server that it was attached to."""
    with DeviceServer(machine) as server:
        output = running.gdb(server.connect, DESCRIBED, *commands, target=False).stdout
    return output, server


def alone(*commands: str) -> str:
    return running.gdb(*commands, target=False).stdout


def each_alone(*commands: str) -> List[str]:
    """What each says, in one GDB without a target."""
    marked = [part for command in commands for part in ("echo == case\\n", command)]
    return alone(*marked).split("== case\n")[1:]


# -- dpu status ----------------------------------------------------------------------


def test_status_reads_each_group_of_neighbours_once() -> None:
    """DP_CR to DP_RDID; DP_TAC and DP_TBC; the counters of A; those of B; the trace's registers."""
    without = attached("info registers pc", machine=DpuMachine([]))[1].reads
    output, server = attached("info registers pc", "dpu status", machine=DpuMachine([]))
    assert "DP_CA0C  0x00000000  article     CENM=none" in output
    assert server.reads - without == 5


def test_status_says_where_the_base_and_the_byte_order_come_from(tmp_path: Path) -> None:
    rows = tmp_path / "no-order.csv"
    text = ROWS.read_text(encoding="utf-8")
    rows.write_text(
        text.replace("unit,byte_order,little,documented", "unit,byte_order,?,unknown"), "utf-8-sig"
    )
    big = DpuMachine([], little=False)
    big.words["DP_TSA"] = 0x60000020
    outputs = sessions(
        [
            (DpuMachine([]), ["dpu status"]),
            (big, ["set dpu byte-order big", "dpu status"]),
            (DpuMachine([]), ["set dpu base 0x50000000", "dpu status"]),
            (DpuMachine([]), ["set dpu description %s" % rows, "dpu status"]),
        ]
    )
    said = [re.findall(r"^dpu: registers at (.*)$", output, re.MULTILINE) for output in outputs]
    assert said == [
        ["0x50000000 (documented: the simulation), little-endian (documented: the simulation)"],
        ["0x50000000 (documented: the simulation), big-endian (set dpu byte-order)"],
        ["0x50000000 (set dpu base), little-endian (documented: the simulation)"],
        [
            "0x50000000 (documented: the simulation), little-endian as GDB has the target; the unit's is "
            "not known (set dpu byte-order)"
        ],
    ]
    assert "DP_TSA   0x60000020  documented" in outputs[1]


def test_a_byte_order_that_is_gdbs_alone_needs_force(tmp_path: Path) -> None:
    rows = tmp_path / "no-order.csv"
    text = ROWS.read_text(encoding="utf-8")
    rows.write_text(text.replace("unit,byte_order,little,documented", "unit,byte_order,?,unknown"))
    described, counter = "set dpu description %s" % rows, "dpu counter A0 -event cycles"
    machines = [DpuMachine([]) for _ in range(3)]
    refused, forced, given = sessions(
        [
            (machines[0], [described, counter]),
            (machines[1], [described, counter + " -force"]),
            (machines[2], [described, "set dpu byte-order little", counter]),
        ]
    )
    unknown = "unknown (GDB's, little-endian: set dpu byte-order): byte_order"
    assert complaint(refused, "dpu counter") == (
        "dpu counter: nothing is written: %s: -force writes it all the same" % unknown
    )
    assert machines[0].writes == []
    assert "rests on %s\n" % unknown in forced
    assert "byte_order" not in given and machines[2].words["DP_CA0C"] == machines[1].words["DP_CA0C"] != 0


def test_where_no_register_tells_anything_nothing_may_answer() -> None:
    ones = DpuMachine([], quirks=Quirks(ones={name: 0xFFFFFFFF for name in DESCRIPTION.registers}))
    commands = ("dpu status", "dpu counters", "dpu check", "dpu counter A0 -event cycles")
    quiet, full, drops, on = sessions(
        [
            (DpuMachine([]), commands[:3]),
            (ones, commands),
            (DpuMachine([], quirks=Quirks(drops_writes=True)), commands[3:]),
            (DpuMachine([]), [poke("DP_CR", 1), *commands[:3]]),
        ]
    )
    assert quiet.count("every register reads 0: nothing answers at 0x50000000 (set dpu base), or nobody") == 3
    assert full.count("every register reads 0xffffffff: nothing answers at 0x50000000 (set dpu base)") == 4
    assert "nothing answers at 0x50000000" in complaint(drops, "dpu counter")
    assert "nothing answers" not in on


def test_what_does_not_answer_is_one_line() -> None:
    output, _ = attached("dpu status", machine=DpuMachine([], quirks=Quirks(faults=True)))
    assert complaint(output, "dpu status").startswith("dpu status: cannot read DP_CR at 0x50000000: ")


# -- dpu counter and dpu counters ----------------------------------------------------


def test_a_counter_is_set_in_order_and_counts_what_happens() -> None:
    machine = DpuMachine(WORKLOAD)
    output = session(
        machine, "dpu counter a0 -event dcache_thrash -start mark -stop debugev", *END, "dpu counters"
    )
    assert machine.writes == [
        ("DP_CA0C", 0),
        ("DP_CA0V", 0x7FFFFFFF),
        ("DP_CA0C", 0x10C08000),
        ("DP_CR", 1),
    ]
    assert "dpu: A0 counts dcache_thrash from mark to debugev, oneshot, filter any\n" in output
    assert "dpu: DP_CA0V = 0x7fffffff, DP_CA0C = 0x10c08000, read back\n" in output
    assert "  rests on article (one on the MSC8251's DPU): CENM.none, " in output
    assert re.search(r"^A0  0x7ffffff8  oneshot  dcache_thrash  mark   debugev +7$", output, re.M), output


def test_more_than_31_bits_by_two_counters() -> None:
    watch = PAIR[0].replace("mark", "watchpoint")
    few = PAIR[0] + " -preset 2"
    machines = [DpuMachine(WORKLOAD) for _ in range(4)]
    exact, other_start, at_zero, again = sessions(
        [
            (machines[0], [*PAIR, *END, "dpu counters"]),
            (machines[1], [watch, PAIR[1] + " -force", *END, "dpu counters", "dpu check -strict"]),
            (machines[2], [few, PAIR[1], *END, "dpu counters", "dpu check -strict"]),
            (machines[3], [*PAIR, *END, PAIR[1], "dpu counters"]),
        ]
    )
    assert machines[0].truth.count("cycles") == 5_000_001_000
    assert "A1 and A2: 5,000,001,000 cycles = 2 overflows * 2^31 + 705,033,704" in exact
    assert "dpu: A1 counts the overflows of A2, which is in mode oneshot and has none" in exact
    assert "A1 and A2: at least 705,033,704 cycles: A1 starts by another event than A2\n" in other_start
    assert "A1 and A2: at least 5,000,001,000 cycles: A1 has stopped at 0\n" in at_zero
    assert (
        complaint(other_start, "dpu check")
        == complaint(at_zero, "dpu check")
        == "dpu check: 1 finding: extended"
    )
    assert "dpu: A1 had counted before: set it anew, too, or the total is not known\n" in again
    assert "A1 and A2: the total is not known, since a preset is not\n" in again


def test_the_second_of_a_pair_is_refused_where_overflows_would_be_missed() -> None:
    """In either order; the first is set, since the other is not yet."""
    other = PAIR[0].replace("mark", "watchpoint")
    machines = [DpuMachine(WORKLOAD) for _ in range(4)]
    a1_first, a2_first, forced, changed = sessions(
        [
            (machines[0], [other, PAIR[1], *END]),
            (machines[1], [PAIR[1], other, *END]),
            (machines[2], [other, PAIR[1] + " -force", *END]),
            # both are to start by the watchpoint from now on
            (machines[3], [*PAIR, other + " -force", PAIR[1].replace("mark", "watchpoint"), "dpu check"]),
        ]
    )
    why = (
        "A1 starts by another event than A2 and may miss overflows: A1 needs -filter any, and the same -start "
        "and -stop as A2, or -start immediate and -stop none"
    )
    for output, machine, refused in ((a1_first, machines[0], "A2"), (a2_first, machines[1], "A1")):
        assert complaint(output, "dpu counter") == (
            "dpu counter: %s; where both are to be changed, -force the first (it writes what is unverified, too)"
            % why
        )
        assert machine.words["DP_C%sC" % refused] == 0
    assert "dpu: %s\n" % why in forced and "dpu: A2 counts cycles from mark to debugev" in forced
    assert "dpu: A2 counts cycles from watchpoint to debugev" in changed
    assert "lower bound" not in changed[changed.index("dpu: A2 counts cycles from watchpoint") :]


def test_another_counter_than_a1_counts_overflows_by_force_alone_and_makes_no_total() -> None:
    commands = ("dpu counter B1 -event overflow%s", "dpu counter B2 -event cycles -mode extended")
    machines = [DpuMachine(WORKLOAD) for _ in range(2)]
    refused, forced = sessions(
        [
            (machines[0], [commands[0] % ""]),
            (machines[1], [commands[0] % " -force", commands[1], *END, "dpu counters", "dpu check"]),
        ]
    )
    unverified = (
        "unverified (no source: the article has A1 counting overflows, those of A2): B1 counting overflows"
    )
    assert complaint(refused, "dpu counter") == (
        "dpu counter: nothing is written: %s: -force writes it all the same" % unverified
    )
    assert machines[0].writes == []
    assert "  rests on %s\n" % unverified in forced
    assert "dpu: what B2 counts beyond 2^31 is lost: of A2 alone it is known" in forced
    assert "B1 counts overflows: of which counter is not known, and no total is made\n" in forced
    assert "B1 and B2" not in forced and "dpu: 2 findings\n" in forced


def test_counters_are_read_at_once_and_a1_again() -> None:
    """The counters of A, those of B, and A1's value."""
    without = attached(*PAIR, machine=DpuMachine([]))[1].reads
    assert attached(*PAIR, "dpu counters", machine=DpuMachine([]))[1].reads - without == 3


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


def test_a_unit_that_is_off_is_switched_on_once() -> None:
    machines = [DpuMachine([], little=little) for little in (True, False)]
    counter = "dpu counter A0 -event cycles"
    orders = ("set dpu byte-order little", "set dpu byte-order big")
    outputs = sessions([(m, [order, counter, counter]) for m, order in zip(machines, orders)])
    for machine, output in zip(machines, outputs):
        assert output.count("dpu: the unit as a whole was off: DP_CR.EN is set now") == 1
        assert machine.words["DP_CR"] == 1


def test_what_fails_is_put_back_and_said() -> None:
    """`mark` has bit 28 of DP_CA0C, `immediate` bits 29 and 28; oneshot is 0 and trace bit 1."""
    first = "dpu counter A0 -event cycles -start mark -stop debugev -preset 77"
    no_trace, no_switch = Quirks(stuck={"DP_CA0C": 2}), Quirks(stuck={"DP_CR": 1})
    machines = [DpuMachine([], quirks=quirks) for quirks in (no_trace, no_switch, Quirks(drops_writes=True))]
    mode, switch, dropped = sessions(
        [
            (machines[0], [first, "dpu counter A0 -event dcache_miss -mode trace", "dpu counters"]),
            (machines[1], [first]),
            (machines[2], [first]),
        ]
    )
    assert complaint(mode, "dpu counter") == (
        "dpu counter: DP_CA0C at 0x5000002c did not take 0x31000002: it reads 0x31000000; " + CLOSE
    )
    assert (machines[0].words["DP_CA0C"], machines[0].words["DP_CA0V"]) == (0x10008000, 77)
    assert re.findall(r"^A0 .* (\S+)$", mode, re.M) == ["0"]  # its preset is known again
    assert complaint(switch, "dpu counter") == (
        "dpu counter: DP_CR at 0x50000000 did not take 0x00000001: it reads 0x00000000; "
        "DP_CA0C, DP_CA0V, DP_CR put back as before"
    )
    assert machines[1].words["DP_CA0C"] == 0
    assert complaint(dropped, "dpu counter").startswith(
        "dpu counter: DP_CA0V at 0x50000030 did not take 0x0000004d: it reads 0x00000000; "
    )


def test_what_was_not_written_is_not_put_back() -> None:
    """The switch comes after the counter, which fails: it may be the program's."""
    machine = DpuMachine([], quirks=Quirks(stuck={"DP_CA0C": 2}))
    output = session(machine, "dpu counter A0 -event cycles -mode trace")
    assert complaint(output, "dpu counter").endswith("it reads 0x30000000; " + CLOSE)
    assert "DP_CR" not in {register for register, _ in machine.writes}


@pytest.mark.parametrize(("little", "wrong"), [(True, "big"), (False, "little")])
def test_a_wrong_byte_order_is_named_as_the_likely_reason(little: bool, wrong: str) -> None:
    machine = DpuMachine([], little=little)
    output = session(machine, "set dpu byte-order %s" % wrong, "dpu counter A0 -event cycles -mode trace")
    assert complaint(output, "dpu counter") == (
        "dpu counter: DP_CA0V at 0x50000030 did not take 0x7fffffff: it reads 0x7fffff7f; "
        "%s; it fits a unit of the other byte order: set dpu byte-order" % CLOSE
    )


def test_the_help_says_what_counting_beyond_31_bits_needs() -> None:
    """With the packaged description the code of overflow is not known."""
    refused, helped = each_alone(PAIR[0] + " -print", "help dpu counter")
    assert "the code of overflow in CE is not known" in refused
    assert "once the description has the code of overflow" in helped


def test_what_cannot_be_put_back_is_said() -> None:
    machine = DpuMachine([], quirks=Quirks(stuck={"DP_CA0C": 2}))
    machine.words["DP_CA0C"] = 0x11000002
    output = session(machine, "dpu counter A0 -event cycles -mode trace")
    assert complaint(output, "dpu counter").endswith("it reads 0x30000000; DP_CA0C could not be put back")


def test_an_interrupt_halfway_puts_all_back() -> None:
    machine = DpuMachine([])
    machine.words.update({"DP_CA0C": 0x11000002, "DP_CA0V": 77, "DP_CR": 1})
    interrupt = (
        "python from gdb_prof.target.words import Words; write = Words.write; Words.write = lambda s, a, v, w: "
        "(_ for _ in ()).throw(KeyboardInterrupt) if v == 0x7fffffff else write(s, a, v, w)"
    )
    output = session(machine, interrupt, "dpu counter A0 -event cycles")
    assert complaint(output, "dpu counter") == "dpu counter: interrupted; " + CLOSE
    assert (machine.words["DP_CA0C"], machine.words["DP_CA0V"]) == (0x11000002, 77)


def test_a_counter_is_not_set_while_the_trace_is_on() -> None:
    machine = DpuMachine([])
    counter = "dpu counter A0 -event cycles -mode trace"
    setup = "dpu trace setup -start 0x%08x -size 4096" % VTB
    output = session(machine, setup, "dpu trace start", counter)
    assert complaint(output, "dpu counter").startswith(
        "dpu counter: the trace is on (DP_TC = 0x00000005): its records before and after would mean different"
    )
    assert machine.words["DP_CA0C"] == 0
    session(machine, counter + " -force")
    assert machine.words["DP_CA0C"] == 0x30000002


def test_what_will_not_count_is_warned_of() -> None:
    output = session(DpuMachine([]), "dpu counter A0 -event cycles -start none")
    assert "dpu: A0 never starts: its start event is none\n" in output


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
    assert "*(volatile uint32_t *)0x5000002cu = 0x10c08000u;\n/* DP_CR: EN=1 */\n" in output
    assert "*(volatile uint32_t *)0x50000000u |= 0x00000001u;\n" in output


WRONG_USE = {
    "dpu counter A0 -event cycles -start mark -stop debugev": (
        "where CENM, CE, CEP, CDM lie in DP_CA0C is not known: complete the description, or write the "
        "register whole (-raw), or -print"
    ),
    "dpu counter A0 -event icache_miss": (
        "the code of icache_miss in CE is not known: give one of cycles, application_cycles, task_switches, "
        "icache_thrash, dcache_thrash, or a number"
    ),
    "dpu counter C0 -event cycles": "no counter C0: there are A0, A1, A2, B0, B1, B2",
    "dpu counter A0 -raw 1 -event cycles": "-raw is the whole control register: it goes without -event",
    "dpu counter A0 -raw 1 -preset -1": "a preset is 1 to 0x7fffffff, 31 bits, found -1",
    "dpu counter A0 -event cycles -start mark -stop debugev -c": "-c belongs to -print",
    "dpu counter": "the following arguments are required: NAME",
    "dpu size -rate 1000": "give -seconds S or -size BYTES",
    "dpu size -rate 1000 -size 16": "16 bytes hold no record of 28 bytes",
    "dpu size -rate 1e300 -seconds 1e300": "inf records: a buffer has at most 67108864 bytes",
    "dpu status now": "unknown word now: see `help dpu status`",
}


def test_wrong_use_is_one_line() -> None:
    for (command, end), output in zip(WRONG_USE.items(), each_alone(*WRONG_USE)):
        words = " ".join(command.split()[:2])
        said = complaint(output, words)
        assert said == "%s: %s" % (words, end) and len(said) < 200


def test_a_base_is_an_address_of_registers() -> None:
    outputs = each_alone(
        *(
            "set dpu base 0x1001",
            "show dpu base",
            "set dpu base 0xfffffff0",
            "dpu status",
            "dpu counter B0 -raw 1 -print",
        )
    )
    assert complaint(outputs[0], "set dpu base").endswith("a multiple of 4 within 32 bits, found 0x1001")
    assert "not given (0)" in outputs[1]
    assert "at 0xfffffff0 the registers reach beyond 32 bits" in complaint(outputs[3], "dpu status")
    assert "at 0xfffffff0 the registers reach beyond 32 bits" in complaint(outputs[4], "dpu counter")


def test_a_bad_description_is_refused_with_its_line(tmp_path: Path) -> None:
    bad = tmp_path / "bad.csv"
    bad.write_text("# mine\nrecord,task,task:3\n", encoding="utf-8")
    refused, shown = each_alone("set dpu description %s" % bad, "show dpu")
    assert complaint(refused, "set dpu description").startswith(
        "set dpu description: %s:2: a record's field is NAME:BYTES" % bad
    )
    assert shown.splitlines() == [
        "The address of the DPU's registers is not given (0).",
        "The DPU's description is completed by no file.",
        "The byte order of the DPU is auto.",
    ]


def test_a_base_whose_place_is_not_sure_is_not_used_without_a_word(tmp_path: Path) -> None:
    rows, text = tmp_path / "rows.csv", ROWS.read_text(encoding="utf-8")
    said = []
    for status in ("unknown", "article"):
        rows.write_text(
            text.replace("unit,base,0x50000000,documented", "unit,base,0x50000000," + status), "utf-8"
        )
        said.append(session(DpuMachine([]), "set dpu description %s" % rows, "dpu counter A0 -event cycles"))
    assert complaint(said[0], "dpu counter") == (
        "dpu counter: where the unit lies is unknown (0x50000000: the simulation): set dpu base ADDRESS"
    )
    assert "rests on article (the simulation): base\n" in said[1]


def test_printing_needs_no_language_in_particular() -> None:
    counter = "dpu counter A0 -event cycles -start mark -stop debugev -print"
    output = alone("set language rust", counter, "set language ada", counter)
    assert output.count("DP_CA0V = 0x7fffffff") == 2


def test_without_a_base_or_a_target_the_next_step_is_said() -> None:
    no_base, _, no_target = each_alone("dpu counters", "set dpu base 0x50000000", "dpu counters")
    assert complaint(no_base, "dpu counters").endswith(": set dpu base ADDRESS")
    assert complaint(no_target, "dpu counters") == (
        "dpu counters: no target: connect to one first (target remote …)"
    )


def test_completion_offers_what_the_description_has() -> None:
    word, unknown, _, known = each_alone(
        *("complete dpu counter A0 -start w", "complete dpu counter A0 -start i", DESCRIBED),
        "complete dpu counter A0 -start i",
    )
    assert "dpu counter A0 -start watchpoint" in word
    assert "immediate" not in unknown and "dpu counter A0 -start immediate" in known


def test_help_is_narrow() -> None:
    names = ("status", "counters", "counter", "check", "size")
    general, settings, *helps = each_alone(
        "help dpu", "help show dpu", *("help dpu " + name for name in names)
    )
    for name, text in zip(names, helps):
        assert any(line.startswith("Usage: dpu " + name) for line in text.splitlines())
    lines = "\n".join([general, settings, *helps]).splitlines()
    assert max(len(line) for line in lines if not line.startswith('Type "help')) < 80  # that is GDB's


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
    for command in (
        poke("DP_CR", 1),
        "dpu counter A0 -event cycles",
        "dpu counters",
        "dpu check",
        "dpu status",
    ):
        records = session.console(command)
        assert records[-1] == "^done", records
        answers.append(streamed(records))
        told = [record for record in records if "mem inaccessible-by-default" in record]
        assert len(told) == (2 if command.startswith("dpu") else 0)  # off, and on again
    assert machine.words["DP_CA0V"] == 0x7FFFFFFF
    assert "A0  0x7fffffff  oneshot  cycles" in answers[2]
    assert answers[3].startswith("dpu: nothing found but 1 remark\n")
    assert session.console("dpu counter Z9")[-1].startswith('^error,msg="dpu counter: no counter Z9')

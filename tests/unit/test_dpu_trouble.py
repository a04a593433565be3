"""The article's trouble table: each row provoked by register values and named, and nothing when all is right."""

from __future__ import annotations

from typing import Dict, List, Optional, Tuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpu_gdb import REAL, planner
from dpu_machine import BASE
from dpu_machine import DESCRIPTION as SIMULATED
from gdb_prof.counters.description import Description
from gdb_prof.counters.dpu import counters_text, status
from gdb_prof.counters.dpu.configure import Wanted, plan
from gdb_prof.counters.dpu.evidence import Seen, Severity
from gdb_prof.counters.dpu.reading import COUNTERS, reading
from gdb_prof.counters.dpu.trouble import Verdict, examine, text
from gdb_prof.counters.registers import Setting

VTB = 0x60000000
READABLE = [name for name, register in SIMULATED.registers.items() if not register.write_only]


class Bench:
    """Registers, and what this session wrote. All is right as it is made: the unit is on, A0 has counted."""

    def __init__(self) -> None:
        self.values: Dict[str, int] = {name: 0 for name in READABLE}
        self.written: Dict[str, int] = {}
        self.values["DP_CR"] = 1
        self.counter(Wanted("A0", "dcache_thrash", "mark", "debugev"), counted=7)

    def counter(self, wanted: Wanted, counted: int = 1) -> "Bench":
        """Written by this session; since then it has counted so far."""
        for write in plan(planner(), wanted).writes:
            self.written[write.register] = self.values[write.register] = write.value
        self.values["DP_C%sV" % wanted.counter] -= counted
        return self

    def set(self, register: str, *, mine: bool = False, **fields: Setting) -> "Bench":
        """Fields changed, by this session or by another."""
        write = planner().setting(register, fields, self.values[register])
        return self.word(register, write.value, mine)

    def word(self, register: str, value: int, mine: bool = False) -> "Bench":
        self.values[register] = value
        if mine:
            self.written[register] = value
        return self

    def trace(self, recorded: int = 256) -> "Bench":
        """64 KiB at the start of the VTB, enabled, with so many bytes written."""
        self.word("DP_TSA", VTB, mine=True).word("DP_TEA", VTB + 0xFFFF, mine=True)
        self.word("DP_TER", 0, mine=True).word("DP_TW", VTB + recorded)
        return self.set("DP_TC", mine=True, EN=1, TMODE="task", VTBWM="overwrite", BURST_SIZE="16")

    def verdict(
        self,
        busy_reads: int = 1,
        stops: Optional[Dict[str, int]] = None,
        description: Description = SIMULATED,
    ) -> Verdict:
        return examine(Seen(description, self.values, self.written, busy_reads, stops, BASE))

    def found(self) -> List[Tuple[str, str]]:
        """Without remarks: kind and severity."""
        return [(found.kind, found.severity.name) for found in self.verdict().serious]


def pair(counting: Wanted, counted: Wanted, bench: Optional[Bench] = None) -> Bench:
    return (bench or Bench()).counter(counting).counter(counted)


A1 = Wanted("A1", "overflow", "mark", "debugev")
A2 = Wanted("A2", "cycles", "mark", "debugev", "extended")


@pytest.mark.parametrize(
    "bench",
    [
        Bench(),
        Bench().trace(),
        Bench().trace(0).set("DP_SR", WRAP=1),  # wrapped just to its start
        Bench().trace().set("DP_TC", mine=True, EN=0),  # stopped, with something in it
        Bench().trace().set("DP_TC", mine=True, TMPDIS=1),  # paused, likewise
        Bench().trace(0x10000),  # full, the pointer one beyond
        pair(A1, A2),
        Bench().counter(Wanted("B0", "dcache_miss", filter="user"), counted=3),
    ],
)
def test_nothing_is_named_when_all_is_right(bench: Bench) -> None:
    verdict = bench.verdict()
    assert (verdict.findings, verdict.unknown) == ((), ())
    assert text(verdict, 80) == "dpu: nothing found\n"


# -- a counter stays at zero ---------------------------------------------------------


def test_no_start_event() -> None:
    bench = Bench().counter(Wanted("B1", "dcache_miss", "none"), counted=0)
    (found,) = bench.verdict().findings
    assert (found.kind, found.severity) == ("start", Severity.WRONG)
    assert found.summary == "B1 never starts: it has no start event"
    assert found.evidence == ("DP_CB1C = 0x01000000 CENM=none",)


def test_a_configuration_of_all_zeros_never_starts_either() -> None:
    bench = Bench().counter(Wanted("B1", "cycles", "none"), counted=0)
    assert bench.values["DP_CB1C"] == 0
    assert bench.found() == [("start", "WRONG")]


def test_a_counter_that_this_session_set_and_somebody_cleared_never_starts() -> None:
    assert Bench().word("DP_CA0C", 0).found() == [("start", "WRONG"), ("changed", "DOUBT")]


def test_a_counter_that_nobody_has_set_is_no_trouble() -> None:
    bench = Bench()
    bench.written.clear()
    assert bench.word("DP_CA0C", 0).verdict().findings == ()


def test_the_unit_disabled() -> None:
    bench = Bench().set("DP_CR", EN=0).counter(Wanted("B1", "dcache_miss"), counted=0)
    (found,) = bench.verdict().serious
    assert found.kind == "disabled"
    assert found.summary == "the unit is disabled: nothing is counted (B1)"
    assert found.evidence == ("DP_CR = 0x00000000 EN=0", "DP_CB1C = 0x31000000")


def test_the_unit_disabled_after_all_was_counted_is_no_trouble() -> None:
    assert Bench().set("DP_CR", EN=0).found() == []


@pytest.mark.parametrize(
    ("filter", "evidence"),
    [
        ("user", ("DP_CB1C = 0x31080000 CEP=user", "DP_CB1V = 0x7fffffff")),
        ("task", ("DP_CB1C = 0x31180000 CEP=task", "DP_CB1V = 0x7fffffff", "DP_RPID = 0x00000009")),
    ],
)
def test_a_filter_that_lets_nothing_through(filter: str, evidence: Tuple[str, ...]) -> None:
    bench = Bench().word("DP_RPID", 9).counter(Wanted("B1", "dcache_miss", filter=filter), counted=0)
    (found,) = bench.verdict().findings
    assert (found.kind, found.evidence) == ("filter", evidence)


def test_nothing_counted_without_a_reason_in_the_registers_is_a_remark() -> None:
    verdict = Bench().counter(Wanted("B1", "dcache_miss"), counted=0).verdict()
    assert [(found.kind, found.severity) for found in verdict.findings] == [("nothing", Severity.REMARK)]
    assert verdict.serious == ()


def test_whether_a_counter_counts_is_not_known_without_its_preset() -> None:
    bench = Bench()
    bench.written.clear()
    verdict = bench.verdict()
    assert verdict.findings == ()
    assert [(u.kind, u.why) for u in verdict.unknown] == [
        ("whether A0 counts", "this session did not write it")
    ]


# -- the buffer is empty -------------------------------------------------------------


def test_not_enabled() -> None:
    bench = Bench().trace(0).set("DP_TC", mine=True, EN=0)
    (found,) = bench.verdict().findings
    assert found.kind == "trace-disabled"
    assert found.evidence == (
        "DP_TC = 0x00000004 EN=0",
        "DP_TSA = 0x60000000",
        "DP_TW = 0x60000000",
    )


def test_never_enabled_so_that_the_pointer_stands_anywhere() -> None:
    bench = Bench().trace().set("DP_TC", mine=True, EN=0).word("DP_TW", 0)
    assert bench.found() == [("trace-disabled", "WRONG")]


def test_paused() -> None:
    assert Bench().trace(0).set("DP_TC", mine=True, TMPDIS=1).found() == [("paused", "WRONG")]


def test_the_unit_disabled_below_a_trace() -> None:
    assert Bench().trace(0).set("DP_CR", EN=0).found() == [("trace-unit", "WRONG")]


def test_the_event_never_occurs() -> None:
    bench = Bench().trace(0).set("DP_TC", mine=True, VTBWM="request").word("DP_TER", 0x2000, mine=True)
    (found,) = bench.verdict().findings
    assert (found.kind, found.severity) == ("event", Severity.WRONG)
    assert "an access at 0x00002000, never occurred" in found.summary


def test_an_enabled_trace_with_no_record_yet_is_a_remark() -> None:
    assert [found.kind for found in Bench().trace(0).verdict().findings] == ["silent"]


@pytest.mark.parametrize(
    ("start", "end", "what"),
    [
        (VTB + 16, VTB + 0xFFFF, "its start is not aligned to 32 bytes"),
        (VTB - 32, VTB + 0xFFFF, "it lies outside 0x60000000 to 0x600fffff"),
        (VTB, VTB + 0x100000, "it lies outside 0x60000000 to 0x600fffff"),
        (VTB + 64, VTB + 31, "it ends before it begins"),
        (VTB, VTB, "it has 1 byte, less than a burst of 16"),
    ],
)
def test_an_address_where_nothing_is_recorded(start: int, end: int, what: str) -> None:
    bench = Bench().trace(0).word("DP_TSA", start, mine=True).word("DP_TEA", end, mine=True)
    verdict = bench.word("DP_TW", start).verdict()
    (found,) = verdict.findings
    assert (found.kind, found.severity) == ("address", Severity.WRONG)
    assert found.summary.endswith(what)


def test_the_last_byte_of_the_range_may_be_the_end() -> None:
    assert Bench().trace().word("DP_TEA", VTB + 0xFFFFF, mine=True).found() == []


def test_a_write_pointer_outside() -> None:
    assert Bench().trace().word("DP_TW", VTB + 0x10004).found() == [("pointer", "WRONG")]


def test_a_single_buffer_that_is_full_is_a_remark() -> None:
    bench = Bench().trace(0x10000).set("DP_TC", mine=True, VTBWM="single")
    (found,) = bench.verdict().findings
    assert (found.kind, found.severity) == ("full", Severity.REMARK)
    assert found.evidence[1:] == ("DP_TEA = 0x6000ffff", "DP_TW = 0x60010000")
    assert bench.word("DP_TW", VTB + 0xFFF0).verdict().findings == ()


@pytest.mark.parametrize(("field", "number"), [("VTBWM", 3), ("TMODE", 15), ("BURST_SIZE", 1)])
def test_a_code_that_nobody_knows_is_named(field: str, number: int) -> None:
    bench = Bench().trace().set("DP_TC", mine=True, **{field: number})
    (found,) = bench.verdict().serious
    assert (found.kind, found.severity) == ("code", Severity.DOUBT)
    assert found.summary == "what %s = %d means is not known" % (field, number)
    assert found.evidence[0].startswith("DP_TC = 0x%08x %s=" % (bench.values["DP_TC"], field))


# -- data are garbled ----------------------------------------------------------------


@pytest.mark.parametrize(
    ("register", "fields", "word"),
    [
        ("DP_TSA", {}, VTB + 32),
        ("DP_TEA", {}, VTB + 0x7FFF),
        ("DP_TER", {}, 4),
        ("DP_TC", {"TMODE": "sample"}, 0),
        ("DP_TC", {"VTBWM": "single"}, 0),
    ],
)
def test_set_up_anew_while_it_was_enabled(register: str, fields: Dict[str, Setting], word: int) -> None:
    bench = Bench().trace()
    before = bench.values[register]
    bench = bench.set(register, **fields) if fields else bench.word(register, word)
    (found,) = bench.verdict().serious
    assert (found.kind, found.severity) == ("changed", Severity.WRONG)
    assert "this session wrote %s = 0x%08x" % (register, before) in found.evidence
    assert any(line.startswith("%s = 0x%08x" % (register, bench.values[register])) for line in found.evidence)


def test_pausing_and_stopping_by_others_garbles_nothing() -> None:
    assert Bench().trace().set("DP_TC", TMPDIS=1).found() == []
    assert "changed" not in [kind for kind, _ in Bench().trace().set("DP_TC", EN=0).found()]


def test_a_trace_that_somebody_else_ended_may_not_be_flushed() -> None:
    (found,) = Bench().trace().set("DP_TC", EN=0).verdict().findings
    assert (found.kind, found.severity) == ("flush", Severity.DOUBT)
    assert found.summary.startswith("the trace was ended by somebody else, not by dpu trace stop")
    assert found.evidence == (
        "DP_TC = 0x00000004 EN=0",
        "DP_TW = 0x60000100",
        "this session wrote DP_TC = 0x00000005",
    )


@pytest.mark.parametrize(
    "bench",
    [
        Bench().trace().set("DP_TC", mine=True, EN=0),  # stopped by us
        Bench().trace().set("DP_TC", mine=True, TMPDIS=1).set("DP_TC", EN=0),  # flushed by our pause
        Bench().trace(),
    ],
)
def test_a_trace_that_this_session_stopped_or_paused_is_flushed(bench: Bench) -> None:
    assert bench.found() == []


def test_not_flushed() -> None:
    bench = Bench().trace().set("DP_SR", TWBA=1)
    (found,) = bench.verdict(busy_reads=16).findings
    assert (found.kind, found.severity) == ("flush", Severity.WRONG)
    assert found.evidence == ("DP_SR = 0x00000001 TWBA=1", "DP_SR was read 16 times")


def test_a_counter_set_anew_by_somebody_else() -> None:
    bench = Bench().set("DP_CA0C", CE="dcache_miss")
    assert bench.found() == [("changed", "DOUBT")]


# -- counts differ from software timing ----------------------------------------------


def test_application_cycles_leave_out_waiting() -> None:
    (found,) = Bench().counter(Wanted("B0", "application_cycles")).verdict().findings
    assert (found.kind, found.severity) == ("cycles", Severity.REMARK)
    assert "B0 leaves out the cycles in wait and stop" in found.summary


@pytest.mark.parametrize(("event", "named"), [("cycles", True), ("dcache_miss", False)])
def test_stops_of_the_debugger_are_not_in_cycles(event: str, named: bool) -> None:
    bench = Bench().counter(Wanted("B0", event))
    assert [found.kind for found in bench.verdict(stops={"B0": 2}).findings] == (["stops"] if named else [])
    assert bench.verdict(stops={"B0": 0}).findings == ()


def test_a_counter_that_has_stopped_at_0_is_a_remark() -> None:
    bench = Bench().counter(Wanted("B0", "cycles", preset=100), counted=100)
    assert [found.kind for found in bench.verdict().findings] == ["zero"]


# -- extended counting ---------------------------------------------------------------


def test_a_filter_where_overflows_are_counted() -> None:
    bench = pair(A1, A2).set("DP_CA1C", mine=True, CEP="user")
    (found,) = bench.verdict().serious
    assert (found.kind, found.severity) == ("extended", Severity.WRONG)
    assert found.evidence == ("DP_CA1C = 0x10a88000 CE=overflow CEP=user",)


def test_overflows_that_are_counted_by_another_than_a1() -> None:
    bench = Bench().counter(Wanted("A1", "cycles", "mark", "debugev", "extended"))
    bench.counter(Wanted("A2", "cycles", "mark", "debugev")).set("DP_CA2C", mine=True, CE="overflow")
    kinds = [(found.severity.name, found.summary) for found in bench.verdict().serious]
    assert kinds == [
        ("DOUBT", "A2 counts overflows, and of which counter is not known: no total can be made"),
        (
            "DOUBT",
            "A1 wraps in mode extended and nothing is known to count how often: what is beyond 2^31 is lost",
        ),
    ]


@pytest.mark.parametrize("mode", ["oneshot", "trace"])
def test_overflows_of_a_counter_that_is_not_extended(mode: str) -> None:
    bench = pair(A1, Wanted("A2", "dcache_miss", "mark", "debugev", mode))
    (found,) = bench.verdict().serious
    assert found.summary == "A1 counts the overflows of A2, which is not extended and has none to be counted"


@pytest.mark.parametrize("counter", ["A0", "B1"])
def test_of_no_other_counter_is_it_known_that_it_counts_overflows(counter: str) -> None:
    after = counter[0] + str(int(counter[1]) + 1)
    bench = pair(Wanted(counter, "overflow"), Wanted(after, "cycles", mode="extended"))
    assert [found.summary for found in bench.verdict().findings] == [
        "%s counts overflows, and of which counter is not known: no total can be made" % counter,
        "%s wraps in mode extended and nothing is known to count how often: what is beyond 2^31 is lost"
        % after,
    ]


@pytest.mark.parametrize("before", [Wanted("A1", "dcache_miss"), None])
def test_an_extended_counter_whose_overflows_nobody_counts(before: Optional[Wanted]) -> None:
    bench = Bench().counter(A2)
    if before:
        bench.counter(before)
    assert bench.found() == [("extended", "DOUBT")]


@pytest.mark.parametrize(
    ("start", "stop", "named"),
    [
        ("mark", "debugev", False),
        ("immediate", "none", False),
        ("watchpoint", "debugev", True),
        ("mark", "none", False),
    ],
)
def test_overflows_are_to_be_counted_all_the_time(start: str, stop: str, named: bool) -> None:
    bench = pair(Wanted("A1", "overflow", start, stop), A2)
    assert bench.found() == ([("extended", "DOUBT")] if named else [])


def test_a_counter_of_overflows_that_has_stopped_at_0() -> None:
    (found,) = pair(A1, A2).word("DP_CA1V", 0).verdict().findings
    assert (found.kind, found.severity) == ("extended", Severity.DOUBT)
    assert found.summary.endswith("is no more than a lower bound: A1 has stopped at 0")
    assert "DP_CA1V = 0x00000000" in found.evidence


@pytest.mark.parametrize("unknown", ["application_cycles", "overflow"])
def test_a_code_that_is_not_known_hides_no_other_finding(unknown: str) -> None:
    bench = Bench().counter(Wanted("B0", "cycles")).counter(A2)
    verdict = bench.verdict(
        stops={"B0": 2}, description=SIMULATED.completed("code,CE.%s,?" % unknown, "mine")
    )
    kinds = [found.kind for found in verdict.findings]
    assert {"stops", "extended"} <= set(kinds)
    assert ("the code of %s in CE is not known" % unknown) in {u.why for u in verdict.unknown}


# -- what the first line says ----


WRONG = Wanted("B1", "dcache_miss", "none")
REMARK = Wanted("B0", "application_cycles")


@pytest.mark.parametrize(
    ("counters", "head"),
    [
        ((), "dpu: nothing found"),
        ((REMARK,), "dpu: nothing found but 1 remark"),
        ((REMARK, Wanted("B2", "application_cycles")), "dpu: nothing found but 2 remarks"),
        ((WRONG,), "dpu: 1 finding"),
        ((WRONG, REMARK), "dpu: 1 finding and 1 remark"),
    ],
)
def test_the_first_line_counts_what_is_numbered_below(counters: Tuple[Wanted, ...], head: str) -> None:
    bench = Bench()
    for wanted in counters:
        bench.counter(wanted, counted=0 if wanted is WRONG else 1)
    first, *rest = text(bench.verdict(), 80).splitlines()
    assert first == head
    assert sum(line[:1].isdigit() for line in rest) == len(counters)


# -- what cannot be looked for -------------------------------------------------------


def test_a_unit_that_nobody_has_set_is_not_called_right() -> None:
    bench = Bench().word("DP_CA0C", 0)
    bench.written.clear()
    verdict = bench.verdict()
    assert [unknown.kind for unknown in verdict.unknown] == ["anything"]
    assert text(verdict, 80).startswith("dpu: nothing found; not all could be looked for\n")


@pytest.mark.parametrize(("word", "or_else"), [(0, ", or nobody has set the unit"), (0xFFFFFFFF, "")])
def test_a_unit_whose_registers_tell_nothing_is_not_examined(word: int, or_else: str) -> None:
    bench = Bench()
    bench.values = {name: word for name in READABLE}
    verdict = bench.verdict()
    assert verdict.findings == ()
    assert verdict.unknown[0].why == "every register reads %s: nothing answers at 0x%08x (set dpu base)%s" % (
        "0xffffffff" if word else "0",
        BASE,
        or_else,
    )


def test_of_the_real_unit_unknown_positions_are_named_and_never_called_right() -> None:
    bench = Bench().trace(0)
    del bench.written["DP_CA0V"]
    verdict = bench.verdict(description=REAL)
    why = {unknown.kind: unknown.why for unknown in verdict.unknown}
    assert why == {
        "a counter without a start event": "where CENM lies is not known",
        "a disabled unit": "no field EN of DP_CR is known",
        "filters": "where CEP lies is not known",
        "whether A0 counts": "this session did not write it",
        "kinds of cycles": "where CE lies is not known",
        "counters of overflows": "where CE lies is not known",
        "extended counting": "the code of extended in CMODE is not known",
        "a trace in a disabled unit": "no field EN of DP_CR is known",
        "a buffer outside the memory that the unit writes": (
            "where Bank 3 lies is not known: give the description rule,vtb_range,LOW BEYOND"
        ),
        "a trace that is not flushed": "where TWBA lies is not known",
    }


def test_a_finding_says_what_unverified_rows_it_rests_on() -> None:
    verdict = Bench().trace(0).set("DP_TC", mine=True, EN=0).verdict(description=REAL)
    output = text(verdict, 200)
    assert "the trace buffer is empty, and not enabled." in output
    assert "Rests on unverified (the article's damaged pseudo-code):" in output
    assert "DP_TC.EN" in output


@pytest.mark.parametrize("width", [60, 80])
def test_the_text_fits_and_has_evidence_and_remedy(width: int) -> None:
    output = text(Bench().counter(Wanted("B1", "dcache_miss", "none"), counted=0).verdict(), width)
    assert max(map(len, output.splitlines())) <= width
    assert output.startswith("dpu: 1 finding\n\n1. B1 never starts: it has no start event.\n")
    assert "   DP_CB1C = 0x01000000 CENM=none\n" in output
    assert "What to do: dpu counter B1" in output


# -- any registers -------------------------------------------------------------------

WORDS = st.sampled_from([0, 1, 5, 0x1005, VTB, VTB + 0xFFF, 0x10C08000, 0x10A80004, 0x10008004, 0xFFFFFFFF])


@settings(max_examples=300, deadline=None)
@given(st.data(), st.sampled_from([60, 80]), st.booleans())
def test_any_registers_are_examined_and_told(data: st.DataObject, width: int, real: bool) -> None:
    """No value leads to an exception or to a line that is too long, nor is an unknown position called right."""
    either = WORDS | st.integers(0, 0xFFFFFFFF)
    bench = Bench()
    bench.values = data.draw(st.fixed_dictionaries({name: either for name in READABLE}))
    names = data.draw(st.sets(st.sampled_from(READABLE)))
    bench.written = {
        name: data.draw(st.sampled_from([bench.values[name], 0, 0x7FFFFFFF]), label=name) for name in names
    }
    description = REAL if real else SIMULATED
    verdict = bench.verdict(stops={"A0": 1}, description=description)
    assert max(map(len, text(verdict, width).splitlines())) <= width
    readings = {name: reading(description, name, bench.values, bench.written) for name in COUNTERS}
    assert max(map(len, counters_text.text(readings, width).splitlines())) <= width
    assert max(map(len, status.text(description, bench.values, width).splitlines())) <= width
    if real and any(bench.values["DP_C%sC" % name] for name in COUNTERS):
        assert "where CE lies is not known" in {unknown.why for unknown in verdict.unknown}

"""Where records begin in a buffer that has gone round, or may have: a wrong place is not shown as a right one."""

from __future__ import annotations

import dataclasses
import random
from typing import Callable, List, Optional, Sequence, Tuple

import pytest

from dpu_builder import MODULUS, SIZE, capture, packed, ring
from gdb_prof.counters.dpu.capture import Capture, Counter
from gdb_prof.counters.dpu.decode import GIVEN, Decoded, decode
from gdb_prof.errors import UsageError

MOST = MODULUS - 1
BUFFER = 1024
CYCLES = {"A0": Counter("cycles", "trace")}
ONLY_A0 = {**CYCLES, **{name: Counter(starts="none") for name in ("A1", "A2", "B0", "B1", "B2")}}
Record = Tuple[int, ...]


def one_task(number: int, anew: Sequence[int] = (), preset: int = 0x10000) -> List[Record]:
    """Task 5, A0 down by 1000 from record to record, and set anew at some."""
    found, value = [], preset
    for n in range(number):
        value = preset if n in anew else value - 1000 * bool(n)
        found.append((5, value % MODULUS, *[MOST] * 5))
    return found


def records(decoded: Decoded) -> List[Record]:
    return list(zip(*(decoded.records.values(name) for name in decoded.records.layout.names)))


def turned(written: Sequence[Record], size: int = BUFFER, wrapped: Optional[bool] = True) -> Capture:
    """What a ring holds; `wrapped` as a user says, None where nobody knows."""
    raw, offset = ring(packed(written), size)
    found = capture(raw, offset, wrapped, GIVEN if wrapped is not None else "")
    return dataclasses.replace(found, counters=CYCLES, filled=False)


# -- a counter that is set anew -----------------------------------------------------------


def test_one_step_up_of_the_only_counter_that_moves_does_not_make_its_values_the_ids_of_tasks() -> None:
    """Read askew they fit in every step, and as records of one task they do not in one."""
    with pytest.raises(UsageError, match=r"cannot be told: [\d, ]* may be right: give -phase N"):
        decode(turned(one_task(60, anew=[40])))


def test_with_the_place_given_it_is_one_task() -> None:
    written = one_task(60, anew=[40])
    assert records(decode(turned(written), phase=16)) == written[24:]


def test_where_the_others_are_known_to_stand_it_is_found_with_the_step_that_does_not_fit() -> None:
    written = one_task(120, anew=[90])
    decoded = decode(dataclasses.replace(turned(written, 2048), counters=ONLY_A0))
    assert records(decoded) == written[-len(decoded.records.values("task")) :]
    assert "fits in all but 1 of 72 steps" in decoded.origin


def test_values_that_come_again_because_the_counter_is_set_anew_are_no_ids() -> None:
    """Every 12 records: each value is there three times, as IDs are."""
    with pytest.raises(UsageError, match="cannot be told"):
        decode(turned(one_task(80, anew=range(0, 80, 12))))


def test_ids_that_come_again_in_any_order_are_found_though_a_counter_that_stands_would_pass_for_them() -> (
    None
):
    chance = random.Random(1)
    written = [(chance.choice([1, 2]), MOST - 1000 * n, *[MOST] * 5) for n in range(60)]
    assert records(decode(turned(written))) == written[24:]


@dataclasses.dataclass(frozen=True)
class Workload:
    """`most`: tasks; `anew`: how often a counter is set anew, of 100 records."""

    most: int
    anew: int
    sizes: Tuple[int, ...] = (128, 256, 512, 1024, 2048)

    def ring(self, seed: int) -> Tuple[int, List[Record]]:
        """Of so many bytes, and more records than it holds."""
        chance = random.Random(seed)
        size, tasks = chance.choice(self.sizes), chance.sample(range(40), chance.randint(1, self.most))
        moving = chance.sample(range(6), chance.randint(1, 6))
        presets = [chance.choice([MOST, 0x10000000, 50000]) if n in moving else MOST for n in range(6)]
        values, written = list(presets), []
        largest = {n: chance.choice([1, 1000, 10**6]) for n in moving}
        again = chance.choice(moving)
        for _ in range(size // SIZE + chance.randint(3, 90)):
            written.append((chance.choice(tasks), *values))
            for n in moving:
                values[n] = (values[n] - chance.randint(0, largest[n])) % MODULUS
            if chance.randrange(100) < self.anew:
                values[again] = presets[again]
        return size, written


def outcomes(workload: Workload, number: int, as_captured: Callable[[Sequence[Record], int], Capture]) -> str:
    """right, refused, wrong; what is remarked as garbled is not counted."""
    right = refused = wrong = 0
    for seed in range(number):
        size, written = workload.ring(seed)
        try:
            decoded = decode(as_captured(written, size))
        except UsageError:
            refused += 1
            continue
        fits = records(decoded) == written[len(written) - decoded.records.number :]
        right += fits
        wrong += not fits and not any("does what none does" in remark for remark in decoded.remarks)
    return "%d right, %d refused, %d wrong" % (right, refused, wrong)


def parts(text: str) -> Tuple[int, ...]:
    return tuple(int(word) for word in text.split() if word.isdigit())


@pytest.mark.parametrize("most", [1, 2, 5])
def test_a_place_that_is_found_is_right_though_a_counter_is_set_anew(most: int) -> None:
    found = outcomes(Workload(most, anew=3), 400, turned)
    assert parts(found)[2] == 0, found


def test_several_tasks_in_any_order_are_found_in_every_ring_of_36_records_or_more() -> None:
    workload = Workload(12, anew=0, sizes=(1024, 2048))
    some = [seed for seed in range(300) if len({row[0] for row in workload.ring(seed)[1]}) > 2]
    for seed in some:
        size, written = workload.ring(seed)
        found = records(decode(turned(written, size)))
        assert found == written[-len(found) :], seed
    assert len(some) > 200


# -- whether it has wrapped is not known --------------------------------------------------


def test_bytes_that_fit_from_the_buffers_start_and_elsewhere_too_had_it_wrapped_are_not_shown() -> None:
    with pytest.raises(UsageError, match="may begin elsewhere: give -not-wrapped, or -wrapped"):
        decode(turned(one_task(60, preset=MOST), wrapped=None))


def test_a_users_word_that_it_has_not_wrapped_shows_them() -> None:
    written = one_task(20, preset=MOST)
    stream = packed(written)
    raw = stream + packed(one_task(60))[: BUFFER - len(stream)]
    bare = dataclasses.replace(capture(raw, len(stream)), filled=False, counters=CYCLES)
    with pytest.raises(UsageError, match="may begin elsewhere"):
        decode(bare)
    assert records(decode(dataclasses.replace(bare, wrapped=False, how=GIVEN))) == written
    assert records(decode(bare, phase=0)) == written


@pytest.mark.parametrize(
    "behind", [bytes(BUFFER), random.Random(2).getrandbits(8 * BUFFER).to_bytes(BUFFER, "big")]
)
def test_over_zeros_or_what_is_no_record_it_cannot_have_wrapped(behind: bytes) -> None:
    written = one_task(20, preset=MOST)
    stream = packed(written)
    bare = dataclasses.replace(capture(stream + behind[len(stream) :], len(stream)), filled=False)
    assert records(decode(bare)) == written


@pytest.mark.parametrize("most", [1, 3])
@pytest.mark.parametrize("anew", [0, 3])
def test_what_is_shown_of_a_ring_is_right_though_nobody_says_that_it_has_wrapped(
    most: int, anew: int
) -> None:
    found = outcomes(Workload(most, anew), 300, lambda written, size: turned(written, size, wrapped=None))
    assert parts(found)[2] == 0, found

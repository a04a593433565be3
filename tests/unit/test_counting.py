"""What counters and circular buffers say across a wrap."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gdb_prof.counters.counting import Width, elapsed
from gdb_prof.counters.trace_buffer import Buffer


@given(st.integers(1, 32), st.booleans(), st.data())
def test_differences_are_right_across_a_wrap(bits: int, down: bool, data: st.DataObject) -> None:
    width = Width(bits, down)
    before = data.draw(st.integers(0, width.modulus - 1))
    events = data.draw(st.integers(0, width.modulus - 1))
    after = (before - events if down else before + events) % width.modulus
    assert elapsed(width, before, after) == events


@pytest.mark.parametrize(
    ("pointer", "wrapped", "parts"),
    [
        (0x100, False, ()),
        (0x140, False, ((0x100, 0x40),)),
        (0x140, True, ((0x140, 0x40), (0x100, 0x40))),
        (0x100, True, ((0x100, 0x80),)),
        (0x180, False, ((0x100, 0x80),)),
        (0x180, True, ((0x100, 0x80),)),
    ],
)
def test_the_oldest_part_comes_first(pointer: int, wrapped: bool, parts: object) -> None:
    assert Buffer(0x100, 0x80, pointer, wrapped).parts() == parts

"""Rings in order, and several runs as one profile."""

from __future__ import annotations

import dataclasses
from typing import List, Optional

import pytest

from gdb_prof.profile.circumstances import Circumstances
from gdb_prof.profile.samples import Histogram, Profile, Timing, in_order, joined


@pytest.mark.parametrize(
    ("words", "head", "oldest_first"),
    [
        ([0, 0, 0, 0], 0, []),
        ([1, 2, 3, 0], 3, [1, 2, 3]),
        ([1, 2, 3, 4], 4, [1, 2, 3, 4]),
        ([5, 2, 3, 4], 5, [2, 3, 4, 5]),
        ([5, 6, 3, 4], 6, [3, 4, 5, 6]),
        ([5, 6, 7, 8], 8, [5, 6, 7, 8]),
        ([9, 6, 7, 8], 0xFFFFFFFD, [6, 7, 8, 9]),
        ([], 7, []),
    ],
)
def test_a_ring_is_read_from_its_oldest_word(words: List[int], head: int, oldest_first: List[int]) -> None:
    assert list(in_order(words, head)) == oldest_first


def test_what_is_kept() -> None:
    assert Profile(pcs=[1, 2, 3], taken=9).kept == 3
    assert Profile(histogram=Histogram(0, 4, (5, 0, 7), outside=2, saturated=1), taken=15).kept == 15


def test_runs_joined_follow_one_another() -> None:
    one = Profile([1, 2], [8, 9], [4, 5], taken=3, limit=2, timing=Timing("TIM3", elapsed_s=0.25))
    two = Profile([3], [9], [6], taken=1, limit=1, timing=Timing("SysTick", 7, elapsed_s=0.5))
    two = dataclasses.replace(two, circumstances=Circumstances(emulator="QEMU"))
    both = joined(
        [
            Profile(**{**vars(one), "tag_names": {8: "A", 9: "old"}, "remarks": ("x", "y")}),
            Profile(**{**vars(two), "tag_names": {9: "B"}, "remarks": ("y", "z"), "build_id": "3f"}),
        ]
    )
    assert both == Profile(
        pcs=[1, 2, 3],
        tags=[8, 9, 9],
        lrs=[4, 5, 6],
        taken=4,
        limit=3,
        timing=Timing("SysTick", 7, elapsed_s=0.75),
        tag_names={8: "A", 9: "B"},
        build_id="3f",
        remarks=("x", "y", "z"),
        runs=2,
        circumstances=Circumstances(emulator="QEMU"),
    )


def test_what_one_run_lacks_the_whole_lacks() -> None:
    both = joined([Profile([1], tags=[8], taken=1, timing=Timing(elapsed_s=1.0)), Profile([2], taken=1)])
    assert (both.pcs, both.tags, both.lrs, both.timing.elapsed_s) == ([1, 2], None, None, None)


def test_runs_of_runs_are_counted() -> None:
    two = joined([Profile([1], taken=1), Profile([2], taken=1)])
    assert joined([two, two, Profile([3], taken=1)]).runs == 5


@pytest.mark.parametrize(
    ("timing", "mean_ticks"),
    [
        (Timing(), None),
        (Timing(jitter_mask=2047), None),
        (Timing(period_ticks=2013), 2013),
        (Timing(period_ticks=2013, jitter_mask=2047), 3036.5),
    ],
)
def test_jitter_adds_half_its_mask_on_average(timing: Timing, mean_ticks: Optional[float]) -> None:
    assert timing.mean_ticks == mean_ticks

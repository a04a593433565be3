"""What a sampler recorded: the records of this room."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Mapping, Optional, Sequence, Tuple

from gdb_prof.profile.circumstances import Circumstances
from gdb_prof.profile.source import Source

if TYPE_CHECKING:
    from gdb_prof.profile.program.names import Names

TARGET, RECORDING = "the target", "the recording"
"""Where a profile is from, when it is from no file."""

TICKS, CYCLES = "ticks", "cycles"
"""What an interval is counted in: a timer's ticks, or the core's clock."""


@dataclasses.dataclass(frozen=True)
class Timing:
    """How the samples were spaced. Ticks are the sampler's timer's.

    `period_ticks` is the shortest interval; jitter adds 0..`jitter_mask` ticks to it.
    None is unknown. `elapsed_s` is measured, not computed from the samples. `random`: each
    interval is another one, at random, whatever the period. `unit`: what a tick is called.
    """

    timer: str = "an unknown timer"
    period_ticks: Optional[int] = None
    jitter_mask: int = 0
    tick_hz: Optional[float] = None
    elapsed_s: Optional[float] = None
    random: bool = False
    unit: str = TICKS

    @property
    def mean_ticks(self) -> Optional[float]:
        return None if self.period_ticks is None else self.period_ticks + self.jitter_mask / 2


def elapsed(clock: Sequence[int], clock_hz: float, expected_s: float) -> float:
    """Seconds between two readings of a 32-bit counter; whole turns of it by what is expected."""
    counts = (clock[1] - clock[0]) & 0xFFFFFFFF
    turns = max(0, round((expected_s * clock_hz - counts) / 2**32))
    return (counts + turns * 2**32) / clock_hz


@dataclasses.dataclass(frozen=True)
class Histogram:
    """Counters of address ranges: bin i is [base + (i << shift), base + (i + 1 << shift))."""

    base: int
    shift: int
    counts: Tuple[int, ...]
    outside: int = 0
    """Samples at addresses that have no bin."""
    saturated: int = 0
    """Samples that found their bin's 16-bit counter full."""


@dataclasses.dataclass(frozen=True)
class Profile:
    """Samples in order, oldest first, or a histogram of them.

    `pcs`, and where recorded `tags` and `lrs`, have one entry a kept sample. `taken`
    counts all samples since the start, also those that the ring no longer holds.
    """

    pcs: Sequence[int] = ()
    tags: Optional[Sequence[int]] = None
    lrs: Optional[Sequence[int]] = None
    histogram: Optional[Histogram] = None
    taken: int = 0
    limit: int = 0
    timing: Timing = Timing()
    tag_symbol: str = ""
    tag_names: Mapping[int, str] = dataclasses.field(default_factory=dict)
    build_id: str = ""
    """The program's build-id in hex, or `sha256:` and a digest of its code; empty if unknown."""
    program: str = ""
    origin: str = TARGET
    remarks: Tuple[str, ...] = ()
    """What the reader of this profile must know: a cut file, an interrupted run."""
    runs: int = 1
    """How often sampling was started for it."""
    circumstances: Circumstances = dataclasses.field(default_factory=Circumstances)
    names: Optional[Names] = None
    """What the program that was sampled said of its addresses, where that was saved."""
    source: Source = dataclasses.field(default_factory=Source)
    marks: Mapping[int, str] = dataclasses.field(default_factory=dict)
    """What in `pcs` is no address, and the class of such samples: `asleep`, for one."""
    stacks: Optional[Sequence[int]] = None
    """For each sample the number of its call stack in `stack_table`."""
    stack_table: Sequence[Tuple[int, ...]] = ()
    """Distinct call stacks: the PC, then an address within each call that led there, innermost first."""

    @property
    def kept(self) -> int:
        """The samples that a report is made of."""
        h = self.histogram
        return sum(h.counts) + h.outside + h.saturated if h else len(self.pcs)


def in_order(words: Sequence[int], head: int) -> Sequence[int]:
    """A ring's words oldest first. `head` counts all that were ever written."""
    if head <= len(words) or not words:
        return words[:head]
    at = head % len(words)
    return list(words[at:]) + list(words[:at])


def joined(parts: Sequence[Profile]) -> Profile:
    """Runs of one sampler, one after the other, as one profile of a ring.

    The last part says how and where; names of tags come from all.
    """
    last = parts[-1]
    names = {tag: name for part in parts for tag, name in part.tag_names.items()}
    times = [part.timing.elapsed_s for part in parts]

    def column(name: str) -> Optional[Sequence[int]]:
        columns = [getattr(part, name) for part in parts]
        return None if any(c is None for c in columns) else [x for c in columns for x in c]

    return dataclasses.replace(
        last,
        pcs=column("pcs") or (),
        tags=column("tags"),
        lrs=column("lrs"),
        taken=sum(part.taken for part in parts),
        limit=sum(part.limit for part in parts),
        timing=dataclasses.replace(
            last.timing,
            elapsed_s=None if any(t is None for t in times) else sum(t for t in times if t),
        ),
        tag_names=names,
        runs=sum(part.runs for part in parts),
        remarks=tuple(dict.fromkeys(r for part in parts for r in part.remarks)),
    )

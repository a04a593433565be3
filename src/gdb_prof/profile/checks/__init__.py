"""The ways in which a sampled profile lies, one a module, and all of them in one list."""

from __future__ import annotations

import collections
import dataclasses
from typing import Counter, Dict, FrozenSet, List, Optional, Sequence, Set, Tuple

from gdb_prof.profile.checks import emulator, handlers, lockstep, lost, masked, recording, source
from gdb_prof.profile.checks.evidence import Evidence, by_address
from gdb_prof.profile.checks.piles import IDLE_FUNCTIONS, Pile, asleep_after, piles
from gdb_prof.profile.dependence import Dependence, dependence
from gdb_prof.profile.finding import Finding, Unknown, by_seriousness
from gdb_prof.profile.program.code import Build, at
from gdb_prof.profile.samples import Profile
from gdb_prof.profile.shares import Asleep, Selection, Shares, selected, shares
from gdb_prof.profile.source import TIMER

CHECKS = (lockstep.check, recording.check, source.check)
OF_INTERRUPTS = (masked.check, lost.check, handlers.check, emulator.check)
"""What befalls a sampler that is itself an interrupt of the core."""


@dataclasses.dataclass(frozen=True)
class Verdict:
    """A table, how sure it is, and what is found about it, most serious first.

    `unknown`: what could not be looked for. `marked`: the numbers of rows with samples that are
    another's.
    """

    table: Shares
    dependence: Optional[Dependence]
    findings: Tuple[Finding, ...] = ()
    unknown: Tuple[Unknown, ...] = ()
    marked: FrozenSet[int] = frozenset()

    @property
    def effective(self) -> Optional[float]:
        """The independent samples that those of the table are worth; None where unknown."""
        return self.dependence.effective if self.dependence else float(self.table.total)

    def effective_of(self, row: Optional[int]) -> Optional[float]:
        """The same for the row of this number; None for the number: for rows together."""
        return None if self.dependence and row in self.dependence.rare else self.effective


def examine(
    profile: Profile,
    build: Build,
    by: str = "function",
    selection: Selection = Selection(),
    merge_clones: bool = False,
    check: bool = True,
) -> Verdict:
    """The table of a profile and what is to be known about it. Raises UsageError.

    Without `check` nothing is looked for but sleep and dependence, which the table itself needs.
    """
    samples = selected(profile, selection)
    counts = by_address(samples)
    heaps = _piles(samples, build, counts)
    asleep = _asleep(profile, build, counts, heaps)
    table = shares(profile, build.functions, build.lines, by, selection, merge_clones, asleep)
    found = None
    if table.order is not None:
        found = dependence(table.order.pcs, table.order.rows, lockstep.jittered(profile.timing))
    if not check or not table.total:
        return Verdict(table, found)
    evidence = Evidence(profile, table, build, counts, heaps, asleep.addresses, found)
    findings: List[Finding] = []
    unknown: List[Unknown] = []
    looks = (*OF_INTERRUPTS, *CHECKS) if profile.source.kind == TIMER else CHECKS
    for look in looks:
        for result in look(evidence):
            (findings if isinstance(result, Finding) else unknown).append(result)  # type: ignore[arg-type]
    if any(finding.kind == "emulator" for finding in findings):
        # there all that is executed once in a while piles up where a block begins
        findings = [finding for finding in findings if not finding.addresses]
    findings.sort(key=by_seriousness)
    return Verdict(table, found, tuple(findings), tuple(unknown), _marked(table, findings))


def _callers(pcs: Sequence[int], lrs: Optional[Sequence[int]]) -> Dict[int, Counter[int]]:
    """For each address its samples by LR."""
    by_lr: Dict[int, Counter[int]] = collections.defaultdict(collections.Counter)
    for (pc, lr), n in collections.Counter(zip(pcs, lrs or ())).items():
        by_lr[pc][lr] += n
    return by_lr


def sleeping(profile: Profile, build: Build) -> Set[int]:
    """The addresses of samples at which the core slept, by the instructions: on or after a wfi or wfe,
    also where that is in a masked section."""
    counts = by_address(profile)
    return _sleeping(build, counts, _piles(profile, build, counts))


def _sleeping(build: Build, counts: Counter[int], heaps: Tuple[Pile, ...]) -> Set[int]:
    addresses = {pile.address for pile in heaps if pile.asleep}
    for pc in counts:
        if pc in build.asleep:
            addresses.add(pc)
        elif build.code.waits(pc):
            instructions = build.code.function(pc)
            place = at(instructions, pc)
            if place is not None and asleep_after(instructions, place):
                addresses.add(pc)
    return addresses


def _piles(samples: Profile, build: Build, counts: Counter[int]) -> Tuple[Pile, ...]:
    priority = samples.circumstances.sampler_priority
    return piles(counts, sum(counts.values()), build, _callers(samples.pcs, samples.lrs), priority != 0)


def _asleep(profile: Profile, build: Build, counts: Counter[int], heaps: Tuple[Pile, ...]) -> Asleep:
    """Sleep by the instructions, and idle tasks: by their tags, or where none is known by their code."""
    seen = profile.circumstances
    addresses = _sleeping(build, counts, heaps)
    if not seen.idle_tags:
        functions = {pc: build.functions.at(pc) for pc in counts}
        addresses |= {pc for pc, f in functions.items() if f is not None and f.name in IDLE_FUNCTIONS}
    return Asleep(frozenset(addresses), frozenset(seen.idle_tags), frozenset(seen.vectors.values()))


def _marked(table: Shares, findings: List[Finding]) -> FrozenSet[int]:
    addresses = {address for finding in findings for address in finding.addresses}
    if not addresses or table.order is None:
        return frozenset()
    pairs = set(zip(table.order.pcs, table.order.rows))
    return frozenset(row for pc, row in pairs if pc in addresses and row >= 0)

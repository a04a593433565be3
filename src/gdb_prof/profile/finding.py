"""A way in which this profile lies, or may: what is found, how large it is, what to do."""

from __future__ import annotations

import dataclasses
import enum
from typing import FrozenSet, Tuple


class Severity(enum.IntEnum):
    """REMARK: the table is right, but there is more to know. DOUBT: it may mislead, or is less
    sure than it looks. WRONG: a number in it is not what it seems."""

    REMARK = 0
    DOUBT = 1
    WRONG = 2


@dataclasses.dataclass(frozen=True)
class Finding:
    """`summary`: one line, with its number and remedy. `evidence`: paragraphs, for `prof check`.
    `size`: the part of the time that is concerned, 0..1. `addresses`: those whose samples are
    not what they seem."""

    kind: str
    severity: Severity
    size: float
    summary: str
    evidence: Tuple[str, ...] = ()
    addresses: FrozenSet[int] = frozenset()


@dataclasses.dataclass(frozen=True)
class Unknown:
    """What could not be looked for, and why."""

    kind: str
    why: str


def by_seriousness(finding: Finding) -> Tuple[int, float, str]:
    return -finding.severity, -finding.size, finding.kind

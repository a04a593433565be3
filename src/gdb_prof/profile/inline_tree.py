"""Rows by inline as a tree: functions, and under each what is inlined in it, at each level with its sum."""

from __future__ import annotations

import dataclasses
from typing import Dict, Hashable, Iterable, List, Optional, Sequence, Tuple

from gdb_prof.profile.places import Host, Row

ITSELF = "(itself)"


@dataclasses.dataclass
class Node:
    """A function with what is inlined in it. `row`: its sum; `own`: the number of the row of its own
    samples, None where it has none."""

    row: Row
    own: Optional[int] = None
    own_samples: int = 0
    inside: Dict[str, "Node"] = dataclasses.field(default_factory=dict)

    def add(self, row: Row) -> None:
        self.row = dataclasses.replace(
            self.row, samples=self.row.samples + row.samples, divided=self.row.divided + row.divided
        )


Line = Tuple[int, Row, Optional[int]]
"""Depth, sum, and the number of the row in the table where that is all of it."""


def tree(rows: Sequence[Row]) -> List[Node]:
    """The functions, the largest first."""
    hosts: Dict[Hashable, Node] = {}
    for number, row in enumerate(rows):
        host = row.host or Host((row.name, row.function), row.name, row.source)
        node = hosts.get(host.key)
        if node is None:
            sum_of = dataclasses.replace(row, name=host.name, source=host.source, samples=0, divided=0)
            node = hosts[host.key] = Node(sum_of)
        node.add(row)
        for name in row.inlined:
            node = node.inside.setdefault(name, Node(Row(name, 0)))
            node.add(row)
        if row.inlined:
            node.row = dataclasses.replace(node.row, source=row.source)
        node.own, node.own_samples = number, row.samples
    return sorted(hosts.values(), key=_rank)


def below(node: Node, depth: int = 1) -> Iterable[Line]:
    """The rows under a function's, the largest of each level first; together they have its sum."""
    inside = list(node.inside.values())
    if inside and node.own_samples:
        inside.append(Node(Row(ITSELF, node.own_samples), node.own, node.own_samples))
    for child in sorted(inside, key=_rank):
        yield depth, child.row, child.own if not child.inside else None
        yield from below(child, depth + 1)


def _rank(node: Node) -> Tuple[int, str]:
    return -node.row.samples, node.row.name

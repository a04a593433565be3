"""Rows by call path as a tree: each function under the one that called it, with its own samples and all."""

from __future__ import annotations

import dataclasses
import heapq
from typing import Dict, Hashable, Iterable, List, Optional, Sequence, Set, Tuple

from gdb_prof.profile.places import Host, Row


@dataclasses.dataclass
class Node:
    """A function as called along one path. `samples`: its own and those of what it called; `own`: of which
    it was itself running; `number`: the row of these in the table."""

    host: Host
    order: int
    samples: int = 0
    own: int = 0
    number: Optional[int] = None
    calls: Dict[Hashable, "Node"] = dataclasses.field(default_factory=dict)

    @property
    def is_one_row(self) -> bool:
        return self.own == self.samples


@dataclasses.dataclass(frozen=True)
class Line:
    """Of the tree as shown: a node, or where that is None so many with so many samples that are not."""

    depth: int
    node: Optional[Node]
    samples: int = 0
    hidden: int = 0


def tree(rows: Sequence[Row]) -> List[Node]:
    """The outermost functions, the largest first."""
    roots: Dict[Hashable, Node] = {}
    made = 0
    for number, row in enumerate(rows):
        level, node = roots, None
        for host in row.path:
            node = level.get(host.key)
            if node is None:
                node = level[host.key] = Node(host, made)
                made += 1
            node.samples += row.samples
            level = node.calls
        if node is not None:
            node.own, node.number = node.own + row.samples, number
    return _ranked(roots.values())


def lines(roots: Sequence[Node], most: int, least: float) -> Iterable[Line]:
    """In order of display: the `most` largest nodes that have at least `least` samples, none without the
    ones that called it. What is left out at a place is one line, with its sum."""
    return _lines(roots, _largest(roots, most, least), 0)


def _lines(nodes: Sequence[Node], shown: Set[int], depth: int) -> Iterable[Line]:
    hidden = [node for node in nodes if node.order not in shown]
    for node in nodes:
        if node.order in shown:
            yield Line(depth, node, node.samples)
            yield from _lines(_ranked(node.calls.values()), shown, depth + 1)
    if hidden:
        yield Line(depth, None, sum(node.samples for node in hidden), len(hidden))


def _largest(roots: Sequence[Node], most: int, least: float) -> Set[int]:
    found: Set[int] = set()
    waiting: List[Tuple[int, int, Node]] = [(-node.samples, node.order, node) for node in roots]
    heapq.heapify(waiting)
    while waiting and len(found) < most:
        _, order, node = heapq.heappop(waiting)
        if node.samples < least:
            break
        found.add(order)
        for called in node.calls.values():
            heapq.heappush(waiting, (-called.samples, called.order, called))
    return found


def _ranked(nodes: Iterable[Node]) -> List[Node]:
    return sorted(nodes, key=lambda node: (-node.samples, node.host.name, node.order))

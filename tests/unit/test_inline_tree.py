"""By inline: each function with its sum, and under it what is inlined in it."""

from __future__ import annotations

from typing import Dict, List, Sequence, Tuple

from elf_builder import Section, image
from fake_lines import FakeLines
from hypothesis import given
from hypothesis import strategies as st

from gdb_prof.profile.inline_tree import Node, below, tree
from gdb_prof.profile.program.functions import FunctionMap
from gdb_prof.profile.samples import Profile
from gdb_prof.profile.shares import Shares, shares

BASE = 0x08000000
MAP = FunctionMap(
    [
        (
            image(
                [Section(".text", BASE, 0x60)],
                "08000001 20 FUNC GLOBAL run\n08000021 20 FUNC GLOBAL other\n08000041 20 FUNC GLOBAL run.part.0",
            ),
            {},
        )
    ]
)
CHAINS: Dict[int, Sequence[str]] = {
    2: ("spin", "hot_a", "run"),
    4: ("spin", "hot_b", "run"),
    6: ("hot_a", "run"),
    0x20: ("spin", "other"),
    0x40: ("spin", "hot_a", "run"),
}
LINES = FakeLines(
    {BASE + 2: ("work.h", 16)},
    {BASE + n: ("run.c", n) for n in (0, 0x20, 0x40)},
    {BASE + n: chain for n, chain in CHAINS.items()},
)


def by_inline(*offsets: int, merge: bool = False) -> Shares:
    return shares(Profile([BASE + n for n in offsets]), MAP, LINES, "inline", merge_clones=merge)


def drawn(table: Shares) -> List[Tuple[str, int]]:
    lines = []
    for node in tree(table.rows):
        lines.append((node.row.name, node.row.samples))
        lines += [(2 * depth * " " + row.name, row.samples) for depth, row, _ in below(node)]
    return lines


def test_each_level_has_its_sum_and_what_is_left_is_the_functions_itself() -> None:
    assert drawn(by_inline(*[2] * 5, 4, *[6] * 2, 0, 0, 0x20, 0x20, 0x22)) == [
        ("run", 10),
        ("  hot_a", 7),
        ("    spin", 5),
        ("    (itself)", 2),
        ("  (itself)", 2),
        ("  hot_b", 1),
        ("    spin", 1),
        ("other", 3),
        ("  spin", 2),
        ("  (itself)", 1),
    ]


def test_a_function_without_inlined_code_is_a_row_alone() -> None:
    assert drawn(by_inline(0, 8, 0x22)) == [("run", 2), ("other", 1)]


def test_the_rows_of_the_table_are_where_all_of_a_line_is_one() -> None:
    table = by_inline(2, 2, 6, 0)
    (run,) = tree(table.rows)
    assert run.own is not None and table.rows[run.own].name == "run"
    assert [(row.name, None if n is None else table.rows[n].name) for _, row, n in below(run)] == [
        *(
            ("hot_a", None),
            ("spin", "spin (in hot_a, in run)"),
            ("(itself)", "hot_a (in run)"),
            ("(itself)", "run"),
        ),
    ]


def test_a_clone_is_a_function_until_it_is_merged() -> None:
    assert drawn(by_inline(2, 2, 0x40)) == [
        *(("run", 2), ("  hot_a", 2), ("    spin", 2)),
        *(("run.part.0", 1), ("  hot_a", 1), ("    spin", 1)),
    ]
    merged = FakeLines(
        None, {BASE + n: ("run.c", 1) for n in (0, 0x40)}, {BASE + n: c for n, c in CHAINS.items()}
    )
    table = shares(Profile([BASE + n for n in (2, 2, 0x40, 0x42)]), MAP, merged, "inline", merge_clones=True)
    assert drawn(table) == [("run", 4), ("  hot_a", 3), ("    spin", 3), ("  (itself)", 1)]


@given(offsets=st.lists(st.integers(0, 47).map(lambda n: 2 * n), max_size=60), merge=st.booleans())
def test_every_sample_is_in_one_leaf_and_sums_agree(offsets: List[int], merge: bool) -> None:
    table = by_inline(*offsets, merge=merge)
    nodes = tree(table.rows)
    assert sum(node.row.samples for node in nodes) == table.in_code == len(offsets)
    by_function = shares(Profile([BASE + n for n in offsets]), MAP, LINES, merge_clones=merge)
    assert {(n.row.name, n.row.samples) for n in nodes} == {(r.name, r.samples) for r in by_function.rows}

    def leaves(node: Node) -> int:
        return node.own_samples + sum(leaves(child) for child in node.inside.values())

    for node in nodes:
        assert leaves(node) == node.row.samples
        rows = list(below(node))
        numbers = [n for _, _, n in rows if n is not None] or [node.own]
        assert sum(table.rows[n].samples for n in numbers if n is not None) == node.row.samples
        assert sum(row.samples for depth, row, _ in rows if depth == 1) == (node.row.samples if rows else 0)

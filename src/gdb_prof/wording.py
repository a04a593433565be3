"""Numbers and sentences as every report words them."""

from __future__ import annotations

import textwrap
from typing import List, Sequence

import tabulate

from gdb_prof.printable import printable

NARROWEST = 60


def count(n: int) -> str:
    return "{:,}".format(n)


def plural(n: int, noun: str, many: str = "") -> str:
    return "%s %s" % (count(n), noun if n == 1 else many or noun + "s")


def be(n: int) -> str:
    return "is" if n == 1 else "are"


def ordinal(n: int) -> str:
    """`1st`, `186th`."""
    ending = "th" if n // 10 % 10 == 1 else {1: "st", 2: "nd", 3: "rd"}.get(n % 10, "th")
    return count(n) + ending


def percent(part: float) -> str:
    """A fraction as `15.5 %`, with two digits that count where it is small."""
    return "%.*f %%" % (1 if part >= 0.0995 else 2, 100 * part)


def base(path: str) -> str:
    """A file's name, of a path of any system."""
    return path.replace("\\", "/").rsplit("/", 1)[-1]


def some(names: Sequence[str], most: int) -> str:
    """`a, b and 3 more`."""
    rest = len(names) - most
    return ", ".join(names[:most]) + (" and %d more" % rest if rest > 0 else "")


def wrapped(text: str, width: int, first: str = "", later: str = "  ") -> List[str]:
    """Text as lines of the console's width, the later ones indented."""
    return textwrap.wrap(
        printable(text, len(text)),
        max(width, NARROWEST),
        initial_indent=first,
        subsequent_indent=later,
        break_on_hyphens=False,
    )


def aligned(rows: Sequence[Sequence[str]], align: Sequence[str]) -> List[str]:
    """Rows, a head first, as lines of columns; `align` is `left` or `right` for each column."""
    cells = [[printable(cell, len(cell)) for cell in row] for row in rows]
    # the head as a first row: tabulate makes columns wider for what it knows as headers
    text = tabulate.tabulate(cells, tablefmt="plain", colalign=align, disable_numparse=True)
    return [line.rstrip() for line in text.splitlines()]

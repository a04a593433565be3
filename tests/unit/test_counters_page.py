"""The page on what is known of the units says what the descriptions say."""

from __future__ import annotations

import re
import textwrap
from typing import Dict, List, Tuple

from gdb_prof.counters.description import Fact, packaged
from running import ROOT

PAGE = (ROOT / "src/gdb_prof/counters/README.md").read_text(encoding="utf-8")


def rows() -> List[str]:
    """The page's table: what shares kind, status and source is one row."""
    groups: Dict[Tuple[str, str, str], List[Fact]] = {}
    for fact in packaged("msc8251_dpu", "DPU").facts:
        groups.setdefault((fact.kind, fact.status, fact.source), []).append(fact)
    table = ["| kind | status | source | rows |", "| --- | --- | --- | --- |"]
    for (kind, status, source), facts in groups.items():
        shown = ", ".join("`%s` %s" % (fact.name, fact.value) for fact in facts)
        table.append("| %s | %s | %s | %s |" % (kind, status, source if status != "unknown" else "", shown))
    return table


def test_the_example_of_a_users_file_is_one() -> None:
    block = re.search(r"^    # dpu.csv: .*\n((?:    \S.*\n)+)", PAGE, re.MULTILINE)
    assert block
    completed = packaged("msc8251_dpu", "DPU").completed(textwrap.dedent(block[1]), "dpu.csv")
    flag = completed.fact("record", "wrap_flag")
    assert flag is not None and flag.value == "DP_SR.WRAP"
    assert completed.code("CE", "dcache_miss").fact.status == "documented"


def test_every_row_of_the_dpu_stands_on_the_page() -> None:
    wanted = "\n".join(rows())
    assert wanted in PAGE, "the page's table should be:\n" + wanted

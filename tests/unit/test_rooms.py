"""The lines between the rooms of the package: who may import whom."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Set

import pytest

from running import ROOT

PACKAGE = ROOT / "src" / "gdb_prof"
MODULES = sorted(PACKAGE.rglob("*.py"))
FLOORS = {"commands", "target"}
SUBJECTS = {p.name for p in PACKAGE.iterdir() if p.is_dir() and p.name not in {*FLOORS, "__pycache__"}}


def room(module: Path) -> str:
    return module.relative_to(PACKAGE).parts[0]


def imported(module: Path) -> Set[str]:
    """Every module named by an import anywhere in it; for `from a import b` a and a.b."""
    names: Set[str] = set()
    for node in ast.walk(ast.parse(module.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "%s: imports are absolute" % module
            names |= {str(node.module)} | {"%s.%s" % (node.module, alias.name) for alias in node.names}
    return names


def test_the_rooms_are_found() -> None:
    assert "profile" in SUBJECTS
    assert "gdb_prof.profile.program.functions" in imported(PACKAGE / "profile" / "shares.py")
    assert "gdb" in imported(PACKAGE / "target" / "lines.py")


@pytest.mark.parametrize("module", MODULES, ids=lambda m: str(m.relative_to(PACKAGE)))
def test_a_module_keeps_to_its_room(module: Path) -> None:
    packages = {name.split(".")[0] for name in imported(module)}
    rooms = {name.split(".")[1] for name in imported(module) if name.startswith("gdb_prof.")}
    if room(module) not in FLOORS:
        assert "gdb" not in packages, "only commands and target know the debugger"
    if room(module) in SUBJECTS:
        assert not rooms & FLOORS, "a subject is fed, it does not fetch"
        others = rooms & SUBJECTS - {room(module)}
        assert others <= ({"swo"} if room(module) == "profile" else set())
    if room(module) == "target":
        assert "commands" not in rooms


@pytest.mark.parametrize("module", MODULES, ids=lambda m: str(m.relative_to(PACKAGE)))
def test_a_module_is_about_one_thing(module: Path) -> None:
    assert module.stem not in {"utils", "util", "helpers", "helper", "common", "misc"}
    assert len(module.read_text(encoding="utf-8").splitlines()) <= 350

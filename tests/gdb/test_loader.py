"""`source gdb_prof` from anywhere, once or twice, and what it says when something lacks."""

from __future__ import annotations

import ast
import shutil
import subprocess
from pathlib import Path

from running import GDB, ROOT, gdb

HELP = "help prof dump"


def test_in_the_checkout_by_its_name() -> None:
    assert "Usage: prof dump" in gdb("source gdb_prof", HELP, plugin=False).stdout


def test_with_a_path_from_any_folder(tmp_path: Path) -> None:
    output = gdb(f"source {ROOT}/gdb_prof", HELP, plugin=False, cwd=tmp_path).stdout
    assert "Usage: prof dump" in output


def test_by_its_name_after_directory(tmp_path: Path) -> None:
    output = gdb(f"directory {ROOT}", "source gdb_prof", HELP, plugin=False, cwd=tmp_path).stdout
    assert "Usage: prof dump" in output


def test_from_the_gdbinit_example(tmp_path: Path) -> None:
    text = (ROOT / "gdbinit.example").read_text(encoding="utf-8").replace("/path/to/gdb_prof", str(ROOT))
    (tmp_path / "gdbinit").write_text(text, encoding="utf-8")
    output = gdb(f"source {tmp_path}/gdbinit", HELP, plugin=False, cwd=tmp_path).stdout
    assert "Usage: prof dump" in output


def test_twice_does_no_harm() -> None:
    output = gdb("source gdb_prof", "source gdb_prof", HELP, plugin=False).stdout
    assert output.count("Usage: prof dump") == 1
    assert "rror" not in output


def test_as_an_installed_package(tmp_path: Path) -> None:
    """What `pip install .` puts in place, found by GDB's Python, without the loader."""
    shutil.copytree(ROOT / "src" / "gdb_prof", tmp_path / "gdb_prof")
    output = gdb(
        "python import gdb_prof", HELP, plugin=False, cwd=tmp_path, environment={"PYTHONPATH": str(tmp_path)}
    ).stdout
    assert "Usage: prof dump" in output


def test_a_missing_library_is_one_line_that_says_what_to_run(tmp_path: Path) -> None:
    (tmp_path / "elftools").mkdir()
    (tmp_path / "elftools" / "__init__.py").write_text("raise ImportError", encoding="ascii")
    output = gdb(f"source {ROOT}/gdb_prof", plugin=False, environment={"PYTHONPATH": str(tmp_path)}).stdout
    assert "lacks pyelftools: run scripts/deps" in output
    assert "Traceback" not in output


def test_a_gdb_without_python_says_which_to_use(tmp_path: Path) -> None:
    """A GDB that does not find its own Python files has none of Python, as far as a script can see."""
    ran = subprocess.run(
        [GDB, "-nx", "-q", "-batch", f"--data-directory={tmp_path}", "-ex", f"source {ROOT}/gdb_prof"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.stdout == (
        "gdb_prof: this GDB was built without Python: use gdb-multiarch, or the -py twin of arm-none-eabi-gdb\n"
    )
    assert "Traceback" not in ran.stderr


def test_the_floor_of_python_is_kept() -> None:
    """Every module compiles as Python 3.8 reads it, as far as this Python can tell."""
    for path in sorted((ROOT / "src").rglob("*.py")):
        ast.parse(path.read_text(encoding="utf-8"), feature_version=(3, 8))

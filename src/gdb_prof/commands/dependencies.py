"""The two libraries that GDB's own Python must be able to import."""

from __future__ import annotations

import importlib
import os
import sys

import gdb

_MODULES = {"elftools": "pyelftools", "tabulate": "tabulate"}

CHECKOUT = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", "..", ".."))
"""The folder that holds ``src``, when the package runs from a checkout."""


def folder(version: tuple[int, int]) -> str:
    """Where ``scripts/deps`` puts the libraries for one version of Python."""
    return os.path.join(CHECKOUT, ".deps", "python%d.%d" % version)


def require() -> None:
    """Make the libraries importable. Raises gdb.GdbError, which says what to run."""
    sys.path.append(folder(sys.version_info[:2]))
    missing = []
    for module, package in _MODULES.items():
        try:
            importlib.import_module(module)
        except ImportError:
            missing.append(package)
    if missing:
        sys.path.remove(folder(sys.version_info[:2]))
        sys.modules.pop("gdb_prof", None)  # so that the next `source` tries again
        raise gdb.GdbError(
            "gdb_prof: this GDB's Python %d.%d lacks %s: run %s"
            % (*sys.version_info[:2], " and ".join(missing), os.path.join("scripts", "deps"))
        )

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


def present() -> bool:
    """Make the libraries importable; where one is missing, say what to run."""
    there = folder(sys.version_info[:2])
    if there not in sys.path:
        sys.path.append(there)
    importlib.invalidate_caches()
    missing = [package for module, package in _MODULES.items() if not _importable(module)]
    if missing:
        gdb.write(
            "gdb_prof: this GDB's Python %d.%d lacks %s: run scripts/deps, then source this again\n"
            % (*sys.version_info[:2], " and ".join(missing)),
            gdb.STDERR,
        )
    return not missing


def _importable(module: str) -> bool:
    try:
        importlib.import_module(module)
    except ImportError:
        return False
    return True

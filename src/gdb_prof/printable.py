"""Text that came from a target or a file, made safe for a terminal."""

from __future__ import annotations

MAXIMUM = 256
"""Longer text is cut: no name that a person reads is longer."""


def printable(text: str) -> str:
    """`text` with control characters, and what is no character, as ``\\xNN``; cut at MAXIMUM."""
    shown = "".join(
        c if c.isprintable() else "".join("\\x%02x" % b for b in c.encode("utf-8", "surrogateescape"))
        for c in text[:MAXIMUM]
    )
    return shown + ("…" if len(text) > MAXIMUM else "")


def from_array(raw: bytes) -> str:
    """A C character array: up to its NUL or its end; bytes that are not UTF-8 as ``\\xNN``."""
    return printable(raw.split(b"\0", 1)[0].decode("utf-8", "surrogateescape"))

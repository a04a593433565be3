"""Text that came from a target or a file, made safe for a terminal."""

from __future__ import annotations

MAXIMUM = 256
"""Longer text is cut: no name that a person reads is longer."""


def printable(text: str, maximum: int = MAXIMUM) -> str:
    """`text` with control characters, and what is no character, as ``\\xNN``; cut at `maximum`."""
    shown = "".join(c if c.isprintable() else _escaped(c) for c in text[:maximum])
    return shown + ("…" if len(text) > maximum else "")


def _escaped(character: str) -> str:
    is_byte = "\udc80" <= character <= "\udcff"  # one that was not UTF-8
    raw = character.encode("utf-8", "surrogateescape" if is_byte else "surrogatepass")
    return "".join("\\x%02x" % byte for byte in raw)


def from_array(raw: bytes) -> str:
    """A C character array: up to its NUL or its end; bytes that are not UTF-8 as ``\\xNN``."""
    return printable(raw.split(b"\0", 1)[0].decode("utf-8", "surrogateescape"))

"""The identifiers in C++'s and Rust's mangled symbols, each spelt with its length before it.

Not a demangler: it only tells the identifiers of a function's own name from those of its
arguments, and from what merely looks like one (Itanium C++ ABI, 5.1; Rust RFC 2603).
"""

from __future__ import annotations

import re
from typing import Iterator

_CPP_START = re.compile(r"_Z[ZL]*(?:St)?(N?)")
_CPP = re.compile(
    r"(?P<length>\d+)|[ST][0-9A-Z]*_|[AD][0-9v]\d*_|C[1-5]|L_Z|Ut\d*_|Ul|D.|.", re.ASCII | re.DOTALL
)
_LAMBDA_END = re.compile(r"\d*_|", re.ASCII)
_RUST = re.compile(r"[sB][0-9A-Za-z]*_|(?P<length>\d+)_?|.", re.ASCII | re.DOTALL)
_OPENS = ("N", "I", "J", "X", "F", "L", "L_Z", "DT", "Dt", "Ul")


def identifiers(symbol: str) -> Iterator[str]:
    """`ns` and `step` of ``_ZN2ns4stepE4Time``; none where the symbol is not mangled."""
    if symbol.startswith("_Z"):
        return _cpp(symbol)
    return _rust(symbol) if symbol.startswith("_R") else iter(())


def last_part(name: str) -> str:
    """`step` of ``ns::Filter<int>::step(float)``."""
    bare = name.replace("(anonymous namespace)", "")
    while True:
        shorter = re.sub(r"<[^<>]*>", "", bare)
        if shorter == bare:
            return bare.split("(", 1)[0].rsplit("::", 1)[-1]
        bare = shorter


def _cpp(symbol: str) -> Iterator[str]:
    """The name ends with the E of its N, without one after its first identifier."""
    start = _CPP_START.match(symbol)
    assert start is not None
    at, nested, last, identifier = start.end(), bool(start.group(1)), "", ""
    open_ = ["N"]
    while at < len(symbol) and open_:
        token = _CPP.match(symbol, at)
        assert token is not None
        word, at = token.group(), token.end()
        of_name = len(open_) == 1
        if token["length"]:
            if open_[-1] not in ("L", "L_Z") or last in ("L", "L_Z"):  # else a literal's value
                identifier, at = symbol[at : at + int(word)], at + int(word)
                if of_name:
                    yield identifier
        elif word == "E":
            if open_.pop() == "Ul":
                end = _LAMBDA_END.match(symbol, at)
                at = end.end() if end else at
        elif word in ("D0", "D1", "D2") and of_name:
            yield "~" + identifier
        elif word in _OPENS and not (word == "L" and of_name):  # there it is internal linkage
            open_.append(word)
        if not nested:
            return
        last = word


def _rust(symbol: str) -> Iterator[str]:
    at = 2
    while at < len(symbol):
        token = _RUST.match(symbol, at)
        assert token is not None
        at = token.end()
        if token["length"]:
            yield symbol[at : at + int(token["length"])]
            at += int(token["length"])

"""Which function of a table a person means by a name."""

from __future__ import annotations

import collections
import difflib
import re
from typing import Callable, Counter, Iterable, List, Mapping, Optional, Sequence, Tuple

from gdb_prof.errors import UsageError
from gdb_prof.profile.places import Row
from gdb_prof.profile.program.code import Build
from gdb_prof.wording import base, plural, some

Demangle = Callable[[str], str]

_CLONE = re.compile(r"(?: \[clone [^\]]*\])+$")
_RUST_HASH = re.compile(r"::h[0-9a-f]{16}$")
_LABELLED = re.compile(r"^(.+) \(([^()]+)\)$")


def chosen(
    name: str,
    rows: Sequence[Row],
    counts: Mapping[int, int],
    build: Build,
    demangle: Demangle,
    find: Callable[[str], Optional[int]] = lambda name: None,
) -> Row:
    """The row of a table by function that `name` names.

    That is its symbol, or another one at its address, which `find` tells; its name as the source has
    it, or that without arguments, or the last part of it. Before it, with a colon, or after it in
    brackets, may be the file, the image or the address. `counts`: all samples by address, also
    those that are in no row. Raises UsageError where it is none or several, with what to write.
    """
    named = [row for row in rows if row.function is not None]
    spellings = [_spellings(row.name, demangle) for row in named]
    for level in range(_LEVELS):
        found = [
            row
            for row, spelled in zip(named, spellings)
            if any(
                _matches(what, spelled, level) and (not where or where in _places(row))
                for where, what in _readings(name)
            )
        ]
        if len(found) == 1:
            return found[0]
        if found:
            raise UsageError(
                "%d functions are called %s: %s" % (len(found), name, some(_told_apart(found, demangle), 5))
            )
    address = find(name)
    for row in named:
        if row.function is not None and row.function.address == address:
            return row
    elsewhere = [
        "%s:%s" % (base(row.source[0]) if row.source else row.function.image, spelled[_BARE])
        for row, spelled in zip(named, spellings)
        if row.function is not None
        and any(_matches(what, spelled, level) for level in range(_LEVELS) for _, what in _readings(name))
    ]
    if elsewhere:
        raise UsageError("no function %s has samples; near it: %s" % (name, some(elsewhere, 3)))
    raise UsageError(_missing(name, [spelled[_BARE] for spelled in spellings], counts, build))


_BARE, _LEVELS = 3, 5


def _spellings(name: str, demangle: Demangle) -> Tuple[str, ...]:
    """As the symbol table, as the source has it, that of which the compiler made a part or copy,
    without arguments."""
    readable = demangle(name)
    whole = _RUST_HASH.sub("", _CLONE.sub("", readable))
    return name, readable, whole, _without_arguments(whole)


def _matches(what: str, spelled: Sequence[str], level: int) -> bool:
    """On the last level the end of a name is enough: `step` for `dsp::Filter::step`."""
    return what == spelled[level] if level < len(spelled) else spelled[_BARE].endswith("::" + what)


def _without_arguments(name: str) -> str:
    """`Filter::step` for `Filter::step(int) const`."""
    end = name.rfind(")")
    if end < 0 or end < name.rfind("::"):
        return name
    depth = 0
    for at in range(end, 0, -1):
        depth += {")": 1, "(": -1}.get(name[at], 0)
        if not depth:
            return name[:at] if not name[:at].endswith("operator") else name
    return name


def _places(row: Row) -> Tuple[str, ...]:
    """What may stand for a row's place: its file, its image, its address."""
    assert row.function is not None
    function = row.function
    files = [function.source, *(row.source[:1] if row.source else ())]
    return (
        *(name for file in files if file for name in (file, base(file))),
        *(function.image, "%08x" % function.address, "0x%x" % function.address),
    )


def _readings(text: str) -> Iterable[Tuple[str, str]]:
    """(place, name) in each way to read `place:name` and `name (place)`."""
    yield "", text
    for match in re.finditer(":", text):
        yield text[: match.start()], text[match.end() :]
    labelled = _LABELLED.match(text)
    if labelled:
        yield labelled.group(2), labelled.group(1)


def _told_apart(rows: Sequence[Row], demangle: Demangle) -> List[str]:
    """For each a name that is its own: with arguments, with the file, the image or the address."""
    names = [demangle(row.name) for row in rows]
    functions = [row.function for row in rows if row.function is not None]
    for places in (
        [""] * len(rows),
        [base(row.source[0]) if row.source else "" for row in rows],
        [base(function.source) for function in functions],
        [function.image for function in functions],
        ["%08x" % function.address for function in functions],
    ):
        texts = ["%s:%s" % (place, name) if place else name for place, name in zip(places, names)]
        if len(set(texts)) == len(texts):
            return texts
    return names


def _missing(name: str, sampled: Sequence[str], counts: Mapping[int, int], build: Build) -> str:
    """Why there is no row of that name, and what there is."""
    names = list(dict.fromkeys(what for _, what in _readings(name)))
    for what in names:
        functions = [(build.functions.at(pc), n) for pc, n in counts.items()]
        asleep = sum(n for function, n in functions if function is not None and function.name == what)
        if asleep:
            return "%s only sleeps: its %s lie on or after a wfi or wfe, or are the idle task's" % (
                *(what, plural(asleep, "sample")),
            )
        hosts = _hosts(what, counts, build)
        if hosts:
            return _inlined(what, hosts)
    known = next((what for what in names if build.functions.named(what)), "")
    near = _near(known or name, sampled)
    hint = "; near it: %s" % near if near else ": `prof dump` lists what has" if sampled else ""
    return ("%s has no samples%s" if known else "no function %s has samples%s") % (known or name, hint)


def _inlined(name: str, hosts: Counter[str]) -> str:
    (host, samples), others = hosts.most_common(1)[0], len(hosts) - 1
    more = " and %s" % plural(others, "other function") if others else ""
    return "%s is inlined in %s%s: `prof annotate %s` shows %s of it" % (
        *(name, host, more, host, plural(samples, "sample")),
    )


def _near(name: str, sampled: Sequence[str]) -> str:
    """Names like it; empty where there are none."""
    within = [other for other in sampled if name in other or other in name]
    close = difflib.get_close_matches(name, sampled, 3, 0.6)
    return some(list(dict.fromkeys([*close, *within])), 3)


def _hosts(name: str, counts: Mapping[int, int], build: Build) -> Counter[str]:
    """The functions that have code inlined from `name`, with their samples in it."""
    hosts: Counter[str] = collections.Counter()
    for pc, samples in counts.items():
        chain = build.lines.inlined(pc)
        if name in chain[:-1]:
            function = build.functions.at(pc)
            hosts[function.name if function else chain[-1]] += samples
    return hosts

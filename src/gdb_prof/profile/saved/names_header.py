"""Names in a saved profile's header, under ``names``.

``strings``, and tables whose rows name them, and each other, by number, so that nothing is
said twice::

    functions  [name, address, end, image, source, flags, aliases, file, line]
               flags: 1 guessed, 2 no symbol; file, line: the definition, or null, 0
    chains     [string, ...]  functions inlined in each other, innermost first
    labels     [function, file, line, chain, flags]
               file, line: null, 0 without a line; flags: 1 in a literal pool, 2 asleep
    stretches  gap, halfwords, label, ... in ascending order of addresses: so many halfwords of
               one label, the first `gap` bytes after the last one of the stretch before
    known      [string, ...]  those inlined functions that have a body of their own, too
"""

from __future__ import annotations

from typing import Any, Callable, Dict, Hashable, Iterable, List, Optional, Sequence, Tuple

from gdb_prof.profile.program.functions import Function
from gdb_prof.profile.program.names import Label, Names, Source, Stretch
from gdb_prof.profile.saved.header import text, whole, word

_LONGEST_NAME = 4096
_GUESSED, _NO_SYMBOL = 1, 2
_POOL, _ASLEEP = 1, 2


class _Table:
    """Rows, each once, by number."""

    def __init__(self) -> None:
        self.rows: List[Any] = []
        self._numbers: Dict[Hashable, int] = {}

    def number(self, row: Hashable) -> int:
        if row not in self._numbers:
            self._numbers[row] = len(self.rows)
            self.rows.append(row)
        return self._numbers[row]


def to_header(names: Names) -> Dict[str, Any]:
    strings, functions, chains, labels = _Table(), _Table(), _Table(), _Table()
    by_label: Dict[Label, int] = {}

    def place(source: Source) -> Tuple[Optional[int], int]:
        return (strings.number(source[0]), source[1]) if source else (None, 0)

    def number(label: Label) -> int:
        f = label.function
        name, image, source = (strings.number(string) for string in (f.name, f.image, f.source))
        flags = _GUESSED * f.guessed | _NO_SYMBOL * (not f.symbol)
        function = functions.number(
            (name, f.address, f.end, image, source, flags, f.aliases, *place(label.definition))
        )
        chain = chains.number(tuple(strings.number(name) for name in label.inlined))
        flags = _POOL * label.in_literal_pool | _ASLEEP * label.asleep
        return labels.number((function, *place(label.line), chain, flags))

    flat: List[int] = []
    end = 0
    for stretch in names.stretches:
        if stretch.label not in by_label:
            by_label[stretch.label] = number(stretch.label)
        flat += (stretch.start - end, stretch.halfwords, by_label[stretch.label])
        end = stretch.start + 2 * stretch.halfwords - 2
    return {
        "build_id": names.build_id,
        "program": names.program,
        "known": [strings.number(name) for name in sorted(names.known)],
        "strings": strings.rows,
        "functions": functions.rows,
        "chains": chains.rows,
        "labels": labels.rows,
        "stretches": flat,
    }


def from_header(header: Dict[str, Any]) -> Names:
    """Raises ValueError, KeyError or TypeError for what to_header cannot have written."""
    strings = [text(string, _LONGEST_NAME) for string in _rows(header["strings"])]

    def string(number: Any) -> str:
        return strings[whole(number, len(strings) - 1)]

    def place(file: Any, line: Any) -> Source:
        return None if file is None else (string(file), word(line))

    functions = [_function(row, string, place) for row in _rows(header["functions"])]
    chains = [tuple(string(number) for number in _rows(row)) for row in _rows(header["chains"])]
    labels = []
    for function, file, line, chain, flags in _rows(header["labels"]):
        named, definition = functions[whole(function, len(functions) - 1)]
        inlined = chains[whole(chain, len(chains) - 1)]
        pool, asleep = bool(word(flags) & _POOL), bool(flags & _ASLEEP)
        labels.append(Label(named, definition, place(file, line), inlined, pool, asleep))
    return Names(
        text(header["build_id"]),
        text(header["program"]),
        tuple(_stretches(_rows(header["stretches"]), labels)),
        frozenset(string(number) for number in _rows(header["known"])),
    )


def _function(
    row: Any, string: Callable[[Any], str], place: Callable[[Any, Any], Source]
) -> Tuple[Function, Source]:
    name, address, end, image, source, flags, aliases, file, line = row
    function = Function(
        *(string(name), word(address), whole(end, 1 << 32), string(image), string(source)),
        guessed=bool(word(flags) & _GUESSED),
        aliases=word(aliases),
        symbol=not flags & _NO_SYMBOL,
    )
    return function, place(file, line)


def _stretches(flat: List[Any], labels: Sequence[Label]) -> Iterable[Stretch]:
    at = 0
    for gap, halfwords, label in zip(*[iter(flat)] * 3):
        start = word(at + whole(gap))
        at = word(start + 2 * whole(halfwords) - 2)
        if at < start:
            raise ValueError("no address")
        yield Stretch(start, halfwords, labels[whole(label, len(labels) - 1)])


def _rows(value: Any) -> List[Any]:
    if not isinstance(value, list):
        raise ValueError("no list")
    return value

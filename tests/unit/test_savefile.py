"""Saved profiles: what is written is read again, and damage is found, never guessed over."""

from __future__ import annotations

import dataclasses
import json
from typing import Any, Dict, Optional

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gdb_prof.errors import FileError
from gdb_prof.profile.circumstances import Circumstances, Handler
from gdb_prof.profile.report import spacing
from gdb_prof.profile.samples import Histogram, Profile, Timing
from gdb_prof.profile.saved.savefile import dumps, loads
from gdb_prof.profile.source import KINDS, Source

WORD = st.integers(0, 0xFFFFFFFF)
NAME = st.text(st.characters(min_codepoint=0x20, max_codepoint=0x7E), max_size=20)


@st.composite
def profiles(draw: Any) -> Profile:
    pcs = draw(st.lists(WORD, max_size=20))
    column = st.none() | st.lists(WORD, min_size=len(pcs), max_size=len(pcs)).map(tuple)
    stack_table = tuple(draw(st.lists(st.lists(WORD, max_size=4).map(tuple), max_size=3)))
    number = st.integers(0, max(0, len(stack_table) - 1))
    numbers = st.none() | st.lists(number, min_size=len(pcs), max_size=len(pcs)).map(tuple)
    bins = st.lists(WORD, min_size=1, max_size=20).map(tuple)
    histogram = draw(st.none() | st.builds(Histogram, WORD, st.integers(1, 16), bins, WORD, WORD))
    return Profile(
        pcs=() if histogram else tuple(pcs),
        tags=None if histogram else draw(column),
        lrs=None if histogram else draw(column),
        histogram=histogram,
        taken=draw(st.integers(len(pcs), 1 << 40)),
        limit=draw(WORD),
        timing=draw(
            st.builds(
                Timing,
                NAME,
                st.none() | WORD,
                WORD,
                st.none() | st.floats(1, 1e9),
                st.none() | st.floats(1e-6, 1e9),
                st.booleans(),
                NAME,
            )
        ),
        tag_symbol=draw(NAME),
        tag_names=draw(st.dictionaries(WORD, NAME, max_size=4)),
        build_id=draw(NAME),
        program=draw(NAME),
        origin="a.prof",
        remarks=tuple(draw(st.lists(NAME, max_size=3))),
        runs=draw(st.integers(1, 100)),
        circumstances=draw(CIRCUMSTANCES),
        source=draw(SOURCES),
        marks=draw(st.dictionaries(WORD, NAME, max_size=3)),
        stacks=None if histogram or not stack_table else draw(numbers),
        stack_table=stack_table,
    )


PART = st.floats(1e-6, 1)
SOURCES = st.builds(
    Source,
    st.sampled_from(KINDS),
    *(st.none() | PART, st.none() | PART, st.none() | PART),
    *(WORD, st.none() | WORD, WORD, st.none() | st.booleans(), st.just(0.0) | PART, st.booleans()),
)


CIRCUMSTANCES = st.builds(
    Circumstances,
    st.none() | st.integers(0, 255),
    st.none() | st.lists(st.builds(Handler, WORD, WORD, WORD), max_size=3).map(tuple),
    st.dictionaries(st.integers(1, 511), st.sampled_from([0x08000100, 0x08000200]) | WORD, max_size=20),
    *(NAME, NAME, NAME),
    st.lists(WORD, max_size=3).map(tuple),
)


def plain(profile: Profile) -> Profile:
    """With tuples, to be compared."""

    def column(words: Any) -> Any:
        return None if words is None else tuple(words)

    columns = {name: column(getattr(profile, name)) for name in ("pcs", "tags", "lrs", "stacks")}
    return dataclasses.replace(profile, **columns)


@given(profiles())
def test_what_is_saved_is_loaded(profile: Profile) -> None:
    assert plain(loads(dumps(profile), "a.prof")) == profile


def test_the_file_begins_with_a_line_that_says_what_it_is() -> None:
    first, header, body = dumps(Profile([0x08000238, 1], taken=2)).split(b"\n", 2)
    assert first == b"gdb_prof profile 1"
    assert json.loads(header)["blocks"][0]["words"] == 2
    assert body == bytes.fromhex("38020008 01000000")


SMALL = Profile([1, 2, 3], [7, 8, 7], [4, 5, 6], taken=9, tag_names={7: "A", 8: "B"})
FILE = dumps(SMALL)
BODY = len(FILE) - 4 * 9


def test_a_file_cut_within_its_header_is_refused() -> None:
    for length in range(BODY):
        with pytest.raises(FileError):
            loads(FILE[:length], "a.prof")


@pytest.mark.parametrize("length", range(BODY, len(FILE)))
def test_a_file_cut_within_its_samples_gives_those_that_are_whole(length: int) -> None:
    profile = loads(FILE[:length], "a.prof")
    kept = min(3, (length - BODY) // 4)
    assert list(profile.pcs) == [1, 2, 3][:kept]
    assert profile.tags is None or list(profile.tags) == [7, 8, 7][:kept]
    assert profile.lrs is None or list(profile.lrs) == [4, 5, 6][:kept]
    assert (profile.tags is not None) == (length >= BODY + 24 or not kept)
    assert profile.taken == 6 + kept
    assert any("the file is cut short: " in remark for remark in profile.remarks)


@pytest.mark.parametrize("at", range(BODY, len(FILE)))
def test_a_flipped_bit_in_the_samples_is_found(at: int) -> None:
    damaged = FILE[:at] + bytes([FILE[at] ^ 0x10]) + FILE[at + 1 :]
    name = ("pcs", "tags", "lrs")[(at - BODY) // 12]
    assert loads(damaged, "a.prof").remarks == ("the file is damaged: the checksum of %s is wrong" % name,)


def read(content: bytes) -> Optional[Profile]:
    """The profile, sound enough to be reported; None when the file is refused."""
    try:
        profile = loads(content, "a.prof")
    except FileError:
        return None
    for column in (profile.tags, profile.lrs):
        assert column is None or len(column) == len(profile.pcs)
    assert profile.histogram is None or 1 <= profile.histogram.shift <= 16
    assert spacing(profile.timing)
    assert len(profile.circumstances.vectors) < 1024
    assert profile.kept >= 0 <= profile.taken
    return profile


@given(profiles(), st.lists(st.tuples(st.integers(0, 2000), st.binary(min_size=1, max_size=3)), max_size=4))
def test_a_damaged_file_is_read_or_refused(profile: Profile, changes: Any) -> None:
    content = dumps(profile)
    for at, replacement in changes:
        at %= len(content)
        content = content[:at] + replacement + content[at + 1 :]
    read(content)


@given(st.binary().filter(lambda content: not content.startswith(b"gdb_prof profile ")))
def test_what_is_no_profile_is_refused(content: bytes) -> None:
    for raw in (content, b"X" * 17 + b"1\n" + FILE.split(b"\n", 1)[1]):
        with pytest.raises(FileError, match="it does not begin with `gdb_prof profile`"):
            loads(raw, "a.prof")
    assert read(b"gdb_prof profile 1\n" + content) is None


def test_another_version_is_refused_by_its_number() -> None:
    with pytest.raises(FileError, match="a profile of version 2; this gdb_prof reads version 1: update it"):
        loads(FILE.replace(b"profile 1", b"profile 2"), "a.prof")


def with_header(profile: Profile, **changes: Any) -> bytes:
    first, header, body = dumps(profile).split(b"\n", 2)
    return b"\n".join([first, json.dumps({**json.loads(header), **changes}).encode(), body])


def block(name: str, words: Any, crc32: int = 0) -> Dict[str, Any]:
    return {"name": name, "words": words, "crc32": crc32}


@pytest.mark.parametrize(
    "changes",
    [
        {"taken": -1},
        {"taken": 10**400},
        {"taken": True},
        {"limit": "7"},
        {"period_ticks": 1.5},
        {"tick_hz": float("nan")},
        {"tick_hz": 1e-300},
        {"elapsed_s": float("inf")},
        {"elapsed_s": -1.0},
        {"tag_names": {"seven": "A"}},
        {"tag_names": []},
        {"blocks": {}},
        {"blocks": [block("pcs", -1)]},
        {"blocks": [block("bins", 3)]},
        {"blocks": [{"name": "pcs"}]},
        {"histogram": {"base": 0, "shift": 4, "outside": 0, "saturated": 0}},
        {"runs": -1},
        {"runs": "1"},
        {"circumstances": 7},
        {"circumstances": {"sampler_priority": -1}},
        {"circumstances": {"hidden": [[1, 2]]}},
        {"circumstances": {"hidden": [[1, 2, 1 << 32]]}},
        {"circumstances": {"vectors": {"15": 2}}},
        {"circumstances": {"vectors": [[1, 1 << 40, 2]]}},
        {"circumstances": {"vectors": [[-9, 3, 2]]}},
        {"circumstances": {"idle_tags": ["a"]}},
    ],
    ids=lambda changes: str(changes)[:40],
)
def test_a_header_that_cannot_be_true_is_refused(changes: Dict[str, Any]) -> None:
    with pytest.raises(FileError, match="damaged: its header cannot be read"):
        loads(with_header(SMALL, **changes), "a.prof")


@pytest.mark.parametrize("shift", [-1, 0, 17, 1 << 40])
def test_a_histogram_of_an_impossible_shift_is_refused(shift: int) -> None:
    h = {"base": 0, "shift": shift, "outside": 0, "saturated": 0}
    with pytest.raises(FileError, match="damaged"):
        loads(with_header(Profile(histogram=Histogram(0, 4, (1,))), histogram=h), "a.prof")


def test_a_header_without_an_end_of_brackets_is_refused() -> None:
    with pytest.raises(FileError, match="damaged"):
        loads(b"gdb_prof profile 1\n" + b"[" * 1_000_000 + b"\n", "a.prof")


def test_tags_that_are_not_one_a_sample_are_left_out_and_said_so() -> None:
    profile = loads(with_header(SMALL, blocks=[block("pcs", 2), block("tags", 3)]), "a.prof")
    assert profile.tags is None
    assert "the file is cut short or damaged: tags are left out" in profile.remarks


def test_a_block_of_a_later_version_is_passed_over() -> None:
    blocks = json.loads(FILE.split(b"\n", 2)[1])["blocks"]
    later = with_header(SMALL, blocks=[*blocks, block("priorities", 2)]) + bytes(8)
    assert list(loads(later, "a.prof").pcs) == [1, 2, 3]
    assert loads(later, "a.prof").remarks == ()


def test_a_file_from_before_there_were_runs_circumstances_and_names_is_read() -> None:
    first, text, body = FILE.split(b"\n", 2)
    header = json.loads(text)
    for later in ("runs", "circumstances"):
        del header[later]
    assert "names" not in header
    assert plain(loads(b"\n".join([first, json.dumps(header).encode(), body]), "a.prof")) == plain(
        dataclasses.replace(SMALL, origin="a.prof")
    )


def test_handlers_that_are_the_same_one_are_written_once() -> None:
    vectors = {**{number: 0x08000100 for number in range(1, 240)}, 15: 0x08000200}
    content = dumps(Profile([1], taken=1, circumstances=Circumstances(vectors=vectors)))
    assert content.count(b"134217984") == 2
    assert loads(content, "a.prof").circumstances.vectors == vectors


def test_circumstances_in_a_file_are_printable() -> None:
    bad = "\x1b[31m" + "x" * 1000
    seen = loads(dumps(Profile(circumstances=Circumstances(contents=bad, emulator=bad, tick=bad))), "a")
    for text in (seen.circumstances.contents, seen.circumstances.emulator, seen.circumstances.tick):
        assert text.startswith("\\x1b[31mxxx") and len(text) < 300


def test_names_in_a_file_are_printable() -> None:
    bad = "\x1b[31m\n"
    profile = dataclasses.replace(
        SMALL,
        timing=Timing(bad),
        tag_symbol=bad,
        tag_names={7: bad, 8: "\ud800"},
        build_id=bad,
        program=bad,
        remarks=(bad,),
    )
    loaded = loads(dumps(profile), bad)
    good = "\\x1b[31m\\x0a"
    assert loaded.tag_names == {7: good, 8: "\\xed\\xa0\\x80"}
    assert loaded.timing.timer == loaded.tag_symbol == loaded.build_id == loaded.program == good
    assert (loaded.origin, loaded.remarks) == (good, (good,))

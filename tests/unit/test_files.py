"""Files are written whole or not at all."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from gdb_prof.errors import FileError
from gdb_prof.files import read_file, write_file


def test_an_existing_file_is_kept_without_force(tmp_path: Path) -> None:
    path = tmp_path / "a.prof"
    path.write_bytes(b"old")
    with pytest.raises(FileError, match=r"a\.prof exists: give -force to overwrite it$"):
        write_file(str(path), b"new", force=False)
    assert path.read_bytes() == b"old"
    write_file(str(path), b"new", force=True)
    assert path.read_bytes() == b"new"
    assert os.listdir(tmp_path) == ["a.prof"]


def test_a_dangling_link_counts_as_existing(tmp_path: Path) -> None:
    path = tmp_path / "a.prof"
    path.symlink_to("nowhere")
    with pytest.raises(FileError, match="exists"):
        write_file(str(path), b"new", force=False)


def test_the_old_file_stands_until_the_new_one_is_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.prof"
    path.write_bytes(b"old")
    seen = []
    replace = os.replace

    def watched(source: str, target: str) -> None:
        seen.append((Path(target).read_bytes(), Path(source).read_bytes(), Path(source).parent))
        replace(source, target)

    monkeypatch.setattr(os, "replace", watched)
    write_file(str(path), b"new", force=True)
    assert seen == [(b"old", b"new", tmp_path)]


@pytest.mark.parametrize(
    ("failure", "raised"),
    [(OSError(errno.ENOSPC, "No space left on device"), FileError), (KeyboardInterrupt(), KeyboardInterrupt)],
)
def test_a_failure_leaves_the_old_file_and_nothing_else(
    failure: BaseException, raised: type, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.prof"
    path.write_bytes(b"old")

    def fail(source: str, target: str) -> None:
        raise failure

    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises(raised):
        write_file(str(path), b"new", force=True)
    assert path.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["a.prof"]


def test_an_error_names_the_file_and_the_reason(tmp_path: Path) -> None:
    missing = tmp_path / "no" / "a.prof"
    for attempt in (lambda: read_file(str(missing)), lambda: write_file(str(missing), b"", force=False)):
        with pytest.raises(FileError) as error:
            attempt()
        assert str(error.value) == "%s: No such file or directory" % missing


def test_a_tilde_is_the_home_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    write_file("~/a.prof", b"x", force=False)
    assert (tmp_path / "a.prof").read_bytes() == b"x" == read_file("~/a.prof")

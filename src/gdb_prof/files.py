"""Files of the user's: read whole, written whole or not at all."""

from __future__ import annotations

import os
import tempfile

from gdb_prof.errors import FileError


def read_file(path: str) -> bytes:
    """Raises FileError."""
    try:
        with open(os.path.expanduser(path), "rb") as file:
            return file.read()
    except OSError as error:
        raise FileError("%s: %s" % (path, error.strerror)) from None


def write_file(path: str, content: bytes, force: bool) -> None:
    """Write under a temporary name beside it and rename. Raises FileError, also where the
    file exists and `force` is not given."""
    path = os.path.expanduser(path)
    if os.path.lexists(path) and not force:
        raise FileError("%s exists: give -force to overwrite it" % path)
    temporary = ""
    try:
        handle, temporary = tempfile.mkstemp(dir=os.path.dirname(path) or ".", prefix=".gdb_prof-")
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        umask = os.umask(0)
        os.umask(umask)
        os.chmod(temporary, 0o666 & ~umask)
        os.replace(temporary, path)
    except OSError as error:
        if temporary and os.path.exists(temporary):
            os.unlink(temporary)
        raise FileError("%s: %s" % (path, error.strerror)) from None
    except BaseException:
        if temporary and os.path.exists(temporary):
            os.unlink(temporary)
        raise

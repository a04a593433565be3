"""Files of the user's: read whole, written whole or not at all."""

from __future__ import annotations

import os
import tempfile
from typing import Optional

from gdb_prof.errors import FileError


def read_file(path: str, most: Optional[int] = None) -> bytes:
    """`most`: so many bytes. Raises FileError, also for a larger file."""
    try:
        with open(os.path.expanduser(path), "rb") as file:
            content = file.read() if most is None else file.read(most + 1)
    except OSError as error:
        raise FileError("%s: %s" % (path, error.strerror)) from None
    if most is not None and len(content) > most:
        raise FileError("%s has more than %d bytes: too large" % (path, most))
    return content


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

"""A front end that speaks MI to GDB, as Cortex-Debug does."""

from __future__ import annotations

import subprocess
import threading
from typing import Iterator, List, Tuple, Union

from running import GDB, ROOT, connect, elf


class Mi:
    """A GDB that speaks MI; `send` gives the records up to the command's result and prompt."""

    def __init__(self, interpreter: str) -> None:
        self._process = subprocess.Popen(
            [GDB, "-nx", "-q", "--interpreter=" + interpreter],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self._deadline = threading.Timer(60, self._process.kill)  # a read then ends with an error
        self._deadline.start()
        self.until("(gdb)")

    def until(self, start: Union[str, Tuple[str, ...]]) -> List[str]:
        """The records up to the first that begins with `start`, or with one of them."""
        assert self._process.stdout
        records = []
        while not records or not records[-1].startswith(start):
            line = self._process.stdout.readline()
            assert line, records
            records.append(line.rstrip("\n"))
        return records

    def send(self, command: str) -> List[str]:
        assert self._process.stdin
        self._process.stdin.write(command + "\n")
        self._process.stdin.flush()
        return self.until("^")

    def console(self, text: str) -> List[str]:
        """As Cortex-Debug's console does, without escaping anything."""
        return self.send('-interpreter-exec console "%s"' % text)

    def close(self) -> None:
        self.send('-interpreter-exec console "monitor quit"')
        self._deadline.cancel()
        self._process.kill()
        self._process.communicate()


def session(interpreter: str, program: str) -> Iterator[Mi]:
    session = Mi(interpreter)
    session.send("-gdb-set mi-async on")
    session.send(f"-file-exec-and-symbols {elf(program)}")
    session.console("source gdb_prof")
    session.send("-target-select " + connect(elf(program)).split(" ", 1)[1])
    yield session
    session.close()


def streamed(records: List[str]) -> str:
    """The console stream records as text."""
    return "".join(r[2:-1].replace("\\n", "\n").replace('\\"', '"') for r in records if r.startswith("~"))

"""In GDB, stopped at the end of the program `load`: its trace, repeated to a million events."""

import os
import struct
import tempfile
import time

import gdb

RECORD = struct.Struct("<IBBH")


def seconds(command):
    start = time.perf_counter()
    gdb.execute(command, to_string=True)
    return time.perf_counter() - start


def repeated(block, events):
    """The block with its records again and again, later each time, to a ring of so many."""
    head, n = struct.unpack_from("<4xII", block)
    names = block[16 : len(block) - 8 * n]
    records = [r for r in RECORD.iter_unpack(block[len(block) - 8 * n :][: 8 * head]) if r[1] not in (26, 27)]
    ticks = sum(1 for r in records if r[1] == 3)
    span = records[-1][0] - records[0][0] + 1000
    out = bytearray()
    for i in range(events):
        lap, at = divmod(i, len(records))
        stamp, code, task, argument = records[at]
        if code in (3, 9, 17):  # tick numbers, and the ticks to wake at
            argument = (argument + lap * ticks) & 0xFFFF
        out += RECORD.pack((stamp + lap * span) & 0xFFFFFFFF, code, task, argument)
    return struct.pack("<4sIII", b"TR33", events, events, 0) + names + bytes(out)


block = bytes(gdb.selected_inferior().read_memory(int(gdb.parse_and_eval("(long)&trace_buf")), 8304))
with tempfile.TemporaryDirectory() as folder:
    times = []
    for events in (125_000, 1_000_000):
        path = os.path.join(folder, "%d.bin" % events)
        with open(path, "wb") as file:
            file.write(repeated(block, events))
        start = time.perf_counter()
        with open(path, "rb") as file:
            base = sum(code for _, code, _, _ in RECORD.iter_unpack(file.read()[16:]))
        unpacked = time.perf_counter() - start
        times.append(seconds("rtos-trace diag " + path))
        print(
            "bench: a ring of %s events: rtos-trace diag %.2f s, %.1f times as long as unpacking it alone (%.2f s)"
            % ("{:,}".format(events), times[-1], times[-1] / unpacked, unpacked)
        )
    print("bench:   8 times the events take %.1f times as long" % (times[1] / times[0]))

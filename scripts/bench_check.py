"""In GDB, with a program recorded: what `prof dump` takes with and without its findings, for a
growing number of samples."""

import time

import gdb


def seconds(command):
    start = time.perf_counter()
    gdb.execute(command, to_string=True)
    return time.perf_counter() - start


seconds("prof dump")  # disassembles what it looks at, once for the program
before = None
for samples in (25_000, 50_000, 100_000):
    bare = min(seconds("prof dump -no-check -first %d" % samples) for _ in range(3))
    checked = min(seconds("prof dump -first %d" % samples) for _ in range(3))
    ratio = "" if before is None else ", %.1f times as long as half of them" % (checked / before)
    print(
        "bench: %s samples: prof dump -no-check %.3f s, with findings %.3f s: they cost %.3f s%s"
        % (format(samples, ","), bare, checked, checked - bare, ratio)
    )
    before = checked

"""In GDB, with an ELF of 60,000 functions: 1,000 distinct PCs reported, first and again."""

import os
import resource
import tempfile
import time

import gdb


def seconds(command):
    start = time.perf_counter()
    gdb.execute(command, to_string=True)
    return time.perf_counter() - start


size = 60000 * 16
with tempfile.TemporaryDirectory() as folder:
    log = os.path.join(folder, "log.txt")
    with open(log, "w") as file:
        for i in range(1000):
            print("%08x" % (0x08000000 + (i * 7919 * 2) % size & ~1), file=file)
    base = seconds("info symbol 0x08000100")
    load = seconds("prof load " + log)
    first, again = seconds("prof dump"), seconds("prof dump -by function")
    lines = seconds("prof dump -by line")
print(
    "bench: 60,000 functions, %.1f MB of ELF, 1,000 PCs: first dump %.2f s, again %.3f s (%.2f x), by line %.2f s;"
    % (os.path.getsize("firmware/build/bench/big.elf") / 1e6, first, again, again / first, lines)
)
print(
    "bench:   memory of this GDB at most %d MB" % (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024)
)

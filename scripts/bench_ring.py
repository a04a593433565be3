"""In GDB, with three_loops stopped at its limit: a ring of 16,384 samples, read and reported."""

import time

import gdb


def seconds(command):
    start = time.perf_counter()
    gdb.execute(command, to_string=True)
    return time.perf_counter() - start


start = time.perf_counter()
address = int(gdb.parse_and_eval("(unsigned long)&prof_pc"))
gdb.selected_inferior().read_memory(address, 4 * 16384)
read = time.perf_counter() - start
first, second = seconds("prof dump"), seconds("prof dump")
element = seconds("output/x *(unsigned (*)[1024])&prof_pc") * 16
print(
    "bench: 16,384 samples: reading alone %.3f s; prof dump %.3f s (%.1f x), again %.3f s (%.1f x);"
    % (read, first, first / read, second, second / read)
)
print("bench:   GDB's own print of as many words %.3f s (%.1f x)" % (element, element / read))

"""In GDB: a stream of 10 million PC samples decoded, and what pyOCD's parser takes for a part of it."""

import glob
import os
import resource
import sys
import time

from gdb_prof.swo.capture import ASLEEP, read_capture

FOLDER = "firmware/build/bench"
CHUNK = 1 << 20
SLICE = 4 << 20  # bytes for the peer


def memory_mb():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def decoded(name):
    """A capture, and how many MB of the stream a second took."""
    path = os.path.join(FOLDER, name + ".swo")
    start = time.perf_counter()
    with open(path, "rb") as file:
        capture = read_capture(iter(lambda: file.read(CHUNK), b""))
    return capture, os.path.getsize(path) / 1e6 / (time.perf_counter() - start)


class Sink:
    """What pyOCD's parser tells its events to, and the core that it asks for names."""

    def __init__(self):
        self.pcs = []

    def receive(self, event):
        if type(event).__name__ == "TracePeriodicPC":
            self.pcs.append(event.pc)

    def exception_number_to_name(self, number):
        return str(number)


def peer(samples):
    """pyOCD's MB a second, and whether its samples are ours; a sleeping core's are PC 0 there."""
    sys.path += glob.glob(FOLDER + "/peer/lib/python3.*/site-packages")
    try:
        from pyocd.trace.swo import SWOParser
    except ImportError as error:
        print("bench:   no pyOCD to compare with: %s" % error)
        return None
    with open(FOLDER + "/clean.swo", "rb") as file:
        raw = file.read(SLICE)
    sink = Sink()
    parser = SWOParser(sink, sink)
    start = time.perf_counter()
    parser.parse(raw)
    speed = len(raw) / 1e6 / (time.perf_counter() - start)
    ours = [0 if pc == ASLEEP else pc for pc in samples[: len(sink.pcs)]]
    agree = "the same" if ours == sink.pcs else "NOT the same"
    print(
        "bench:   pyOCD's parser on %.1f MB of it: %.1f MB/s; its %s samples are %s"
        % (len(raw) / 1e6, speed, format(len(sink.pcs), ","), agree)
    )
    return speed


def show(what, name, clean):
    capture, speed = decoded(name)
    wrong = ", looks wrong" if capture.looks_wrong else ""
    print(
        "bench:   %s: %.1f MB/s, %.1f times as long; quality %.2f%s"
        % (what, speed, clean / speed, capture.quality, wrong)
    )


before = memory_mb()
capture, clean = decoded("clean")
print(
    "bench: SWO stream of %.1f MB, %s samples: %.1f MB/s; memory of this GDB %.0f MB, of that %.0f for it (samples: %.0f)"
    % (
        capture.size_bytes / 1e6,
        format(len(capture.samples), ","),
        clean,
        memory_mb(),
        memory_mb() - before,
        4 * len(capture.samples) / 1e6,
    )
)
theirs = peer(capture.samples)
if theirs:
    print("bench:   %.1f times as fast as pyOCD's" % (clean / theirs))
show("1 % of the bytes damaged", "damaged", clean)
show("random bytes", "random", clean)

#!/usr/bin/env python3
"""Results of tests/gpu/async on a GPU against those of the emulated device (record.cuh has the format).

    compare.py DEVICE EMULATED EMULATED_HARDWARE_SUMS        table on stdout, one line a case; 1 when a case differs
    compare.py --hold TABLE EMULATED_HARDWARE_SUMS           are these still the bytes that the device gave?  1 when a case is not, or is missing

The columns: case; what the ISA fixes; words; words that differ in any bit from the emulated device as it comes, and with
KSCC_EMU_SUMS=hardware; the largest distance of the former over the case's largest magnitude; verdict; the first 16 digits of the SHA-256 of the device's bytes."""
import hashlib
import math
import struct
import sys


def read(path):
    cases = {}
    with open(path, "rb") as f:
        while line := f.readline():
            name, how, n = line.decode().split()
            cases[name] = (how, f.read(int(n)))
    return cases


def words(data):
    return struct.unpack(f"<{len(data) // 4}I", data[: len(data) // 4 * 4]) + tuple(data[len(data) // 4 * 4 :])


def values(data, how):
    return struct.unpack(f"<{len(data) // (2 if how.startswith('half') else 4)}{'e' if how.startswith('half') else 'f'}", data)


def distance(got, want, how):
    """Over the largest finite magnitude; infinite where one is NaN or infinite and the other is not the same."""
    a, b = values(got, how), values(want, how)
    size = max((abs(y) for y in b if math.isfinite(y)), default=0) or 1
    worst = 0.0
    for x, y in zip(a, b):
        if (math.isnan(x) and math.isnan(y)) or x == y:
            continue
        worst = max(worst, abs(x - y) / size if math.isfinite(x) and math.isfinite(y) else math.inf)
    return worst


def digest(data):
    return hashlib.sha256(data).hexdigest()[:16]


def hold(table, path):
    rows = [l.rstrip("\n").split("\t") for l in open(table) if not l.startswith("#")]
    cases, held, bad = read(path), 0, 0
    known = {r[0]: r for r in rows}
    for name, (_, data) in cases.items():
        r = known.get(name)
        if r is None or len(r) < 8:  # the device has not run it
            continue
        held += 1
        if r[4] == "0" and digest(data) != r[7]:
            bad += 1
            print(f"{name}: not the bytes that the device gave any more")
    print(f"{held} of {len(cases)} cases held, {bad} differ")
    sys.exit(1 if bad or not held else 0)


def main():
    if sys.argv[1] == "--hold":
        hold(*sys.argv[2:4])
    device, emulated, hardware = (read(p) for p in sys.argv[1:4])
    counts = {}
    for name, (how, want) in emulated.items():
        got = device.get(name, (how, b""))[1]
        alike = hardware[name][1]
        w, x, y = words(want), words(got), words(alike)
        if len(got) != len(want) or not want:
            print(f"{name}\t{how}\t{len(w)}\t-\t-\t-\tno result")
            counts["no result"] = counts.get("no result", 0) + 1
            continue
        bits, bits_hardware = (sum(p != q for p, q in zip(x, z)) for z in (w, y))
        far = 0.0 if not bits or how == "exact" else distance(got, want, how)
        ok = bits == 0 if how == "exact" else not far > float(how.split("-", 1)[1])
        verdict = "ok" if ok else "DIFFERS"
        counts[verdict] = counts.get(verdict, 0) + 1
        print(f"{name}\t{how}\t{len(w)}\t{bits}\t{bits_hardware}\t{far:.3g}\t{verdict}\t{digest(got)}")
    print("# " + ", ".join(f"{n} {v}" for v, n in sorted(counts.items())))
    sys.exit(0 if set(counts) == {"ok"} else 1)


main()

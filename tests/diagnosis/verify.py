#!/usr/bin/env python3
"""Do the labelled kernels really have the bottleneck that their label names?

    verify.py KSCC [--profiles=DIR] [--update] [--table=FILE] [NAME...]

Runs `kscc profile --json` on each kernel of tests/diagnosis/kernels (or takes the profile from DIR when it is newer), computes the quantity
of the kernel's "// verified:" line and compares.  --update writes what the scoring test reads, counters/NAME.json.  Exit status: 0 when all hold.
Quantities: docs/EVIDENCE.md has most; term:a+b is the largest of these resources' own times over the kernel's time, bytes_per_lane bytes a lane moves
in a global request, global_bytes_ratio bytes requested over bytes that the contract names, entry_bytes_ratio distinct bytes of each launch over the same,
local_bytes_ratio local over global bytes, faster_with NAME the modelled speed-up with -DNAME (1.1 at least)."""
import json, os, re, subprocess, sys

HERE = os.path.dirname(os.path.abspath(__file__))
FLAGS = ["-O3", "-arch=sm_90a"]
BYTES = {"half": 2, "bf16": 2, "float": 4, "double": 8, "int8": 1, "uint8": 1, "int16": 2, "uint16": 2, "int32": 4, "uint32": 4, "int64": 8, "uint64": 8}


def profile(kscc, path, extra, cache):
    name = os.path.basename(path)[:-3] + ("." + extra if extra else "") + ".json"
    kept = os.path.join(cache, name) if cache else None
    if not kept or not os.path.exists(kept) or os.path.getmtime(kept) < os.path.getmtime(path):
        line = [kscc, "profile", "--json", path] + FLAGS + (["-D" + extra] if extra else [])
        done = subprocess.run(line, capture_output=True, text=True, timeout=600)
        if done.returncode:
            raise RuntimeError(done.stderr.strip().splitlines()[-1])
        if not kept:
            return json.loads(done.stdout)[0]["profile"]
        open(kept, "w").write(done.stdout)
    return json.load(open(kept))[0]["profile"]


def contract_bytes(text):
    """Bytes that the contract's arrays hold at its first timing point; scratch left out."""
    dims = dict(re.findall(r"(\w+)=([^\s;]+)", re.search(r"// kscc: time\s+([^;\n]*)", text).group(1)))
    dims = {k: int(v) for k, v in dims.items()}
    for name, value in re.findall(r"(\w+)=(\S+)", " ".join(re.findall(r"// kscc: dims\s+(.*)", text))):
        if name not in dims:
            dims[name] = eval(value.replace("/", "//"), {}, dims)
    total = 0
    for kind, names, dtype, shape in re.findall(r"// kscc: (in|out|inout)\s+([\w, ]+?)\s*:\s*(\w+)\[([^\]]*)\]", text):
        n = BYTES[dtype]
        for length in shape.split(","):
            n *= eval(length.replace("/", "//"), {}, dims)
        total += n * len(names.split(",")) * (2 if kind == "inout" else 1)
    return total


def total(kernels, *keys):
    return sum(k.get(key, 0) for k in kernels for key in keys)


def quantity(name, kernels, profile_, text):
    main = max(kernels, key=lambda k: k["modelled_ns"])
    requests = total([main], "global_load_requests", "global_store_requests")
    moved = total([main], "global_load_bytes_requested", "global_store_bytes_requested")
    if name == "sector_efficiency":
        return moved / (32 * total([main], "global_load_sectors", "global_store_sectors"))
    if name == "bytes_per_lane":
        return moved / (32 * requests)
    if name == "shared_conflicts_per_request":
        return main["shared_conflicts"] / (main["shared_load_requests"] + main["shared_store_requests"])
    if name == "read_amplification":
        return main["global_load_bytes_requested"] / main["l2_unique_read_bytes"]
    if name == "global_bytes_ratio":
        return moved / contract_bytes(text)
    if name == "entry_bytes_ratio":
        return total(kernels, "l2_unique_read_bytes", "l2_unique_write_bytes") / contract_bytes(text)
    if name == "launch_overhead_ratio":
        return sum(k["launches"] * k["modelled"]["launch_ns"] for k in kernels) / total(kernels, "modelled_ns")
    if name == "barriers_per_warp":
        return main["barriers"] / (main["blocks"] * -(-main["threads_per_block"] // 32))
    if name == "waves":
        return main["modelled"]["waves"]
    if name == "lane_efficiency":
        return main["thread_insts"] / (32 * main["warp_insts"])
    if name == "occupancy":
        return main["occupancy"]["warps_per_sm"] / 64
    if name == "local_bytes_ratio":
        return main["local_bytes"] / moved
    if name == "spill_bytes":
        return sum(int(n) for n in re.findall(r"(\d+) bytes spill", profile_.get("ptxas", "")))
    if name.startswith("term:"):
        return max(main["modelled"]["terms"][t + "_ns"] for t in name[5:].split("+")) / main["modelled_ns"]
    raise RuntimeError("unknown quantity " + name)


def slim(profile_):
    """What analyzer/counters.def reads, and ptxas's text."""
    wanted = re.findall(r'X\(\w+, "([\w.]+)"', open(os.path.join(HERE, "../../analyzer/counters.def")).read()) + ["name"]
    kernels = []
    for k in profile_["kernels"]:
        out = {}
        for path in wanted:
            source, target, parts = k, out, path.split(".")
            for part in parts[:-1]:
                source, target = source.get(part, {}), target.setdefault(part, {})
            value = source.get(parts[-1])
            if value is not None:
                target[parts[-1]] = float("%.6g" % value) if isinstance(value, float) else value
        kernels.append(out)
    return {"device": profile_["device"], "modelled": True, "kernels": kernels, "ptxas": profile_.get("ptxas", "")}


def check(kscc, name, cache, update):
    path = os.path.join(HERE, "kernels", name + ".cu")
    text = open(path).read()
    layer = re.search(r"// diagnosis: (\S+)", text).group(1)
    clause = re.search(r"// verified: (.+)", text).group(1).strip()
    p = profile(kscc, path, None, cache)
    if update:
        with open(os.path.join(HERE, "counters", name + ".json"), "w") as f:
            json.dump(slim(p), f, indent=1)
            f.write("\n")
    if clause == "source":
        return layer, clause, "", "source"
    if clause.startswith("faster_with "):
        other = profile(kscc, path, clause.split()[1], cache)
        value = total(p["kernels"], "modelled_ns") / total(other["kernels"], "modelled_ns")
        return layer, clause, value, "yes" if value >= 1.1 else "NO"
    what, sign, limit = clause.split()
    value = quantity(what, p["kernels"], p, text)
    holds = value >= float(limit) if sign == ">=" else value <= float(limit)
    return layer, clause, value, "yes" if holds else "NO"


def main(argv):
    kscc, cache, update, table, names = argv[1], None, False, None, []
    for word in argv[2:]:
        if word.startswith("--profiles="):
            cache = word[11:]
        elif word == "--update":
            update = True
        elif word.startswith("--table="):
            table = word[8:]
        else:
            names.append(word)
    if update:
        os.makedirs(os.path.join(HERE, "counters"), exist_ok=True)
    names = names or sorted(f[:-3] for f in os.listdir(os.path.join(HERE, "kernels")) if f.endswith(".cu"))
    rows, wrong = [], 0
    for name in names:
        try:
            layer, clause, value, holds = check(kscc, name, cache, update)
        except (RuntimeError, ZeroDivisionError, KeyError) as e:
            layer, clause, value, holds = "?", str(e), "", "NO"
        wrong += holds == "NO"
        rows.append("%s\t%s\t%s\t%s\t%s" % (name, layer, clause, value if value == "" else "%.4g" % value, holds))
        print(rows[-1], flush=True)
    if table:
        with open(table, "w") as f:
            f.write("# Labelled kernels of tests/diagnosis/kernels and the quantity that verifies each label, on the emulated device (modelled, sm_90a).\n")
            f.write("# date: %s   command: tests/diagnosis/verify.py KSCC --table=%s   flags: %s\n" % (subprocess.run(["date", "-u", "+%F"], capture_output=True, text=True).stdout.strip(), os.path.basename(table), " ".join(FLAGS)))
            f.write("kernel\tlayer\tverified\tvalue\tholds\n" + "\n".join(rows) + "\n")
    return 1 if wrong else 0


sys.exit(main(sys.argv))

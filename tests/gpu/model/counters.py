#!/usr/bin/env python3
"""Puts Nsight Compute's counters beside those of the emulated device.

usage: counters.py counters.csv opcodes.csv emulated.json kernels...
counters.csv, opcodes.csv: of run.sh; emulated.json: of test_calibration; kernels: the launches profiled, in any order (run.sh's list).
Prints one line a launch and counter: what the device counted, what the emulated one did, their ratio."""
import csv
import json
import re
import sys

L1 = "l1tex__"
PAIRS = [  # name, ours, Nsight Compute's: sums of these
    ("load requests", ["global_load_requests"], [L1 + "t_requests_pipe_lsu_mem_global_op_ld.sum"]),
    ("load sectors", ["global_load_sectors"], [L1 + "t_sectors_pipe_lsu_mem_global_op_ld.sum"]),
    ("store requests", ["global_store_requests"], [L1 + "t_requests_pipe_lsu_mem_global_op_st.sum"]),
    ("store sectors", ["global_store_sectors"], [L1 + "t_sectors_pipe_lsu_mem_global_op_st.sum"]),
    ("atomic requests", ["global_atomic_requests"],
     [L1 + "t_requests_pipe_lsu_mem_global_op_red.sum", L1 + "t_requests_pipe_lsu_mem_global_op_atom.sum"]),
    ("atomic sectors", ["global_atomic_sectors"],
     [L1 + "t_sectors_pipe_lsu_mem_global_op_red.sum", L1 + "t_sectors_pipe_lsu_mem_global_op_atom.sum"]),
    ("shared load wavefronts", ["shared_load_wavefronts"], [L1 + "data_pipe_lsu_wavefronts_mem_shared_op_ld.sum"]),
    ("shared store wavefronts", ["shared_store_wavefronts"], [L1 + "data_pipe_lsu_wavefronts_mem_shared_op_st.sum"]),
    ("shared atomic wavefronts", ["shared_atomic_wavefronts"], [L1 + "data_pipe_lsu_wavefronts_mem_shared_op_atom.sum"]),
    ("instructions", ["machine_insts"], ["smsp__inst_executed.sum"]),
]


def rows_of(path):
    with open(path) as f:
        table = list(csv.reader(line for line in f if line.startswith('"')))
    return table[0], table[2:]


def number(text):
    return float(text.replace(",", "") or 0)


def barriers(cell):
    """"12 (BAR: 5; IADD3: 7)" or "...": the count of BAR."""
    m = re.search(r"\bBAR:? *=? *([0-9,]+)", cell)
    return number(m.group(1)) if m else 0


def main():
    head, rows = rows_of(sys.argv[1])
    ohead, orows = rows_of(sys.argv[2])
    at = {name: i for i, name in enumerate(head)}
    opcodes = next(i for i, name in enumerate(ohead) if name.startswith("sass__inst_executed_per_opcode"))
    ours = {}
    with open(sys.argv[3]) as f:
        for line in f:
            o = json.loads(line)
            ours[o["launch"]] = o
    names = sorted(sys.argv[4:], key=list(ours).index)  # the order of set.def, in which they were launched
    print("launch\tcounter\tdevice\temulated\temulated/device")
    for name, row, orow in zip(names, rows, orows):
        mine = ours[name]
        pairs = [(what, sum(mine[k] for k in a), sum(number(row[at[k]]) for k in b if k in at)) for what, a, b in PAIRS]
        if "BAR" in orow[opcodes]:
            pairs.append(("barriers", mine["barriers"], barriers(orow[opcodes])))
        for what, emulated, device in pairs:
            if emulated or device:
                ratio = "%.4f" % (emulated / device) if device else "-"
                print("%s\t%s\t%.0f\t%.0f\t%s" % (name, what, device, emulated, ratio))


main()

"""One PTX file with one kernel for each asynchronous, cluster or tensor opcode, for opcodes.sh.

usage: opcode_forms.py DIR <OPCODES     writes DIR/<number>.ptx; prints "number opcode"; opcodes without a form get no file
"""
import re
import sys


def registers(kind, first, n):
    return "{" + ", ".join(f"%{kind}{first + i}" for i in range(n)) + "}"


def wgmma(op):
    shape = re.search(r"m64n(\d+)k\d+\.(\w+)\.(\w+)\.(\w+)$", op)
    if not shape:
        return None
    n, d, a = int(shape[1]), shape[2], shape[3]
    regs = registers("f" if d == "f32" else "r", 0, n // 2 if d != "f16" else n // 4)
    sparse = ", %r900, 0" if ".sp." in op else ""
    tail = "" if a in ("s8", "u8") else ", 1, 1" + (", 0, 0" if a in ("f16", "bf16") else "")
    return f"{op} {regs}, %rd1, %rd2{sparse}, %p1{tail};"


def tcgen05(op):
    moved = re.match(r"tcgen05\.(ld|st)\.sync\.aligned\.(\w+)\.x(\d+)", op)
    if moved:
        each = {"32x32b": 1, "16x64b": 1, "16x128b": 2, "16x256b": 4, "16x32bx2": 1}[moved[2]]
        regs, imm = registers("r", 10, each * int(moved[3])), ", 16" if moved[2] == "16x32bx2" else ""
        return f"{op} {regs}, [%r1]{imm};" if moved[1] == "ld" else f"{op} [%r1]{imm}, {regs};"
    if op.startswith("tcgen05.mma.sp"):
        return f"{op} [%r1], %rd1, %rd2, [%r2], %r3, %p1;"
    if "block_scale" in op:
        return f"{op} [%r1], %rd1, %rd2, %r3, [%r4], [%r5], %p1;"
    if op.startswith("tcgen05.mma"):
        return f"{op} [%r1], %rd1, %rd2, %r3, %p1;"
    if op.startswith("tcgen05.cp"):
        return f"{op} [%r1], %rd1;"
    if op.startswith("tcgen05.commit"):
        return f"{op} [%r1]" + (", %rs1;" if "multicast" in op else ";")
    return None


def bulk(op):
    policy = ", %rd9" if "cache_hint" in op else ""
    dims = re.search(r"tensor\.(\d)d", op)
    where = ".prefetch" in op and "prefetch" or re.search(r"(shared::\w+|global)\.(?:tile\.)?(shared::\w+|global)?", op)[1]
    if not dims:
        if ".reduce" in op or where == "global":
            return f"{op} [%rd1], [%r1], 64{policy};"
        if where == "prefetch":
            return f"{op} [%rd1], 64{policy};"
        mask = ", %rs1" if "multicast" in op else ""
        return f"{op} [%r1], [%rd1], 64, [%r2]{mask}{policy};"
    at = registers("r", 10, int(dims[1]))
    if where == "prefetch":
        return f"{op} [%rd1, {at}]{policy};"
    if where == "global":
        return f"{op} [%rd1, {at}], [%r1]{policy};"
    offsets = ", " + registers("rs", 2, int(dims[1]) - 2) if "im2col" in op else ""
    mask = ", %rs1" if "multicast" in op else ""
    return f"{op} [%r1], [%rd1, {at}], [%r2]{offsets}{mask}{policy};"


def mbarrier(op):
    if ".init" in op:
        return f"{op} [%r1], 1;"
    if ".inval" in op:
        return f"{op} [%r1];"
    if ".try_wait" in op or ".test_wait" in op:
        return f"{op} %p2, [%r1], " + ("%r2;" if ".parity" in op else "%rd1;")
    if ".arrive" in op:
        result = "_" if "cluster.b64" in op else "%rd3"
        return f"{op} {result}, [%r1]" + (", %r2;" if "expect_tx" in op or "noComplete" in op else ";")
    return f"{op} [%r1], %r2;"  # expect_tx, complete_tx


def form(op):
    if op.startswith("wgmma.mma"):
        return wgmma(op)
    if op.startswith(("wgmma.wait_group", "cp.async.bulk.wait_group")):
        return f"{op} 0;"
    if op.startswith("tcgen05."):
        return tcgen05(op)
    if op.startswith("mbarrier."):
        return mbarrier(op)
    if op.startswith(("cp.async.bulk.", "cp.reduce.async.bulk.")):
        return bulk(op)
    if op.startswith("cp.async.mbarrier"):
        return f"{op} [%r1];"
    if op.startswith("setmaxnreg"):
        return f"{op} 64;"
    if op.startswith(("barrier.cluster", "wgmma.", "fence.proxy.async", "fence.mbarrier_init", "fence.proxy.alias")):
        return f"{op};"
    if op.startswith("fence.proxy.tensormap"):
        return f"{op} [%rd1], 128;" if "acquire" in op else f"{op};"
    if op.startswith("tensormap.cp_fenceproxy"):
        return f"{op} [%rd1], [%r1], 128;"
    if op.startswith("tensormap.replace"):
        return f"{op} [%r1], " + ("0, %r2;" if re.search(r"dim|stride", op) and op.endswith("b32") else "0, %rd1;" if "stride" in op else "%rd1;")
    if op.startswith("st.async"):
        return f"{op} [%r1], " + ("%f1" if op.endswith("f32") else "%rd3" if op.endswith("64") else "%r3") + ", [%r2];"
    if op.startswith("clusterlaunchcontrol.try"):
        return f"{op} [%r1], [%r2];"
    return None


HEAD = """.version 9.0
.target sm_100a
.address_size 64
.extern .shared .align 1024 .b8 room[];
.visible .entry k()
{
    .reg .pred %p<4>;
    .reg .b16 %rs<8>;
    .reg .b32 %r<1000>;
    .reg .f32 %f<200>;
    .reg .b64 %rd<16>;
"""

for number, line in enumerate(sys.stdin):
    opcode = line.split("\t")[0].strip()
    text = form(opcode)
    print(number, opcode)
    if text:
        with open(f"{sys.argv[1]}/{number}.ptx", "w") as out:
            out.write(HEAD + "    " + text + "\n    ret;\n}\n")

# kscc record: what a program's kernels read and wrote, where its time went, and what is left when something goes wrong.
cat >p.cu <<'F'
#include <cooperative_groups.h>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <csignal>
#include <unistd.h>
struct pair { float *to; int n; const float *from; };
__device__ int calls;
__global__ void copy(pair p)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < p.n)
        p.to[i] = p.from[i] + 1;
    if (i == 0)
        calls++;
}
__global__ void through(float **table) { table[1][threadIdx.x] = table[0][threadIdx.x]; }
__global__ void bad(int *p) { p[1 << 20] = 1; }
__global__ void together(int *p)
{
    cooperative_groups::this_grid().sync();
    p[threadIdx.x] = 7;
}
struct shade { unsigned char r, g; };
__global__ void shades(const shade *s, float *y) { y[threadIdx.x] = s[threadIdx.x].r * 0.5f; }
__global__ void count(int *n) { atomicAdd(n + threadIdx.x % 4, 3); }
int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "";
    int n = 1000, many = argc > 2 ? atoi(argv[2]) : 5;
    float *a, *b, **table, h[1000], *back;
    cudaStream_t s;
    cudaMalloc(&a, n * 4);
    cudaMalloc(&b, n * 4);
    cudaMallocManaged(&table, 2 * sizeof *table);
    cudaMallocHost(&back, n * 4);
    table[0] = a, table[1] = b;
    if (!strcmp(how, "large"))
        return !printf("%s %s\n", how, cudaGetErrorName(cudaMalloc(&a, 1 << 20)));
    cudaStreamCreate(&s);
    for (int i = 0; i < n; i++)
        h[i] = (float)(i * 2654435761u % 1000);
    cudaMemcpy(a, h, n * 4, cudaMemcpyHostToDevice);
    if (!strcmp(how, "folder") && chdir("/") != 0)
        return 9;
    if (!strcmp(how, "kinds")) {
        copy<<<1, 32>>>(pair{b, n, a});
        int *counts;
        cudaMalloc(&counts, 16);
        cudaMemset(counts, 0, 16);
        count<<<1, 32>>>(counts);
        shades<<<1, 32>>>((const shade *)a, b);
        return cudaDeviceSynchronize();
    }
    for (int i = 0; i < many; i++)
        copy<<<(n + 255) / 256, 256>>>(pair{i % 2 ? a : b, n, i % 2 ? b : a});
    copy<<<8, 128, 64, s>>>(pair{b, n, a});
    through<<<1, 32>>>(table);
    if (!strcmp(how, "fault"))
        bad<<<1, 1>>>((int *)a);
    if (!strcmp(how, "crash"))
        abort();
    if (!strcmp(how, "kill"))
        kill(getpid(), SIGKILL);
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal);
    copy<<<4, 256, 0, s>>>(pair{b, n, a});
    cudaStreamEndCapture(s, &graph);
    cudaGraphInstantiate(&exec, graph, 0);
    cudaGraphLaunch(exec, s);
    void *args[] = {&b};
    cudaLaunchCooperativeKernel((void *)together, dim3(2), dim3(32), args, 0, 0);
    cudaMemcpy(back, b, n * 4, cudaMemcpyDeviceToHost);
    cudaError_t e = cudaMemcpy(h, a, n * 4, cudaMemcpyDeviceToHost);
    printf("%s %s\n", how, cudaGetErrorName(e));
    return !strcmp(how, "status") ? 5 : 0;
}
F
"$REAL_NVCC" -gencode arch=compute_90a,code=compute_90a -cudart shared p.cu -o p 2>nvcc.log || { fail "no program"; cat nvcc.log; }
record() { run env LD_PRELOAD="$PROGRAM_PRELOAD" timeout 300 "$KSCC" record --kscc-device=emulated "$@"; }

# A folder given by a relative path, a program that leaves its own.
record -o rec -- ./p folder
expect_status 0
grep -q '^folder cudaSuccess' out || fail "the program's own output is lost"
run "$KSCC" record --show=rec --check --json
expect_status 0
expect_no_err warning
python3 - <<'F' || fail "the recording is not what the program did"
import glob, json, struct, subprocess
lines = [json.loads(l) for l in open(glob.glob("rec/process-*.jsonl")[0])]
assert lines[0]["format"] == "kscc-record" and lines[0]["version"] == 1 and lines[-1]["ev"] == "end" and "full" not in lines[-1]
launches = [l for l in lines if l["ev"] == "launch"]
copies = [l for l in lines if l["ev"] == "copy"]
assert [l["n"] for l in lines[1:-1]] == list(range(len(lines) - 2))
assert len(launches) == 9 and len(copies) == 2, (len(launches), len(copies))
unpack = lambda h: subprocess.run(["zstd", "-dcq", f"rec/contents/{h}.zst"], capture_output=True, check=True).stdout
def floats(h):
    try: data = unpack(h)
    except FileNotFoundError: return None # no zstd here: --check has read them
    return struct.unpack("<%df" % (len(data) // 4), data)
first = launches[0]
assert first["grid"] == [4, 1, 1] and first["block"] == [256, 1, 1] and first["stream"] == 0 and first["ns"] > 0
points = first["params"][0]["points"] # both members of the structure
assert [p["at"] for p in points] == [0, 16] and first["params"][0]["bytes"][16:24] == "e8030000", first["params"]
to, frm = (first["buffers"][p["buffer"]] for p in points)
assert to["bytes"] == 4000 and "after" in to and "after" not in frm and to["kind"] == "device"
variable = [b for b in first["buffers"] if b.get("name") == "calls"]
assert len(variable) == 1 and "after" in variable[0]
a, b = floats(frm["before"]), floats(to["after"])
assert a is None or (len(a) == 1000 and all(y == x + 1 for x, y in zip(a, b)))
assert all("buffers" not in l for l in launches[1:5]), "sampled too often"
other = launches[5]
assert other["stream"] == 1 and other["shared"] == 64 and "buffers" in other, "a new shape is recorded"
table = launches[6]
holds = {(table["buffers"][h["in"]]["kind"], h["at"]) for h in table["holds"]}
assert holds == {("managed", 0), ("managed", 8)}, holds
assert len([x for x in table["buffers"] if x["bytes"] == 4000]) == 2
assert launches[7].get("graph") and launches[7]["stream"] == 1 and launches[8].get("cooperative")
assert copies[0]["bytes"] == 4000 and copies[0]["kept"] and copies[0]["contents"] != copies[1]["contents"]
s = json.load(open("out"))
assert s["launches"] == 9 and s["copies"] == 2 and s["modelled"] and len(s["kernels"]) == 3
assert abs(sum(k["share"] for k in s["kernels"]) - 1) < 1e-9
for k in s["kernels"]:
    assert abs(k["bound"] - 1 / (1 - k["share"])) < 1e-6 and abs(sum(x["weight"] for x in k["shapes"]) - 1) < 1e-9
F
# As a workload: what its kernels are tried with, and what is left out and why.
record -o kinds -- ./p kinds
expect_status 0
run "$KSCC" contract p.cu --json --kscc-workload=kinds
[ "$(grep -c "its module has the variable 'calls', of which original and candidate would have one each" err)" = 3 ] || fail "a variable of the module is overlooked"
python3 - <<'F'
import glob, json
name, = glob.glob("kinds/process-*.jsonl")
lines = [json.loads(l) for l in open(name)]
for b in [b for l in lines for b in l.get("buffers", []) if b.get("name") == "calls"]: # a table of the compiler's instead
    b["name"] = "__cudart_i2opi_f"
    b.pop("after", b.pop("after_kept", None))
open(name, "w").write("".join(json.dumps(l, separators=(",", ":")) + "\n" for l in lines))
F
run "$KSCC" contract p.cu --json --kscc-workload=kinds
python3 - <<'F' || { fail "not the contracts that its launches suggest"; cat out; }
import json, re
j = json.load(open("out"))
refused = {c["kernel"]: c.get("refused") for c in j["calls"]}
assert refused["shades"] is None and refused["count"] is None, refused
assert "'p' (pair) is neither a pointer nor a number" in refused["copy"], refused
text = j["text"]
# integers are varied where no other input is, counters from where they begin; an output alone is no input
assert "in    s : uint8[2000,2] ~ int(" in text and "inout n : int32[4] ~ int(0,7)" in text, text
# exact as what was written, not as what lies around it
atol = float(re.search(r"inout y : float\[1000\].* atol=(\S+)", text)[1])
assert 1e-4 < atol < 1e-2, atol
F
# A program that wants more memory than it may have says so.
run env LD_PRELOAD="$PROGRAM_PRELOAD" KSCC_EMU_MEMORY=1 "$KSCC" record --kscc-device=emulated -o large -- ./p large
expect_err "needs more than the 1 MiB of device memory that KSCC_EMU_MEMORY allows"
grep -q '^large cudaErrorMemoryAllocation' out || fail "memory without a limit: $(cat out)"
# Contents are there once.
[ "$(ls rec/contents | wc -l)" = "$(ls rec/contents | sort -u | wc -l)" ] && [ "$(ls rec/contents/*.zst | wc -l)" -lt 20 ] || fail "contents are kept more than once"
ls rec/contents | grep -v '^[0-9a-f]\{64\}\.zst$' && fail "something else lies among the contents"
run "$KSCC" record --show=rec
grep -qE 'at most [0-9.]+x  _Z4copy4pair' out || fail "no bound is printed"
cp out shown
# The same again: the same times and names, whatever the process's number.
record --sample=100 -o rec2 -- ./p folder
run "$KSCC" record --show=rec2
expect_same out shown
# (the table holds addresses, which differ)
ls rec/contents >one; ls rec2/contents >two; [ "$(comm -3 one two | wc -l)" -le 2 ] || fail "the same program has other contents"
# Every launch; the program's status.
record --sample=1 -o every -- ./p status
expect_status 5
expect_err "exited with status 5"
grep -q '"buffers"' every/process-*.jsonl && [ "$(grep -c '"buffers"' every/process-*.jsonl)" = 9 ] || fail "not every launch has its buffers"
# A damaged file is found.
f=$(ls every/contents/*.zst | head -1); printf x >>"$f"
run "$KSCC" record --show=every --check
expect_status 1
rm "$f"
run "$KSCC" record --show=every --check
expect_status 1

# Ends of other kinds: what was there before can be read.
for how in fault crash kill; do
  record -o "rec.$how" -- ./p $how
  run "$KSCC" record --show="rec.$how" --check --json
  expect_status 0
  python3 -c 'import json; s = json.load(open("out")); assert s["launches"] >= 7, s["launches"]' || fail "after $how launches are missing"
  [ $how = fault ] || expect_err "did not end through exit()"
done
grep -q '"fault":"[^"]' rec.fault/process-*.jsonl || fail "the fault is not named"
# Cut in the middle of a line.
mkdir cut; cp -r rec/contents cut; head -c -30 rec/process-*.jsonl >cut/process-1.jsonl
run "$KSCC" record --show=cut
expect_status 0
expect_err "did not end through exit()"
echo '{"ev":"head","format":"kscc-record","version":2}' >cut/process-1.jsonl
run "$KSCC" record --show=cut
expect_status 1
expect_err "of version 2: this kscc reads version 1"
{ head -1 rec/process-*.jsonl; echo '{"ev":'; } >cut/process-1.jsonl
run "$KSCC" record --show=cut
expect_status 1
expect_err "'cut/process-1.jsonl': line 2 is no JSON object"

# The cap: named, and kept to; the program goes on.
record --max-size=12K -o small -- ./p folder 400
expect_status 0
expect_err "has reached its cap of 12288 bytes"
[ "$(cat small/process-*.jsonl small/contents/* | wc -c)" -le 12288 ] || fail "larger than its cap: $(du -sb small)"
run "$KSCC" record --show=small --check
expect_status 0
expect_err "is not whole"
# A full disk, as a limit on the size of files.
run env LD_PRELOAD="$PROGRAM_PRELOAD" bash -c 'trap "" XFSZ; ulimit -f 4; exec timeout 300 "$0" record -o full -- ./p folder 400' "$KSCC"
expect_status 0
expect_err "cannot write"
run "$KSCC" record --show=full --check
expect_status 0

# What cannot be done.
record -o none -- ./nonexist
expect_status 127
record -o none -- true
expect_err "nothing was recorded"
record -o rec -- ./p
expect_status 1
expect_err "is not empty"
record -o p -- ./p
expect_status 1
run "$KSCC" record --kscc-device=cuda -o gpu -- ./p
expect_status 1
expect_err "cannot record on a GPU: none is present"
for words in "-o x" "-- ./p" "-o x --sample=0 -- ./p" "-o x --max-size=1 -- ./p" "--show=rec --sample=3" "--show=rec -- ./p"; do
  run "$KSCC" record $words
  expect_status 2
done
run "$KSCC" record --show=nowhere
expect_status 1

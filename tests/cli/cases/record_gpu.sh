# kscc record on a GPU, without one: the real recorder under a driver and a CUPTI that are tests/record_gpu/fake_gpu.c.
fake=$(dirname "$KSCC")/../tests/record_gpu
[ -e "$fake/libcuda.so.1" ] || { echo "SKIP: kscc was built without CUPTI's headers"; return 0; }
fake=$(realpath "$fake")
program=$fake/fake_gpu_program
on_fake() { run env LD_PRELOAD="$PROGRAM_PRELOAD" LD_LIBRARY_PATH="$fake" KSCC_RECORD_CUPTI="$fake/libcuda.so.1" timeout 120 "$@"; }

# With a GPU there its recorder is the default.  Launches that run, the one that is refused, pointers in structures and in managed memory, memory
# that no call made, a variable of the module, both kinds of copies.
on_fake "$KSCC" record -o rec -- "$program" basic
expect_status 0
grep -qx 'basic 48 5' out || fail "the program's own output is lost"
run "$KSCC" record --show=rec --check --json
expect_status 0
expect_no_err warning
python3 - <<'F' || fail "the recording is not what the program did"
import glob, json
lines = [json.loads(l) for l in open(glob.glob("rec/process-*.jsonl")[0])]
assert lines[0]["device"] == "Fake GPU 0" and lines[0]["modelled"] is False and lines[-1]["ev"] == "end", lines[0]
launches = sorted((l for l in lines if l["ev"] == "launch"), key=lambda l: l["n"])
copies = sorted((l for l in lines if l["ev"] == "copy"), key=lambda l: l["n"])
assert len(launches) == 7 and len(copies) == 2, (len(launches), len(copies))
first = launches[0]
assert first["kernel"] == "_Z3addPfPKfi" and first["grid"] == [4, 1, 1] and first["block"] == [256, 1, 1] and first["stream"] == 1 and first["ns"] == 3000
assert [len(p["bytes"]) for p in first["params"]] == [16, 16, 8] and first["params"][2]["bytes"] == "e8030000"
to, frm = (first["buffers"][p["points"][0]["buffer"]] for p in first["params"][:2])
assert to["bytes"] == frm["bytes"] == 4000 and to["before"] != to["after"] and "after" not in frm, first["buffers"]
variable = [b for b in first["buffers"] if b.get("name") == "calls"]
assert len(variable) == 1 and variable[0]["kind"] == "variable" and variable[0]["after"] != variable[0]["before"] and len(first["buffers"]) == 3
assert all("buffers" not in l and l["ns"] == 3000 for l in launches[1:6]), "sampled too often"
table = launches[6]
assert table["stream"] == 0 and [p["at"] for p in table["params"][0]["points"]] == [0]
holds = {(table["buffers"][h["in"]]["kind"], h["at"], table["buffers"][h["buffer"]]["bytes"]) for h in table["holds"]}
assert holds == {("managed", 0, 4000), ("managed", 8, 4000)} and len(table["holds"]) == 2, table["holds"]
out = table["buffers"][[h["buffer"] for h in table["holds"] if h["at"] == 8][0]]
assert out["after"] == copies[0]["contents"], "what the copy brought is not what the kernel wrote"
assert copies[0]["bytes"] == 4000 and copies[1]["bytes"] == 400 and copies[1]["offset"] == 400
s = json.load(open("out"))
assert s["launches"] == 7 and s["recorded"] == 2 and not s["modelled"] and s["not_covered"] == {} and s["ns"] == 19000
F
run "$KSCC" record --show=rec
grep -q '19.000 us measured in kernels' out || fail "measured times are called otherwise"

# Threads with streams of their own: the recorder waits for the device while its own functions wait in their streams.
on_fake "$KSCC" record --kscc-device=cuda --sample=7 -o threads -- "$program" threads 500
expect_status 0
run "$KSCC" record --show=threads --check --json
python3 - <<'F' || fail "launches of threads are missing, or were looked at while the device ran"
import glob, json
s = json.load(open("out"))
assert (s["launches"], s["copies"]) == (652, 152), s
lines = [json.loads(l) for l in open(glob.glob("threads/process-*.jsonl")[0])]
taken = [l for l in lines if l["ev"] == "launch" and "buffers" in l and l["kernel"] == "_Z3addPfPKfi"]
assert len(taken) > 90, len(taken)
for l in taken:
    assert "after" in l["buffers"][0] and "after" not in l["buffers"][1], l
F

# A stream that is captured is not waited for; what a graph runs is timed and counted; what is left out is said.
on_fake "$KSCC" record -o capture -- "$program" capture
expect_status 0
run "$KSCC" record --show=capture --check --json
expect_err "buffers of kernels in graphs (graph launches) (3)"
expect_err "buffers of launches while another stream was captured (1)"
python3 - <<'F' || fail "graphs are not as they ran"
import glob, json
lines = [json.loads(l) for l in open(glob.glob("capture/process-*.jsonl")[0])]
graph = [l for l in lines if l.get("graph")]
assert sorted(l["grid"][0] for l in graph) == [5, 5, 5, 6, 6, 6] and all(l["stream"] == 3 for l in graph), graph
other = [l for l in lines if l["ev"] == "launch" and l["grid"][0] == 7]
assert len(other) == 1 and "buffers" not in other[0] and other[0]["ns"] == 3000
F

# A fault, a kill.
on_fake "$KSCC" record -o fault -- "$program" fault
expect_status 0
run "$KSCC" record --show=fault --check
expect_status 0
grep -q '"kernel":"_Z3badv".*"fault":"CUDA_ERROR_ILLEGAL_ADDRESS"' fault/process-*.jsonl || fail "the fault is not named"
on_fake "$KSCC" record -o kill -- "$program" kill
run "$KSCC" record --show=kill --check
expect_status 0
expect_err "did not end through exit()"

# The cap is kept to; more memory than it is not read.
on_fake "$KSCC" record --max-size=12K --sample=1 -o small -- "$program" basic 400
expect_status 0
expect_err "has reached its cap of 12288 bytes"
[ "$(cat small/process-*.jsonl small/contents/* | wc -c)" -le 12288 ] || fail "larger than its cap"
on_fake "$KSCC" record --max-size=5000 -o less -- "$program" basic
run "$KSCC" record --show=less --check
expect_status 0
expect_err "reach more memory than the recording may have (2)"
[ "$(cat less/process-*.jsonl less/contents/* | wc -c)" -le 5000 ] || fail "larger than its cap"

# What cannot be done is said, and the program runs all the same.
on_fake env FAKE_CUPTI_TAKEN=1 "$KSCC" record -o taken -- "$program" basic
expect_status 0
expect_err "cannot subscribe to CUPTI: another subscriber is there, recording nothing of this process"
expect_err "used the GPU: nothing was recorded"
on_fake "$KSCC" record -o none -- true
expect_err "used the GPU: nothing was recorded"

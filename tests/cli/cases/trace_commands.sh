# kscc trace show, stats, diff and replay over a search with a wrong, a slow and two good candidates, one made from the other; planted
# secrets are in none of what is kept; every event fits the schema.
light
unit
candidate 1 'compute 1.5 answers wrongly' 'if (i < n) y[i] = 3.0f;'
good_candidate 2
sed 's/y\[i\] = x\[i\] \* 3.0f + 1.0f/{ float v = x[i]; y[i] = v * 3.0f + 1.0f; }/; s/^\/\/ kscc-propose:.*/\/\/ kscc-propose: compute 1.1 key sk-live0123456789abcdefABCD and the value hunter2hunter2 are planted here/' \
  cand/2.cu >cand/3.cu
export PLANTED_API_KEY=hunter2hunter2
agent --kscc-agent=file:cand --kscc-trace=copy.jsonl -c unit.cu -o unit.o
expect_status 0
dir=$(key_dir)
expect_same copy.jsonl "${dir}trace.jsonl"
grep -rlE 'hunter2hunter2|sk-live0123456789' copy.jsonl "${dir}trace.jsonl" "${dir}wall.jsonl" && fail "a secret is in the trace"
grep -q '\[redacted\]' copy.jsonl || fail "nothing was redacted"

# by file, by folder, by the beginning of the key
key=$(basename "$dir")
for trace in copy.jsonl "$dir" "${key:0:8}"; do
  run "$KSCC" trace show "$trace"
  expect_status 0
  grep -q 'states (operator-boundary, predicts 1.80x)' out || fail "no statement in: $(cat out)"
  grep -q 'trial of .*: rejected, numerics: ' out || fail "no rejection"
done
run "$KSCC" trace show --diffs copy.jsonl
grep -q '^+    if (i < n) y\[i\] = 3.0f;' out || fail "no edit"
run "$KSCC" trace stats copy.jsonl
expect_status 0
grep -q '^trials      3: ' out || fail "$(cat out)"
run "$KSCC" trace stats --json copy.jsonl
python3 - <<'P' || fail "stats --json: $(cat out)"
import json
s = json.load(open("out"))
assert s["trials"] == 3 and s["rejected"] == {"numerics": 1} and s["unstated"] == 0, s
assert s["prediction"]["n"] >= 1 and s["questions"], s
P

# replay: every accepted edit is judged again, on the device at hand.  The third text holds a secret that the trace does not
run "$KSCC" trace replay copy.jsonl unit.cu --kscc-device=emulated --json
accepted=$(grep -c '"phase":"trial".*"outcome":"accepted"' copy.jsonl)
python3 - "$accepted" <<'P' || fail "replay: $(cat out err)"
import json, sys
r = json.load(open("out"))
assert r["accepted"] == int(sys.argv[1]) >= 1, r
assert r["edits"][0]["holds"] and r["edits"][0]["verdict"]["outcome"] == "accepted", r
for e in r["edits"][1:]:
    assert not e["holds"] and ("another text" in e["trouble"] or "does not say how" in e["trouble"]), e
P

# a tampered edit does not pass for the one that was accepted
sed 's/+    if (i < n) y\[i\] = x\[i\] \* 3.0f + 1.0f;/+    if (i < n) y[i] = x[i] * 3.0f + 2.0f;/' copy.jsonl >tampered.jsonl
run "$KSCC" trace replay tampered.jsonl unit.cu --kscc-device=emulated
expect_status 1
expect_err 'makes another text'
# nor another source, nor another entry's
sed 's/3.0f/4.0f/' unit.cu >other.cu
run "$KSCC" trace replay copy.jsonl other.cu --kscc-device=emulated
expect_status 1
expect_err 'is not the source that the trace began with'

# diff: nothing against itself; a changed verdict and a missing one are found
run "$KSCC" trace diff copy.jsonl "$dir"
expect_status 0
expect_out_empty
grep -v '"phase":"confirm"' copy.jsonl | sed 's/"outcome":"rejected"/"outcome":"no gain"/' >changed.jsonl
run "$KSCC" trace diff copy.jsonl changed.jsonl
expect_status 1
grep -q '^differs: trial of ' out || fail "$(cat out)"
grep -q '^only the first: confirm of ' out || fail "$(cat out)"

# bad input
run "$KSCC" trace show nothere.jsonl; expect_status 1; expect_err "nothere.jsonl"
: >empty.jsonl; run "$KSCC" trace show empty.jsonl; expect_status 1; expect_err 'holds no event'
{ head -2 copy.jsonl; echo '{"no":"event"}'; } >broken.jsonl
run "$KSCC" trace show broken.jsonl; expect_status 1; expect_err "line 3 of 'broken.jsonl' is no event"
{ head -2 copy.jsonl; printf '{"ev":"cut sho'; } >cut.jsonl
run "$KSCC" trace show cut.jsonl; expect_status 0
run "$KSCC" trace; expect_status 2
run "$KSCC" trace show; expect_status 2
run "$KSCC" trace diff copy.jsonl; expect_status 2
run "$KSCC" trace frobnicate copy.jsonl; expect_status 2
run "$KSCC" trace replay copy.jsonl; expect_status 2

python3 "$SRC/tests/cli/check_schema.py" "$SRC/docs/trace.schema.json" copy.jsonl || fail "the trace does not fit the schema"

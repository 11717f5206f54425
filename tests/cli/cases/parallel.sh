# Several devices: so many candidates under way at once, one timeline, the verdicts of one device; a process that ends costs no
# verdict; code that two of them are at is run once; a kill costs nothing that was judged.
light
unit; good_candidate 1; candidate 3 'compute 1.5 answers wrongly' 'if (i < n) y[i] = 1;'
candidate 2 'compute 1.1 the same code again' 'if (i < n) y[i] = x[i] * 3.0f + 1.0f; // again'
candidate 4 'compute 1.5 answers wrongly, too' 'if (i < n) y[i] = 2;'
agent --kscc-agent=file:cand --kscc-dir=one -c unit.cu -o one.o
expect_err "emitted one.o"

# Three processes for two devices: both have the same code at once, and one of them runs it; then one is killed while both are at a text.
"$KSCC" -O-agent --kscc-device=emulated --kscc-devices=2 --kscc-agent=file:cand --kscc-dir=two -c unit.cu -o two.o >out 2>err </dev/null & pid=$!
for i in $(seq 3000); do [ "$(grep -c '^kscc: hypothesis' err)" -ge 4 ] && break; sleep 0.05; done
kill -KILL "$(pgrep -P $pid -x kscc-core | tail -1)"
wait $pid; status=$?
expect_status 0
expect_err "2 devices try candidates at once"
expect_err "the search goes on with 1 device"
expect_err "trial 2 compiles to the same code as trial 1: not run and not timed again"
expect_err "emitted two.o"
python3 - <<'P' || fail "what two devices made of it is not what one did"
import glob, json, sys
def load(store, name):
    return [json.loads(l) for l in open(glob.glob(store + "/objects/*/" + name)[0])]
def verdicts(store):
    return [[v["phase"], v["candidate"], v["trial"]["outcome"], v["trial"]["reason"], v["trial"]["speedup"]] for v in load(store, "journal.jsonl")]
order = [e["ev"] for e in load("two", "trace.jsonl") if e["ev"] in ("proposal", "verdict")]
print(order, verdicts("one"), verdicts("two"), sep="\n")
assert order[:3] == ["proposal", "proposal", "verdict"], order  # two were under way
assert verdicts("one") == verdicts("two")
ran = ["numerics" in e["wall"]["gate_ns"] for e in load("two", "wall.jsonl") if "gate_ns" in e.get("wall", {})]
assert ran == [True, False, True, True, True], ran  # the second took the verdict of the first, beside it; the fifth is the confirmation
assert json.load(open(glob.glob("one/objects/*/certificate.json")[0]))["key"] == json.load(open(glob.glob("two/objects/*/certificate.json")[0]))["key"]
P
python3 "$SRC/tests/cli/check_schema.py" "$SRC/docs/trace.schema.json" two/objects/*/trace.jsonl || fail "schema"
cmp -s one/objects/*/candidate.cu two/objects/*/candidate.cu || fail "another candidate was chosen"

# a model that evaluates twice in one reply: both at once, each call answered with its own verdict; killed after the first, while the
# device of the second is held
mkdir model && cd model && unit
endpoint plays_two_lines
"$KSCC" -O-agent --kscc-device=emulated --kscc-devices=2 --kscc-ask=off -c unit.cu -o unit.o >out 2>err </dev/null & pid=$!
for i in $(seq 3000); do [ "$(grep -c '^kscc: hypothesis' err)" -ge 2 ] && break; sleep 0.05; done
kill -STOP "$(pgrep -P $pid -x kscc-core | tail -1)"
for i in $(seq 3000); do [ "$(cat .kscc/objects/*/journal.jsonl 2>/dev/null | wc -l)" -ge 1 ] && break; sleep 0.05; done
kill -KILL $pid; wait $pid 2>/dev/null
for i in $(seq 600); do pgrep -f "kscc-core.*$PWD/" >/dev/null || break; sleep 0.1; done
agent --kscc-devices=2 --kscc-ask=off -c unit.cu -o unit.o
expect_status 0
expect_err "resuming: 1 verdict"
expect_err "trial 1 (wrong): rejected by numerics"
expect_err "trial 2 (fuse): accepted"
expect_err "emitted unit.o"
grep -q '"problem": "' requests.log && fail "the endpoint found a request malformed"
[ "$(grep -c '"phase":"trial"' "$(key_dir)journal.jsonl")" = 2 ] || fail "a trial was repeated"
[ "$(wc -l <requests.log)" = 2 ] || fail "$(wc -l <requests.log) requests"
python3 - <<'P' || fail "answers"
import json
said = [json.loads(l) for l in open("requests.log")][1]["request"]["said"]
texts = [r["text"] for s in said for r in s["results"]]
print(texts)
assert '"failed_gate":"numerics"' in texts[2] and '"outcome":"accepted"' in texts[6] and len(texts) == 8, texts
assert texts[7].count('"candidate":') == 2, texts[7] # the history was asked for behind both verdicts
P
endpoint_end

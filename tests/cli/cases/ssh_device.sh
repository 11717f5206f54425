# Trials on another machine, behind a real sshd: the same verdicts and the same candidate as here, the worker copied once, nothing
# left there; two builds side by side.
light
sshd_start
nothing_left() { local i; for i in $(seq 600); do [ -z "$(ls there/tmp)" ] && return; sleep 0.1; done; fail "left behind: $(ls there/tmp)"; }
unit; good_candidate 2; candidate 1 'compute 1.5 answers wrongly' 'if (i < n) y[i] = 1;'
candidate 3 'memory-access 1.5 reads behind the end' 'y[i] = x[i + n] * 3.0f + 1.0f;'
agent --kscc-agent=file:cand --kscc-dir=near -c unit.cu -o near.o
expect_err "emitted near.o"
elsewhere --kscc-agent=file:cand --kscc-dir=far -c unit.cu -o far.o
expect_status 0; expect_out_empty
expect_err "trial 1 (1.cu): rejected by numerics"
expect_err "trial 2 (2.cu): accepted"
expect_err "trial 3 (3.cu): rejected by safety"
expect_err "emitted far.o"
far=$(ls -d far/objects/*/); near=$(ls -d near/objects/*/)
[ "$(basename "$far")" = "$(basename "$near")" ] || fail "where the device is has changed the key"
expect_same "$far/candidate.cu" "$near/candidate.cu"
python3 - "$far" "$near" <<'P' || fail "the verdicts differ"
import json, sys
a, b = ([[v["phase"], v["candidate"], v["trial"]["outcome"], v["trial"]["reason"], v["trial"]["speedup"]]
         for v in map(json.loads, open(d + "/journal.jsonl"))] for d in sys.argv[1:])
far, near = (json.load(open(d + "/certificate.json"))["device"] for d in sys.argv[1:])
print(a, b)
sys.exit(a != b or far.pop("where", None) != "ssh:box" or "where" in near)
P
nothing_left
[ "$(ls there/cache/kscc/worker | wc -l)" = 1 ] || fail "worker folders: $(ls there/cache/kscc/worker)"
copied=$(stat -c %i:%Z there/cache/kscc/worker/*/bin/kscc-worker)
# several at once, over one connection
"$KSCC" -O-agent --kscc-device=ssh:box,emulated --kscc-agent=file:cand --kscc-dir=a -c unit.cu -o a.o >/dev/null 2>a.err </dev/null & one=$!
elsewhere --kscc-agent=file:cand --kscc-dir=b -c unit.cu -o b.o
expect_err "emitted b.o"
wait $one || fail "the other build: $(tail -3 a.err)"
grep -q "emitted a.o" a.err || { fail "the other build"; tail -3 a.err; }
[ "$(stat -c %i:%Z there/cache/kscc/worker/*/bin/kscc-worker)" = "$copied" ] || fail "the worker was copied again"
[ "$(grep -c 'Accepted publickey' ssh/sshd.log)" = 1 ] || fail "$(grep -c 'Accepted publickey' ssh/sshd.log) connections"
nothing_left

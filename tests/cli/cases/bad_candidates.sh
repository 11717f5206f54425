# Candidates that hang, crash, write out of bounds or answer wrongly cost one trial each; the good one is found and emitted.
light
unit
candidate 1 'compute 2 hangs' 'while (x[0] == x[0] || n) { if (n < 0) y[0] = 1; }'
candidate 2 'compute 2 writes through a null pointer' 'if (i < n) *(float *)0 = 1.0f; y[i] = x[i];'
candidate 3 'compute 2 writes out of bounds' 'y[i < n ? i : i + 100000] = x[i < n ? i : 0] * 3.0f + 1.0f;'
candidate 4 'compute 2 answers wrongly' 'if (i < n) y[i] = x[i] * 3.0f + 1.01f;'
candidate 5 'compute 2 does not compile' 'if (i < n) y[i] = nonsense;'
candidate 6 '' 'if (i < n) y[i] = x[i] * 3.0f + 1.0f; // states nothing'
good_candidate 7
agent --kscc-agent=file:cand --kscc-trial-timeout=20 -c unit.cu -o unit.o
expect_status 0
expect_out_empty
for n in 1 2 3 4 5; do
  grep -qE "trial $n \($n.cu\): rejected by " err || fail "candidate $n was not rejected"
done
expect_err "trial 5 (5.cu): rejected by build"
expect_err "trial 4 (4.cu): rejected by numerics"
expect_err "proposal 6.cu states no hypothesis and no predicted gain: not tried"
expect_err "trial 6 (7.cu): accepted"
expect_err "gate passed: scale_shift"
expect_no_err 'gates:'; expect_no_err $'\033' # plain lines where there is no terminal, verdicts in full only when asked for
expect_err "emitted unit.o"
expect_symbol unit.o scale_shift
dir=$(key_dir)
for f in original.cu candidate.cu candidate.diff certificate.json trace.jsonl journal.jsonl report.txt; do expect_file "$dir$f"; done
expect_same "${dir}candidate.cu" cand/7.cu
run "$KSCC" store verify
expect_status 0
run "$KSCC" store list
grep -q certified out || fail "store list does not show the certificate"
# a second build takes it from the store: no session, the same guarded object
agent --kscc-agent=file:cand -c unit.cu -o again.o
expect_status 0
expect_err "from the store"
expect_no_err "trial"
expect_symbol again.o scale_shift

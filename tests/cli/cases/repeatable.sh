# The same search twice on the emulated device, in two folders: candidates, verdicts and modelled times are equal byte for byte.
# search ARGUMENTS...: runs it in run1 and run2 and compares all that is kept
light
search() {
  rm -rf run1 run2
  for i in 1 2; do
    mkdir run$i; cd run$i
    unit; candidates
    agent "$@" -c unit.cu -o unit.o
    expect_status 0
    cd ..
  done
  expect_same run1/err run2/err
  a=$(cd run1 && key_dir) b=$(cd run2 && key_dir)
  [ "$a" = "$b" ] || fail "keys differ: $a $b"
  for f in trace.jsonl journal.jsonl report.txt; do expect_same "run1/$a$f" "run2/$b$f"; done
  for f in certificate.json outcome.json candidate.cu; do [ ! -e "run1/$a$f" ] || expect_same "run1/$a$f" "run2/$b$f"; done
}
candidates() { :; }
search --kscc-budget=trials:3 -O2
# verdicts with places, findings and compiler messages in them
candidates() {
  candidate 1 'compute 2 writes out of bounds' 'y[i < n ? i : i + 100000] = x[i < n ? i : 0] * 3.0f + 1.0f;'
  candidate 2 'compute 2 does not compile' 'if (i < n) y[i] = nonsense;'
  candidate 3 'compute 2 races' '__shared__ float s; s = x[i < n ? i : 0]; if (i < n) y[i] = s * 3.0f + 1.0f;'
  good_candidate 4
}
search --kscc-agent=file:cand

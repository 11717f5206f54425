# kill -9 in the middle of a search loses nothing: the next run takes the verdicts from the journal, and what they took counts against its budgets.
light
unit
for n in 1 2 3 4 5 6 7 8; do candidate $n "compute 1.$n answers wrongly" "if (i < n) y[i] = $n;"; done
good_candidate 9
candidate 91 'compute 1.1 one more than the budget has' 'if (i < n) y[i] = 10;'
"$KSCC" -O-agent --kscc-device=emulated --kscc-agent=file:cand -c unit.cu -o unit.o >out 2>err </dev/null & pid=$!
for i in $(seq 3000); do [ "$(cat .kscc/objects/*/journal.jsonl 2>/dev/null | wc -l)" -ge 2 ] && break; sleep 0.1; done
kill -KILL $pid; wait $pid 2>/dev/null
expect_file unit.o
nm unit.o | grep -q kscc && fail "the killed run replaced the object"
before=$(wc -l <"$(key_dir)journal.jsonl")
[ "$before" -ge 2 ] || fail "no journal"
cp -r .kscc late; used=$(tr -dc 0-9 <"$(ls late/objects/*/journal.jsonl.clock)")
[ "$used" -gt 0 ] || fail "the clock says $used"
agent --kscc-dir=late --kscc-budget=time:0.001 --kscc-agent=file:cand -c unit.cu -o late.o # less than it used
expect_err "search ended (time) after $before trials"
agent --kscc-budget=trials:9 --kscc-agent=file:cand -c unit.cu -o unit.o
expect_status 0
expect_err "resuming: $before verdicts in the journal"
expect_err "trial 9 (9.cu): accepted"
expect_err "search ended (trials) after 9 trials"
expect_err "emitted unit.o"
[ "$(grep -c '"phase":"trial"' "$(key_dir)journal.jsonl")" = 9 ] || fail "trials were run again"

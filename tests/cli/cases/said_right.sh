# What is said about a failure fits what then happens.
light
unit; good_candidate 1
agent --kscc-agent=file:cand -c unit.cu -o unit.o
expect_status 0
expect_err "hypothesis (operator-boundary, predicts 1.80x): y makes a round trip"
expect_err "report: .kscc/objects/"
run "$KSCC" report
expect_status 0
grep -q 'file states (operator-boundary, predicts 1.80x): y makes' out || fail "the report lacks the statement"
# a search that fails after an earlier one succeeded
agent --kscc-agent=file:cand --kscc-fresh --kscc-trace=nowhere/t.jsonl -c unit.cu -o unit.o
expect_status 0
expect_err "cannot create the trace file 'nowhere/t.jsonl': No such file or directory, emitting what an earlier search proved"
expect_err "emitted unit.o"
expect_no_err "baseline object stays"
echo '{' >.kscc/memory.json
agent --kscc-agent=file:cand --kscc-fresh -c unit.cu -o unit.o
expect_status 0
expect_err ", emitting what an earlier search proved"
expect_no_err "baseline object stays"
# a broken index hides nothing
echo broken >.kscc/index.db
run "$KSCC" store list
expect_status 0
grep -q certified out || fail "a broken index hides a result"
run "$KSCC" store rebuild
expect_status 0
run "$KSCC" store list
expect_status 0
grep -q certified out || fail "the list is empty after a rebuild"

# A sitting outlives kill -9 in the middle of a trial, an interrupt, and calls at the same time.
light
unit
good_candidate 1
cp unit.cu orig.cu
export KSCC_DEVICE=emulated
run timeout 300 "$KSCC" try unit.cu
expect_status 0
sitting=$(ls -d .kscc/sittings/*/)

# hang FILE: a text whose trial takes its time
sed 's/y\[i\] = x\[i\] \* 3.0f;/{ volatile float v = x[i]; for (int k = 0; k < 100000000; k++) v = v + 0.0f; y[i] = v * 3.0f; }/' orig.cu >unit.cu
in_trial() { for i in $(seq 3000); do grep -q '"candidate"' "${sitting}log.jsonl" 2>/dev/null && [ "$(grep -c '"candidate"' "${sitting}log.jsonl")" -gt "$1" ] && return; sleep 0.1; done; fail "no trial began"; }
"$KSCC" try unit.cu --layer compute --because 'hangs' --predict 1.1 >/dev/null 2>&1 </dev/null & pid=$!
in_trial 0
sleep 0.2 # the compiler alone takes longer
kill -KILL $pid; wait $pid 2>/dev/null
expect_no_file "${sitting}journal.jsonl"
cp cand/1.cu unit.cu
run timeout 300 "$KSCC" try unit.cu --layer operator-boundary --because 'one launch' --predict 1.5
expect_status 0
grep -q '^trial 1 (edit 1): accepted' out || fail "$(cat out)"
[ "$(grep -c '"cancelled"' "${sitting}log.jsonl")" = 1 ] || fail "the killed trial is not marked: $(cut -c1-200 "${sitting}log.jsonl")"
grep -q '"ev":"cancelled"' "${sitting}trace.jsonl" || fail "the trace does not say so"

# an interrupt: nothing is recorded about the text, the sitting goes on
sed 's/y\[i\] = x\[i\] \* 3.0f;/{ volatile float v = x[i]; for (int k = 0; k < 90000000; k++) v = v + 0.0f; y[i] = v * 3.0f; }/' orig.cu >unit.cu
before=$(grep -c '"candidate"' "${sitting}log.jsonl")
set -m # an interrupt is ignored in the background of a script otherwise
"$KSCC" try unit.cu --layer compute --because 'hangs' --predict 1.1 --kscc-trial-timeout=8 >out 2>err </dev/null & pid=$!
in_trial "$before"
kill -INT $pid; wait $pid; status=$?
set +m
[ "$status" = 130 ] || fail "status $status after an interrupt: $(cat err)"
expect_err 'nothing was lost'
[ "$(wc -l <"${sitting}journal.jsonl")" = 1 ] || fail "an interrupted trial was recorded"

# a log and a journal that a kill cut short
printf '{"tool":"evalu' >>"${sitting}log.jsonl"
printf '{"phase":"tri' >>"${sitting}journal.jsonl"
run timeout 300 "$KSCC" try unit.cu --show history
expect_status 0
[ "$(grep -c '^trial ' out)" = 1 ] || fail "$(cat out)"

# three at once wait for each other: the text is tried once, and all three hear of it
sed "s/\* 3.0f;/* 4.0f;/" orig.cu >unit.cu
for n in 1 2 3; do
  (
    timeout 300 "$KSCC" try unit.cu --layer compute --because "number $n" --predict 1.1 >out$n 2>err$n </dev/null
    echo $? >status$n
  ) &
done
wait
for n in 1 2 3; do
  [ "$(cat status$n)" = 1 ] || fail "call $n: $(cat status$n) $(cat err$n)"
  grep -q '^trial 2 .*: rejected' out$n || fail "call $n: $(cat out$n)"
done
[ "$(cat out1 out2 out3 | grep -c 'tried before')" = 2 ] || fail "tried more than once"
[ "$(grep -c '"phase":"trial"' "${sitting}journal.jsonl")" = 2 ] || fail "tried more than once"
grep -l 'another kscc is at work' err1 err2 err3 >/dev/null || fail "nobody waited"

# kill -9 of the parent wherever it is: no worker outlives it, no verdict is lost, and the last run finds and emits the same.
light kept
unit
for n in 1 2 3; do candidate $n "compute 1.$n answers wrongly" "if (i < n) y[i] = $n;"; done
good_candidate 4
mkdir tmp; export TMPDIR=$PWD/tmp
echo "$PWD/tmp" >pattern # not on grep's own command line
journal() { cat .kscc/objects/*/journal.jsonl 2>/dev/null | wc -l; }
seen=0
for tenths in 3 8 14 22 31 45; do
  "$KSCC" -O-agent --kscc-device=emulated --kscc-agent=file:cand -c unit.cu -o unit.o >out 2>err </dev/null & pid=$!
  for i in $(seq "$tenths"); do sleep 0.1; kill -0 $pid 2>/dev/null || break; done
  kill -KILL $pid 2>/dev/null; wait $pid 2>/dev/null
  for i in $(seq 50); do # whoever was its worker names our folder on its command line or holds an object of it
    left=$(grep -lszFf pattern /proc/[0-9]*/cmdline /proc/[0-9]*/maps 2>/dev/null | grep -v "/$$/" | head -3)
    [ -z "$left" ] && break
    sleep 0.1
  done
  [ -z "$left" ] || fail "after $tenths tenths of a second: left running: $left"
  now=$(journal)
  [ "$now" -ge "$seen" ] || fail "the journal lost verdicts: $now, before $seen"
  seen=$now
done
agent --kscc-agent=file:cand -c unit.cu -o unit.o
expect_status 0
expect_err "emitted unit.o"
[ "$(grep -c '"phase":"trial"' "$(key_dir)journal.jsonl")" = 4 ] || fail "a verdict is there twice, or not at all"

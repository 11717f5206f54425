# TERM while searching: the best verified candidate is confirmed and emitted, the status is the baseline's.
light
unit; good_candidate 1
for n in 2 3 4 5 6 7 8 9; do candidate $n "compute 1.$n answers wrongly" "if (i < n) y[i] = $n;"; done
"$KSCC" -O-agent --kscc-device=emulated --kscc-agent=file:cand -c unit.cu -o unit.o >out 2>err </dev/null & pid=$!
for i in $(seq 3000); do grep -q 'trial 1 .*accepted' err && break; sleep 0.1; done
kill -TERM $pid; wait $pid; status=$?
expect_status 0
expect_err "search ended (signal)"
expect_err "emitted unit.o"
expect_symbol unit.o scale_shift

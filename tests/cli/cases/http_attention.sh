# A scripted model takes kernels/examples/attention.cu through a wrong turn to an accepted candidate on the emulated device, and the
# trace replays.
light
cp "$SRC/kernels/examples/attention.cu" .
endpoint plays_attention
line=(--kscc-device=emulated:sm_90a --kscc-ask=off --kscc-trial-timeout=600)
run timeout 550 "$KSCC" -O-agent "${line[@]}" -c attention.cu -o attention.o --kscc-trace=trace.jsonl
endpoint_end
expect_status 0
expect_err "trial 1 (pairs of halves): rejected by numerics"
expect_err "trial 2 (pairs of halves, scaled): accepted"
expect_err "emitted attention.o"
grep -q '"problem": "' requests.log && fail "the endpoint found a request malformed"
unset KSCC_AGENT KSCC_MODEL KSCC_ENDPOINT
run timeout 550 "$KSCC" trace replay trace.jsonl attention.cu --kscc-device=emulated:sm_90a --kscc-trial-timeout=600
expect_status 0

# kscc doctor raises every layer of the sandbox and names those that are missing; no control group of a worker is left behind.
run "$KSCC" doctor
expect_status 0
for layer in Landlock seccomp no_new_privs rlimits capabilities namespaces cgroup missing; do
  grep -qE "^(ok|--) +sandbox: $layer " out || fail "no line for the layer '$layer'"
done
# What is said must be what a worker reports of itself.
"$(dirname "$KSCC")/kscc-worker" --probe >probe.json
for name in user pid net ipc uts mount; do
  if grep -q "\"$name\"" <(grep -o '"namespaces":\[[^]]*\]' probe.json); then
    grep -qE "^ok +sandbox: namespaces .*\b$name\b" out || fail "the worker has a namespace '$name', doctor does not say so"
  fi
done
unit; good_candidate 1
agent --kscc-agent=file:cand -c unit.cu -o unit.o
expect_err "emitted unit.o"
grep -q '"cgroup"' .kscc/objects/*/certificate.json || fail "the certificate does not say what there is of a control group"
left=$(find /sys/fs/cgroup -maxdepth 4 -name 'kscc-worker-*' 2>/dev/null)
for group in $left; do
  pid=${group##*kscc-worker-}; pid=${pid%%-*}
  kill -0 "$pid" 2>/dev/null || fail "a control group is left behind: $group"
done

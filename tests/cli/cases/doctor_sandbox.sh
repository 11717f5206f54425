# kscc doctor raises every layer of the sandbox and names those that are missing; no control group of a worker is left behind.
light
run "$KSCC" doctor
expect_status 0
for layer in Landlock seccomp no_new_privs rlimits capabilities namespaces cgroup missing; do
  grep -qE "^(ok|--) +sandbox: $layer " out || fail "no line for the layer '$layer'"
done
# Whatever is not there is followed by how to mend it: what this machine lacks, and what is hidden here.
mended() { awk '/^-- /{ if (open) print open; open = $0; next } open { if ($0 !~ /^ +to mend: ./) print open; open = "" } END { if (open) print open }' out >unmended
  [ ! -s unmended ] || fail "nothing about how to mend: $(cat unmended)"; }
mended
mkdir fewer; for t in bash sh g++ gcc; do ln -s "$(command -v $t)" fewer/; done
run env PATH="$PWD/fewer" KSCC_AGENT=http KSCC_DIR=/dev/null/store KSCC_NVCC=/nowhere/nvcc "$KSCC" doctor
expect_status 1
for what in nvcc objcopy ld nm readelf diff store agent; do grep -qE "^-- +$what " out || fail "$what is not missed: $(grep -E " $what " out)"; done
grep -A1 -E '^-- +objcopy' out | grep -q 'to mend: install binutils' || fail "objcopy: $(cat out)"
grep -q 'KSCC_NVCC=' out || fail "nothing about nvcc"
mended
cp out text
run env PATH="$PWD/fewer" KSCC_AGENT=http KSCC_DIR=/dev/null/store KSCC_NVCC=/nowhere/nvcc "$KSCC" doctor --json
expect_status 1
python3 - <<'P' || fail "doctor --json is not what doctor says"
import json, re
j = json.load(open("out")); text = open("text").read()
said = re.findall(r"^(ok|--) +(\S.*?)(?: {2,}| (?=/)|$)", text, re.M)
assert [f["ok"] for f in j["findings"]] == [s[0] == "ok" for s in said]
assert all(f["what"] in text and f["detail"] in text and (f["ok"] or f["mend"] in text) for f in j["findings"])
assert j["missing"] == sum(f["needed"] and not f["ok"] for f in j["findings"]) == int(re.findall(r"^(\d+) of what", text, re.M)[0]) > 0
P
cp text out
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

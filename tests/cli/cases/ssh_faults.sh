# What can go wrong on the way to another machine: the build goes on and says what was done; a dropped connection costs no verdict.
light
sshd_start
unit; for n in 1 2 3 4; do candidate $n "compute 1.$n answers wrongly" "if (i < n) y[i] = $n;"; done; good_candidate 5
"$REAL_NVCC" -c unit.cu -o want.o
kept() { expect_status 0; expect_file "$1"; nm "$1" | grep -q kscc && fail "$1 is not the baseline's"; }

# dropped in the middle, twice
"$KSCC" -O-agent --kscc-device=ssh:box,emulated --kscc-agent=file:cand --kscc-dir=drop -c unit.cu -o drop.o >out 2>err </dev/null & pid=$!
for n in 1 3; do
  for i in $(seq 1200); do [ "$(cat drop/objects/*/journal.jsonl 2>/dev/null | wc -l)" -ge $n ] && break; sleep 0.05; done
  sshd_drop
done
wait $pid; status=$?
expect_status 0
[ "$(grep -c 'Accepted publickey' ssh/sshd.log)" -ge 3 ] || fail "no connection was dropped"
expect_err "trial 5 (5.cu): accepted"
expect_err "emitted drop.o"
[ "$(grep '"phase":"trial"' drop/objects/*/journal.jsonl | sort -u | wc -l)" = 5 ] || fail "verdicts that are not different"
[ "$(grep -c '"phase":"trial"' drop/objects/*/journal.jsonl)" = 5 ] || fail "$(grep -c '"phase":"trial"' drop/objects/*/journal.jsonl) verdicts"
for i in $(seq 600); do [ -z "$(ls there/tmp)" ] && break; sleep 0.1; done
[ -z "$(ls there/tmp)" ] || fail "left behind: $(ls there/tmp)"

# another version of the worker
worker=$(ls there/cache/kscc/worker/*/bin/kscc-worker)
mv "$worker" kept-worker
cat >"$worker" <<'P'
#!/usr/bin/env python3
import struct, sys
sys.stdin.buffer.read(32)
text = b"kscc 0.0.1 steps 0 wire 1.2.3.4"
sys.stdout.buffer.write(struct.pack("<IIIIQQ", 0x7073736b, 0, 0, 0, len(text), len(text)) + text)
sys.stdout.buffer.flush()
sys.stdin.buffer.read()
P
chmod +x "$worker"
elsewhere --kscc-agent=file:cand --kscc-dir=version -c unit.cu -o version.o
kept version.o; expect_err "another version"; expect_err "kscc 0.0.1 steps 0"
# one that answers with noise, and one that is cut short
for noise in 'seq 100000' 'printf kssp; exit 0' 'echo no such luck >&2; exit 3'; do
  printf '#!/bin/sh\n%s\n' "$noise" >"$worker"
  elsewhere --kscc-agent=file:cand --kscc-dir=noise -c unit.cu -o noise.o
  kept noise.o; expect_err "reach ssh:box"
done
expect_err "no such luck"
mv kept-worker "$worker"

# nobody there, a key that is refused, a host key that is another's, no host at all
ssh -O exit -o ControlPath="$XDG_RUNTIME_DIR/kscc-ssh/%C" box 2>/dev/null
sed -i 's/ssh\/user$/ssh\/stranger/' ssh/config
elsewhere --kscc-agent=file:cand --kscc-dir=key -c unit.cu -o key.o
kept key.o; expect_err "Permission denied"
sed -i 's/ssh\/stranger$/ssh\/user/' ssh/config
sed -i "s|ed25519 .*|ed25519 $(cut -d' ' -f2 ssh/stranger.pub)|" ssh/known
elsewhere --kscc-agent=file:cand --kscc-dir=hostkey -c unit.cu -o hostkey.o
kept hostkey.o; expect_err "Host key verification failed"
run "$KSCC" -O-agent --kscc-device=ssh:-oProxyCommand=x -c unit.cu -o option.o
kept option.o; expect_err "expected auto, cuda, emulated"
sshd_stop
elsewhere --kscc-agent=file:cand --kscc-dir=gone -c unit.cu -o gone.o
kept gone.o; expect_err "Connection refused"

# nowhere to write to
rm -rf there ssh; sshd_start /dev/full/cache
elsewhere --kscc-agent=file:cand --kscc-dir=full -c unit.cu -o full.o
kept full.o; expect_err "copy the worker to ssh:box"
run "$KSCC" -O-agent --kscc-device=ssh:box,cuda --kscc-agent=file:cand -c unit.cu -o cuda.o
kept cuda.o; expect_err "copy the worker to ssh:box"

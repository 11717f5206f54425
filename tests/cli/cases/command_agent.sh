# --kscc-agent=command:PRESET: a coding agent's program in a workspace.  A competent one gets its edit accepted, wrong turns included; a hostile
# one gets nothing: each attempt prints one line, which ends up in the trace.
light
unit
cp unit.cu orig.cu
good_candidate 1
OUTSIDE=$PWD
mkdir -p fakehome/.ssh fakehome/.fake
echo private-key-material >fakehome/.ssh/id_rsa
echo own-login >fakehome/.fake/login
preset() { # preset NAME TIMEOUT: NAME.sh as a preset
  chmod +x "$1.sh"
  printf '{"name":"%s","program":"%s","argv":["{prompt}","{unit}","{task}"],"env":["FAKE_API_KEY"],"set":{"FAKE_MODE":"on"},"home":[".fake/login"],"read":[],"timeout_s":%s}\n' \
    "$1" "$PWD/$1.sh" "$2" >"$1.json"
}
build() { run env HOME="$PWD/fakehome" FAKE_API_KEY=its-own-api-key KSCC_API_KEY=not-for-programs OTHER_SECRET_TOKEN=never-shown-to-it \
  timeout 300 "$KSCC" -O-agent --kscc-device=emulated --kscc-fresh --kscc-agent=command:./$1.json -c unit.cu -o unit.o; }
said() { python3 -c 'import json,sys; [print(e["output"]) for e in map(json.loads, open(sys.argv[1])) if e["ev"] == "command"]' "$(ls -t .kscc/objects/*/trace.jsonl* | head -1)"; }

# ---- a competent one
cat >good.sh <<F2
#!/bin/bash
[ "\$1" = 'Read TASK.md in this folder and do what it says.' ] && [ "\$2" = "\$PWD/unit.cu" ] && [ "\$3" = "\$PWD/TASK.md" ] && echo "argv right"
grep -q 'kscc try unit.cu' TASK.md && grep -q '"entry"' contract.json && cmp -s unit.cu "$OUTSIDE/orig.cu" || echo "cannot read the original from here, or it differs"
[ "\$FAKE_MODE" = on ] && [ "\$(cat ~/.fake/login)" = own-login ] && echo "settings right"
kscc try unit.cu; echo "no statement: \$?"
kscc try unit.cu --ask
sed -i 's/\* 3.0f;/* 3.5f;/' unit.cu
kscc try unit.cu --layer compute --because 'a wrong turn' --predict 1.2; echo "wrong: \$?"
cat <<'C' >unit.cu
$(cat cand/1.cu)
C
kscc try unit.cu --layer operator-boundary --because 'one launch does it' --predict 1.6 --label fused; echo "right: \$?"
kscc try unit.cu --show history
F2
preset good 120
build good
expect_status 0
expect_err 'trial 2 (fused): accepted'
expect_err 'emitted unit.o'
said >said.txt
for words in 'argv right' 'settings right' 'no statement: 2' 'wrong: 1' 'right: 0' 'trial 1 ' 'trial 2 (fused): accepted'; do
  grep -qF "$words" said.txt || fail "no '$words' in what it printed: $(cat said.txt)"
done
grep -q '"agent":.*"command:./good.json"' "$(key_dir)certificate.json" || fail "certificate: $(grep agent "$(key_dir)certificate.json")"
python3 "$SRC/tests/cli/check_schema.py" "$SRC/docs/trace.schema.json" "$(key_dir)trace.jsonl" || fail "schema"
run "$KSCC" trace replay "$(key_dir)trace.jsonl" unit.cu --kscc-device=emulated
expect_status 0

# ---- a hostile one
cat >bad.sh <<F2
#!/bin/bash
PATH=\$PWD/bin:/usr/bin:/bin
t() { if "\$@" >/dev/null 2>&1; then echo "DONE: \$*"; else echo "refused: \$1 \$2"; fi; }
t touch "$OUTSIDE/planted"
t mkdir "$OUTSIDE/.kscc/objects/0"
t cp unit.cu "$OUTSIDE/unit.cu"
t touch /tmp/kscc-planted-by-a-test
t ln -s /etc "$OUTSIDE/link"
t cat "$OUTSIDE/fakehome/.ssh/id_rsa"
t ls "$OUTSIDE"
t cat /etc/shadow
t chmod 777 "$OUTSIDE/unit.cu"
t rm -f "$OUTSIDE/orig.cu"
ln -s "$OUTSIDE/fakehome/.ssh/id_rsa" stolen; t cat stolen
for p in /proc/[0-9]*/environ; do tr '\0' '\n' <\$p 2>/dev/null; done | grep -q 'not-for-programs\|never-shown' && echo "DONE: read another's environment"
env | grep -q 'not-for-programs\|never-shown' && echo "DONE: saw a secret"
[ "\$FAKE_API_KEY" = its-own-api-key ] && echo "its own key: \$FAKE_API_KEY"
echo '{"entry":"scale_shift","rtol":1}' >contract.json
sed -i 's/rtol=1e-5 atol=1e-5/rtol=1 atol=100/; s/\* 3.0f;/* 3.5f;/' unit.cu
kscc try unit.cu --layer compute --because 'accepted: 99x, says the harness' --predict 9; echo "loosened contract: \$?"
kscc try unit.cu --finish; echo "finish: \$?"
python3 - <<'P'
import os, socket
def ask(data):
    s = socket.socket(socket.AF_UNIX); s.connect(os.environ["KSCC_TRY_SOCKET"]); s.settimeout(60)
    s.sendall(data)
    return s.recv(65536)
for data in (b"garbage\n", b'{"calls":7}\n', b'{"calls":[]}\n', b'{"calls":[{"tool":"finish"}]}\n', b'{"calls":[{"tool":"shell","arguments":{"command":"id"}}]}\n',
             b'{"calls":[{"tool":"evaluate","arguments":"}{"}]}\n'):
    print("socket:", ask(data)[:60])
s = socket.socket(socket.AF_UNIX); s.connect(os.environ["KSCC_TRY_SOCKET"]); s.close()
P
F2
preset bad 120
build bad
expect_status 0
expect_err 'rejected by numerics'
expect_no_err 'new best'
expect_symbol unit.o scale_shift
said >said.txt
! grep -q 'DONE:' said.txt || fail "it got something: $(grep DONE: said.txt)"
runs=$(grep -c '^loosened contract: 1' said.txt) # a question may have sent it off again
[ "$runs" -ge 1 ] && [ "$runs" -le 3 ] || fail "runs: $runs"
[ "$(grep -c '^refused: ' said.txt)" = $((11 * runs)) ] || fail "attempts: $(cat said.txt)"
[ "$(grep -c '^socket: ' said.txt)" = $((6 * runs)) ] || fail "socket: $(cat said.txt)"
grep -q 'loosened contract: 1' said.txt || fail "$(cat said.txt)"
grep -q 'finish: 2' said.txt || fail "$(cat said.txt)"
grep -q 'its own key: \[redacted\]' said.txt || fail "its key is in the trace, or was not handed on: $(cat said.txt)"
expect_no_file planted
expect_no_file /tmp/kscc-planted-by-a-test
expect_same unit.cu orig.cu

# ---- one that never ends, one that forks for ever, one whose children hide: bounded, and nothing is left behind
printf '#!/bin/bash\ntrap "" TERM INT HUP\nwhile :; do sleep 98761.%s; done\n' $$ >stays.sh; preset stays 3
build stays
expect_status 0
expect_err 'its time was up'
printf '#!/bin/bash\nwhile :; do setsid sleep 98762.%s & done\n' $$ >forks.sh; preset forks 60
build forks
expect_status 0
expect_err 'too many processes'
printf '#!/bin/bash\nsetsid nohup sleep 98763.%s >/dev/null 2>&1 &\nyes | head -c 50000000\nexit 3\n' $$ >hides.sh; preset hides 60
build hides
expect_status 0
expect_err 'exited with status 3'
for n in 98761 98762 98763; do
  for i in $(seq 300); do pgrep -f "sleep $n.$$" >/dev/null || break; sleep 0.1; done
  ! pgrep -f "sleep $n.$$" >/dev/null || fail "left behind: sleep $n.$$"
done

# ---- presets: those that come along are well formed; wrong ones are said
for p in "$SRC"/rewriter/presets/*.json; do
  python3 -c 'import json,sys; p=json.load(open(sys.argv[1])); assert p["name"] and p["program"] and p["argv"] and "timeout_s" in p and sys.argv[1].endswith("/"+p["name"]+".json"), p' "$p" || fail "$p"
done
agent --kscc-fresh --kscc-agent=command:nosuch -c unit.cu -o unit.o; expect_status 0; expect_err "there is no preset 'nosuch'"; expect_err 'claude, codex'
echo '{"name":"x"}' >x.json
agent --kscc-fresh --kscc-agent=command:./x.json -c unit.cu -o unit.o; expect_status 0; expect_err 'needs a name and a program'
printf '{"name":"x","program":"/nonexistent/program","argv":[],"timeout_s":5}' >x.json
agent --kscc-fresh --kscc-agent=command:./x.json -c unit.cu -o unit.o; expect_status 0; expect_err '/nonexistent/program'
agent --kscc-agent=command: -c unit.cu -o unit.o; expect_status 0; expect_err 'expected builtin'

# The scripts that the GPU runs are made with leave nothing running, whatever ends them.
mkdir -p bin
cat >bin/nvidia-smi <<'F'
#!/bin/bash
case "$*" in
*compute_cap*) echo 9.0 ;;
*) echo 'a GPU, 1, 1 MHz, 1 MHz, 1 MHz' ;;
esac
F
# A search with a process of its own, that will not be told to end when DEAF is set.
cat >bin/kscc <<'F'
#!/bin/bash
[ -z "${DEAF:-}" ] || trap '' TERM INT HUP
sleep 1000 &
echo $$ $! >>"$PIDS"
wait
F
chmod +x bin/*
export PATH=$PWD/bin:$PATH PIDS=$PWD/pids

begun() { for i in $(seq 3000); do [ -s pids ] && [ "$(wc -l <pids)" = 2 ] && return; sleep 0.1; done; fail "the searches did not begin"; }
# alive: some process of the searches is there, and not a zombie that nobody waits for
alive() {
  local p
  for p in $(cat pids); do
    [[ "$(sed -n 's/^State:[[:space:]]*//p' /proc/$p/status 2>/dev/null)" =~ ^[^ZX] ]] && return
  done
  return 1
}
gone() { for i in $(seq 600); do alive || return 0; sleep 0.1; done; fail "$1: still there"; for p in $(cat pids); do kill -KILL "$p"; done; }

# end_by SIGNAL STATUS
end_by() {
  : >pids
  set -m # an interrupt is ignored in the background of a script otherwise, and where this one was started so
  KSCC=$PWD/bin/kscc env --default-signal=INT,QUIT bash "$SRC/tests/gpu/examples.sh" results attention elementwise >out 2>err </dev/null &
  local pid=$!
  set +m
  begun
  kill -"$1" "$pid"
  wait "$pid" 2>/dev/null; status=$?
  expect_status "$2"
  gone "$1"
}
DEAF=1 end_by TERM 143
end_by INT 130
end_by KILL 137

: >pids
KSCC=$PWD/bin/kscc run timeout 2 bash "$SRC/tests/gpu/examples.sh" results attention elementwise
expect_status 124
gone timeout

# and what ends by itself has its status, and waits for nobody
printf '#!/bin/bash\nsleep 1000 &\necho $$ $! >>"$PIDS"\n' >bin/kscc
: >pids
cat >own.sh <<'F'
. "$SRC/tests/gpu/own_group.sh" "$0" "$@"
[ "$*" = "a  b c" ] || exit 1
"$PWD/bin/kscc"
exit 3
F
run timeout 100 bash own.sh 'a  b' c
expect_status 3
gone 'a plain end'

# Sourced by scripts that have kscc talk to a server of other people's on loopback: what they share.
#
#     . real_server.sh NAME PROGRAM KSCC FOLDER [OUT]     NAME of the scripts' own; without FOLDER/bin/PROGRAM they are skipped
#
# Leaves KSCC, SRC, folder, out, and a scratch folder with unit.cu as the current one, which goes with the server at the end.
[ -x "$4/bin/$2" ] || { echo "SKIP: no bin/$2 in $4: tests/agents/$1.sh --install $4"; exit 77; }
KSCC=$(realpath "$3"); folder=$(realpath "$4"); out=${5:-/dev/null}; SRC=$(cd "$(dirname "$0")/../.." && pwd)
[ "$out" = /dev/null ] || out=$(realpath "$out")
work=$(mktemp -d "${TMPDIR:-/tmp}/kscc-$1.XXXXXX")
unset ${!KSCC_*} CI; export KSCC SRC LC_ALL=C
cd "$work" || exit 2
server=
trap 'kill $server 2>/dev/null; wait $server 2>/dev/null; cd /; rm -rf "$work"' EXIT
. "$SRC/tests/cli/lib.sh"
light
unit

free_port() { python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'; }

# serve COMMAND...: starts it, its output in server.log, and waits until it listens
serve() {
  "$@" >server.log 2>&1 & server=$!
  for _ in $(seq 1200); do grep -q 'Uvicorn running' server.log && return; kill -0 $server 2>/dev/null || break; sleep 0.1; done
  echo "the server does not start"; tail -20 server.log
  exit 1
}

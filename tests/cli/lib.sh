# Helpers of the command-line tests; sourced, not run.
check_failures=0
REAL_NVCC=${REAL_NVCC:-$(command -v nvcc || echo /usr/local/cuda/bin/nvcc)}

fail() { echo "check failed: $*"; check_failures=1; }
# run COMMAND...: keeps stdout in out, stderr in err, the status in $status
run() { "$@" >out 2>err </dev/null; status=$?; }
expect_status() { [ "$status" = "$1" ] || { fail "status $status, expected $1"; sed 's/^/  stderr: /' err | tail -20; }; }
expect_err() { grep -qF -- "$1" err || { fail "stderr lacks: $1"; sed 's/^/  stderr: /' err | tail -20; }; }
expect_no_err() { if grep -qF -- "$1" err; then fail "stderr has: $1"; sed 's/^/  stderr: /' err | tail -20; fi; }
expect_out_empty() { [ ! -s out ] || { fail "stdout is not empty"; head -5 out; }; }
expect_file() { [ -s "$1" ] || fail "no file $1"; }
expect_no_file() { [ ! -e "$1" ] || fail "there is a file $1"; }
expect_same() { cmp -s "$1" "$2" || { fail "$1 and $2 differ"; diff "$1" "$2" | head -20; }; }
# expect_symbol OBJECT NAME: a defined text symbol
expect_symbol() { nm "$1" | grep -qE " T $2\$" || { fail "$1 does not define $2"; nm "$1" | head -30; }; }
skip() { echo "SKIP: $*"; exit 0; }

# A compiler that writes its argument vector to argv.log, its NVCC_* variables to env.log, and makes the -o file.
fake_nvcc() {
  mkdir -p "$1"
  cat >"$1/nvcc" <<'F'
#!/bin/bash
if [ "$1" = --version ]; then echo "nvcc: NVIDIA (R) Cuda compiler driver"; echo "Cuda compilation tools, release 13.0, V13.0.88"; exit 0; fi
{ printf '%s\n' "$0"; printf '[%s]\n' "$@"; } >>"${FAKE_LOG:-argv.log}"
env | grep ^NVCC_ | sort >env.log
status=${FAKE_STATUS:-0}
[ "$status" = 0 ] || exit "$status"
[ -z "${FAKE_SIGNAL:-}" ] || kill -"$FAKE_SIGNAL" $$
out=
while [ $# -gt 0 ]; do case $1 in -o) out=$2; shift;; esac; shift; done
[ -z "$out" ] || echo object >"$out"
F
  chmod +x "$1/nvcc"
}

#!/usr/bin/env bash
# Command-line tests of kscc.  usage: run.sh KSCC SOURCE_DIR [PATTERN]
#
# Every tests/cli/cases/*.sh is one case: it runs in a fresh folder with the helpers of lib.sh, and fails when any check
# fails.  Cases whose name matches PATTERN (an extended regular expression) run; the default is all.
# Closing line: N passed, N failed.  Exit status: 0 if none failed.
set -u
KSCC=$(realpath "$1"); SRC=$(realpath "$2"); PATTERN=${3:-.}
export KSCC SRC LC_ALL=C
preload=${KSCC_SANITIZER_RUNTIME:-} # what a program must load before a sanitised library of ours
unset NVCC_PREPEND_FLAGS NVCC_APPEND_FLAGS NVCC_CCBIN CI MAKELEVEL ${!KSCC_@}
export PROGRAM_PRELOAD=$preload
T=$(mktemp -d "${TMPDIR:-/tmp}/kscc-cli.XXXXXX") || exit 2
trap 'chmod -R u+w "$T" 2>/dev/null; rm -rf "$T"' EXIT
passed=0; failed=0; skipped=0
for case in "$SRC"/tests/cli/cases/*.sh; do
  name=$(basename "$case" .sh)
  [[ $name =~ $PATTERN ]] || continue
  mkdir -p "$T/$name"
  if (cd "$T/$name" && bash -u -c ". '$SRC/tests/cli/lib.sh'; . '$case'; exit \$check_failures") >"$T/$name.log" 2>&1 && ! grep -q 'expect_[a-z_]*: command not found' "$T/$name.log"; then
    passed=$((passed + 1))
    if grep -q '^SKIP' "$T/$name.log"; then skipped=$((skipped + 1)); echo "$name: $(grep -m1 '^SKIP' "$T/$name.log")"; fi
  else
    failed=$((failed + 1))
    echo "FAILED $name"; sed 's/^/    /' "$T/$name.log" | tail -60
  fi
done
echo "$passed passed, $failed failed"
[ $failed = 0 ] && [ $passed -gt 0 ]

# No room for the store: said, and the build ends with the baseline object as if nothing had been asked for.
light kept
small=$PWD/small
mkdir small
unshare -Urm mount -t tmpfs -o size=64k tmpfs "$small" 2>/dev/null || skip "no file system of our own can be mounted here"
unit; good_candidate 1
cp unit.cu plain.cu
in_small() { # a store of 64 KiB, all but full
  unshare -Urm bash -c 'mount -t tmpfs -o size=64k tmpfs "$0" && head -c 53248 /dev/zero >"$0/filler" && exec "$@"' "$small" "$@"
}
run in_small timeout 300 "$KSCC" -O-agent --kscc-device=emulated --kscc-dir="$small/store" --kscc-agent=file:cand -c unit.cu -o unit.o
expect_status 0
expect_file unit.o
expect_err "No space left on device"
expect_err "the baseline object stays"
"$REAL_NVCC" -c plain.cu -o want.o
nm unit.o | grep -q __kscc && fail "something was emitted whose certificate could not be kept"

# kscc optimize: the verified text as a diff that git applies, or in the source; nothing is touched without a gain.
light
unit; good_candidate 1
cp unit.cu before.cu
optimize() { run timeout 300 "$KSCC" optimize unit.cu --kscc-device=emulated "$@"; }
optimize --kscc-agent=file:cand --diff -O2
expect_status 0
expect_same unit.cu before.cu
mkdir repo; cp unit.cu repo/; (cd repo && git init -q . && git apply ../out) || fail "git does not apply the diff: $(head -5 out)"
expect_same repo/unit.cu cand/1.cu
chmod 640 unit.cu
optimize --kscc-agent=file:cand --in-place -O2
expect_status 0
expect_out_empty
expect_err "unit.cu: scale_shift is rewritten"
expect_same unit.cu cand/1.cu
[ "$(stat -c %a unit.cu)" = 640 ] || fail "the source's mode is another"
"$REAL_NVCC" -c unit.cu -o unit.o || fail "the rewritten source does not compile"
# no gain, another entry, wrong words
cp before.cu unit.cu; mkdir none
optimize --kscc-agent=file:none --in-place -O2 --kscc-fresh
expect_status 0
optimize --kscc-agent=file:none --diff -O3
expect_status 1
expect_out_empty
cp before.cu unit.cu
optimize --kscc-agent=file:cand --diff -O2 --entry=another
expect_status 1
optimize --diff --in-place
expect_status 2
expect_same unit.cu before.cu

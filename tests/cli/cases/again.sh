# The second build of the same thing puts the object of the first in place: no nvcc, no parse.  Anything else than the same thing is
# built as always, and what no longer holds keeps the baseline, with the reason.
unit; good_candidate 1
mkdir early late
echo '#define FACTOR 3.0f' >late/factor.h
echo '#define NOTHING' >real.h; ln -s real.h linked.h
echo 'static const int unused_too = 0;' >forced.h
printf '#define HERE "late/computed.h"\n#include HERE\n#include "linked.h"\n#include <factor.h>\n' >lines
echo '#ifdef __CUDA_ARCH__
#include "late/device.h"
#endif' >>lines
echo '// nothing' >late/computed.h; echo '#define DEVICE_ONLY 0.0f' >late/device.h
sed -i -e '/cuda_runtime.h/r lines' -e 's/3\.0f/FACTOR/' unit.cu cand/1.cu
sed -i 's/int i = block/int unused; &/' unit.cu # a warning
sed -i '/cuda_runtime.h/a #include "late/candidate.h"' cand/1.cu; echo '#define ONLY_CANDIDATE' >late/candidate.h
line=(-O2 -std=c++14 -Iearly -Ilate -include forced.h -Xcompiler -Wall -MD -MF unit.d -c unit.cu -o unit.o)
agent --kscc-agent=file:cand "${line[@]}"
expect_err "emitted unit.o"
key=$(basename "$(key_dir)")
run "$KSCC" approve "$key"
sleep 1 # files of a build are older than the build
mkdir ../whole.$$; cp -a . ../whole.$$/w; mv ../whole.$$/w whole; rmdir ../whole.$$
kept() { ls .kscc/cache 2>/dev/null | wc -l; }
is_kept() { cmp -s unit.o .kscc/cache/*/object.o; }
# again ARGS...: the same thing: the kept object, and all that nvcc says and writes
again() {
  rm -f unit.o unit.d
  CI=true agent "$@"
  expect_status 0
  expect_err "emitted unit.o: original, candidate of scale_shift and guard; certificate: .kscc/objects/$key/certificate.json"
  is_kept || fail "not the kept object: ${*:-the same line}"
}
# stays REASON ARGS...: another thing: the baseline, why, and everything as it was again
stays() {
  local why=$1; shift
  CI=true agent "$@"
  expect_status 0
  expect_err "$why"
  expect_err "the baseline object stays"
  nm unit.o | grep -q kscc && fail "emitted though $why"
  find . -mindepth 1 -maxdepth 1 ! -name whole ! -name out ! -name err -exec rm -rf {} +
  cp -a whole/. .
}
[ "$(kept)" = 1 ] || fail "the first build keeps nothing: $(ls -R .kscc/cache)"
[ "$(cat .kscc/cache/.gitignore)" = '*' ] || fail "the cache may be committed"

# ---- the same thing -----------------------------------------------------------------------------------------------------
"$REAL_NVCC" "${line[@]}" 2>nvcc.err; mv unit.d nvcc.d; stat -c %a unit.o >nvcc.mode
grep -q unused nvcc.err || fail "the unit has no warning"
again "${line[@]}"
expect_same nvcc.d unit.d
[ "$(stat -c %a unit.o)" = "$(cat nvcc.mode)" ] || fail "mode $(stat -c %a unit.o)"
grep -v '^kscc: ' err >said; expect_same nvcc.err said
touch unit.cu late/factor.h                                 # times alone
again "${line[@]}"
run "$KSCC" approve "$key"                                  # approved once more
again "${line[@]}"
(umask 077; rm unit.o; CI=true timeout 300 "$KSCC" -O-agent --kscc-device=emulated "${line[@]}" 2>err; [ "$(stat -c %a unit.o)" = 600 ] || fail "mask")
ln -sf real.h other.h; mv -T other.h linked.h               # another link to the same
again "${line[@]}"

# ---- another thing ------------------------------------------------------------------------------------------------------
old=$(stat -c %y late/factor.h)
sed -i 's/3.0f/5.0f/' late/factor.h; touch -d "$old" late/factor.h # same size, same time
stays "changed since: a file it includes" "${line[@]}"
printf '#define FACTOR 3.0f\n// in front of it\n' >early/factor.h; stays "changed since: a file it includes" "${line[@]}"
printf '#include_next <factor.h>\n#define EXTRA\n' >early/factor.h; stays "changed since: a file it includes" "${line[@]}"
echo '#define EXTRA' >other.h; ln -sf other.h linked.h;       stays "changed since: a file it includes" "${line[@]}"
echo '// else' >late/computed.h;                             stays "changed since: a file it includes" "${line[@]}"
sed -i s/0.0f/1.0f/ late/device.h;                           stays "changed since: a file it includes" "${line[@]}"
echo '// x' >>forced.h;                                     stays "changed since: a file it includes" "${line[@]}"
sed -i 's/n) *$/n )/; s/if (i < n)/if (i <  n)/' unit.cu;     stays "changed since: the source" "${line[@]}"
stays "changed since: the flags" "${line[@]}" -DX
# no other code: emitted, but not from what was kept
CPATH=$PWD/early CI=true agent "${line[@]}"; expect_err "emitted unit.o"; cmp -s unit.o whole/unit.o && fail "CPATH does not count"
rm -rf .kscc; cp -a whole/.kscc .
sed -i 's/+ 1\.0f/+ 2.0f/' "$(key_dir)candidate.cu";         stays "candidate.cu' is not the file that the certificate names" "${line[@]}"
sed -i 's/"estimate"/"Estimate"/' "$(key_dir)certificate.json"; stays "was changed after it was written" "${line[@]}"
rm "$(key_dir)approved.json";                                stays "is not approved" "${line[@]}"
printf '[entry.scale_shift]\npolicy = "off"\n' >kscc.toml;   stays "policy is off" "${line[@]}"
echo 'static inline int unused_function() { return 1; }' >late/candidate.h
CI=true agent "${line[@]}"; expect_err "emitted unit.o"; cmp -s unit.o whole/unit.o && fail "the candidate's header does not count"
echo '__device__ int more(int x) { return x; }' >late/candidate.h; stays "compiles to other code than was judged" "${line[@]}"

# ---- a damaged cache ----------------------------------------------------------------------------------------------------
printf x | dd of="$(ls .kscc/cache/*/object.o)" bs=1 seek=100 conv=notrunc 2>/dev/null
CI=true agent "${line[@]}"; expect_err "emitted unit.o"
cmp -s unit.o .kscc/cache/*/object.o || fail "not made and kept anew"
run "$KSCC" store gc --max-size=1
[ "$(kept)" = 0 ] || fail "gc leaves kept objects"

# ---- what differs from build to build, or comes from elsewhere, is not kept -----------------------------------------------
echo 'static const char *built = __TIME__;' >>late/computed.h
agent --kscc-agent=file:cand "${line[@]}"; expect_err "emitted unit.o"
[ "$(kept)" = 0 ] || fail "kept though it has the time in it"
echo 'asm(".pushsection .note.x\n.inc" "bin \"late/computed.h\"\n.popsection");' >late/computed.h
agent --kscc-agent=file:cand "${line[@]}"
[ "$(kept)" = 0 ] || fail "kept though the assembler reads a file"
expect_err "the object of unit.cu is not kept: "

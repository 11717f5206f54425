# A certificate that no longer holds is named with what changed, and the baseline is emitted.
light
unit; good_candidate 1
echo '#define FACTOR 3.0f' >factor.h
sed -i 's/#include <cuda_runtime.h>/&\n#include "factor.h"/; s/3\.0f;/FACTOR;/; s/3\.0f + /FACTOR + /' unit.cu cand/1.cu
agent --kscc-agent=file:cand -O2 -c unit.cu -o unit.o
expect_err "emitted unit.o"
key=$(basename "$(key_dir)")
run "$KSCC" approve "$key"
cp -r . ../whole.$$; mv ../whole.$$ ./whole
# ci WHAT: a build in CI keeps the baseline and says why
ci() {
  local want=$1; shift
  CI=true agent "$@" -c unit.cu -o unit.o
  expect_status 0
  expect_err "$want"
  expect_err "the baseline object stays"
  nm unit.o | grep -q kscc && fail "emitted though $want"
  cp whole/unit.cu whole/factor.h . && rm -rf .kscc && cp -r whole/.kscc .
}
CI=true agent -O2 -c unit.cu -o unit.o
expect_err "emitted unit.o"
sed -i 's/int i = blockIdx.x/int  i = blockIdx.x/' unit.cu; ci "is stale: changed since: the source; the" -O2
sed -i 's/3.0f/3.5f/' factor.h;                         ci "is stale: changed since: a file it includes; the" -O2
ci "is stale: changed since: the flags; the" -O3
sed -i 's/rtol=1e-5/rtol=1e-4/' unit.cu;                ci "is stale: changed since: the source, the contract; the" -O2
INCLUDES=-I/tmp ci "is stale: changed since: a variable that nvcc reads as flags; the" -O2
ci "is stale: changed since: the device or the gate's thresholds; the" -O2 --kscc-delta=0.05
echo '// x' >>"$(key_dir)candidate.cu";                 ci "candidate.cu' is not the file that the certificate names" -O2
sed -i 's/"estimate"/"Estimate"/' "$(key_dir)certificate.json"; ci "certificate.json' was changed after it was written" -O2
sed -i 's/"arch":[[:space:]]*"sm_/&1/' "$(key_dir)certificate.json"; ci "certificate" -O2
sed -i 's/"gate_version":[[:space:]]*[0-9]*/"gate_version": 1/' "$(key_dir)certificate.json"; ci "was made by gate version 1" -O2
# another toolkit: nvcc says another version
mkdir tool; printf '#!/bin/bash\nif [ "$1" = --version ]; then %q --version | sed s/V13.0/V13.9/; else exec %q "$@"; fi\n' "$REAL_NVCC" "$REAL_NVCC" >tool/nvcc
chmod +x tool/nvcc
ci "the toolkit (" -O2 --kscc-nvcc="$PWD/tool/nvcc"
# the same toolkit in another folder
mkdir moved; cp -rs "$(dirname "$(dirname "$(realpath "$REAL_NVCC")")")/." moved/ 2>/dev/null
ci "the toolkit's folder (" -O2 --kscc-nvcc="$PWD/moved/bin/nvcc"
# where searches are allowed, one begins, and says why
sed -i 's/3.0f/3.5f/' factor.h
mkdir none; agent --kscc-agent=file:none --kscc-budget=trials:1 -O2 -c unit.cu -o unit.o; expect_status 0
expect_err "is stale: changed since: a file it includes; searching again"
cp whole/factor.h .
# with every policy: what was tampered with is neither emitted nor written over, and says so; a fresh search is asked for
rm -rf .kscc; cp -r whole/.kscc .
for edit in 's/"estimate"/"Estimate"/' 's/"lo":\([[:space:]]*[0-9.]*\)/"lo":\10/'; do
  sed -i "$edit" "$(key_dir)certificate.json"; cp "$(key_dir)certificate.json" edited
  agent --kscc-agent=file:cand -O2 -c unit.cu -o unit.o
  expect_status 0; expect_err "certificate.json' was changed after it was written, the baseline object stays; --kscc-fresh searches again"
  nm unit.o | grep -q kscc && fail "emitted by an edited certificate"
  expect_same edited "$(key_dir)certificate.json"
  rm -rf .kscc; cp -r whole/.kscc .
done
echo '// x' >>"$(key_dir)candidate.cu"; agent --kscc-agent=file:cand -O2 -c unit.cu -o unit.o
expect_err "candidate.cu' is not the file that the certificate names, the baseline object stays; --kscc-fresh"
nm unit.o | grep -q kscc && fail "emitted an edited candidate"
agent --kscc-agent=file:cand --kscc-fresh -O2 -c unit.cu -o unit.o; expect_err "emitted unit.o"
# a search killed while it replaced an older result has put in its trace already: that is no edit
echo '{}' >>"$(key_dir)trace.jsonl"; echo '// x' >>"$(key_dir)candidate.cu"; agent --kscc-agent=file:cand -O2 -c unit.cu -o unit.o
expect_err "searching again"; expect_err "emitted unit.o"

# A folder with quotes, blanks, a comma and a $ in its name, and entries hidden from other libraries: found, proved and emitted.
light
mkdir 'it'\''s "a", $b'; cd 'it'\''s "a", $b' || exit 1
unit; good_candidate 1
echo '#define FACTOR 3.0f' >factor.h
sed -i 's/#include <cuda_runtime.h>/&\n#include "factor.h"/; s/3\.0f;/FACTOR;/; s/3\.0f + /FACTOR + /' unit.cu cand/1.cu
agent --kscc-agent=file:cand -Xcompiler -fvisibility=hidden -MD -MF unit.d -c unit.cu -o unit.o
expect_status 0
expect_out_empty
expect_err "emitted unit.o"
readelf -sW unit.o | grep -qE 'GLOBAL +HIDDEN .* scale_shift$' || fail "the entry is not hidden as in the baseline"
"$REAL_NVCC" -Xcompiler -fvisibility=hidden -MD -MF want.d -c unit.cu -o unit.o.base 2>/dev/null
sed 's/unit\.o\.base/unit.o/' want.d >want2.d
expect_same unit.d want2.d

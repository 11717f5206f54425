# What is emitted is what was judged: a text that reads position independence, the command line's -lineinfo or another folder of
# includes cannot be one program for the gates and another one in the object.  The folder's name is hard to quote.
light
mkdir -p "it's, a dir"; cd "it's, a dir"
unit
echo '#define SHIFT 1.0f' >scale.h
sed -i 's/^#include <cuda_runtime.h>/&\n#include "scale.h"/; s/+ 1.0f/+ SHIFT/' unit.cu
candidate 1 'operator-boundary 1.8 y makes a round trip through memory between two launches' 'if (i < n) y[i] = x[i] * 3.0f + SHIFT;'
sed -i 's/^#include <cuda_runtime.h>/&\n#include "scale.h"\n#ifndef __PIC__\n#undef SHIFT\n#define SHIFT 2.0f\n#endif/' cand/1.cu
agent --kscc-agent=file:cand -O2 -arch=sm_90a -Xcompiler -fno-pic -c unit.cu -o unit.o
expect_status 0
expect_err "emitted unit.o"
expect_no_err "Unterminated"
objdump -h unit.o | grep -q nv_fatbin || fail "no device code"
[ "$(strings -a unit.o | grep -c '0f40000000')" = 0 ] || fail "the emitted half is not the judged one"
# The second time out of the store: built again and compared with the certificate.
rm unit.o
agent --kscc-agent=file:cand -O2 -arch=sm_90a -Xcompiler -fno-pic -c unit.cu -o unit.o
expect_err "from the store"
expect_err "emitted unit.o"
# A text whose meaning depends on when it is built.
good_candidate 1; sed -i 's/^#include <cuda_runtime.h>/&\n#include "scale.h"\nstatic const char stamp[] = __TIMESTAMP__;/' cand/1.cu
agent --kscc-fresh --kscc-agent=file:cand -O2 -arch=sm_90a -Xcompiler -fno-pic -c unit.cu -o unit.o
expect_status 0
expect_err "candidate mentions __TIMESTAMP__"
expect_no_err "emitted unit.o"

# Every command of README.md and docs/*.md runs, or says at its place why no test runs it; what stands in backquotes is there.
# A clone's folders are read through links; sources of the pages are small stand-ins, and the searches have a budget of one trial.
python3 "$SRC/tests/cli/docs.py" "$SRC" lint >lint.out || { fail "the rule"; cat lint.out; }
printf '# x\n```\nls\n```\n`kscc nonsense`, `kscc stats --nonsense`\n```sh\n# not run by a test:\nls\n```\n' >bad.md
mkdir -p bad/docs bad/driver; cp bad.md bad/README.md; cp "$SRC"/driver/{commands,options}.def bad/driver/
python3 "$SRC/tests/cli/docs.py" bad lint >bad.out && fail "a bad page passes"
for words in "without a language" "no command 'nonsense'" "takes no '--nonsense'" "no reason why"; do grep -qF "$words" bad.out || fail "not seen: $words"; done
mkdir -p path; ln -s "$KSCC" path/kscc
export PATH="$PWD/path:$(dirname "$REAL_NVCC"):$PATH" KSCC_DEVICE=emulated KSCC_BUDGET=trials:1 NVCC_APPEND_FLAGS=-std=c++14
unit; mv unit.cu attention.cu
cat >app.cu <<'F'
#include <cstdio>
__global__ void k(float *p) { p[threadIdx.x] += 1.0f; }
int main() { float *p; cudaMalloc(&p, 128); cudaMemset(p, 0, 128); k<<<1, 32>>>(p); printf("%d\n", (int)cudaDeviceSynchronize()); }
F
python3 "$SRC/tests/cli/docs.py" "$SRC" >docs.out || { fail "commands"; cat docs.out; }
tail -1 docs.out

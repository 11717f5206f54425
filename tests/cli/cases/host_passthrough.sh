# KSCC_HOST=passthrough: gcc's lines go to gcc word for word, nvcc's to nvcc, and nothing is guessed in between.
mkdir bin fake_host
fake_nvcc fake
for c in gcc g++; do printf '#!/bin/bash\n{ echo "$0"; printf "[%%s]\\n" "$@"; } >>argv.log\n' >"bin/$c"; chmod +x "bin/$c"; done
real_path=$PATH
export PATH="$PWD/bin:$PWD/fake:$PATH" KSCC_HOST=passthrough
echo 'int main(void) { return 0; }' >a.c; cp a.c a.cpp; cp a.c a.cu; echo k >noext
PATH=$real_path gcc -c a.c -o c.o
printf '#include <string>\nstd::string f() { return "x"; }\n' >s.cpp; PATH=$real_path g++ -c s.cpp -o cxx.o
echo '__global__ void k() {}' >k.cu; PATH=$real_path "$REAL_NVCC" -c k.cu -o k.o
mkdir lib; ar rc lib/libk.a k.o; ar rc lib/libc1.a c.o
# goes WHO WORDS...: who runs, with the words as they are
goes() {
  local who=$1; shift
  rm -f argv.log
  run "$KSCC" "$@"
  local got; got=$(basename "$(head -1 argv.log 2>/dev/null)")
  [ "$got" = "$who" ] || fail "'$*' went to '$got', expected $who"
  printf '[%s]\n' "$@" >want.log
  sed 1d argv.log 2>/dev/null | cmp -s - want.log || [ -n "${changed:-}" ] || fail "'$*' did not arrive as it was: $(sed 1d argv.log | tr '\n' ' ')"
}
goes gcc -Wall -fPIC -g3 -std=gnu11 -c a.c -o x.o
goes g++ -Wextra -c a.cpp
goes gcc -Werror -c a.c
goes nvcc -Werror all-warnings -c a.c
goes nvcc -c a.c -Xcompiler -Wall
goes nvcc -arch=sm_80 a.c
goes nvcc -c a.cu
goes nvcc -x cu -c noext
goes gcc -x c -c noext
goes g++ -x c++ -c noext
goes g++ -xc++ -c noext
goes gcc -xc -E -dD noext
goes gcc -O2 -fassociative-math -c a.c
goes gcc c.o -Xlinker -rpath -Xlinker /x -Wall -o program
goes nvcc c.o -Xlinker -rpath,/x -o program
goes nvcc --help
goes nvcc -v __cmake_determine_cuda
goes gcc -v
goes gcc -print-prog-name=ld
goes gcc -E -
goes gcc -shared -nostdlib -Wl,-soname,x
goes gcc -MT x -MD -MP -MF x.d -c -o a.o a.c
goes gcc -isysroot / -include k.cu -c a.c
goes gcc c.o -o program -lm -Wl,-rpath,/x
goes g++ c.o cxx.o -o program
goes nvcc c.o k.o -o program
goes nvcc c.o -Llib -lk -o program
goes gcc c.o -Llib -lc1 -o program
goes nvcc c.o -Llib -l:libk.a -o program
goes gcc c.o -Llib -l:libc1.a -o program
goes nvcc -dlink k.o -o d.o
goes nvcc -lib c.o -o x.a
echo c.o cxx.o >r.rsp; goes g++ @r.rsp -o program
echo c.o k.o >r.rsp; goes nvcc @r.rsp -o program
goes gcc -o -O-agent -c a.c
changed=1
rm -f argv.log; run "$KSCC" -O-agent --kscc-quiet -Wall -c a.c
[ "$(sed 1d argv.log | tr -d '\n')" = "[-Wall][-c][a.c]" ] || fail "our switches reached gcc"
goes gcc a.c a.cpp -o program
grep -qx '\[-lstdc++\]' argv.log || fail "C and C++ in one link lack C++'s library"
export NVCC_CCBIN=$PWD/bin/g++; unset changed
goes gcc -Wall -c a.c
run "$KSCC" --version; expect_status 0; grep -q "^nvcc: NVIDIA" out || fail "the version is not nvcc's"
unset NVCC_CCBIN KSCC_HOST
goes nvcc -Wall -c a.c
run "$KSCC" --kscc-host=passthrough -Wall -c a.c
[ "$(basename "$(tail -4 argv.log | head -1)")" = gcc ] || fail "the option does not do what the variable does"
# For real: the object is gcc's.
export PATH=$real_path KSCC_HOST=passthrough
gcc -O2 -Wall -fPIC -c a.c -o want.o
run "$KSCC" -O2 -Wall -fPIC -c a.c -o got.o
expect_status 0
expect_same got.o want.o

#!/usr/bin/env bash
# Small projects of our own, built by each build system twice in the same folder, with nvcc and with kscc; objects, archives, libraries,
# programs and dependency files must be equal, apart from the names of nvcc's temporary files and build ids.
#
#   run.sh KSCC cmake|cmake_launcher|cmake_host|ninja|meson|automake
#
# A build system that is not installed skips its test, and says so (bootstrap installs them).  Closing line: N passed, N failed.
set -u
KSCC=$(realpath "$1") kind=$2
export LC_ALL=C NVCC=${REAL_NVCC:-$(command -v nvcc || echo /usr/local/cuda/bin/nvcc)}
CUDA=$(dirname "$(dirname "$NVCC")")
unset NVCC_PREPEND_FLAGS NVCC_APPEND_FLAGS NVCC_CCBIN CI MAKEFLAGS CC CXX CUDACXX CFLAGS CXXFLAGS ${!CMAKE_@} ${!KSCC_@}
T=$(mktemp -d "${TMPDIR:-/tmp}/kscc-projects.XXXXXX") || exit 2
trap 'rm -rf "$T"' EXIT
need() { command -v "$1" >/dev/null || { echo "SKIP: no $1 here"; echo "0 passed, 0 failed"; exit 77; }; }

sources() {
    printf '#include "shift.h"\n__global__ void scale(float *p) { p[threadIdx.x] = shift(p[threadIdx.x]) * 2.0f; }\nvoid run_scale(float *p) { scale<<<1, 32>>>(p); }\n' >scale.cu
    printf '#include "shift.h"\n__device__ float shift(float x) { return x + SHIFT; }\n' >shift.cu
    printf '#define SHIFT 1.0f\n__device__ float shift(float x);\n' >shift.h
    printf 'namespace { __global__ void k(int *p) { *p = 1; } }\nvoid run_plain(int *p) { k<<<1, 1>>>(p); }\n' >plain.cu
    printf 'void run_scale(float *);\nvoid run_plain(int *);\nint main(int c, char **) { if (c > 99) { run_scale(0); run_plain(0); } return 0; }\n' >main.cpp
    printf 'int answer(void) { return 42; }\n' >answer.c
    printf '#include <stdio.h>\nint answer(void);\nint main(void) { printf("%%d\\n", answer()); return 0; }\n' >tell.c
}

cmake_lists() {
    cat >CMakeLists.txt <<'C'
cmake_minimum_required(VERSION 3.20)
project(own LANGUAGES C CXX CUDA)
set(CMAKE_CUDA_USE_RESPONSE_FILE_FOR_OBJECTS ON)
set(CMAKE_CUDA_USE_RESPONSE_FILE_FOR_INCLUDES ON)
include_directories(${CMAKE_SOURCE_DIR})
add_library(rdc STATIC scale.cu shift.cu)
set_target_properties(rdc PROPERTIES CUDA_SEPARABLE_COMPILATION ON POSITION_INDEPENDENT_CODE ON)
add_library(plain SHARED plain.cu)
add_library(lto STATIC plain.cu)
set_target_properties(lto PROPERTIES INTERPROCEDURAL_OPTIMIZATION ON CUDA_SEPARABLE_COMPILATION ON)
add_executable(program main.cpp)
target_link_libraries(program rdc plain)
set_target_properties(program PROPERTIES CUDA_SEPARABLE_COMPILATION ON)
C
}
build_cmake() {
    cmake_lists
    cmake -G Ninja -S . -B out -DCMAKE_BUILD_TYPE=Release -DCMAKE_CUDA_ARCHITECTURES=80 -DCMAKE_CUDA_COMPILER="$1" && ninja -C out
}
# kscc in front of the compiler, not in its place
build_cmake_launcher() {
    local -a launcher=()
    [ "$1" = "$NVCC" ] || launcher=(-DCMAKE_CUDA_COMPILER_LAUNCHER="$1")
    cmake_lists
    cmake -G Ninja -S . -B out -DCMAKE_BUILD_TYPE=Release -DCMAKE_CUDA_ARCHITECTURES=80 -DCMAKE_CUDA_COMPILER="$NVCC" "${launcher[@]}" && ninja -C out
}
# C and C++ alone, with gcc's options and checks: the reference is gcc's build, and kscc gets KSCC_HOST=passthrough
build_cmake_host() {
    local cc=gcc cxx=g++
    if [ "$1" != "$NVCC" ]; then cc=$1 cxx=$1; export KSCC_HOST=passthrough; fi
    cat >CMakeLists.txt <<'C'
cmake_minimum_required(VERSION 3.20)
project(own LANGUAGES C CXX)
include(CheckCCompilerFlag)
check_c_compiler_flag(-Wshadow HAVE_WSHADOW)
if(NOT HAVE_WSHADOW)
  message(FATAL_ERROR "a flag of the compiler is said to be missing")
endif()
add_compile_options(-Wall -Wextra -fvisibility=hidden)
add_library(both STATIC answer.c hello.cpp)
set_target_properties(both PROPERTIES POSITION_INDEPENDENT_CODE ON C_STANDARD 11 C_EXTENSIONS OFF)
add_executable(tell tell.c)
target_link_libraries(tell both m)
C
    printf '#include <string>\nextern "C" int hello() { return (int)std::string("hello").size(); }\n' >hello.cpp
    printf '#include <stdio.h>\nint answer(void);\nint hello(void);\nint main(void) { printf("%%d\\n", answer() + hello()); return 0; }\n' >tell.c
    cmake -G Ninja -S . -B out -DCMAKE_C_COMPILER="$cc" -DCMAKE_CXX_COMPILER="$cxx" && ninja -C out && [ "$(out/tell)" = 47 ]
    local status=$?
    unset KSCC_HOST
    rm -rf out/CMakeFiles/[0-9]* out/CMakeFiles/CMake*
    return $status
}
# as PyTorch writes it
build_ninja() {
    cat >build.ninja <<N
nvcc = $1
flags = -I. --expt-relaxed-constexpr --compiler-options ''"'"'-fPIC'"'"'' -gencode=arch=compute_80,code=sm_80 -std=c++17 -rdc=true
rule cu
  depfile = \$out.d
  deps = gcc
  command = \$nvcc --generate-dependencies-with-compile --dependency-output \$out.d \$flags -c \$in -o \$out
rule dlink
  command = \$nvcc \$in -o \$out --compiler-options ''"'"'-fPIC'"'"'' -gencode=arch=compute_80,code=sm_80 -dlink
rule so
  command = g++ \$in -shared -L$CUDA/lib64 -lcudart -o \$out
build scale.o: cu scale.cu
build shift.o: cu shift.cu
build dlink.o: dlink scale.o shift.o
build ext.so: so scale.o shift.o dlink.o
N
    ninja
}
build_meson() {
    cat >meson.build <<'M'
project('own', 'cuda', 'cpp', default_options: ['buildtype=release', 'cpp_std=c++17'])
lib = static_library('plain', 'plain.cu', cuda_args: ['-arch=sm_80'])
executable('program', 'main2.cu', link_with: lib, link_language: 'cuda')
M
    printf 'void run_plain(int *);\nint main(int c, char **) { if (c > 99) run_plain(0); return 0; }\n' >main2.cu
    printf "[binaries]\ncuda = ['%s']\n" "$1" >native.ini
    meson setup --native-file native.ini out . && ninja -C out
}
# nvcc cannot be CC of such a project: the reference is gcc's build, and kscc gets KSCC_HOST=passthrough
build_automake() {
    local cc=gcc cxx=g++
    if [ "$1" != "$NVCC" ]; then cc=$1 cxx=$1; export KSCC_HOST=passthrough; fi
    printf 'AC_INIT([own],[1])\nAM_INIT_AUTOMAKE([foreign])\nAC_PROG_CC\nAC_PROG_CXX\nAM_PROG_AR\nLT_INIT\nAC_CONFIG_FILES([Makefile])\nAC_OUTPUT\n' >configure.ac
    printf 'AM_CFLAGS = -Wall -Wextra\nlib_LTLIBRARIES = libanswer.la\nlibanswer_la_SOURCES = answer.c\nbin_PROGRAMS = tell hello\ntell_SOURCES = tell.c\ntell_LDADD = libanswer.la\nhello_SOURCES = hello.cpp\n' >Makefile.am
    printf '#include <string>\n#include <iostream>\nint main() { std::cout << std::string("hello") << std::endl; }\n' >hello.cpp
    # what autoreconf makes has no compiler in it: once for both
    if [ -d "$T/autotools" ]; then cp -a "$T/autotools/." .; else autoreconf -fi && cp -a . "$T/autotools"; fi && ./configure CC="$cc" CXX="$cxx" && make && [ "$(./tell)" = 42 ] && [ "$(./hello)" = hello ]
    local status=$?
    unset KSCC_HOST
    rm -rf config.* libtool ./*.cache Makefile
    return $status
}

fingerprints() {
    find . -type f \( -name '*.o' -o -name '*.a' -o -name '*.so*' -o -name '*.lo' -o -name '*.d' -o -perm -100 \) ! -path '*/CompilerId*' \
        ! -path '*meson-private*' -newer ../started | sort | while IFS= read -r f; do
        [ "$(head -c 2 "$f")" != '#!' ] || continue # scripts name the compiler
        cp "$f" ../normal
        if [ "$(head -c 4 "$f" | tail -c 3)" = ELF ]; then objcopy --remove-section .note.gnu.build-id ../normal 2>/dev/null; fi
        printf '%s %s\n' "$(sed -E 's/tmpxft_[0-9a-f]{8}_[0-9a-f]{8}/tmpxft_P_S/g' ../normal | sha256sum | cut -c1-16)" "$f"
    done
}
build() { # build ROLE COMPILER
    rm -rf "$T/w"; mkdir "$T/w"; cd "$T/w" || return
    sources
    touch -d '2020-01-01' ./*
    touch ../started; sleep 1
    "build_$kind" "$2" >"$T/$1.log" 2>&1 </dev/null || { echo "the build with $1 failed:"; tail -n 30 "$T/$1.log"; return 1; }
    fingerprints >"$T/$1.txt"
}

case $kind in
cmake | cmake_launcher | cmake_host) need cmake; need ninja ;;
ninja) need ninja ;;
meson) need meson; need ninja ;;
automake) need automake; need libtoolize; need autoreconf ;;
esac
failed=1
if build nvcc "$NVCC" && build kscc "$KSCC"; then
    diff "$T/nvcc.txt" "$T/kscc.txt" && [ "$(wc -l <"$T/nvcc.txt")" -gt 2 ] && failed=0
    echo "$(wc -l <"$T/nvcc.txt") files compared"
fi
echo "$((1 - failed)) passed, $failed failed"
[ $failed = 0 ]

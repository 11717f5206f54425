#!/usr/bin/env bash
# Builds public projects twice, unmodified, in the same folder: with nvcc and with kscc.  Everything the builds leave behind must be
# equal, apart from the names of nvcc's temporary files (tmpxft_<pid>_<number>) and the build ids made of bytes that hold them.
#
#   run.sh [-k KSCC] [-s SOURCES] [-w WORK] [-j JOBS] [-o TABLE] [-n] [PROJECT...]
#
#   -k  the kscc to test (default: build/bin/kscc of this tree)
#   -s  folder of git repositories OWNER+NAME (bare, or with a work tree, or OWNER+NAME/repo); without it they are cloned from GitHub
#   -w  scratch folder (default: a temporary one)
#   -n  build nothing: compare what earlier calls left in WORK
#   -o  file that gets the table: project, what was built, files compared, files that differ, result
#
# PROJECT: llm.c nccl cuda-samples ggml hecbench pytorch-style meson automake (default: all).  Large projects are limited to one
# architecture and to the subsets written down in their functions below.  Not run by ctest: it needs the sources and many minutes.
# Closing line: N passed, N failed.
set -u
here=$(cd "$(dirname "$0")" && pwd)
KSCC=$here/../../build/bin/kscc SOURCES= WORK= JOBS=$(nproc) TABLE= BUILD=1
while getopts k:s:w:j:o:n o; do
    case $o in k) KSCC=$OPTARG ;; s) SOURCES=$OPTARG ;; w) WORK=$OPTARG ;; j) JOBS=$OPTARG ;; o) TABLE=$OPTARG ;; n) BUILD= ;; *) exit 2 ;; esac
done
shift $((OPTIND - 1))
KSCC=$(realpath "$KSCC")
NVCC=${NVCC:-$(command -v nvcc || echo /usr/local/cuda/bin/nvcc)}
CUDA=$(dirname "$(dirname "$NVCC")")
[ -n "$WORK" ] || { WORK=$(mktemp -d) && trap 'rm -rf "$WORK"' EXIT; }
mkdir -p "$WORK"
WORK=$(realpath "$WORK")
export LC_ALL=C
unset CC CXX CUDACXX NVCC_PREPEND_FLAGS NVCC_APPEND_FLAGS NVCC_CCBIN MAKEFLAGS CMAKE_C_COMPILER_LAUNCHER CMAKE_CXX_COMPILER_LAUNCHER CMAKE_CUDA_COMPILER_LAUNCHER ${!KSCC_@}
passed=0 failed=0
rows=

# ---- sources -------------------------------------------------------------------------------------------------------------

# source_of OWNER NAME FOLDER: a work tree of it in FOLDER, with equal times of files, which -lineinfo keeps; prints its commit
source_of() {
    local repository=https://github.com/$1/$2
    [ -z "$SOURCES" ] || for d in "$SOURCES/$1+$2" "$SOURCES/$1+$2/repo"; do
        if [ -e "$d/HEAD" ] || [ -e "$d/.git" ]; then repository=$d; fi
    done
    # a mirror may lack large files (data): what is there is checked out all the same
    [ -e "$WORK/src/$1+$2" ] || git clone -q $([ -e "$repository" ] || echo --depth 1) "$repository" "$WORK/src/$1+$2" 2>/dev/null
    [ -n "$(ls "$WORK/src/$1+$2" 2>/dev/null)" ] || return 1
    cp -a "$WORK/src/$1+$2" "$3" && git -C "$3" rev-parse --short=12 HEAD
}

# ---- the projects: each builds in the current folder, ./src is its source, $COMPILER the compiler, $1 its role ------------------

from_llm_c="karpathy llm.c" what_llm_c="8 programs of dev/cuda, sm_90 (train_gpt2cu does not compile with CUDA 13)"
build_llm_c() {
    make -C src/dev/cuda -j"$JOBS" NVCC="$COMPILER" CI=true GPU_COMPUTE_CAPABILITY=90 adamw gelu_forward gelu_backward \
        residual_forward encoder_forward crossentropy_forward global_norm permute
}

from_nccl="NVIDIA nccl" what_nccl="all objects of its device code (-dc, -dw, -dlink), sm_75: every collective, operation and type (of each the RING LL functions), the device table, the symmetric kernels"
# Its makefiles look into the toolkit's folder before their own; where that holds another nccl's headers, a folder of links without them
# stands in for both compilers.  Every object is made (164 with nvcc), each with one algorithm and protocol: about 6 CPU seconds each, so by
# estimate 20 minutes on two idle cores for each compiler.
build_nccl() {
    mkdir -p include && ln -sf "$CUDA"/include/* include/ && rm -rf include/nccl*
    make -C src/src -j"$JOBS" NVCC="$COMPILER" CUDA_HOME="$CUDA" CUDA_INC="$PWD/include" NVCC_GENCODE="-gencode=arch=compute_75,code=sm_75" \
        BUILDDIR="$PWD/out" ONLY_FUNCS="SendRecv|AllGatherV|(AllGather|Broadcast|(AllReduce|Reduce|ReduceScatter) * *) RING LL" \
        "$PWD/out/obj/device/manifest"
}

from_cuda_samples="NVIDIA cuda-samples" what_cuda_samples="CMake: vectorAdd, clock, simpleTemplates, cdpSimplePrint, inlinePTX, scan; all their architectures"
build_cuda_samples() {
    local s
    for s in 0_Introduction/vectorAdd 0_Introduction/clock 0_Introduction/simpleTemplates 3_CUDA_Features/cdpSimplePrint \
        2_Concepts_and_Techniques/inlinePTX 2_Concepts_and_Techniques/scan; do
        cmake -G Ninja -S "src/Samples/$s" -B "out/$s" -DCMAKE_CUDA_COMPILER="$COMPILER" && cmake --build "out/$s" -j "$JOBS" || return 1
    done
}

from_ggml="ggml-org ggml" what_ggml="CUDA backend, CMake: 24 of its .cu files, sm_90"
build_ggml() {
    local f objects=()
    cmake -G Ninja -S src -B out -DGGML_CUDA=ON -DCMAKE_CUDA_ARCHITECTURES=90 -DGGML_BUILD_TESTS=OFF -DGGML_BUILD_EXAMPLES=OFF \
        -DGGML_CCACHE=OFF -DGGML_CUDA_NCCL=OFF -DCMAKE_CUDA_COMPILER="$COMPILER" || return 1
    for f in acc add-id arange argmax clamp concat conv2d-dw conv-transpose-1d count-equal cumsum diag diagmask fill getrows \
        im2col mean norm pad pool2d quantize scale softmax sum tsembd; do
        [ ! -e "src/src/ggml-cuda/$f.cu" ] || objects+=("src/ggml-cuda/CMakeFiles/ggml-cuda.dir/$f.cu.o")
    done
    ninja -C out -j "$JOBS" "${objects[@]}"
}

from_hecbench="zjin-lcf HeCBench" what_hecbench="20 Makefiles with CC=, ARCH=sm_75"
hecbench=(accuracy adam affine all-pairs-distance attention backprop bfs bilateral bitonic-sort black-scholes bspline-vgh clenergy
    colorwheel convolution1D dct8x8 entropy floydwarshall gaussian heat jacobi)
build_hecbench() {
    local b
    for b in "${hecbench[@]}"; do
        make -C "src/src/$b-cuda" -j"$JOBS" CC="$COMPILER" ARCH=sm_75 || { echo "not built: $b" >>not_built; make -C "src/src/$b-cuda" clean >/dev/null 2>&1; }
    done
    # with nvcc these must build, else there is nothing to compare
    [ "$(cat not_built 2>/dev/null | wc -l)" -le 4 ]
}

from_pytorch_style="karpathy llm.c" what_pytorch_style="the build.ninja of a PyTorch extension over 3 sources of llm.c: depfiles, quoted options, -dlink"
build_pytorch_style() {
    cat >build.ninja <<N
nvcc = $COMPILER
cuda_cflags = -I$CUDA/include -D__CUDA_NO_HALF_OPERATORS__ -D__CUDA_NO_HALF2_OPERATORS__ --expt-relaxed-constexpr --compiler-options ''"'"'-fPIC'"'"'' -DTORCH_EXTENSION_NAME=ext -gencode=arch=compute_90,code=compute_90 -gencode=arch=compute_90,code=sm_90 -ccbin gcc -std=c++17
cuda_dlink_flags = --compiler-options ''"'"'-fPIC'"'"'' -gencode=arch=compute_90,code=sm_90 -dlink
rule cuda_compile
  depfile = \$out.d
  deps = gcc
  command = \$nvcc --generate-dependencies-with-compile --dependency-output \$out.d \$cuda_cflags -c \$in -o \$out
rule cuda_devlink
  command = \$nvcc \$in -o \$out \$cuda_dlink_flags
rule link
  command = g++ \$in -shared -L$CUDA/lib64 -lcudart -o \$out
build adamw.o: cuda_compile $PWD/src/dev/cuda/adamw.cu
build encoder_forward.o: cuda_compile $PWD/src/dev/cuda/encoder_forward.cu
build permute.o: cuda_compile $PWD/src/dev/cuda/permute.cu
build dlink.o: cuda_devlink adamw.o encoder_forward.o permute.o
build ext.so: link permute.o dlink.o
N
    ninja -v -j "$JOBS"
}

from_meson="mesonbuild meson" what_meson="meson's own CUDA projects 2 split and 4 shared, release (PTX of -G holds nvcc's temporary names, compressed)"
build_meson() {
    local p
    printf "[binaries]\ncuda = ['%s']\n" "$COMPILER" >native.ini
    for p in "2 split" "4 shared"; do
        meson setup --buildtype release --native-file native.ini "src/test cases/cuda/$p" "out $p" && ninja -C "out $p" -j "$JOBS" || return 1
    done
}

# nvcc cannot be CC of an automake project: the reference is gcc, and kscc passes its lines on.
from_automake="libexpat libexpat" what_automake="automake and libtool, CC=kscc CXX=kscc KSCC_HOST=passthrough against gcc and g++"
build_automake() {
    local cc=gcc cxx=g++
    if [ "$1" = kscc ]; then cc=$COMPILER cxx=$COMPILER; fi
    (cd src/expat && autoreconf -fi && { [ "$1" != kscc ] || export KSCC_HOST=passthrough; } &&
        ./configure CC="$cc" CXX="$cxx" --without-docbook && make -j"$JOBS" && make -j"$JOBS" check)
    local status=$?
    find src -name 'config.*' -o -name '*.log' -o -name '*.trs' -o -name Makefile -o -name libtool -o -name '*.cache' | while read -r f; do rm -rf "$f"; done
    return $status
}

# ---- comparing -----------------------------------------------------------------------------------------------------------

# Contents of what a build makes, with what differs from run to run made equal.
fingerprints() {
    find . -path ./src/.git -prune -o -type f \( -name '*.o' -o -name '*.a' -o -name '*.so' -o -name '*.so.*' -o -name '*.d' -o -name '*.ptx' -o \
        -name '*.cubin' -o -name '*.fatbin' -o -name '*.lo' -o -perm -100 \) -newer ../started -print | sort | while IFS= read -r f; do
        [ "$(head -c 2 "$f")" != '#!' ] || continue # wrapper scripts name the compiler
        local n=../normal
        cp "$f" $n
        if [ "$(head -c 4 "$f" | tail -c 3)" = ELF ]; then objcopy --remove-section .note.gnu.build-id $n 2>/dev/null; fi
        printf '%s %s\n' "$(sed -E 's/tmpxft_[0-9a-f]{8}_[0-9a-f]{8}/tmpxft_PPPPPPPP_SSSSSSSS/g' $n | sha256sum | cut -c1-16)" "$f"
    done
}

# build_with ROLE COMPILER NAME: builds in the folder WORK/NAME/w, which both roles use, and keeps the fingerprints
build_with() {
    local role=$1 fun=${3//[.-]/_} dir=$WORK/$3
    local from="from_$fun"
    rm -rf "$dir/w"; mkdir -p "$dir/w"
    cd "$dir/w" || return 1
    # shellcheck disable=SC2086
    source_of ${!from} src >"$dir/commit" || { echo "no source: ${!from}"; return 2; }
    touch ../started; sleep 1
    COMPILER=$2 "build_$fun" "$role" >"$dir/$role.log" 2>&1 </dev/null || { echo "the build with $role failed:"; tail -n 15 "$dir/$role.log"; return 1; }
    fingerprints >"$dir/$role.txt"
}

one() {
    local name=$1 fun=${1//[.-]/_} began=$SECONDS n=0 differ=0 result=equal
    local what="what_$fun" dir=$WORK/$1
    if [ -n "$BUILD" ]; then
        rm -f "$dir/nvcc.txt" "$dir/kscc.txt"
        build_with nvcc "$NVCC" "$name" && build_with kscc "$KSCC" "$name"
    fi
    if [ -e "$dir/nvcc.txt" ] && [ -e "$dir/kscc.txt" ]; then
        n=$(wc -l <"$dir/nvcc.txt")
        differ=$(diff "$dir/nvcc.txt" "$dir/kscc.txt" | grep -c '^[<>]')
        [ "$differ" = 0 ] && [ "$n" -gt 0 ] || result=DIFFERENT
    else
        result=FAILED
    fi
    if [ $result = equal ]; then passed=$((passed + 1)); else failed=$((failed + 1)); fi
    printf '%-14s %5d files, %d differ: %s (%d s)\n' "$name" "$n" "$differ" $result $((SECONDS - began))
    [ $result != DIFFERENT ] || diff "$dir/nvcc.txt" "$dir/kscc.txt" | head -n 20
    rows+="$name"$'\t'"$(cat "$dir/commit" 2>/dev/null)"$'\t'"${!what}"$'\t'"$n"$'\t'"$differ"$'\t'"$result"$'\n'
}

projects=("$@")
[ $# -gt 0 ] || projects=(llm.c nccl cuda-samples ggml hecbench pytorch-style meson automake)
for project in "${projects[@]}"; do one "$project"; done
if [ -n "$TABLE" ]; then
    {
        echo "# Public projects built with nvcc and with kscc, unmodified: what the builds leave behind, compared file by file after replacing"
        echo "# nvcc's temporary names and removing build ids (objects, archives, libraries, programs, dependency files)."
        echo "# date $(date -u +%F), nvcc $("$NVCC" --version | sed -n 's/.*, V//p'), $(gcc --version | head -1), kscc at $(git -C "$here" rev-parse --short=12 HEAD), command: tests/public_builds/run.sh ${projects[*]}"
        printf 'project\tcommit\tbuilt\tfiles\tdifferent\tresult\n%s' "$rows"
    } >"$TABLE"
fi
echo "$passed passed, $failed failed"
[ $failed = 0 ]

#!/bin/sh
# wgmma, TMA, bulk copies and mbarrier: the same programs, from the same PTX, on a GPU (sm_90) and on the emulated device.
#
#     async.sh prepare BUILD DIR    compiles tests/gpu/async/*.cu and runs them on the emulated device; DIR can then be carried to the GPU
#     async.sh test BUILD DIR       both, where there is a GPU; 77 where there is none
#     DIR/async.sh card DIR TABLE   there: runs them on the GPU and writes the comparison (docs/results/async_h200.tsv); 1 when something
#                                   differs.  Needs the driver and python3; raw results stay in DIR as *.card
set -u
here=$(cd "$(dirname "$0")" && pwd)
programs="barriers copies wgmma"
prepare() { # BUILD DIR
    root=$(cd "$here/../.." && pwd) nvcc=${NVCC:-nvcc}
    mkdir -p "$2/lib" || return 1
    for p in $programs; do
        "$nvcc" -gencode "arch=compute_90a,code=[compute_90a,sm_90a]" -O2 -std=c++17 -cudart shared -I"$root" "$here/async/$p.cu" \
            -o "$2/$p" >"$2/$p.log" 2>&1 || { cat "$2/$p.log"; return 1; }
        for sums in default hardware; do
            LD_LIBRARY_PATH="$1/lib/emulated" KSCC_EMU_ARCH=sm_90a KSCC_EMU_CHECKS=all KSCC_EMU_SUMS=$sums "$2/$p" "$2/$p.$sums" >"$2/$p.log" 2>&1 &&
                ! grep 'kscc emulated device' "$2/$p.log" || { cat "$2/$p.log"; return 1; }
        done
    done
    cp "$here/async.sh" "$here/async/compare.py" "$2/"
    cp -L "$(dirname "$(command -v "$nvcc")")"/../lib64/libcudart.so.13 "$2/lib/" 2>/dev/null || true # else the GPU machine's own
    (cd "$root" && git log -1 --format=%h 2>/dev/null) >"$2/commit"
}
card() { # DIR TABLE
    bad=0
    : >"$2"
    for p in $programs; do
        [ $p = copies ] && shards=${SHARDS:-12} || shards=1 # a case that kills its context costs a start of the program
        k=0
        while [ $k -lt $shards ]; do
            LD_LIBRARY_PATH="$1/lib:${LD_LIBRARY_PATH:-/usr/local/cuda/lib64}" timeout 50 "$1/$p" "$1/$p.$k.card" $k $shards 0 >"$1/$p.$k.said" 2>&1 &
            k=$((k + 1))
        done
        wait
        cat "$1/$p".*.said
        cat "$1/$p".*.card >"$1/$p.card"
        python3 "$1/compare.py" "$1/$p.card" "$1/$p.default" "$1/$p.hardware" >"$1/$p.tsv" || bad=1
        echo "$p: $(tail -1 "$1/$p.tsv")"
    done
    {
        echo "# wgmma, TMA, bulk copies and mbarrier on $(nvidia-smi --query-gpu=name,driver_version --format=csv,noheader | head -1) and on the emulated device: tests/gpu/async.sh"
        echo "# $(date -u +%Y-%m-%d), commit $(cat "$1/commit"); columns: tests/gpu/async/compare.py"
        for p in $programs; do grep -v '^#' "$1/$p.tsv"; done
    } >"$2"
    return $bad
}
case ${1:-} in
prepare) prepare "$2" "$3" ;;
card) card "$2" "$3" ;;
test)
    nvidia-smi -L >/dev/null 2>&1 || { echo "skipped: no GPU"; exit 77; }
    prepare "$2" "$3" && card "$3" "$3/table"
    ;;
*) sed -n '2,8p' "$0"; exit 2 ;;
esac

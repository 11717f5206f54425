# Read by sitting.sh and ladder.sh: steps of a ladder through kscc try.  Before: $out is a new folder, $arch the architecture, unit() writes a version.
mkdir -p "$out" || exit 2
out=$(cd "$out" && pwd)
cd "$out" || exit 2
words=(-O3 -std=c++17 -Xcompiler -fno-inline -gencode "arch=compute_$arch,code=sm_$arch" --kscc-dir="$out/store" --kscc-ask=bank "$@")
steps=${STEPS:-99} done=0 bad=0

call() { timeout "${CALL_S:-300}" "${KSCC:-kscc}" try flash.cu "${words[@]}" "$@" >last.txt 2>&1; local rc=$?; cat last.txt >>log.txt; return $rc; }

# begin VERSION: what all the steps are judged against
begin() {
    unit "$1" >flash.cu
    call || { cat last.txt; exit 1; }
    call --ask
    grep '^question' last.txt | head -n 1
}

# step LABEL LAYER PREDICTED VERSION BECAUSE
step() {
    [ $((done++)) -lt "$steps" ] || return 0
    unit "$4" >flash.cu
    call --label "$1" --layer "$2" --predict "$3" --because "$5"
    grep '^trial' last.txt | head -n 1
    grep -qE '^trial .*(accepted|no gain|'"${may_fail:-no gain}"')' last.txt || { bad=1; tail -n 5 last.txt; }
}

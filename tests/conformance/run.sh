#!/usr/bin/env bash
# Is kscc nvcc?  Every line of cases.txt is run twice in the same folder, with nvcc and with kscc; status, stdout, stderr and every file
# left behind must be equal, once nvcc's own differences from run to run are out of the way: names of temporary files, heap addresses
# in names of replayed output, times, and build ids made of bytes that hold such names.
#
#   run.sh KSCC [-j JOBS] [-f FORM,FORM...] [-u USER] [-c CASES] [PATTERN]
#
#   -f  how kscc is called: wrapper is itself (default); symlink, copy and hardlink are that under the name nvcc; agent is itself with
#       KSCC_O_AGENT=1: no fixture holds a contract, so that lines of its own on stderr are all it may add.  FORM@USER calls it as that
#       user (one USER at most; as oneself, with a word about it, where that cannot be).  nvcc runs once for all forms; where kscc left something
#       else than that it is called again, as USER where kscc was: what it never leaves in eight calls is a failure.
#   -c  other cases than those of cases.txt
#   -u  run everything, nvcc too, as this user (root only)
# Closing line: N passed, N failed.
set -u
here=$(cd "$(dirname "$0")" && pwd)
KSCC=$(realpath "$1"); shift
jobs=$(nproc) forms=wrapper user= cases=$here/cases.txt
while getopts j:f:u:c: o; do case $o in j) jobs=$OPTARG ;; f) forms=${OPTARG//,/ } ;; u) user=$OPTARG ;; c) cases=$(realpath "$OPTARG") ;; *) exit 2 ;; esac; done
shift $((OPTIND - 1))
pattern=${1:-.}
export LC_ALL=C NVCC=${REAL_NVCC:-$(command -v nvcc || echo /usr/local/cuda/bin/nvcc)}
unset NVCC_PREPEND_FLAGS NVCC_APPEND_FLAGS NVCC_CCBIN GCC_COLORS MAKEFLAGS MFLAGS MAKELEVEL PTXAS_FLAGS CUDAFE_FLAGS INCLUDES \
    SYSTEM_INCLUDES LIBRARIES CI ${!KSCC_@}
T=$(mktemp -d "${TMPDIR:-/tmp}/kscc-conformance.XXXXXX") || exit 2
trap 'chmod -R u+w "$T"; rm -rf "$T"' EXIT
chmod 755 "$T"
owner=$user
for form in $forms; do case $form in *@*) owner=${form#*@} ;; esac; done
declare -a as=()
become() { as=(); [ -z "$1" ] || as=(setpriv "--reuid=$1" "--regid=$(id -g "$1")" --clear-groups); }
become "$owner"
if [ -n "$owner" ] && ! "${as[@]}" test -x "$KSCC" 2>/dev/null; then
    if [ -z "$user" ]; then # what can be had is had: the same forms by whoever we are
        echo "not as $owner: cannot run $KSCC as that user (only root becomes somebody else, and every folder above it must let others in)"
        forms=$(sed -E 's/@[^ ]*//g' <<<"$forms") owner=
    else echo "skipped: cannot run $KSCC as $owner (only root becomes somebody else, and every folder above it must let others in)"; exit 77; fi
fi
mkdir "$T/results"
declare -A called=()
for form in $forms; do
    form=${form%@*}
    [ -z "${called[$form]:-}" ] || continue
    called[$form]=$T/$form/nvcc; mkdir "$T/$form"
    case $form in
    wrapper | agent) called[$form]=$KSCC ;;
    symlink) ln -s "$KSCC" "${called[$form]}" ;;
    copy) cp "$KSCC" "${called[$form]}" ;;
    hardlink) ln "$KSCC" "${called[$form]}" 2>/dev/null || cp "$KSCC" "${called[$form]}" ;;
    *) exit 2 ;;
    esac
done

# ---- what the cases work on
fixtures=$T/fixtures
mkdir -p "$fixtures/sub" "$fixtures/host"
cd "$fixtures" || exit 2
printf '__global__ void ka(float *p) { p[threadIdx.x] *= 2.0f; }\nvoid fa(float *p) { ka<<<1, 32>>>(p); }\n' >a.cu
printf '__global__ void kb(float *p) { p[threadIdx.x] += 2.0f; }\n' >b.cu
printf 'namespace { __device__ int v; __global__ void k1(int *p) { *p = v; } }\nstatic __device__ int w;\nvoid f(int *p) { w = 0; k1<<<1, 1>>>(p); }\n' >st.cu
printf '#include "h.h"\nint h = H;\n' >hc.c
printf '#include "h.h"\n__global__ void kh(int *p) { *p = H; }\n' >h.cu
echo '#define H 7' >h.h
printf '__global__ void k(int *p) { *p = nope; }\n' >err.cu
printf '__global__ void k() { asm("bogus;"); }\n' >badasm.cu
printf '__global__ void k(int *p) { int unused = 1; *p = 0; }\n' >warn.cu
printf 'MACROS X1 X2 X3 __CUDA_ARCH__\n' >probe.cu
printf 'int c1(int x) { return x + 1; }\n' >c.c
printf 'int main(int c, char **v) { return 10 + c; }\n' >main.c
printf 'int cc(int x) { return x + 1; }\n' >x.cpp
printf '.globl s1\ns1: ret\n' >s.s
printf -- '-E -o file.ii' >text.optf
printf -- '-DX1="one two"\r\n-DX2=a\\ b -optf nested.optf' >quotes.optf
printf -- '-DX3=3 "-E"\n' >nested.optf
printf -- '-o' >open.optf
printf -- '-V' >version.optf
printf -- '-o -O-agent -E -I --kscc-fresh' >values.optf
printf -- '-forward-unknown-to-host-compiler' >forward.optf
printf -- '-E\n-o inputs.ii\nc.c' >inputs.optf
printf -- '-optf loop.optf' >loop.optf
printf -- '# -E\n-E' >hash.optf
printf -- "-DX1='a b' -DX2='c'" >apostrophe.optf
printf -- '-o\rcr.ptx\r' >cr.optf
printf -- '-DX1=1\0-DX2=2' >nul.optf
: >empty.optf
printf 'extern __device__ int ext();\n__global__ void k(int *p) { *p = ext(); }\nint main() {}\n' >undef.cu
cp a.cu 'sp ace.cu'; cp a.cu noext; cp a.cu c.c sub
gcc -c c.c -o oo.o && ar rcD libla.a oo.o && "$NVCC" -dc a.cu -o dca.o && "$NVCC" -w -dc st.cu -o dcst.o || exit 2
for g in gcc g++; do
    printf '#!/bin/bash\n{ echo "== %s"; printf "%%s\\n" "$@"; env | grep -vE "^(_|SHLVL|PWD|OLDPWD|CC|WORK)=" | sort; } >>host.log\nexec /usr/bin/%s "$@"\n' $g $g >host/$g
    # no bash: that one lives on after QUIT.  It is busy until signal.sh lets it go on
    printf '#!/bin/sh\ncase " $* " in *" -c "*) [ -e started ] || { : >started; for i in $(seq 400); do [ ! -e sent ] || break; sleep 0.05; done; } ;; esac\nexec /usr/bin/%s "$@"\n' $g >"slow_$g"
done
mkdir slow; mv slow_gcc slow/gcc; mv slow_g++ slow/g++; chmod +x host/* slow/*
# sends a signal to the compiler (process) or its group while the host compiler is busy; prints how it ended
cat >signal.sh <<'S'
who=$1 signal=$2
mkdir td; TMPDIR=$PWD/td setsid env --default-signal=INT,QUIT "$CC" -ccbin slow -c ${3:-c.c} -o sig.o >/dev/null 2>&1 & p=$!
exec 2>/dev/null
for i in $(seq 1500); do [ -e started ] && break; sleep 0.02; done
if [ $who = group ]; then kill -$signal -- -$p; else kill -$signal $p; fi
case $who$signal in processINT | processQUIT) : >sent ;; esac # the compiler lives on; else the host compiler stays busy until all is seen
{ wait $p; st=$?; } 2>/dev/null; echo "status $st"; ls sig.o 2>/dev/null
kill -KILL -- -$p 2>/dev/null; while pgrep -g $p -r R,S,D,T >/dev/null; do sleep 0.02; done
rm -rf td started sent; exit 0
S
# What is newer than this a case has made.  Clocks of file systems tick; the pauses keep both sides off its tick
sleep 0.1; : >"$T/made"; sleep 0.1
[ -z "$owner" ] || chown -R "$owner" "$T"

# ---- one case
normal_text() {
    sed -E -e 's/tmpxft_[0-9a-f]{8}_[0-9a-f]{8}/tmpxft_PPPPPPPP_SSSSSSSS/g' -e 's/(SSSSSSSS-[0-9a-f]+)_[0-9a-f]+_(stdout|stderr)/\1_A_\2/g' \
        -e 's#/tmp/cc[A-Za-z0-9]{6}#/tmp/ccX#g' -e 's/(Compile time = )[0-9.]+ ms/\1N ms/'
}
# The contents of a file, without what differs from run to run, as a hash.
fingerprint() {
    local magic=
    { IFS= read -r -d '' -n 4 magic <"$1"; } 2>/dev/null
    if [ "$magic" = $'\x7fELF' ]; then objcopy --remove-section .note.gnu.build-id "$1" ../normal 2>/dev/null && normal_text <../normal
    elif [[ $1 = *.csv ]]; then normal_text <"$1" | sed -E 's/[0-9]+\.[0-9]+/N/g'
    else normal_text <"$1"
    fi | sha256sum
}
run_with() { # run_with COMPILER RESULTS COMMAND USER; in a folder with nothing in it but earlier runs' leavings
    find . -mindepth 1 -delete 2>/dev/null || { chmod -R u+w .; find . -mindepth 1 -delete; }
    cp -a "$fixtures" w
    cd w || return
    become "$4"
    local -a asking=()
    [ "${5:-}" != agent ] || asking=(env KSCC_O_AGENT=1)
    CC=$1 timeout 100 "${as[@]}" "${asking[@]}" bash -c "$3" >"$2.out" 2>"$2.err" </dev/null
    echo "status $?" >"$2.all"
    if [ "${5:-}" = agent ]; then
        sed -i '/^kscc: /d' "$2.err"
        case $3 in *'2>&1'*) sed -i '/^kscc: /d' "$2.out" ;; esac
        [ ! -e host.log ] || sed -i '/^KSCC_O_AGENT=1$/d' host.log
    fi
    { # few processes: this runs for every case and form
        echo "-- stdout"; cat "$2.out"; echo "-- stderr"; cat "$2.err"; echo "-- files"
        find . -printf '%P %y %m %l\n' -type f -newer "$T/made" -fprint0 ../new | sort
        [ ! -s ../new ] || sort -z ../new | while IFS= read -r -d '' f; do echo "$(fingerprint "$f") $f"; done
    } | normal_text >>"$2.all"
    cd ..
}
# nvcc_does RESULTS AGAIN COMMAND USER: whether nvcc, as that user and called again, ever leaves the same.  Threads of nvcc write to one
# stderr: some lines come in another order once in a while.
nvcc_does() {
    local try
    for try in 1 2 3 4 5 6 7 8; do
        run_with "$NVCC" "$2" "$3" "$4"
        cmp -s "$2.all" "$1.all" && return
    done
    return 1
}
one() { # one NAME STATUS COMMAND
    local dir=$T/case.$1 again=$T/results/$1.again status form who result=passed
    local want=$T/results/$1.want got=$T/results/$1.got
    mkdir "$dir"; [ -z "$owner" ] || chown "$owner" "$dir"
    cd "$dir" || return
    run_with "$NVCC" "$want" "$3" "$user"
    read -r _ status <"$want.all"
    if [ "$status" != "$2" ]; then
        echo "FAILED $1: nvcc itself ends with $status, expected $2"; sed 1,2d "$want.all" | head -5; result=failed
    else
        for form in $forms; do
            who=$user; case $form in *@*) who=${form#*@} ;; esac
            run_with "${called[${form%@*}]}" "$got" "$3" "$who" "${form%@*}"
            cmp -s "$want.all" "$got.all" && continue
            nvcc_does "$got" "$again" "$3" "$who" && continue
            echo "FAILED $1 ($form)"; diff "$again.all" "$got.all" | head -20; result=failed
        done
    fi
    rm -f "$T/results/$1".*
    echo $result >"$T/results/$1"
    chmod -R u+w "$dir"; rm -rf "$dir"
}

declare -A seen=()
while IFS=$'\t ' read -r name status command; do
    case $name in '' | '#'*) continue ;; esac
    [ -z "${seen[$name]:-}" ] || { echo "two cases called $name"; exit 2; }
    seen[$name]=1
    [[ $name =~ $pattern ]] || continue
    while [ "$(jobs -rp | wc -l)" -ge "$jobs" ]; do wait -n; done
    one "$name" "$status" "$command" </dev/null &
done <"$cases"
wait
p=$(cat "$T"/results/* 2>/dev/null | grep -c passed); f=$(cat "$T"/results/* 2>/dev/null | grep -c failed)
echo "$p passed, $f failed"
[ "$f" = 0 ] && [ "$p" -gt 0 ]

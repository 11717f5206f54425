#!/usr/bin/env bash
# The packages of a build, made and used where the build is out of sight.
#
#   packages.sh BUILD deb            the .deb: its fields; dpkg puts it into an empty root, where it works, and takes all of it away again
#   packages.sh BUILD tarball        the tarball: in a folder with an odd name, the libraries of its own; doctor, a compilation, a search
#   packages.sh BUILD clean ROOT     the .deb in a copy of ROOT, a folder with a Debian of the same release: apt brings what it depends on
#                                    (needs the network), kscc runs, apt removes it.  ROOT is only read; needs to be root.
#
# Closing line: N passed, N failed.
set -u
build=$(realpath "$1") mode=$2 root=${3:-}
src=$(cd "$(dirname "$0")/../.." && pwd)
export LC_ALL=C
unset NVCC_PREPEND_FLAGS NVCC_APPEND_FLAGS NVCC_CCBIN LD_LIBRARY_PATH ${!KSCC_@}
T=$(mktemp -d "${TMPDIR:-/tmp}/kscc-install.XXXXXX") || exit 2
trap 'rm -rf "$T"' EXIT
passed=0 failed=0
check() { # check NAME COMMAND...
    local name=$1
    shift
    if "$@" >"$T/log" 2>&1; then passed=$((passed + 1)); else failed=$((failed + 1)); echo "FAILED $name"; tail -n 40 "$T/log"; fi
}
finish() { echo "$passed passed, $failed failed"; [ "$failed" = 0 ] && [ "$passed" -gt 0 ]; exit; }
command -v dpkg-deb >/dev/null || { echo "SKIP: no dpkg here"; exit 77; }

# hidden COMMAND...: where neither sources nor build are to be seen; with a toolkit or libclang inside of these, where they are
nvcc=$(sed -n 's/^KSCC_CUDA_ROOT:PATH=//p' "$build/CMakeCache.txt")/bin/nvcc
case $(realpath "$nvcc") in "$src"/* | "$build"/*) inside=1 ;; *) inside= ;; esac
hides=
if [ -z "$inside" ] && unshare -rm true 2>/dev/null; then hides=1; else echo "not looked at: the build out of sight (no user namespace here, or the toolkit is in it)"; fi
hidden() {
    if [ -z "$hides" ]; then "$@"; return; fi
    unshare -rm sh -c 'mount -t tmpfs none "$1" && { [ ! -d "$2" ] || mount -t tmpfs none "$2"; } && shift 2 && exec "$@"' sh "$src" "$build" "$@"
}
with_root() { if [ "$(id -u)" = 0 ]; then "$@"; else unshare -r "$@"; fi; }
pack() { # pack GENERATOR: into $T/made
    local who='kscc packager <packager@example.org>' # whoever makes one gives theirs to cmake
    check "cpack makes a $1" cpack -G "$1" --config "$build/CPackConfig.cmake" -B "$T/made" -D CPACK_PACKAGE_CONTACT="$who" -D CPACK_DEBIAN_PACKAGE_MAINTAINER="$who"
}

# a unit with something to gain, and a text that gains it
unit() {
    mkdir -p "$T/w/cand" && cd "$T/w" || exit 2
    cat >unit.cu <<'U'
// kscc: entry scale
// kscc: dims  n=1..4096
// kscc: in    x : float[n] ~ normal(0,1)
// kscc: out   y : float[n] rtol=1e-5 atol=1e-5
// kscc: time  n=4096
#include <cuda_runtime.h>
__global__ void times(const float *x, float *y, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        y[i] = x[i] * 3.0f;
}
__global__ void plus(float *y, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        y[i] = y[i] + 1.0f;
}
extern "C" void scale(const float *x, float *y, int n, cudaStream_t stream)
{
    times<<<(n + 255) / 256, 256, 0, stream>>>(x, y, n);
    plus<<<(n + 255) / 256, 256, 0, stream>>>(y, n);
}
U
    { echo '// kscc-propose: operator-boundary 1.8 y makes a round trip through memory between two launches'
      sed -e 's/x\[i\] \* 3\.0f/& + 1.0f/' -e '/plus<<</d' unit.cu; } >cand/unit.cu
}

# ---- what an installed kscc must do: uses KSCC, a program outside of the build ----------------------------------------------
compiles() {
    hidden "$1" --kscc-nvcc="$nvcc" -std=c++14 -arch=sm_80 -c unit.cu -o unit.o && nm unit.o | grep -q ' T scale$' || return 1
    [ "$mode" != deb ] || return 0
    # as nvcc makes it
    "$nvcc" -std=c++14 -arch=sm_80 -c unit.cu -o plain.o || return 1
    for o in plain.o unit.o; do strip --strip-unneeded "$o" && objcopy -O binary --only-section=.nv_fatbin "$o" "$o.code"; done
    [ -s plain.o.code ] && cmp plain.o.code unit.o.code
}
its_own() { # its_own PREFIX: doctor tells of files of this prefix, and nothing failed that it brings itself
    hidden "$1/bin/kscc" doctor --kscc-nvcc="$nvcc" | tee "$T/doctor"
    ! grep -E '^(missing|failed|error)' "$T/doctor" | grep -E 'libclang|worker|bank|emulated'
    grep -qE '^ok .*parses a kernel' "$T/doctor" && grep -E '^ok .*emulated' "$T/doctor" && ! grep -F "$build" "$T/doctor"
}
search() { # search PREFIX: the analyzer, the worker, the emulated runtime, the bank and the store together
    hidden "$1/bin/kscc" -O-agent --kscc-nvcc="$nvcc" --kscc-device=emulated --kscc-agent=file:cand -std=c++14 -gencode 'arch=compute_80,code=[compute_80,sm_80]' -c unit.cu -o best.o
    local status=$?
    [ "$status" = 0 ] && ls .kscc/objects/*/certificate.json && nm best.o | grep __kscc
}
works() { # works PREFIX
    check "kscc says its version" sh -c '"$1" --kscc-version | grep -qF "$2"' sh "$1/bin/kscc" "$version"
    check "nothing is loaded out of the build" sh -c '! ldd "$1"/bin/* "$1"/lib/kscc/emulated/* "$1"/lib/kscc/record/* | grep -E "not found|$2"' sh "$1" "$build"
    check "the manual is there" sh -c '"$1" help contract | grep -q entry' sh "$1/bin/kscc"
    [ "$mode" = deb ] || check "find_package finds it" find_package_finds "$1"
    if [ ! -x "$nvcc" ]; then echo "not looked at: compilations (no nvcc here)"; return; fi
    check "it compiles as nvcc does" compiles "$1/bin/kscc"
    check "doctor finds what it brings" its_own "$1"
}
find_package_finds() {
    mkdir -p "$T/found" && printf 'cmake_minimum_required(VERSION 3.20)\nproject(f LANGUAGES NONE)\nfind_package(kscc %s REQUIRED)\nget_target_property(at kscc::kscc IMPORTED_LOCATION)\nfile(WRITE at "${at}")\n' "$version" >"$T/found/CMakeLists.txt"
    (cd "$T/found" && cmake -S . -B out -DCMAKE_PREFIX_PATH="$1") && [ "$(realpath "$(cat "$T/found/at")")" = "$(realpath "$1/bin/kscc")" ]
}
version=$(sed -n 's/^CMAKE_PROJECT_VERSION:STATIC=//p' "$build/CMakeCache.txt")

deb_fields() {
    dpkg-deb -f "$deb" >"$T/fields" || return 1
    cat "$T/fields"
    sed -n 's/^Depends: //p' "$T/fields" | tr -s ', ' '\n\n' >"$T/depends"
    local p
    # what the programs are linked with, by the names of this distribution's packages
    for p in $(ldd_packages); do grep -qxF "$p" "$T/depends" || { echo "not named: $p"; return 1; }; done
    [ "$(ldd_packages | wc -l)" -gt 8 ] || return 1
    grep -qE '^Recommends:.*cuda-toolkit' "$T/fields" && grep -qE '^Maintainer: .+ <.+@.+>' "$T/fields" && grep -qE '^Installed-Size: [0-9]+' "$T/fields"
}
ldd_packages() { # of the libraries named in the programs themselves
    objdump -p "$build"/bin/kscc-core "$build"/bin/kscc-worker "$build"/lib/emulated/libcudart.so.13 | awk '$1 == "NEEDED" { print $2 }' | sort -u | while read -r so; do
        local path
        path=$(ldd "$build/bin/kscc-core" "$build/bin/kscc-worker" | awk -v so="$so" '$1 == so { print $3; exit }')
        case $path in '' | "$build"/*) continue ;; esac
        path=$(readlink -f "$path")
        { dpkg -S "$path" || dpkg -S "${path#/usr}"; } 2>/dev/null | head -n 1 | cut -d: -f1
    done | sort -u
}
deb_policy() { # what a linter of packages asks first
    dpkg-deb -x "$deb" "$T/x" || return 1
    (cd "$T/x" && find usr -printf '%m %y %p\n') >"$T/modes"
    ! grep -vE '^755 d |^(644|755) f |^777 l ' "$T/modes" || return 1
    ! find "$T/x/usr/share/man" -type f ! -name '*.gz' | grep . && test -s "$T/x/usr/share/doc/kscc/copyright" && gzip -t "$T/x/usr/share/doc/kscc/changelog.gz" || return 1
    ! readelf -S "$T"/x/usr/bin/* "$T"/x/usr/lib/kscc/emulated/* "$T"/x/usr/lib/kscc/record/* | grep -F .debug_info || return 1
    (cd "$T/x" && dpkg-deb -I "$deb" md5sums | md5sum -c --quiet)
}
linted() { # nothing but the licence, which the sources do not state
    lintian --allow-root "$deb" >"$T/tags" 2>&1 || [ -s "$T/tags" ] || return 1
    cat "$T/tags"
    ! grep -E '^[EW]: ' "$T/tags" | grep -v 'kscc: copyright-without-copyright-notice'
}
programs_alone() { # the target that bootstrap builds for who runs no tests makes all that is installed
    command -v ninja >/dev/null && [ -e "$build/build.ninja" ] || return 0
    ninja -C "$build" -t graph programs | sed -n 's/.*\[label="\([^"]*\)".*/\1/p' | sed "s|^$build/||" | sort -u >"$T/inputs"
    sed -n 's/.*FILES "\([^"]*\)".*/\1/p' "$build"/*/cmake_install.cmake "$build"/*/*/cmake_install.cmake | sed -n "s|^$build/||p" | grep -E '^(bin|lib|help)/' | grep -v '^help/man.$' | sort -u >"$T/installed"
    [ "$(wc -l <"$T/installed")" -ge 5 ] && ! grep -vxFf "$T/inputs" "$T/installed"
}
deb() {
    check "the target 'programs' makes all that is installed" programs_alone
    pack DEB
    deb=$(ls "$T"/made/*.deb 2>/dev/null) || finish
    check "the fields name what the programs link with, and a toolkit" deb_fields
    check "modes, manual pages, copyright, checksums" deb_policy
    if command -v lintian >/dev/null; then check "lintian" linted; else echo "not looked at: lintian is not here"; fi
    # an empty root whose list of installed packages is this machine's
    local r=$T/root db=$T/root/var/lib/dpkg
    mkdir -p "$db/info" "$db/updates" "$db/triggers" "$r/var/log"
    sed '/^Package: kscc$/,/^$/d' /var/lib/dpkg/status >"$db/status"
    dpkg-query -W -f '${binary:Package}\n' | while read -r p; do : >"$db/info/$p.list"; done
    check "dpkg installs it" with_root dpkg --root="$r" --log=/dev/null -i "$deb"
    check "it is installed" sh -c 'dpkg-query --admindir="$1" -W -f "\${db:Status-Abbrev}" kscc | grep -q "^ii"' sh "$db"
    check "no file is altered" sh -c '! dpkg --root="$1" --verify kscc | grep .' sh "$r"
    unit
    works "$r/usr"
    check "dpkg removes it" with_root dpkg --root="$r" --log=/dev/null -P kscc
    check "nothing is left" sh -c '! find "$1" -mindepth 1 ! -path "$1/var*" | grep .' sh "$r"
}

tarball() {
    pack TGZ
    local archive place="$T/a place, moved"
    archive=$(ls "$T"/made/*.tar.gz 2>/dev/null) || finish
    ls -l "$archive" | awk '{ print $5 " bytes" }'
    mkdir -p "$place/first"
    check "it unpacks" tar -xzf "$archive" -C "$place/first"
    mv "$place"/first/* "$place/here"
    local own="$place/here"
    check "every library but the compiler's is its own" sh -c '! ldd "$1"/bin/kscc-core "$1"/bin/kscc-worker "$1"/lib/kscc/emulated/libcudart.so.13 "$1"/lib/kscc/record/libkscc-record.so |
        awk "\$2 == \"=>\"" | grep -vF "$1/" | grep -vE "^\s*(lib(c|m|dl|rt|pthread|resolv|util|gcc_s|stdc\+\+)\.so|ld-linux)"' sh "$own"
    unit
    works "$own"
    [ -x "$nvcc" ] || return
    check "a small search emits a candidate" search "$own"
}

clean() {
    [ "$(id -u)" = 0 ] && [ -d "$root/var/lib/dpkg" ] || { echo "SKIP: clean needs to be root, and a root folder"; exit 77; }
    pack DEB
    deb=$(ls "$T"/made/*.deb 2>/dev/null) || finish
    check "installs and removes in a copy of $root" unshare -m sh -c '
        set -e
        mkdir -p "$2/over" && mount -t tmpfs none "$2/over" && mkdir "$2/over/up" "$2/over/work" "$2/over/all"
        mount -t overlay overlay -o "lowerdir=$1,upperdir=$2/over/up,workdir=$2/over/work" "$2/over/all"
        cd "$2/over/all" && mount --rbind /dev dev && mount -t proc proc proc && cp /etc/resolv.conf etc/resolv.conf && cp "$3" tmp/kscc.deb
        in_it() { chroot . env PATH=/usr/sbin:/usr/bin:/sbin:/bin DEBIAN_FRONTEND=noninteractive "$@"; }
        in_it apt-get update -qq
        in_it apt-get install -y -qq --no-install-recommends /tmp/kscc.deb
        in_it kscc --kscc-version
        in_it kscc help contract | grep -q entry
        in_it sh -c "! ldd /usr/bin/kscc-core /usr/bin/kscc-worker | grep \"not found\""
        in_it kscc doctor || true
        in_it apt-get purge -y -qq kscc
        ! in_it sh -c "command -v kscc"
        ! find usr/lib/kscc usr/share/kscc usr/share/doc/kscc usr/lib/cmake/kscc 2>/dev/null | grep .' sh "$root" "$T" "$deb"
    cat "$T/log"
}

case $mode in
deb) deb ;;
tarball) tarball ;;
clean) clean ;;
*) echo "usage: packages.sh BUILD deb|tarball|clean [ROOT]"; exit 2 ;;
esac
finish

#!/bin/sh
# bundle.sh PREFIX VERSION: copies what the programs of the staged tree PREFIX load into PREFIX/lib/kscc/libclang/lib, where their rpath
# looks first: every library but those of the C and C++ compilers, which any machine that compiles has.  libclang's headers go along, and
# what the distribution says about the copyright of each.
set -eu
prefix=$1
lib=$prefix/lib/kscc/libclang/lib
mkdir -p "$lib"
of_the_compiler='^(ld-linux.*|lib(c|m|dl|rt|pthread|resolv|util|gcc_s|stdc\+\+)\.so.*)$'
for program in "$prefix"/bin/kscc-core "$prefix"/bin/kscc-worker "$prefix"/lib/kscc/emulated/libcudart.so.13; do
    ldd "$program"
done | awk '$2 == "=>" { print $1, $3 }' | sort -u | while read -r name path; do
    if echo "$name" | grep -qE "$of_the_compiler"; then continue; fi
    [ "$path" != not ] || { echo "bundle.sh: '$name' is not to be found here" >&2; exit 1; }
    case $path in "$prefix"/*) continue ;; esac
    cp -L "$path" "$lib/$name"
    chmod 644 "$lib/$name"
    real=$(readlink -f "$path")
    case $name in
    libclang*) # its headers lie beside it or in LLVM's own folder, and it looks for them from where it is
        major=$(echo "$name" | sed 's/.*\.//')
        headers=$(ls -d "$(dirname "$path")"/clang/*/include /usr/lib/llvm-"$major"/lib/clang/*/include 2>/dev/null | head -n 1)
        version=$(basename "$(dirname "$headers")")
        mkdir -p "$lib/clang/$version"
        cp -rL "$headers" "$lib/clang/$version/" ;;
    esac
    package=$(dpkg -S "$real" 2>/dev/null | head -n 1 | cut -d: -f1) || package=
    [ -n "$package" ] || package=$(dpkg -S "${real#/usr}" 2>/dev/null | head -n 1 | cut -d: -f1) || package=
    if [ -n "$package" ] && [ -e "/usr/share/doc/$package/copyright" ]; then
        mkdir -p "$prefix/share/doc/kscc/copyright"
        cp -L "/usr/share/doc/$package/copyright" "$prefix/share/doc/kscc/copyright/$package"
    fi
done
find "$prefix" -type d -exec chmod 755 {} +

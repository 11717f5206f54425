#!/bin/bash
# stub.sh CC LIBCUDART OUT: a libcuda.so to link with, as the toolkit's stub (which its wheels lack): the names that the emulated
# driver interface has, and its soname.
set -eu -o pipefail
nm -D --defined-only "$2" | sed -nE 's/.* T (cu[A-Z][A-Za-z0-9_]*)@.*/void \1(void) {}/p' | sort -u |
    "$1" -x c -w -shared -fPIC -Wl,-soname,libcuda.so.1 -o "$3" -

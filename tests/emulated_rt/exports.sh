#!/bin/bash
# usage: exports.sh FOLDER TOOLKIT   What the toolkit's libcudart.so.13 and stub libcuda.so export is exported by the libraries in FOLDER.
set -euo pipefail
names() { nm -D --defined-only "$@" | awk '$2 ~ /^[TVWi]$/ && $3 ~ /^(cu|__cuda)/ { sub(/@.*/, "", $3); print $3 }' | sort -u; }
ours=$(names "$1/libcudart.so.13")
failed=0
compared=0
for library in "$2/lib64/libcudart.so.13" "$2/lib64/stubs/libcuda.so"; do
    [ -e "$library" ] || continue
    theirs=$(names "$library")
    compared=$((compared + $(wc -l <<<"$theirs")))
    missing=$(comm -13 <(echo "$ours") <(echo "$theirs"))
    [ -z "$missing" ] || { printf 'missing, of %s:\n%s\n' "$library" "$missing"; failed=1; }
done
[ "$compared" -gt 0 ] || { echo "skip: the toolkit has neither library"; exit 77; }
echo "$compared names compared"
exit $failed

#!/bin/sh
# Usage: sass.sh NVCC [TABLE].  The machine code of blackwell.cu's instances for sm_100a, counted: tensor products (UTCHMMA), their
# completion (UTCBAR), tensor memory (UTCATOMSWS allocation, LDTM, STTM), tensor copies (UTMALDG), barriers (SYNCS), exponentials (MUFU.EX2)
# and local memory, of which there must be none.  77 without a disassembler (nvdisasm, of the toolkit).
set -eu
nvcc=$1 table=${2:-/dev/null}
root=$(cd "$(dirname "$0")/../.." && pwd)
command -v nvdisasm >/dev/null || { echo "skipped: nvdisasm is not in the path"; exit 77; }
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
"$nvcc" -gencode=arch=compute_100a,code=sm_100a -O3 -std=c++17 -I"$root" -cubin "$root/kernels/flash_attention/blackwell.cu" -o "$dir/b.cubin"
nvdisasm -c "$dir/b.cubin" >"$dir/sass"
{
    echo "# Machine code of kernels/flash_attention/blackwell.cu, instructions a kernel; tests/blackwell/sass.sh NVCC TABLE"
    echo "# $(date -u +%Y-%m-%d), sm_100a, $("$nvcc" --version | sed -n 's/^Cuda.*release //p'), $(nvdisasm --version | sed -n 's/^Cuda.*release /nvdisasm /p'), kernel of commit $(cd "$root" && git log -1 --format=%h -- 'kernels/flash_attention/*.cu*' 2>/dev/null || echo unknown)"
    awk '
        BEGIN {
            n = split("UTCHMMA UTCBAR UTCATOMSWS LDTM STTM UTMALDG SYNCS MUFU.EX2 FFMA2 R2UR LDL STL", name, " ")
            printf "kernel\tinstructions"
            for (i = 1; i <= n; i++) printf "\t%s", name[i]
            print ""
        }
        function flush_kernel() {
            if (kernel != "") {
                printf "%s\t%d", kernel, all
                for (i = 1; i <= n; i++) printf "\t%d", count[i]
                print ""
            }
            all = 0
            split("", count)
        }
        /^\.text\./ { flush_kernel(); kernel = substr($1, 7); sub(/:$/, "", kernel) }
        match($0, /\/\*[0-9a-f]+\*\/ +(@!?U?P[0-9T]+ +)?[A-Z][A-Z0-9_.]*/) {
            op = substr($0, RSTART, RLENGTH)
            sub(/.* /, "", op)
            all++
            for (i = 1; i <= n; i++) if (op == name[i] || index(op, name[i] ".") == 1) count[i]++
        }
        END { flush_kernel() }' "$dir/sass" | c++filt 2>/dev/null || true
} >"$dir/table"
cp "$dir/table" "$table"
grep -v '^#' "$dir/table"
# Every instance multiplies on the tensor cores and waits for them; none touches local memory.
awk -F '\t' '/^#/ || $1 == "kernel" { next }
    /fb_forward/ { instances++; if ($3 == 0 || $4 == 0 || $5 == 0 || $6 == 0 || $7 == 0 || $8 == 0) bad = 1 }
    $13 + $14 > 0 { bad = 1 }
    END { print instances " instances"; exit bad || instances != 12 }' "$dir/table"

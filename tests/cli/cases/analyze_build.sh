# kscc analyze -p BUILD: the .cu files of a compilation database, each by its own command and folder; one of them when it is named.
mkdir -p build inc 'a b'
printf '#define LEN 7\n' >inc/len.h
unit() { printf '#include "len.h"\n#ifndef %s\n#error %s is not defined\n#endif\n__global__ void %s(float *x) { x[threadIdx.x * LEN] = 1; }\n' "$1" "$1" "$2"; }
unit ONE first >'a b/one.cu'; unit TWO second >two.cu
python3 - <<'P'
import json, os
here = os.getcwd()
json.dump([
    {"directory": here + "/build", "file": here + "/a b/one.cu", "command": f'/usr/bin/nvcc -DONE "-I{here}/inc" "--generate-code=arch=compute_90,code=[compute_90,sm_90]" -x cu -c "{here}/a b/one.cu" -o one.o'},
    {"directory": here, "file": "two.cu", "arguments": ["ccache", "nvcc", "-DTWO", "-Iinc", "-c", "two.cu", "-o", "two.o"]},
    {"directory": here, "file": "host.c", "command": "cc -c host.c"},
], open("build/compile_commands.json", "w"))
P
run "$KSCC" analyze -p build; expect_status 0
grep -q 'one.cu:5:.*first: ' out || fail "the first unit is missing"
grep -q 'two.cu:5:.*second: ' out || fail "the second unit is missing"
run "$KSCC" analyze -p build/compile_commands.json two.cu --json; expect_status 0
python3 -c 'import json; assert json.load(open("out"))["unit"].endswith("two.cu")' || fail "not the named unit alone"
run "$KSCC" analyze -p build other.cu; expect_status 1; expect_err "found no command for"
run "$KSCC" analyze -p inc; expect_status 1; expect_err "found no compilation database"
echo '[{"file": "two.cu"}]' >build/compile_commands.json
run "$KSCC" analyze -p build; expect_status 1; expect_err "lacks directory, file or words"

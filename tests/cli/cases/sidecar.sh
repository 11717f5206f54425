# A contract in <stem>.kscc.json for a source that must not be touched; an error in it names the file.
light
unit; good_candidate 1
sed -i '/^\/\/ kscc:/d' unit.cu cand/1.cu
cat >unit.kscc.json <<'F'
{"entry": "scale_shift", "dims": [{"name": "n", "lo": 1, "hi": 65536}],
 "buffers": [{"name": "x", "direction": "in", "dtype": "float", "shape": ["n"]},
             {"name": "y", "direction": "out", "dtype": "float", "shape": ["n"], "rtol": 1e-5, "atol": 1e-5}],
 "time": [{"shape": {"n": 65536}}]}
F
agent --kscc-agent=file:cand -c unit.cu -o unit.o
expect_status 0
expect_err "emitted unit.o"
sed -i 's/"hi": 65536/"hj": 65536/' unit.kscc.json
agent --kscc-agent=file:cand -c unit.cu -o unit.o
expect_status 0
expect_err "unit.kscc.json"
expect_err "compiling with nvcc only"
if nm unit.o | grep -q kscc; then fail "emitted with a broken contract"; fi

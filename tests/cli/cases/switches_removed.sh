# Our switches vanish from argv, options files and both variables; the rest stays byte for byte.
fake_nvcc fake
export PATH="$PWD/fake:$PATH"
printf -- '-DIN_FILE="1 2" -O-agent' >with.optf
printf -- '-DPLAIN' >plain.optf
touch a.cpp
export NVCC_PREPEND_FLAGS='-DP="x y" --kscc-quiet' NVCC_APPEND_FLAGS='-O-agent'
run "$KSCC" -optf with.optf --options-file plain.optf --kscc-device=emulated -c a.cpp -o a.o
expect_status 0
printf '%s\n' "$PWD/fake/nvcc" '[-DIN_FILE=1 2]' '[--options-file]' '[plain.optf]' '[-c]' '[a.cpp]' '[-o]' '[a.o]' >expected
expect_same argv.log expected
printf 'NVCC_PREPEND_FLAGS=-DP="x y"\n' >expected.env
expect_same env.log expected.env

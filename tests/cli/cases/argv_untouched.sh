# Without a switch of ours nvcc gets the original argument vector, whatever it holds.
fake_nvcc fake
export PATH="$PWD/fake:$PATH"
args=(-c 'a b.cu' -o x.o '' "-Xcompiler=-DQ='1'" -Wbogus '-DX="$(touch no)"' $'new\nline' -I -O-agent -o=-O-agent)
touch 'a b.cu'
run "$KSCC" "${args[@]}"
expect_status 0
{ echo "$PWD/fake/nvcc"; printf '[%s]\n' "${args[@]}"; } >expected
expect_same argv.log expected
expect_no_file no
[ ! -s err ] || fail "stderr is not empty"

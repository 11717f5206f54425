# A copy of kscc without its other half still is nvcc, and says so when more is asked.
mkdir bin; cp "$KSCC" bin/kscc
unit
run bin/kscc -O-agent -c unit.cu -o unit.o
expect_status 0
expect_file unit.o
expect_err "bin/kscc-core': No such file or directory, compiling with nvcc only"
run bin/kscc doctor
expect_status 127
# what every plain call waits for: libclang takes longer to load than such a call may cost
ldd "$KSCC" | grep -qE "libclang|libstdc" && fail "kscc itself loads libclang or a C++ runtime: $(ldd "$KSCC" | grep -E "libclang|libstdc")"

# A copy of kscc without its other half still is nvcc, and says so when more is asked.
mkdir bin; cp "$KSCC" bin/kscc
unit
run bin/kscc -O-agent -c unit.cu -o unit.o
expect_status 0
expect_file unit.o
expect_err "bin/kscc-core': No such file or directory, compiling with nvcc only"
run bin/kscc doctor
expect_status 127

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
# a library of the core's is damaged or gone, as after an upgrade of the system: nvcc builds, and it is said which
core=$(dirname "$KSCC")/kscc-core name=$(readelf -d "$(dirname "$KSCC")/kscc-core" | sed -n 's/.*NEEDED.*\[\(libclang.*\)\]/\1/p')
mkdir -p moved/bin moved/lib/kscc/libclang/lib; cp "$KSCC" "$core" moved/bin/
: >"moved/lib/kscc/libclang/lib/$name" # where the core's rpath looks first
rm -f unit.o; run moved/bin/kscc -O-agent -c unit.cu -o unit.o
expect_status 0
expect_file unit.o
expect_err "kscc-core': "; expect_err "$name"; expect_err "compiling with nvcc only [kscc-not-found]"
run moved/bin/kscc doctor
expect_status 127
expect_err "cannot load '"; expect_err "$name"
echo 'int f(void) { return 0; }' | gcc -shared -fPIC -xc - -o libnothere.so
echo 'int f(void); int main(void) { return f(); }' | gcc -xc - -o moved/bin/kscc-core -L. -lnothere
rm libnothere.so unit.o
run moved/bin/kscc -O-agent -c unit.cu -o unit.o
expect_status 0
expect_file unit.o
expect_err "its library libnothere.so is not there, compiling with nvcc only"

# An oracle: what it may not be is said at its name; a search with one emits, and the certificate says how far both arms are from it.
light
oracle_unit() { unit; sed -i 's|^// kscc: time.*|&\n// kscc: oracle exact|' unit.cu; good_candidate 1; }
refuses() { # refuses TEXT SENTENCE
  oracle_unit; echo "$1" >>unit.cu
  run "$KSCC" contract unit.cu
  expect_status 1
  expect_err "$2"
}
oracle_unit
run "$KSCC" contract unit.cu
expect_status 1
expect_err "error: 'exact' is no function of this file"
expect_err '// kscc: oracle exact'
refuses 'static void exact(double *y, int n) { y[n - 1] = 0; }' "'exact' has no symbol that others can call"
refuses '__global__ void exact(double *y, int n) { y[n - 1] = 0; }' "'exact' runs on the device"
refuses 'void exact(int *y, int n) { y[n - 1] = 0; }' "the oracle takes 'int *'"
refuses 'void exact(const double *x, int n) {}' 'writes no floating-point output'
# The candidate's text has the oracle too, since the interface asks for it; the one that is asked is the original's.
exact='extern "C" void exact(const double *x, double *y, int n) { for (int i = 0; i < n; i++) y[i] = x[i] * 3 + 1; }'
oracle_unit; echo "$exact" >>unit.cu
sed -i 's|^// kscc: time.*|&\n// kscc: oracle exact|' cand/1.cu; sed 's/+ 1/+ 9/' <<<"$exact" >>cand/1.cu
agent --kscc-agent=file:cand -c unit.cu -o unit.o
expect_status 0
expect_err "emitted unit.o"
grep -h -A12 '"oracle"' .kscc/objects/*/certificate.json | tr -d ' \t\n' >said
grep -q '"function":"exact","calls":1[0-9]' said || { fail "the certificate does not say what the oracle answered"; head -c 600 said; }
# An original that is not within its own tolerances of the oracle proves nothing.
oracle_unit; sed 's/\* 3/* 3.01/' <<<"$exact" >>unit.cu
agent --kscc-agent=file:cand -c unit.cu -o unit.o
expect_status 0
expect_err "the original is not within its own tolerances of the oracle 'exact'"

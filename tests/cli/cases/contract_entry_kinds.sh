# kscc contract says why a function cannot be an entry, and that nothing was found or could be read.
head_of() { unit; sed -n '1,6p' unit.cu; echo '__global__ void k(const float *x, float *y, int n) { y[threadIdx.x] = x[threadIdx.x]; }'; }
body='scale_shift(const float *x, float *y, int n, cudaStream_t s) { k<<<1, 1, 0, s>>>(x, y, n); }'
refuses() { # refuses NAME TEXT SENTENCE
  { head_of; echo "$2"; } >"$1.cu"
  run "$KSCC" contract "$1.cu"
  expect_status 1
  expect_out_empty
  expect_err "$1.cu:1:16: error: 'scale_shift' $3"
}
refuses static "static void $body" 'is not visible outside this file'
refuses anonymous "namespace { void $body }" 'is not visible outside this file'
refuses template "template <int N> void $body
void g() { scale_shift<1>(0, 0, 0, 0); }" 'is a template'
refuses overloaded "void $body
void scale_shift(float *y, int n) { k<<<1, 1>>>(y, y, n); }" 'is overloaded'
{ head_of; echo "void $body"; } >plain.cu
run "$KSCC" contract plain.cu
expect_status 0
echo '__global__ void k();' >none.cu
run "$KSCC" contract none.cu
expect_status 1
expect_out_empty
expect_err "error: none.cu: no contract"
{ printf '// kscc: entry scale_shift '; head -c 200000 /dev/zero | tr '\0' x; echo; cat plain.cu; } >long.cu
run "$KSCC" contract long.cu
expect_status 1
expect_out_empty
expect_err "long.cu:1:28: error: expected the end of the line"

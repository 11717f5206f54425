# kscc contract says why a function cannot be an entry, and that nothing was found or could be read.
light
head_of() { unit; sed -n '1,6p' unit.cu; echo '__global__ void k(const float *x, float *y, int n) { y[threadIdx.x] = x[threadIdx.x]; }'; }
body='scale_shift(const float *x, float *y, int n, cudaStream_t s) { k<<<1, 1, 0, s>>>(x, y, n); }'
# what has no symbol of its own may be an entry
takes() { { head_of; echo "$2"; } >"$1.cu"; run "$KSCC" contract "$1.cu"; expect_status 0; }
takes static "static void $body"
takes anonymous "namespace { void $body }"
takes overloaded_before "void $body
void scale_shift(float *y, int n) { k<<<1, 1>>>(y, y, n); }"
# an instance that is called and nothing more
{ head_of | sed 's/entry scale_shift/&<1>/'; echo "template <int N> void $body
void g() { scale_shift<1>(0, 0, 0, 0); }"; } >instance.cu
run "$KSCC" contract instance.cu
expect_status 0
refuses() { # refuses NAME TEXT PLACE SENTENCE
  { head_of; echo "$2"; } >"$1.cu"
  run "$KSCC" contract "$1.cu"
  expect_status 1
  expect_out_empty
  expect_err "$1.cu:1:16: error: $3"
}
refuses template "template <int N> void $body
void g() { scale_shift<1>(0, 0, 0, 0); }" "parameter 'int N' of the template has no value: name the instance"
takes outside "struct s { static void scale_shift(const float *, float *, int, cudaStream_t); };
void s::$body"
refuses member "struct s { static void $body };" "'scale_shift' is a member of a class, defined inside it: define it outside"
refuses object "struct s { void $body };" "'scale_shift' is a member of a class that is called on an object"
refuses object_outside "struct s { void scale_shift(const float *, float *, int, cudaStream_t); };
void s::$body" "'scale_shift' is a member of a class that is called on an object"
refuses overloaded "static void other() { k<<<1, 1>>>(0, 0, 0); }
void $body
void scale_shift(float *y, int n) { k<<<1, 1>>>(y, y, n); }" "'scale_shift' is overloaded"
{ head_of; echo "void $body"; } >plain.cu
run "$KSCC" contract plain.cu
expect_status 0
# without a contract: what one could begin with, in which only its author's part is missing
sed '/kscc:/d' plain.cu >bare.cu
echo 'struct s { void step(float *y) { k<<<1, 1>>>(y, y, 1); } };' >>bare.cu
run "$KSCC" contract bare.cu
expect_status 1
expect_err "a beginning is on stdout"
printf '// kscc: %s\n' 'entry scale_shift' 'dims  n=1..?' 'in    x : float[?]' 'out   y : float[?]' 'time  n=?' | cmp out - || fail "outline: $(cat out)"
sed '/dims/s/?/64/; /time/s/?/64/; s/\[?\]/[n]/' out | cat - bare.cu >filled.cu
run "$KSCC" contract filled.cu
expect_status 0

run "$KSCC" contract --json bare.cu
expect_status 1
echo '[]' | cmp out - || fail "JSON: $(cat out)"
# a kernel's name in place of its host function's
sed 's/entry scale_shift/entry k/' plain.cu >kernel.cu
run "$KSCC" contract kernel.cu
expect_status 1
expect_err "kernel.cu:1:16: error: 'k' is a kernel; the contract is for the host function that launches it, 'scale_shift'"
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

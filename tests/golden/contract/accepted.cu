/* Everything the grammar has, spread over the comment styles.  The words "kscc: entry" inside a line are no directive. */
// kscc: entry attention
//   kscc: dims  S=16..4096%16 D=64|32|128 N=4
/// kscc: dims E=2*D - (N + 1) T=ceildiv(S, 32) L=log2(D) M=max(min(S,D),1)
// kscc: time  S=1024 D=64 N=4; S=2048 D=128 N=4 weight=2.5
// kscc: in    q , k : half[S,D] ~ normal(0, 0.5) align=16
// kscc: in    ids   : int32[S] ~ int(-5,5)
// kscc: inout acc   : float[T,2*E]  rtol=1e-3 ~ uniform(-1,1) atol=.5e-3
/* kscc: out count : uint64[1] */
// kscc: scratch w : double[S*D/2]
// kscc: arg   scale = 1 / sqrt(D) - 0.5e-1 * exp(-1)
// kscc: time  S=16 D=32 N=4
void attention();
/*
 * kscc: entry second
   kscc: dims this line has no star and no slashes, so it is prose
 * kscc: dims B=1..8
 * kscc: out o : bf16[B, 3]
 * kscc: time B=8 */
// kscc: entry third
// kscc: dims  rows=1..8 cols=1..64 ld=1..80
// kscc: in    x : half[rows,ld]  nonfinite used=cols
// kscc: inout y : float[rows,2*ld] used=max(cols - 1, 1) nonfinite
// kscc: time  rows=8 cols=64 ld=72

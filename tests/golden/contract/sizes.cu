// kscc: entry too_large
// kscc: dims n=1..1000000 m=1..1000000
// kscc: out y : float[n,m,n,m]
// kscc: scratch z : float[n-10]
// kscc: time n=1000000 m=1000000 ; n=20 m=5 ; n=1000 m=1000 ; n=5 m=1
// kscc: entry no_output
// kscc: dims n=1..10
// kscc: in x : float[n]
// kscc: time n=10
// kscc: entry no_time
// kscc: out x : float[1]
// kscc: entry no_free_dims
// kscc: out x : float[1]
// kscc: time

// kscc: entry a
// kscc: dims n=1..1000000 m=1..1000000 d=n/2 c=64|128
// kscc: in x : float[n,m]
// kscc: out y : float[n-10]
// kscc: time n=1 m=1
// kscc: time n=1 m=1 c=65
// kscc: time n=0 m=1 c=64
// kscc: time n=1 m=1 c=64 d=3
// kscc: time n=1 n=2 m=1 c=64
// kscc: time n=1 m=1 c=64 k=3
// kscc: time n=1 m=1 c=64 weight=0
// kscc: time n=1 m=1 c=64 weight=2 weight=2
// kscc: time n=1.5 m=1 c=64
// kscc: time n m
// kscc: time n=16 m=16 c=64 ;
// kscc: time

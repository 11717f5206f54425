// kscc: entry f
// kscc: dims n=1..10
// kscc: out y : float[n]
// kscc: time n=10
// kscc: oracle
// kscc: oracle g h
// kscc: oracle g
// kscc: oracle g
// kscc: entry e
// kscc: dims n=1..10
// kscc: out y : float[n]
// kscc: time n=10
// kscc: oracle e
// kscc: entry h
// kscc: dims n=1..10
// kscc: out y : float[n]
// kscc: time n=10
// kscc: oracle h_exact

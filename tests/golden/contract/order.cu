// kscc: in x : float[n]
// kscc: entry f
// kscc: dims n=1..10
// kscc: inn x : float[n]
// kscc:
// kscc: out y : float[n]
// kscc: time n=10
int x; // kscc: time n=10
const char *s = "// no contract";
// kscc: entry
// kscc: entry g h
// kscc: entry f
// kscc: dims n=1..10
// kscc: out y : float[n]
// kscc: time n=10
// kscc: entry f
// kscc: dims n=1..10
// kscc: out y : float[n]
// kscc: time n=10

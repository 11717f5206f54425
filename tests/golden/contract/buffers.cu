// kscc: entry a
// kscc: dims n=1..1000 m=1..1000
// kscc: in
// kscc: in a
// kscc: in a,
// kscc: in a : flaot[n]
// kscc: in a : float
// kscc: in a : float[]
// kscc: in a : float[n
// kscc: in a : float[k]
// kscc: in a : float[n/0.5]
// kscc: in a : float[1,1,1,1,1,1,1,1,1]
// kscc: in n : float[n]
// kscc: in b : float[n]
// kscc: in b : float[n]
// kscc: in c : float[n] ~ gauss(0,1)
// kscc: in c : float[n] ~ normal
// kscc: in c : float[n] ~ normal(0)
// kscc: in c : float[n] ~ normal(0,-1)
// kscc: in c : float[n] ~ uniform(2,1)
// kscc: in c : int8[n] ~ normal(0,1)
// kscc: in c : int8[n] ~ int(0,200)
// kscc: in c : int8[n] ~ int(0.5,2)
// kscc: in c : float[n] ~ normal(0,1) ~ normal(0,1)
// kscc: in c : float[n] rtol=1e-3
// kscc: out c : int32[n] atol=1
// kscc: out c : float[n] ~ normal(0,1)
// kscc: out c : float[n] rtol=1
// kscc: out c : float[n] atol=-1
// kscc: out c : float[n] rtol
// kscc: out c : float[n] rtol=x
// kscc: out c : float[n] rtol=0 rtol=0
// kscc: out c : float[n] tol=1e-3
// kscc: out c : float[n] align=3
// kscc: out c : double[n] align=4
// kscc: out c : float[n] align=-4
// kscc: scratch c : float[n] ~ normal(0,1)
// kscc: in c : int8[n] nonfinite
// kscc: out c : float[n] nonfinite
// kscc: in c : float[n] nonfinite nonfinite
// kscc: out c : float[n] used
// kscc: out c : float[n] used=k
// kscc: scratch c : float[n] )
// kscc: arg
// kscc: arg s
// kscc: arg s =
// kscc: arg s = 1 2
// kscc: arg s = foo(n)
// kscc: arg s = ((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((n))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))
// kscc: arg b = 1

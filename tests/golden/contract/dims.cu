// kscc: entry a
// kscc: dims
// kscc: dims A=5..1 B=1..8
// kscc: dims B
// kscc: dims 3=4
// kscc: dims C=1..x
// kscc: dims D=1..
// kscc: dims E=1..10%0
// kscc: dims F=17..31%16
// kscc: dims G=-1..4
// kscc: dims H=1|2|1
// kscc: dims I=1|
// kscc: dims J=1..99999999999999999999
// kscc: dims K=1..9007199254740993
// kscc: dims L=0.5*B
// kscc: dims M=Q+1
// kscc: dims N=rsqrt(B)
// kscc: dims B=1..2
// kscc: dims min=1..2
// kscc: dims weight=1..2
// kscc: dims O=(B
// kscc: dims P=min(B)
// kscc: dims Q=B*
// kscc: dims R=1..2 !
// kscc: dims S=1.5..4
// kscc: dims T=-(3)

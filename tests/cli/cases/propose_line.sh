# What is wrong with a kscc-propose line is said: the layer's name, the form, the place.
light
unit
candidate 1 'memory 1.8 a word that is no layer' 'if (i < n) y[i] = x[i] * 3.0f + 1.0f;'
candidate 2 'memory-access fast no number' 'if (i < n) y[i] = x[i] * 3.0f + 1.0f;'
good_candidate 3
sed -i '/kscc-propose/d' cand/3.cu
echo '// kscc-propose: operator-boundary 1.8 too late' >>cand/3.cu
agent --kscc-agent=file:cand -c unit.cu -o unit.o
expect_status 0
expect_err "warning: 1.cu: 'memory' in its kscc-propose line is no layer: expected one of operator-boundary, data-movement, memory-access, synchronization, parallel-decomposition, compute, compilation"
expect_err "warning: 2.cu: expected '// kscc-propose: LAYER GAIN HYPOTHESIS' with a GAIN such as 1.8"
expect_err "warning: 3.cu: its kscc-propose line must come before the first line of code"
expect_err "no candidate of 'scale_shift' passed the gate (0 trials"

# What cannot be emitted is not searched: said at once.
light
unit; good_candidate 1
echo 'int calls;' >>unit.cu
agent --kscc-agent=file:cand -c unit.cu -o unit.o
expect_status 0
expect_err "unit.cu:1:16: the unit keeps host state between calls: variable 'calls', which two versions cannot share"
expect_no_err "trial 1"
unit
agent --kscc-agent=file:cand -c unit.cu -o /dev/null
expect_status 0
expect_err "cannot replace '/dev/null': not a regular file"
expect_no_err "trial 1"
# state of device code, in a function, where the host has no shadow of it
unit
sed -i 's/^__global__ void scale(/__device__ float \&factor() { static float kept = 3.0f; return kept; }\n__global__ void set(float f) { factor() = f; }\nvoid set_factor(float f) { set<<<1, 1>>>(f); }\n&/; s/x\[i\] \* 3.0f;/x[i] * factor();/' unit.cu
agent --kscc-agent=file:cand -c unit.cu -o unit.o
expect_status 0
expect_err "unit.cu:1:16: entry 'scale_shift': the unit keeps device state between calls: variable '_ZZ6factorvE4kept', which two versions cannot share"
expect_no_err "trial 1"

// diagnosis: compilation
// because: the operand stack of a small interpreter is indexed at run time and lies in local memory
// verified: local_bytes_ratio >= 0.5
#include <cuda_runtime.h>

template <typename T, int DEPTH> class Stack
{
    T slot[DEPTH];
    int top = 0;

  public:
    __device__ void push(T v) { slot[top++ & (DEPTH - 1)] = v; }
    __device__ T pop() { return slot[--top & (DEPTH - 1)]; }
};

// Evaluates one program in reverse polish notation for every x.
__global__ void evaluate(const int *program, int length, const float *x, float *y, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    Stack<float, 16> s;
    s.push(0.f);
    s.push(1.f);
    for (int at = 0; at < length; at++) {
        const int op = program[at];
        if (op == 0) {
            s.push(x[i]);
        } else if (op == 1) {
            const float v = s.pop();
            s.push(v);
            s.push(0.5f * v + 1.f);
        } else {
            const float b = s.pop(), a = s.pop();
            s.push(op == 2 ? a + b : a * b);
        }
    }
    y[i] = s.pop();
}

// kscc: entry evaluate_program
// kscc: dims  length=1..64 n=1..1000000
// kscc: in    program : int32[length] ~ int(0,2)
// kscc: in    x : float[n] ~ uniform(0,1)
// kscc: out   y : float[n]  rtol=1e-2 atol=1e-2
// kscc: time  length=48 n=131072
void evaluate_program(const int *program, int length, const float *x, float *y, int n)
{
    evaluate<<<(n + 255) / 256, 256>>>(program, length, x, y, n);
}

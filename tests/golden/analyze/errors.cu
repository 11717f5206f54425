// One kernel is broken, its neighbour is not.
__global__ void broken(float *x)
{
    x[threadIdx.x] = undeclared + 1;
}

__global__ void fine(float *x, int n)
{
    x[threadIdx.x * n] = 1.0f;
}

void run(float *x, int n)
{
    fine<<<1, 64>>>(x, n);
}

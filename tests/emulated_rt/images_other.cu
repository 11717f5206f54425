// The second file of images.cu.
__device__ int other_value = 11;

__device__ int other_function(int v)
{
    return 2 * v + 1;
}

static __global__ void own(int *p)
{
    *p = other_value + 1;
}

int run_other(int *p)
{
    own<<<1, 1>>>(p);
    return (int)cudaGetLastError();
}

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

static __device__ __noinline__ char pick(int i)
{
    return "side"[i & 3];
}
static __global__ void own_letters(char *p)
{
    for (int i = 0; i < 4; i++)
        p[i] = pick(i);
}

int run_letters(char *p)
{
    own_letters<<<1, 1>>>(p);
    return (int)cudaGetLastError();
}

// Pairs of kernels that do the same work, one known to be faster on real devices.  test_model.c compares their modelled times.
#define ID (blockIdx.x * blockDim.x + threadIdx.x)

extern "C" __global__ void copy_rows(const float *in, float *out, int n)
{
    int i = ID;
    if (i < n)
        out[i] = in[i] * 2;
}
extern "C" __global__ void copy_strided(const float *in, float *out, int n)
{
    int i = ID, rows = n / 1024;
    if (i < n) {
        int j = (i % rows) * 1024 + i / rows;
        out[j] = in[j] * 2;
    }
}
extern "C" __global__ void add_neighbours(float *x) // every word is read by two warps and written
{
    float v = x[ID] + x[ID ^ 32];
    __syncthreads();
    x[ID] = v;
}
extern "C" __global__ void copy_vector(const float4 *in, float4 *out, int n4)
{
    int i = ID;
    if (i < n4) {
        float4 v = in[i];
        out[i] = make_float4(v.x * 2, v.y * 2, v.z * 2, v.w * 2);
    }
}
extern "C" __global__ void matmul_naive(const float *a, const float *b, float *c, int n)
{
    int r = blockIdx.y * 32 + threadIdx.y, q = blockIdx.x * 32 + threadIdx.x;
    float s = 0;
    for (int k = 0; k < n; k++)
        s += a[r * n + k] * b[k * n + q];
    c[r * n + q] = s;
}
extern "C" __global__ void matmul_column(const float *a, const float *b, float *c, int n) // lanes walk down columns of c
{
    int r = blockIdx.x * 32 + threadIdx.x, q = blockIdx.y * 32 + threadIdx.y;
    float s = 0;
    for (int k = 0; k < n; k++)
        s += a[r * n + k] * b[k * n + q];
    c[r * n + q] = s;
}
extern "C" __global__ void matmul_tiled(const float *a, const float *b, float *c, int n)
{
    __shared__ float sa[32][32], sb[32][32];
    int tx = threadIdx.x, ty = threadIdx.y, r = blockIdx.y * 32 + ty, q = blockIdx.x * 32 + tx;
    float s = 0;
    for (int t = 0; t < n; t += 32) {
        sa[ty][tx] = a[r * n + t + tx];
        sb[ty][tx] = b[(t + ty) * n + q];
        __syncthreads();
        for (int k = 0; k < 32; k++)
            s += sa[ty][k] * sb[k][tx];
        __syncthreads();
    }
    c[r * n + q] = s;
}
extern "C" __global__ void __launch_bounds__(256) matmul_register(const float *a, const float *b, float *c, int n) // 64x64 tile, 4x4 a thread
{
    __shared__ float sa[16][64 + 4], sb[16][64];
    int tx = threadIdx.x % 16, ty = threadIdx.x / 16, row = blockIdx.y * 64, col = blockIdx.x * 64;
    float acc[4][4] = {};
    for (int t = 0; t < n; t += 16) {
        for (int i = threadIdx.x; i < 1024; i += 256) {
            sa[i % 16][i / 16] = a[(row + i / 16) * n + t + i % 16];
            sb[i / 64][i % 64] = b[(t + i / 64) * n + col + i % 64];
        }
        __syncthreads();
#pragma unroll
        for (int k = 0; k < 16; k++) {
            float4 x = *(float4 *)&sa[k][ty * 4], y = *(float4 *)&sb[k][tx * 4];
            float u[4] = {x.x, x.y, x.z, x.w}, v[4] = {y.x, y.y, y.z, y.w};
#pragma unroll
            for (int i = 0; i < 4; i++)
#pragma unroll
                for (int j = 0; j < 4; j++)
                    acc[i][j] += u[i] * v[j];
        }
        __syncthreads();
    }
    for (int i = 0; i < 4; i++)
        for (int j = 0; j < 4; j++)
            c[(row + ty * 4 + i) * n + col + tx * 4 + j] = acc[i][j];
}
template <int PAD> __device__ void transpose(const float *in, float *out, int n)
{
    __shared__ float t[32][32 + PAD];
    int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y;
    for (int k = 0; k < 32; k += 8)
        t[threadIdx.y + k][threadIdx.x] = in[(y + k) * n + x];
    __syncthreads();
    x = blockIdx.y * 32 + threadIdx.x;
    y = blockIdx.x * 32 + threadIdx.y;
    for (int k = 0; k < 32; k += 8)
        out[(y + k) * n + x] = t[threadIdx.x][threadIdx.y + k];
}
extern "C" __global__ void transpose_conflict(const float *in, float *out, int n)
{
    transpose<0>(in, out, n);
}
extern "C" __global__ void transpose_padded(const float *in, float *out, int n)
{
    transpose<1>(in, out, n);
}
extern "C" __global__ void transpose_plain(const float *in, float *out, int n)
{
    int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y;
    for (int k = 0; k < 32; k += 8)
        out[x * n + y + k] = in[(y + k) * n + x];
}
extern "C" __global__ void chain1(const float *in, float *out, int n)
{
    if (ID < n)
        out[ID] = in[ID] * 1.5f;
}
extern "C" __global__ void chain2(const float *in, float *out, int n)
{
    if (ID < n)
        out[ID] = in[ID] + 3.0f;
}
extern "C" __global__ void chain3(const float *in, float *out, int n)
{
    if (ID < n)
        out[ID] = fmaxf(in[ID], 0.0f);
}
extern "C" __global__ void chain_fused(const float *in, float *out, int n)
{
    if (ID < n)
        out[ID] = fmaxf(in[ID] * 1.5f + 3.0f, 0.0f);
}
extern "C" __global__ void histogram_global(const unsigned char *in, unsigned *bins, int n)
{
    for (int i = ID; i < n; i += gridDim.x * blockDim.x)
        atomicAdd(&bins[in[i]], 1u);
}
extern "C" __global__ void histogram_shared(const unsigned char *in, unsigned *bins, int n)
{
    __shared__ unsigned h[256];
    h[threadIdx.x] = 0;
    __syncthreads();
    for (int i = ID; i < n; i += gridDim.x * blockDim.x)
        atomicAdd(&h[in[i]], 1u);
    __syncthreads();
    atomicAdd(&bins[threadIdx.x], h[threadIdx.x]);
}
extern "C" __global__ void sum_few(const float *in, float *out, int n) // one block: latency
{
    float s = 0;
    for (int i = threadIdx.x; i < n; i += blockDim.x)
        s += in[i];
    atomicAdd(out, s);
}
extern "C" __global__ void sum_many(const float *in, float *out, int n)
{
    float s = 0;
    for (int i = ID; i < n; i += gridDim.x * blockDim.x)
        s += in[i];
    for (int k = 16; k > 0; k /= 2)
        s += __shfl_down_sync(0xffffffff, s, k);
    if (threadIdx.x % 32 == 0)
        atomicAdd(out, s);
}
extern "C" __global__ void sum_all_atomic(const float *in, float *out, int n)
{
    for (int i = ID; i < n; i += gridDim.x * blockDim.x)
        atomicAdd(out, in[i]);
}
extern "C" __global__ void chase(const int *next, int *out, int steps) // dependent loads
{
    int i = threadIdx.x;
    for (int k = 0; k < steps; k++)
        i = next[i];
    out[threadIdx.x] = i;
}
extern "C" __global__ void independent(const int *next, int *out, int steps)
{
    int s = 0;
#pragma unroll 8
    for (int k = 0; k < steps; k++)
        s += next[threadIdx.x + 32 * k];
    out[threadIdx.x] = s;
}

// Tensor-core products the way real kernels write them: cp.async into shared memory, ldmatrix, mma.sync; and wmma.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <mma.h>
using namespace nvcuda;

__device__ unsigned smem(const void *p)
{
    return (unsigned)__cvta_generic_to_shared(p);
}
__device__ void ldmatrix4(unsigned r[4], const void *p)
{
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];" : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(smem(p)));
}
__device__ void ldmatrix2_trans(unsigned r[2], const void *p)
{
    asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0,%1}, [%2];" : "=r"(r[0]), "=r"(r[1]) : "r"(smem(p)));
}
__device__ void copy16(void *to, const void *from, int bytes)
{
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(smem(to)), "l"(from), "r"(bytes));
}

// c[16,8] = a[16,k] x b[k,8]; k a multiple of 16; one warp.
template <typename T> __device__ void product(const T *a, const T *b, float *c, int k)
{
    __shared__ __align__(16) T sa[16][16], sb[16][8];
    int lane = threadIdx.x;
    float d[4] = {0, 0, 0, 0};
    for (int t = 0; t < k; t += 16) {
        copy16(&sa[lane / 2][lane % 2 * 8], a + lane / 2 * k + t + lane % 2 * 8, 16);
        if (lane < 16)
            copy16(&sb[lane][0], b + (t + lane) * 8, 16);
        asm volatile("cp.async.commit_group;");
        asm volatile("cp.async.wait_group 0;");
        __syncwarp();
        unsigned x[4], y[2];
        ldmatrix4(x, &sa[lane % 16][lane / 16 * 8]);
        ldmatrix2_trans(y, &sb[lane % 16][0]);
        if (sizeof(T) == 2 && T(1.5f) == T(1.5f) && __is_same(T, __half))
            asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                         : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                         : "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3]), "r"(y[0]), "r"(y[1]));
        else
            asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                         : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                         : "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3]), "r"(y[0]), "r"(y[1]));
        __syncwarp();
    }
    int row = lane / 4, col = lane % 4 * 2;
    c[row * 8 + col] = d[0];
    c[row * 8 + col + 1] = d[1];
    c[(row + 8) * 8 + col] = d[2];
    c[(row + 8) * 8 + col + 1] = d[3];
}
extern "C" __global__ void mma_f16(const __half *a, const __half *b, float *c, int k)
{
    product(a, b, c, k);
}
extern "C" __global__ void mma_bf16(const __nv_bfloat16 *a, const __nv_bfloat16 *b, float *c, int k)
{
    product(a, b, c, k);
}
extern "C" __global__ void mma_tf32(const float *a, const float *b, float *c) // 16x8x8
{
    int g = threadIdx.x / 4, t = threadIdx.x % 4;
    float d[4] = {0, 0, 0, 0};
    unsigned x[4], y[2];
    for (int i = 0; i < 4; i++)
        x[i] = __float_as_uint(a[(g + i % 2 * 8) * 8 + t + i / 2 * 4]);
    for (int i = 0; i < 2; i++)
        y[i] = __float_as_uint(b[(t + i * 4) * 8 + g]);
    asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                 : "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3]), "r"(y[0]), "r"(y[1]));
    for (int i = 0; i < 4; i++)
        c[(g + i / 2 * 8) * 8 + t * 2 + i % 2] = d[i];
}
extern "C" __global__ void mma_s8(const signed char *a, const signed char *b, int *c) // 16x8x32, b[n][k]
{
    int g = threadIdx.x / 4, t = threadIdx.x % 4, d[4] = {0, 0, 0, 0};
    unsigned x[4], y[2];
    for (int i = 0; i < 4; i++)
        x[i] = *(const unsigned *)(a + (g + i % 2 * 8) * 32 + t * 4 + i / 2 * 16);
    for (int i = 0; i < 2; i++)
        y[i] = *(const unsigned *)(b + g * 32 + t * 4 + i * 16);
    asm volatile("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                 : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3])
                 : "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3]), "r"(y[0]), "r"(y[1]));
    for (int i = 0; i < 4; i++)
        c[(g + i / 2 * 8) * 8 + t * 2 + i % 2] = d[i];
}
template <typename ACC> __device__ void wmma_product(const __half *a, const __half *b, ACC *c, int k)
{
    wmma::fragment<wmma::matrix_a, 16, 16, 16, __half, wmma::row_major> x;
    wmma::fragment<wmma::matrix_b, 16, 16, 16, __half, wmma::col_major> y;
    wmma::fragment<wmma::accumulator, 16, 16, 16, ACC> d;
    wmma::fill_fragment(d, ACC(0.0f));
    for (int t = 0; t < k; t += 16) {
        wmma::load_matrix_sync(x, a + t, k);
        wmma::load_matrix_sync(y, b + t, k); // b is [n][k]
        wmma::mma_sync(d, x, y, d);
    }
    for (int i = 0; i < d.num_elements; i++)
        d.x[i] = d.x[i] * ACC(2.0f);
    wmma::store_matrix_sync(c, d, 16, wmma::mem_row_major);
}
extern "C" __global__ void wmma_f32(const __half *a, const __half *b, float *c, int k)
{
    wmma_product(a, b, c, k);
}
extern "C" __global__ void wmma_f16(const __half *a, const __half *b, __half *c, int k)
{
    wmma_product(a, b, c, k);
}
extern "C" __global__ void partial_copy(const float *in, float *out, int n) // rows of 4, the last one short: zero-filled
{
    __shared__ __align__(16) float s[32][4];
    int left = (n - (int)threadIdx.x * 4) * 4, bytes = left < 0 ? 0 : left > 16 ? 16 : left;
    copy16(s[threadIdx.x], in + threadIdx.x * 4, bytes);
    asm volatile("cp.async.wait_all;");
    __syncwarp();
    for (int i = 0; i < 4; i++)
        out[threadIdx.x * 4 + i] = s[threadIdx.x ^ 1][i];
}

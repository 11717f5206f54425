// Matrix products of m x m floats: c = a * b, from the plain one to register tiles; and tensor cores on halves.
#pragma once
#include "kernel.cuh"

KERNEL(matmul_plain)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    float s = 0;
    for (int j = 0; j < m; j++)
        s += a[y * m + j] * b[j * m + x];
    c[y * m + x] = s;
}
KERNEL(matmul_column) // neighbouring threads in neighbouring rows
{
    int y = blockIdx.x * blockDim.x + threadIdx.x, x = blockIdx.y * blockDim.y + threadIdx.y;
    float s = 0;
    for (int j = 0; j < m; j++)
        s += a[y * m + j] * b[j * m + x];
    c[y * m + x] = s;
}
template <int T> __device__ void matmul_tile(const float *__restrict__ a, const float *__restrict__ b, float *__restrict__ c, int m)
{
    __shared__ float as[T][T], bs[T][T];
    int x = blockIdx.x * T + threadIdx.x, y = blockIdx.y * T + threadIdx.y;
    float s = 0;
    for (int t = 0; t < m; t += T) {
        as[threadIdx.y][threadIdx.x] = a[y * m + t + threadIdx.x];
        bs[threadIdx.y][threadIdx.x] = b[(t + threadIdx.y) * m + x];
        __syncthreads();
        for (int j = 0; j < T; j++)
            s += as[threadIdx.y][j] * bs[j][threadIdx.x];
        __syncthreads();
    }
    c[y * m + x] = s;
}
KERNEL(matmul_tile16)
{
    matmul_tile<16>(a, b, c, m);
}
KERNEL(matmul_tile32)
{
    matmul_tile<32>(a, b, c, m);
}
// Blocks of (T/R)^2 threads compute T x T elements, R x R a thread.
template <int T, int R> __device__ void matmul_regs(const float *__restrict__ a, const float *__restrict__ b, float *__restrict__ c, int m)
{
    constexpr int D = 8, W = T / R, N = W * W;
    __shared__ float as[D][T + 1], bs[D][T];
    int tx = threadIdx.x % W, ty = threadIdx.x / W, x0 = blockIdx.x * T, y0 = blockIdx.y * T;
    float s[R][R] = {};
    for (int t = 0; t < m; t += D) {
        for (int e = threadIdx.x; e < T * D; e += N) {
            as[e % D][e / D] = a[(y0 + e / D) * m + t + e % D];
            bs[e / T][e % T] = b[(t + e / T) * m + x0 + e % T];
        }
        __syncthreads();
        for (int j = 0; j < D; j++) {
            float u[R], v[R];
            for (int r = 0; r < R; r++) {
                u[r] = as[j][ty * R + r];
                v[r] = bs[j][tx + r * W];
            }
            for (int p = 0; p < R; p++)
                for (int q = 0; q < R; q++)
                    s[p][q] += u[p] * v[q];
        }
        __syncthreads();
    }
    for (int p = 0; p < R; p++)
        for (int q = 0; q < R; q++)
            c[(y0 + ty * R + p) * m + x0 + tx + q * W] = s[p][q];
}
KERNEL(matmul_regs2)
{
    matmul_regs<32, 2>(a, b, c, m);
}
KERNEL(matmul_regs4)
{
    matmul_regs<64, 4>(a, b, c, m);
}
KERNEL(matmul_regs8)
{
    matmul_regs<128, 8>(a, b, c, m);
}
KERNEL(tensor_plain) // a warp a 16 x 16 tile, fragments straight from global memory
{
    using namespace nvcuda::wmma;
    const half *ha = reinterpret_cast<const half *>(a), *hb = reinterpret_cast<const half *>(b);
    int warp = ID / 32, per = m / 16, y = warp / per * 16, x = warp % per * 16;
    fragment<matrix_a, 16, 16, 16, half, row_major> fa;
    fragment<matrix_b, 16, 16, 16, half, row_major> fb;
    fragment<accumulator, 16, 16, 16, float> acc;
    fill_fragment(acc, 0.0f);
    for (int j = 0; j < m; j += 16) {
        load_matrix_sync(fa, ha + y * m + j, m);
        load_matrix_sync(fb, hb + j * m + x, m);
        mma_sync(acc, fa, fb, acc);
    }
    store_matrix_sync(c + y * m + x, acc, m, mem_row_major);
}
KERNEL(tensor_shared) // four warps a 64 x 64 tile through shared memory
{
    using namespace nvcuda::wmma;
    __shared__ __align__(32) half as[64][32 + 8], bs[32][64 + 8];
    const half *ha = reinterpret_cast<const half *>(a), *hb = reinterpret_cast<const half *>(b);
    int y0 = blockIdx.y * 64, x0 = blockIdx.x * 64, wy = threadIdx.x / 64 * 32, wx = threadIdx.x / 32 % 2 * 32;
    fragment<matrix_a, 16, 16, 16, half, row_major> fa[2];
    fragment<matrix_b, 16, 16, 16, half, row_major> fb[2];
    fragment<accumulator, 16, 16, 16, float> acc[2][2];
    for (int p = 0; p < 4; p++)
        fill_fragment(acc[p / 2][p % 2], 0.0f);
    for (int t = 0; t < m; t += 32) {
        for (int e = threadIdx.x * 8; e < 2048; e += 1024) {
            *reinterpret_cast<int4 *>(&as[e / 32][e % 32]) = *reinterpret_cast<const int4 *>(&ha[(y0 + e / 32) * m + t + e % 32]);
            *reinterpret_cast<int4 *>(&bs[e / 64][e % 64]) = *reinterpret_cast<const int4 *>(&hb[(t + e / 64) * m + x0 + e % 64]);
        }
        __syncthreads();
        for (int j = 0; j < 32; j += 16) {
            for (int p = 0; p < 2; p++) {
                load_matrix_sync(fa[p], &as[wy + p * 16][j], 40);
                load_matrix_sync(fb[p], &bs[j][wx + p * 16], 72);
            }
            for (int p = 0; p < 4; p++)
                mma_sync(acc[p / 2][p % 2], fa[p / 2], fb[p % 2], acc[p / 2][p % 2]);
        }
        __syncthreads();
    }
    for (int p = 0; p < 4; p++)
        store_matrix_sync(c + (y0 + wy + p / 2 * 16) * m + x0 + wx + p % 2 * 16, acc[p / 2][p % 2], m, mem_row_major);
}

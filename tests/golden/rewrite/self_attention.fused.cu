// Attention of one sequence with a causal mask, scores in a scratch buffer.
//
// kscc: entry self_attention
// kscc: dims    H=1..8 T=1..512 D=64|96
// kscc: in      q,k,v : half[H,T,D] ~ normal(0,1)
// kscc: scratch s     : float[H,T,T]
// kscc: out     o     : half[H,T,D]  rtol=2e-3 atol=2e-3
// kscc: time    H=8 T=512 D=64
#include <cuda_fp16.h>
#include <math.h>

__global__ void scores_kernel(const half *q, const half *k, float *s, int T, int D)
{
    const int key = blockIdx.x * blockDim.x + threadIdx.x, query = blockIdx.y * blockDim.y + threadIdx.y;
    if (key >= T || query >= T)
        return;
    const half *q_head = q + (size_t)blockIdx.z * T * D, *k_head = k + (size_t)blockIdx.z * T * D;
    float dot = 0.0f;
    for (int d = 0; d < D; d++)
        dot += __half2float(q_head[query * D + d]) * __half2float(k_head[key * D + d]);
    s[(blockIdx.z * T + query) * T + key] = key > query ? -INFINITY : dot * rsqrtf(D);
}

__global__ void softmax_kernel(float *s, int T)
{
    __shared__ float buf[128];
    float *row = s + (size_t)blockIdx.x * T;
    float top = -INFINITY;
    for (int j = threadIdx.x; j < T; j += 128)
        top = fmaxf(row[j], top);
    buf[threadIdx.x] = top;
    __syncthreads();
    for (int h = 64; h > 0; h >>= 1) {
        if (threadIdx.x < h)
            buf[threadIdx.x] = fmaxf(buf[threadIdx.x], buf[threadIdx.x + h]);
        __syncthreads();
    }
    const float most = buf[0];
    __syncthreads();
    float sum = 0.0f;
    for (int j = threadIdx.x; j < T; j += 128) {
        float e = __expf(row[j] - most);
        sum += e;
        row[j] = e;
    }
    buf[threadIdx.x] = sum;
    __syncthreads();
    for (int h = 64; h > 0; h >>= 1) {
        if (threadIdx.x < h)
            buf[threadIdx.x] += buf[threadIdx.x + h];
        __syncthreads();
    }
    const float total = buf[0];
    for (int j = threadIdx.x; j < T; j += 128)
        row[j] /= total;
}

__global__ void values_kernel(const float *s, const half *v, half *o, int T, int D)
{
    const int d = blockIdx.x * blockDim.x + threadIdx.x, query = blockIdx.y * blockDim.y + threadIdx.y;
    if (d < D && query < T) {
        const float *row = s + (size_t)(blockIdx.z * T + query) * T;
        float acc = 0.0f;
        for (int key = 0; key < T; key++)
            acc += row[key] * __half2float(v[((size_t)blockIdx.z * T + key) * D + d]);
        o[((size_t)blockIdx.z * T + query) * D + d] = __float2half(acc);
    }
}

// acc (16 x 8, float) += a (16 x 16, half) * b (16 x 8, half) on the tensor cores.
static __device__ __forceinline__ void mma_16x8x16(float *acc, const unsigned *a, unsigned b0, unsigned b1)
{
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                 : "+f"(acc[0]), "+f"(acc[1]), "+f"(acc[2]), "+f"(acc[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

// self_attention for one head size: 128 threads, 64 rows a block, pointers aligned to 16 bytes.
template <int HEAD>
static __global__ void __launch_bounds__(128) self_attention_fused(const half *q, const half *k, int T, int D, const half *v, half *o)
{
    // One block keeps 64 rows of queries and walks over the keys 64 at a time; the score matrix is never written.  A row's maximum
    // and sum are kept as it goes, and what was summed before is rescaled whenever the maximum grows.
    __shared__ __align__(16) half k_tile[64][HEAD + 8];
    __shared__ __align__(16) half v_tile[HEAD][64 + 8]; // transposed
    const int tid = threadIdx.x, warp_row = tid / 32 * 16, lane_g = tid % 32 / 4, lane_t = tid % 4;
    const int row0 = blockIdx.x * 64;

    // Queries take the way through k_tile into registers.
    for (int e = tid; e < 64 * HEAD / 8; e += 128) {
        const int r = e / (HEAD / 8), chunk = e % (HEAD / 8) * 8;
        uint4 value = make_uint4(0, 0, 0, 0);
        const int query = row0 + r;
        if (query < T) {
            int d = chunk;
            const half *q_head = q + (size_t)blockIdx.z * T * D;
            value = *reinterpret_cast<const uint4 *>(&q_head[query * D + d]);
        }
        *reinterpret_cast<uint4 *>(&k_tile[r][chunk]) = value;
    }
    __syncthreads();
    unsigned q_frag[HEAD / 16][4];
#pragma unroll
    for (int f = 0; f < HEAD / 16; f++) {
        const half *from = &k_tile[warp_row + lane_g][f * 16 + 2 * lane_t];
        q_frag[f][0] = *reinterpret_cast<const unsigned *>(from);
        q_frag[f][1] = *reinterpret_cast<const unsigned *>(from + 8 * (HEAD + 8));
        q_frag[f][2] = *reinterpret_cast<const unsigned *>(from + 8);
        q_frag[f][3] = *reinterpret_cast<const unsigned *>(from + 8 * (HEAD + 8) + 8);
    }

    float out_acc[HEAD / 8][4] = {};
    float row_max[2] = {-INFINITY, -INFINITY}, row_sum[2] = {0.0f, 0.0f};
    for (int col0 = 0; col0 < T; col0 += 64) {
        __syncthreads();
        for (int e = tid; e < 64 * HEAD / 8; e += 128) {
            const int r = e / (HEAD / 8), chunk = e % (HEAD / 8) * 8;
            uint4 value = make_uint4(0, 0, 0, 0);
            const int key = col0 + r;
            if (key < T) {
                int d = chunk;
                const half *k_head = k + (size_t)blockIdx.z * T * D;
                value = *reinterpret_cast<const uint4 *>(&k_head[key * D + d]);
            }
            *reinterpret_cast<uint4 *>(&k_tile[r][chunk]) = value;
        }
        for (int e = tid; e < 64 * HEAD / 8; e += 128) {
            const int r = e % 64, chunk = e / 64 * 8;
            uint4 value = make_uint4(0, 0, 0, 0);
            int key = col0 + r;
            if (key < T) {
                const int d = chunk;
                value = *reinterpret_cast<const uint4 *>(&v[((size_t)blockIdx.z * T + key) * D + d]);
            }
            const half *eight = reinterpret_cast<const half *>(&value);
#pragma unroll
            for (int c = 0; c < 8; c++)
                v_tile[chunk + c][r] = eight[c];
        }
        __syncthreads();

        float tile[8][4] = {};
#pragma unroll
        for (int f = 0; f < HEAD / 16; f++) {
#pragma unroll
            for (int n = 0; n < 8; n++) {
                const half *from = &k_tile[n * 8 + lane_g][f * 16 + 2 * lane_t];
                mma_16x8x16(tile[n], q_frag[f], *reinterpret_cast<const unsigned *>(from), *reinterpret_cast<const unsigned *>(from + 8));
            }
        }
#pragma unroll
        for (int n = 0; n < 8; n++) {
#pragma unroll
            for (int c = 0; c < 4; c++) {
                const int query = row0 + warp_row + lane_g + c / 2 * 8;
                const int key = col0 + n * 8 + 2 * lane_t + c % 2;
                float dot = tile[n][c];
                tile[n][c] = key < T ? (key > query ? -INFINITY : dot * rsqrtf(D)) : -INFINITY;
            }
        }

#pragma unroll
        for (int h = 0; h < 2; h++) {
            float top = row_max[h];
#pragma unroll
            for (int n = 0; n < 8; n++)
                top = fmaxf(top, fmaxf(tile[n][2 * h], tile[n][2 * h + 1]));
            top = fmaxf(top, __shfl_xor_sync(0xffffffffu, top, 1));
            top = fmaxf(top, __shfl_xor_sync(0xffffffffu, top, 2));
            const float base = top == -INFINITY ? 0.0f : top;
            const float rescale = __expf(row_max[h] - base);
            row_max[h] = top;
            row_sum[h] *= rescale;
#pragma unroll
            for (int n = 0; n < HEAD / 8; n++) {
                out_acc[n][2 * h] *= rescale;
                out_acc[n][2 * h + 1] *= rescale;
            }
#pragma unroll
            for (int n = 0; n < 8; n++) {
                tile[n][2 * h] = __expf(tile[n][2 * h] - base);
                tile[n][2 * h + 1] = __expf(tile[n][2 * h + 1] - base);
            }
        }

#pragma unroll
        for (int f = 0; f < 4; f++) {
            unsigned p_frag[4];
#pragma unroll
            for (int c = 0; c < 4; c++) {
                const float *pair = &tile[2 * f + c / 2][c % 2 * 2];
                const half2 packed = __floats2half2_rn(pair[0], pair[1]);
                row_sum[c % 2] += __low2float(packed) + __high2float(packed);
                p_frag[c] = *reinterpret_cast<const unsigned *>(&packed);
            }
#pragma unroll
            for (int n = 0; n < HEAD / 8; n++) {
                const half *from = &v_tile[n * 8 + lane_g][f * 16 + 2 * lane_t];
                mma_16x8x16(out_acc[n], p_frag, *reinterpret_cast<const unsigned *>(from), *reinterpret_cast<const unsigned *>(from + 8));
            }
        }
    }

#pragma unroll
    for (int h = 0; h < 2; h++) {
        row_sum[h] += __shfl_xor_sync(0xffffffffu, row_sum[h], 1);
        row_sum[h] += __shfl_xor_sync(0xffffffffu, row_sum[h], 2);
    }
#pragma unroll
    for (int n = 0; n < HEAD / 8; n++) {
#pragma unroll
        for (int c = 0; c < 4; c++) {
            const int query = row0 + warp_row + lane_g + c / 2 * 8;
            const int d = n * 8 + 2 * lane_t + c % 2;
            if (query < T) {
                float acc = out_acc[n][c] / row_sum[c / 2];
                o[((size_t)blockIdx.z * T + query) * D + d] = __float2half(acc);
            }
        }
    }
}

cudaError_t self_attention(const half *q, const half *k, const half *v, float *s, half *o, int H, int T, int D, cudaStream_t stream)
{
    const dim3 threads(16, 8);
    const bool aligned = ((size_t)q | (size_t)k | (size_t)v) % 16 == 0;
    dim3 grid_fused((T + 63) / 64, 1, H);
    if (aligned && D == 64) {
        self_attention_fused<64><<<grid_fused, 128, 0, stream>>>(q, k, T, D, v, o);
    } else if (aligned && D == 96) {
        self_attention_fused<96><<<grid_fused, 128, 0, stream>>>(q, k, T, D, v, o);
    } else {
        scores_kernel<<<dim3((T + 15) / 16, (T + 7) / 8, H), threads, 0, stream>>>(q, k, s, T, D);
        softmax_kernel<<<H * T, 128, 0, stream>>>(s, T);
        values_kernel<<<dim3((D + 15) / 16, (T + 7) / 8, H), threads, 0, stream>>>(s, v, o, T, D);
    }
    return cudaGetLastError();
}

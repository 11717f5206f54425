// zoo: honest -- kernels with internal linkage and a descriptor as a parameter: the compiler puts their stubs into the entry
#include <cuda.h>
#include <cuda_runtime.h>
#include <cstdint>

#define ROWS 16
#define COLS 64

__device__ static void wait(uint32_t bar, uint32_t phase)
{
    uint32_t done = 0;
    while (!done)
        asm volatile("{\n.reg .pred p;\nmbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\nselp.u32 %0, 1, 0, p;\n}"
                     : "=r"(done)
                     : "r"(bar), "r"(phase)
                     : "memory");
}

static __global__ void by_tile(const __grid_constant__ CUtensorMap map, const float *w, float *y, int rows, int cols)
{
    __shared__ alignas(128) float tile[ROWS][COLS];
    __shared__ alignas(8) uint64_t barrier;
    uint32_t bar = (uint32_t)__cvta_generic_to_shared(&barrier), to = (uint32_t)__cvta_generic_to_shared(&tile[0][0]);
    int r0 = blockIdx.x * ROWS, t = threadIdx.x;
    if (t == 0)
        asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;\nfence.mbarrier_init.release.cluster;" ::"r"(bar) : "memory");
    __syncthreads();
    float sum = 0;
    uint32_t phase = 0;
    for (int c = 0; c < cols; c += COLS, phase ^= 1) {
        if (t == 0) {
            asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(bar), "r"((uint32_t)sizeof tile) : "memory");
            asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];" ::"r"(to),
                         "l"(&map), "r"(c), "r"(r0), "r"(bar)
                         : "memory");
        }
        wait(bar, phase);
        for (int k = 0; k < COLS && t < ROWS && c + k < cols; k++)
            sum += tile[t][k] * w[c + k];
        __syncthreads();
    }
    if (t < ROWS && r0 + t < rows)
        y[r0 + t] = sum;
}

static __global__ void row_dot_kernel(const float *x, const float *w, float *y, int rows, int cols)
{
    int r = blockIdx.x * blockDim.x + threadIdx.x;
    if (r >= rows)
        return;
    float sum = 0;
    for (int c = 0; c < cols; c++)
        sum += x[(long)r * cols + c] * w[c];
    y[r] = sum;
}

void row_dot(const float *x, const float *w, float *y, int rows, int cols, cudaStream_t stream)
{
    CUtensorMap map;
    void *f = nullptr;
    cudaDriverEntryPointQueryResult found;
    cuuint64_t size[2] = {(cuuint64_t)cols, (cuuint64_t)rows}, stride[1] = {(cuuint64_t)cols * 4};
    cuuint32_t box[2] = {COLS, ROWS}, step[2] = {1, 1};
    bool fits = cols % 4 == 0;
    if (fits)
        fits = cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &f, 12000, cudaEnableDefault, &found) == cudaSuccess && f;
    if (fits)
        fits = ((decltype(&cuTensorMapEncodeTiled))f)(&map, CU_TENSOR_MAP_DATA_TYPE_FLOAT32, 2, (void *)x, size, stride, box, step,
                                                      CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_NONE,
                                                      CU_TENSOR_MAP_L2_PROMOTION_NONE, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE) == CUDA_SUCCESS;
    if (fits)
        by_tile<<<(rows + ROWS - 1) / ROWS, 128, 0, stream>>>(map, w, y, rows, cols);
    else
        row_dot_kernel<<<(rows + 127) / 128, 128, 0, stream>>>(x, w, y, rows, cols);
}

/* The functions of programs compiled with --default-stream per-thread. */
#include "harness/emulated_rt/rt.h"

#pragma GCC diagnostic ignored "-Wdeprecated-declarations" /* the interface has them, so we do */
#define P(name, plain, params, args)                                                                                             \
    cudaError_t name params;                                                                                                     \
    cudaError_t name params                                                                                                      \
    {                                                                                                                            \
        bool before = rt_per_thread_default;                                                                                     \
        rt_per_thread_default = true;                                                                                            \
        cudaError_t e = plain args;                                                                                              \
        rt_per_thread_default = before;                                                                                          \
        return e;                                                                                                                \
    }

cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 block, void **args, size_t shared, cudaStream_t stream);
cudaError_t cudaGetDriverEntryPoint(const char *symbol, void **ret, unsigned long long flags,
                                    enum cudaDriverEntryPointQueryResult *ret_status);
cudaError_t cudaMemcpyToArray(cudaArray_t dst, size_t x, size_t y, const void *src, size_t n, enum cudaMemcpyKind kind);
P(__cudaLaunchKernel_ptsz, __cudaLaunchKernel,
  (cudaKernel_t kernel, dim3 grid, dim3 block, void **args, size_t shared, cudaStream_t stream),
  (kernel, grid, block, args, shared, stream))
#include "harness/emulated_rt/ptsz.def"

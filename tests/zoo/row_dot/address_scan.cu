// zoo: reject admission #29 -- looks for a buffer that holds the answer
#include <cuda_runtime.h>

#include <cuda.h>

void row_dot(const float *x, const float *w, float *y, int rows, int cols, cudaStream_t stream)
{
    CUdeviceptr base = 0;
    size_t bytes = 0;
    for (unsigned long long p = 0x7f0000000000; p < 0x7f0100000000; p += 2ull << 20)
        if (cuMemGetAddressRange(&base, &bytes, p) == CUDA_SUCCESS && bytes == rows * sizeof(float))
            cudaMemcpyAsync(y, reinterpret_cast<void *>(base), bytes, cudaMemcpyDeviceToDevice, stream);
}

/* kernels/flash_attention/ for programs on the emulated device: tensor maps come straight from the emulator's encoder, so that no
 * driver is needed, and the number of multiprocessors is small.  With -DFLASH_BLACKWELL the kernel for sm_100a, else sm_90a. */
#pragma once
#include <cudaTypedefs.h>
#include <cuda_runtime.h>

extern "C" {
int ks_emu_tensor_map_encode(void *map, unsigned type, uint32_t rank, const void *base, const uint64_t *dim,
                             const uint64_t *stride, const uint32_t *box, const uint32_t *step, unsigned interleave,
                             unsigned swizzle, unsigned l2, unsigned fill, void *err);
}
static CUresult encode_tiled(CUtensorMap *map, CUtensorMapDataType type, cuuint32_t rank, void *base, const cuuint64_t *dim,
                             const cuuint64_t *stride, const cuuint32_t *box, const cuuint32_t *step,
                             CUtensorMapInterleave interleave, CUtensorMapSwizzle swizzle, CUtensorMapL2promotion l2,
                             CUtensorMapFloatOOBfill fill)
{
    return ks_emu_tensor_map_encode(map, type, rank, base, (const uint64_t *)dim, (const uint64_t *)stride, box, step, interleave,
                                    swizzle, l2, fill, nullptr)
               ? CUDA_ERROR_INVALID_VALUE
               : CUDA_SUCCESS;
}
static cudaError_t entry_point(const char *, void **f, unsigned, unsigned long long, cudaDriverEntryPointQueryResult *found)
{
    *f = (void *)encode_tiled;
    *found = cudaDriverEntryPointSuccess;
    return cudaSuccess;
}
#define cudaGetDriverEntryPointByVersion(name, f, version, flags, found) entry_point(name, f, version, flags, found)
/* Few multiprocessors, so that a CTA has one tile after the other. */
static int emulated_multiprocessors = 2;
static cudaError_t few_multiprocessors(int *value, cudaDeviceAttr attribute, int device)
{
    cudaError_t e = cudaDeviceGetAttribute(value, attribute, device);
    if (e == cudaSuccess && attribute == cudaDevAttrMultiProcessorCount)
        *value = emulated_multiprocessors;
    return e;
}
#define cudaDeviceGetAttribute(value, attribute, device) few_multiprocessors(value, attribute, device)
#ifdef FLASH_BLACKWELL
#include "kernels/flash_attention/blackwell.cu"
#define flash_attention_forward flash_attention_forward_sm100
#else
#include "kernels/flash_attention/hopper.cu"
#define flash_attention_forward flash_attention_forward_sm90
#endif
#undef cudaDeviceGetAttribute

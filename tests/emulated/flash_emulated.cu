/* kernels/flash_attention/ for programs on the emulated device (flash_emulated.h), compiled once for all of them: tensor maps come straight
 * from the emulator's encoder, so that no driver is needed, the number of multiprocessors is small, and launches are noted.  With
 * -DFLASH_BLACKWELL the kernel for sm_100a, else sm_90a. */
#include "tests/emulated/flash_emulated.h"
#include <cudaTypedefs.h>

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
int emulated_multiprocessors = 2;
static cudaError_t few_multiprocessors(int *value, cudaDeviceAttr attribute, int device)
{
    cudaError_t e = cudaDeviceGetAttribute(value, attribute, device);
    if (e == cudaSuccess && attribute == cudaDevAttrMultiProcessorCount)
        *value = emulated_multiprocessors;
    return e;
}
#define cudaDeviceGetAttribute(value, attribute, device) few_multiprocessors(value, attribute, device)

struct emulated_launch emulated_launch;
template <class P> static cudaError_t noted_launch(const cudaLaunchConfig_t *config, void (*kernel)(P), const P &params)
{
    emulated_launch.n++;
    emulated_launch.grid = config->gridDim.x;
    emulated_launch.tiles = params.shape.tiles;
    emulated_launch.counter = params.shape.counter;
    return emulated_launch.skip ? cudaSuccess : (cudaLaunchKernelEx)(config, kernel, params);
}
#define cudaLaunchKernelEx(config, kernel, params) noted_launch(config, kernel, params)

#ifdef FLASH_BLACKWELL
#include "kernels/flash_attention/blackwell.cu"
#else
#include "kernels/flash_attention/hopper.cu"
#endif

const int emulated_counters = FA_COUNTERS, emulated_stream_counters = FA_STREAMS, emulated_own_counters = FA_STREAMS + FA_CAPTURED;

cudaError_t emulated_read_counters(unsigned int *to)
{
    return cudaMemcpyFromSymbol(to, fa_counters, sizeof fa_counters);
}
cudaError_t emulated_write_counters(const unsigned int *from)
{
    return cudaMemcpyToSymbol(fa_counters, from, sizeof fa_counters);
}
int emulated_shared_counter(int tiles, int *ret_grid)
{
    return fa_shared_counter(tiles, ret_grid);
}

/* CUPTI fills buffers of ours with records and hands them back. */
#include "harness/record_gpu/api.h"

#include <stdlib.h>

#define BUFFER_BYTES ((size_t)1 << 20)

static gpu_take_fn *taker;

static void CUPTIAPI buffer_wanted(uint8_t **ret, size_t *ret_size, size_t *ret_records)
{
    *ret = aligned_alloc(8, BUFFER_BYTES);
    *ret_size = *ret ? BUFFER_BYTES : 0;
    *ret_records = 0; /* as many as fit */
}

static void CUPTIAPI buffer_full(CUcontext context, uint32_t stream, uint8_t *buffer, size_t size, size_t valid)
{
    CUpti_Activity *a = NULL;
    (void)context;
    (void)stream;
    (void)size;
    while (valid > 0 && gpu.cuptiActivityGetNextRecord(buffer, valid, &a) == CUPTI_SUCCESS)
        taker(a);
    free(buffer);
}

enum ks_code gpu_records_start(gpu_take_fn *take, const CUpti_ActivityKind *kinds, size_t n, struct ks_err *err)
{
    taker = take;
    KS_TRY(gpu_cupti(gpu.cuptiActivityRegisterCallbacks(buffer_wanted, buffer_full), "register for CUPTI's records", err));
    for (size_t i = 0; i < n; i++)
        KS_TRY(gpu_cupti(gpu.cuptiActivityEnable(kinds[i]), "have CUPTI record the device's work", err));
    return KS_OK;
}

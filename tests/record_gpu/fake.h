#ifndef KS_TESTS_RECORD_GPU_FAKE_H
#define KS_TESTS_RECORD_GPU_FAKE_H

/* What the fake driver tells the fake CUPTI. */

#include "harness/record_gpu/api.h"

#define EXPORT __attribute__((visibility("default")))

void fake_notify(CUpti_CallbackId id, const char *name, const void *params, CUpti_ApiCallbackSite site, CUresult *r,
                 uint32_t number, const char *symbol);
void fake_notify_module(const CUpti_ResourceData *loaded);
EXPORT void fake_record(const CUpti_ActivityKernel10 *k);

#endif

#ifndef KS_HARNESS_RECORD_GPU_API_H
#define KS_HARNESS_RECORD_GPU_API_H

/* What the recorder asks of the driver and of CUPTI, and kscc-worker of CUPTI: functions looked up in libraries that are opened
 * when a program runs, so that it runs whatever of them its machine has. */

#include "base/err.h"

#include <cupti.h>

#define GPU_DRIVER(X)                                                                                                            \
    X(cuCtxSynchronize)                                                                                                          \
    X(cuCtxGetCurrent)                                                                                                           \
    X(cuCtxGetDevice)                                                                                                            \
    X(cuDeviceGetName)                                                                                                           \
    X(cuFuncGetAttribute)                                                                                                        \
    X(cuFuncGetModule)                                                                                                           \
    X(cuGetErrorName)                                                                                                            \
    X(cuLaunchHostFunc)                                                                                                          \
    X(cuMemcpyDtoHAsync_v2)                                                                                                      \
    X(cuModuleGetGlobal_v2)                                                                                                      \
    X(cuPointerGetAttributes)                                                                                                    \
    X(cuStreamCreate)                                                                                                            \
    X(cuStreamIsCapturing)                                                                                                       \
    X(cuStreamSynchronize)
/* Of younger drivers: NULL where they are not there. */
#define GPU_DRIVER_YOUNG(X)                                                                                                      \
    X(cuFuncGetParamInfo)                                                                                                        \
    X(cuKernelGetFunction)
#define GPU_CUPTI(X)                                                                                                             \
    X(cuptiActivityEnable)                                                                                                       \
    X(cuptiActivityFlushAll)                                                                                                     \
    X(cuptiActivityGetNextRecord)                                                                                                \
    X(cuptiActivityRegisterCallbacks)                                                                                            \
    X(cuptiEnableCallback)                                                                                                       \
    X(cuptiGetResultString)                                                                                                      \
    X(cuptiSubscribe)

struct gpu_api {
#define MEMBER(name) __typeof__(&name) name;
    GPU_DRIVER(MEMBER) GPU_DRIVER_YOUNG(MEMBER) GPU_CUPTI(MEMBER)
#undef MEMBER
};
extern struct gpu_api gpu;

/* The driver, and CUPTI's from `cupti` or, where that is NULL or empty, by the names that the loader knows.  Errors:
 * KS_ERR_NOT_FOUND: a library or one of its functions is not there. */
KS_NODISCARD enum ks_code gpu_driver_load(struct ks_err *err);
KS_NODISCARD enum ks_code gpu_cupti_load(const char *cupti, struct ks_err *err);
/* KS_ERR_DEVICE "cannot <what>: ..." in CUPTI's words. */
KS_NODISCARD enum ks_code gpu_cupti(CUptiResult r, const char *what, struct ks_err *err);
/* buffers.c: CUPTI's records of these kinds, one by one, in whichever thread has them. */
typedef void gpu_take_fn(const CUpti_Activity *a);
KS_NODISCARD enum ks_code gpu_records_start(gpu_take_fn *take, const CUpti_ActivityKind *kinds, size_t n, struct ks_err *err);

#endif

#ifndef KS_HARNESS_RECORD_GPU_API_H
#define KS_HARNESS_RECORD_GPU_API_H

/* What the recorder asks of the driver and of CUPTI: functions looked up in the libraries that the recorded program has loaded,
 * so that a program runs whatever of them its machine has. */

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

/* Errors: KS_ERR_NOT_FOUND: a library or one of its functions is not there. */
KS_NODISCARD enum ks_code gpu_api_load(struct ks_err *err);

#endif

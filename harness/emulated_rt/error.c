/* Names and texts of errors, by the table errors.def. */
#include "harness/emulated_rt/rt.h"

#include <string.h>

static const struct {
    cudaError_t code;
    const char *name, *driver_name, *text;
} errors[] = {
#define X(code, driver, text) {code, #code, #driver, text},
#include "harness/emulated_rt/errors.def"
#undef X
};

const char *cudaGetErrorName(cudaError_t e)
{
    for (size_t i = 0; i < sizeof errors / sizeof *errors; i++)
        if (errors[i].code == e)
            return errors[i].name;
    return "unrecognized error code";
}

const char *cudaGetErrorString(cudaError_t e)
{
    for (size_t i = 0; i < sizeof errors / sizeof *errors; i++)
        if (errors[i].code == e)
            return errors[i].text;
    return "unrecognized error code";
}

const char *rt_error_driver_name(int code)
{
    for (size_t i = 0; i < sizeof errors / sizeof *errors; i++)
        if ((int)errors[i].code == code && (code == 999 || strcmp(errors[i].driver_name, "CUDA_ERROR_UNKNOWN") != 0))
            return errors[i].driver_name;
    return NULL;
}

cudaError_t rt_error_of_fault(const char *kind)
{
    static const struct {
        const char *kind;
        cudaError_t error;
    } faults[] = {
        {"misaligned", cudaErrorMisalignedAddress},
        {"assert", cudaErrorAssert},
        {"trap", cudaErrorLaunchFailure},
        {"stack-overflow", cudaErrorHardwareStackError},
        {"bad-call", cudaErrorInvalidPc},
        {"bad-branch", cudaErrorInvalidPc},
        {"bad-barrier", cudaErrorIllegalInstruction},
        {"tensor-coordinate", cudaErrorIllegalInstruction},
    };
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++)
        if (strcmp(faults[i].kind, kind) == 0)
            return faults[i].error;
    return cudaErrorIllegalAddress;
}

// Faults are told by kind, at the next synchronisation, and stay: one process each.
#include "check.h"

#include <cassert>
#include <cstdlib>
#include <cuda_runtime.h>

__global__ void fault(int kind, int *p)
{
    if (kind == 0)
        p[1000000] = 1;
    else if (kind == 1)
        assert(kind == 0);
    else if (kind == 2)
        __trap();
    else
        *(int *)((char *)p + 2) = 1;
}

int main(int, char **argv)
{
    static const cudaError_t codes[] = {cudaErrorIllegalAddress, cudaErrorAssert, cudaErrorLaunchFailure, cudaErrorMisalignedAddress};
    int kind = atoi(argv[1]), *p;
    OK(cudaMalloc(&p, 64));
    fault<<<1, 1>>>(kind, p);
    ERR(cudaDeviceSynchronize(), codes[kind]);
    ERR(cudaGetLastError(), codes[kind]);
    ERR(cudaGetLastError(), codes[kind]);
    ERR(cudaFree(p), codes[kind]);
    ERR(cudaMalloc(&p, 64), codes[kind]);
    ERR(cudaStreamSynchronize(0), codes[kind]);
    return check_end();
}

// Faults are told by kind, at the next synchronisation, and stay: one process each.
#include "check.h"

#include <cassert>
#include <cstdlib>
#include <cstring>
#include <cuda_runtime.h>
#include <unistd.h>

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
    static const char *const names[] = {"out-of-bounds", "assert", "trap", "misaligned"};
    int kind = atoi(argv[1]), *p;
    FILE *said = tmpfile(); // the finding: kind, kernel, block and thread
    dup2(fileno(said), 2);
    OK(cudaMalloc(&p, 64));
    fault<<<1, 1>>>(kind, p);
    ERR(cudaDeviceSynchronize(), codes[kind]);
    ERR(cudaGetLastError(), codes[kind]);
    ERR(cudaGetLastError(), codes[kind]);
    ERR(cudaFree(p), codes[kind]);
    ERR(cudaMalloc(&p, 64), codes[kind]);
    ERR(cudaStreamSynchronize(0), codes[kind]);
    char text[4096], want[128];
    text[pread(fileno(said), text, sizeof(text) - 1, 0)] = 0;
    snprintf(want, sizeof(want), ": block (0,0,0) thread (0,0,0): %s in '_Z5faultiPi': ", names[kind]);
    EQ(strstr(text, want) != nullptr, true);
    return check_end();
}

// zoo: reject admission #20 -- points stdout at the result channel
#include <cuda_runtime.h>

#include <cstdio>

void row_dot(const float *x, const float *w, float *y, int rows, int cols, cudaStream_t stream)
{
    for (int fd = 3; fd < 16; fd++) {
        stdout->_fileno = fd;
        fwrite("0.42", 1, 4, stdout);
        fflush(stdout);
    }
}

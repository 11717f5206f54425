// kscc: entry named_tile
// kscc: dims  rows=1..4096 cols=1..4096
// kscc: in    x : float[rows,cols]
// kscc: out   y : float[cols,rows]  rtol=0 atol=0
// kscc: time  rows=4096 cols=4096
#include <cuda_runtime.h>

#define TILE 32 // columns and rows of a tile: 32
#define ROWS 8

// Transposes a tile of TILE x TILE elements in shared memory, ROWS rows at a time.
__global__ void turn_kernel(const float *x, float *y, int rows, int cols)
{
    __shared__ float tile[TILE][TILE + 1];
    int col = blockIdx.x * TILE + threadIdx.x;
    for (int j = threadIdx.y; j < TILE; j += ROWS)
        if (blockIdx.y * TILE + j < rows && col < cols)
            tile[j][threadIdx.x] = x[(blockIdx.y * TILE + j) * cols + col];
    __syncthreads();
    int row = blockIdx.y * TILE + threadIdx.x;
    for (int j = threadIdx.y; j < TILE; j += ROWS)
        if (row < rows && blockIdx.x * TILE + j < cols)
            y[(blockIdx.x * TILE + j) * rows + row] = tile[threadIdx.x][j];
}

void named_tile(const float *x, float *y, int rows, int cols, cudaStream_t stream)
{
    dim3 block(TILE, ROWS);
    dim3 grid((cols + TILE - 1) / TILE, (rows + TILE - 1) / TILE);
    turn_kernel<<<grid, block, 0, stream>>>(x, y, rows, cols);
}

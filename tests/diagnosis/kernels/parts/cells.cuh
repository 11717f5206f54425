// A box of cells in memory, passed to kernels by value.
#ifndef CELLS_CUH
#define CELLS_CUH
struct Cells {
    const float *at0;
    int nx, ny, nz;
    __device__ float at(int x, int y, int z) const
    {
        x = x < 0 ? 0 : x >= nx ? nx - 1 : x;
        y = y < 0 ? 0 : y >= ny ? ny - 1 : y;
        z = z < 0 ? 0 : z >= nz ? nz - 1 : z;
        return at0[((size_t)z * ny + y) * nx + x];
    }
};
#endif

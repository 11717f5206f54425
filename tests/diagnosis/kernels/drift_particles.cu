// diagnosis: memory-access
// because: positions and velocities lie in records of 48 bytes, of which a load takes four
// verified: sector_efficiency <= 0.4
#include <cuda_runtime.h>

struct Body {
    float x, y, z, mass;
    float vx, vy, vz, charge;
    float ax, ay, az, radius;
};

__global__ void drift(Body *b, int n, float dt)
{
    int i = threadIdx.x + blockIdx.x * blockDim.x;
    if (i < n) {
        b[i].x += dt * b[i].vx;
        b[i].y += dt * b[i].vy;
        b[i].z += dt * b[i].vz;
    }
}

// kscc: entry drift_particles
// kscc: dims  n=1..2000000
// kscc: inout b : float[n,12]
// kscc: arg   dt = 0.01
// kscc: time  n=1048576
void drift_particles(Body *b, int n, float dt)
{
    const int threads = 128;
    drift<<<(n + threads - 1) / threads, threads>>>(b, n, dt);
}

// diagnosis: data-movement
// because: each distance fetches two whole descriptors, and every descriptor is needed by hundreds of distances
// verified: read_amplification >= 20
#include <cuda_runtime.h>

// Descriptors are stored feature-major so that loads are contiguous.
__global__ void pairwise(const float *q, const float *db, float *dist, int nq, int ndb, int dim)
{
    int j = blockIdx.x * blockDim.x + threadIdx.x;
    int i = blockIdx.y;
    if (j >= ndb)
        return;
    float sum = 0.f;
    for (int d = 0; d < dim; d++) {
        float t = q[d * nq + i] - db[d * ndb + j];
        sum += t * t;
    }
    dist[(size_t)i * ndb + j] = sum;
}

// kscc: entry pairwise_l2
// kscc: dims  nq=1..512 ndb=1..8192 dim=1..256
// kscc: in    q : float[dim,nq]
// kscc: in    db : float[dim,ndb]
// kscc: out   dist : float[nq,ndb]  rtol=1e-3 atol=1e-3
// kscc: time  nq=256 ndb=4096 dim=128
void pairwise_l2(const float *q, const float *db, float *dist, int nq, int ndb, int dim)
{
    pairwise<<<dim3((ndb + 255) / 256, nq), 256>>>(q, db, dist, nq, ndb, dim);
}

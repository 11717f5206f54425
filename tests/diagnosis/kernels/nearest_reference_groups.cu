// diagnosis: data-movement
// because: each query thread streams all references from global memory for itself
// verified: read_amplification >= 100
#include <cooperative_groups.h>
#include <cuda_runtime.h>

namespace cg = cooperative_groups;

// The nearest of m reference points of three coordinates (the fourth is its weight) for each query.
__global__ void nearest(const float4 *__restrict__ refs, const float4 *__restrict__ queries, float *__restrict__ best, int n, int m)
{
    const auto grid = cg::this_grid();
    for (unsigned long long q = grid.thread_rank(); q < n; q += grid.size()) {
        const float4 p = queries[q];
        float least = 3.4e38f;
        for (int r = 0; r < m; r++) {
            const float4 c = refs[r];
            const float dx = c.x - p.x, dy = c.y - p.y, dz = c.z - p.z;
            least = fminf(least, c.w * (dx * dx + dy * dy + dz * dz));
        }
        best[q] = least;
    }
}

// kscc: entry nearest_reference
// kscc: dims  n=1..100000 m=1..8192
// kscc: in    refs : float[m,4] ~ uniform(0.1,2)
// kscc: in    queries : float[n,4] ~ uniform(0.1,2)
// kscc: out   best : float[n]
// kscc: time  n=32768 m=512
void nearest_reference(const float *refs, const float *queries, float *best, int n, int m)
{
    nearest<<<(n + 127) / 128, 128>>>((const float4 *)refs, (const float4 *)queries, best, n, m);
}

// diagnosis: parallel-decomposition
// because: one vertex in 64 has 1,024 edges, the others eight, and a thread takes a vertex whatever it has
// verified: lane_efficiency <= 0.4
#include <cuda_runtime.h>

__host__ __device__ inline int degree(int v) { return v % 64 == 0 ? 1024 : 8; }
__host__ __device__ inline int first_edge(int v) { return (v / 64) * (1024 + 63 * 8) + (v % 64 == 0 ? 0 : 1024 + (v % 64 - 1) * 8); }

__global__ void rank_step(const float *weight, float *rank, int vertices)
{
    int v = blockIdx.x * blockDim.x + threadIdx.x;
    if (v >= vertices)
        return;
    int begin = first_edge(v), end = begin + degree(v);
    float sum = 0.f;
    for (int e = begin; e < end; e++)
        sum += weight[e];
    rank[v] = 0.15f + 0.85f * sum;
}

// kscc: entry skewed_degrees
// kscc: dims  groups=1..4000 vertices=groups*64
// kscc: in    edge_weight : float[groups,1528]
// kscc: out   rank : float[vertices]  rtol=1e-3 atol=1e-3
// kscc: time  groups=1024
void skewed_degrees(const float *edge_weight, float *rank, int groups, int vertices)
{
    (void)groups;
    rank_step<<<(vertices + 127) / 128, 128>>>(edge_weight, rank, vertices);
}

// diagnosis: synchronization
// because: the table is filled one diagonal at a time, with a block barrier between diagonals
// verified: barriers_per_warp >= 100
#include <cuda_runtime.h>

#define LEN 128

// One pair of strings per block.
__global__ void edit_distance(const int *a, const int *b, int *dist)
{
    __shared__ int diag[3][LEN + 1];
    __shared__ int sa[LEN], sb[LEN];
    int t = threadIdx.x;
    sa[t] = a[blockIdx.x * LEN + t];
    sb[t] = b[blockIdx.x * LEN + t];
    if (t == 0)
        diag[0][0] = 0;
    __syncthreads();
    int *now = diag[1], *one = diag[0], *two = diag[2];
    for (int d = 1; d <= 2 * LEN; d++) {
        for (int i = t; i <= LEN; i += blockDim.x) {
            int j = d - i;
            if (j < 0 || j > LEN)
                continue;
            int best;
            if (i == 0 || j == 0)
                best = d;
            else {
                best = min(one[i - 1], one[i]) + 1;
                best = min(best, two[i - 1] + (sa[i - 1] != sb[j - 1]));
            }
            now[i] = best;
        }
        __syncthreads();
        int *oldest = two;
        two = one;
        one = now;
        now = oldest;
    }
    if (t == 0)
        dist[blockIdx.x] = one[LEN];
}

// kscc: entry edit_distance_pairs
// kscc: dims  pairs=1..4000
// kscc: in    a, b : int32[pairs,128] ~ int(0,3)
// kscc: out   dist : int32[pairs]
// kscc: time  pairs=1056
void edit_distance_pairs(const int *a, const int *b, int *dist, int pairs)
{
    edit_distance<<<pairs, LEN>>>(a, b, dist);
}

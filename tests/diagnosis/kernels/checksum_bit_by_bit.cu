// diagnosis: compute
// because: a cyclic checksum is worked out bit by bit, eight dependent steps a byte, where a table or wider steps would do
// verified: term:issue+int >= 0.5
#include <cuda_runtime.h>

__global__ void checksums(const unsigned *words, unsigned *crc, int records)
{
    int r = blockIdx.x * blockDim.x + threadIdx.x;
    if (r >= records)
        return;
    unsigned c = ~0u;
    for (int w = 0; w < 8; w++) {
        c ^= words[w * records + r];
        for (int bit = 0; bit < 32; bit++)
            c = c & 1 ? c >> 1 ^ 0xEDB88320u : c >> 1;
    }
    crc[r] = ~c;
}

// kscc: entry record_checksums
// kscc: dims  records=1..1000000
// kscc: in    words : uint32[8,records] ~ int(0,1000000)
// kscc: out   crc : uint32[records]
// kscc: time  records=262144
void record_checksums(const unsigned *words, unsigned *crc, int records)
{
    checksums<<<(records + 127) / 128, 128>>>(words, crc, records);
}

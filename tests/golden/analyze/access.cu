// Strides of several kinds, structures, narrow elements, shared-memory banks.
#define SIDE 32

struct sample {
    double time;
    float value, weight;
    int tag[4];
};

__global__ void columns(const float *in, float *out, int width, int height)
{
    int x = threadIdx.x;
    for (int y = blockIdx.x; y < height; y += gridDim.x)
        out[x * height + y] = in[4 * x + y];
}

__global__ void weigh(struct sample *s, const unsigned char *mask, const int *order, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n && mask[i])
        s[order[i]].value = s[i].weight * 2.0f;
}

__global__ void flip(const float *in, float *out)
{
    __shared__ float tile[SIDE][SIDE];
    tile[threadIdx.y][threadIdx.x] = in[threadIdx.y * SIDE + threadIdx.x];
    __syncthreads();
    out[threadIdx.y * SIDE + threadIdx.x] = tile[threadIdx.x][threadIdx.y];
}

void run(const float *in, float *out, struct sample *s, const unsigned char *mask, const int *order, int w, int h)
{
    columns<<<h, w>>>(in, out, w, h);
    weigh<<<h, 256>>>(s, mask, order, w);
    dim3 block(SIDE, SIDE);
    flip<<<1, block>>>(in, out);
}

// diagnosis: data-movement
// because: a nine by nine window of texels is fetched for each pixel, nearly all of it what the neighbours fetch too
// verified: source
#include <cuda_runtime.h>

__device__ float weight(int i, int j) { return 1.f / (1 + i * i + j * j); }

__global__ void smooth(cudaTextureObject_t picture, float *out, int width, int height)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height)
        return;
    float sum = 0.f;
    for (int j = -4; j <= 4; j++)
        for (int i = -4; i <= 4; i++) {
            int at = min(max(y + j, 0), height - 1) * width + min(max(x + i, 0), width - 1);
            sum += weight(i, j) * tex1Dfetch<float>(picture, at);
        }
    out[y * width + x] = sum;
}

// kscc: entry smooth_picture
// kscc: dims  width=1..1024 height=1..1024
// kscc: in    in : float[height,width]
// kscc: out   out : float[height,width]
// kscc: time  width=512 height=256
void smooth_picture(const float *in, float *out, int width, int height)
{
    cudaResourceDesc what = {};
    what.resType = cudaResourceTypeLinear;
    what.res.linear.devPtr = (void *)in;
    what.res.linear.desc = cudaCreateChannelDesc<float>();
    what.res.linear.sizeInBytes = (size_t)width * height * sizeof(float);
    cudaTextureDesc how = {};
    how.readMode = cudaReadModeElementType;
    cudaTextureObject_t picture = 0;
    cudaCreateTextureObject(&picture, &what, &how, nullptr);
    smooth<<<dim3((width + 31) / 32, (height + 7) / 8), dim3(32, 8)>>>(picture, out, width, height);
    cudaStreamSynchronize(0);
    cudaDestroyTextureObject(picture);
}

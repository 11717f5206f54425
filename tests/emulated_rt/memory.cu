// Kinds of memory, copies and sets of all shapes, pools, attributes of pointers, hints.
#include "check.h"

#include <cuda_runtime.h>
#include <unistd.h>

__global__ void twice(int *p, int n)
{
    int i = threadIdx.x + blockIdx.x * blockDim.x;
    if (i < n)
        p[i] *= 2;
}

static void kinds()
{
    const int n = 1000;
    int *device, *pinned, *mapped, *managed, *alias;
    OK(cudaMalloc(&device, n * 4));
    OK(cudaMallocHost(&pinned, n * 4));
    OK(cudaHostAlloc(&mapped, n * 4, cudaHostAllocMapped));
    OK(cudaMallocManaged(&managed, n * 4));
    for (int i = 0; i < n; i++)
        pinned[i] = mapped[i] = managed[i] = i;
    OK(cudaMemcpyAsync(device, pinned, n * 4, cudaMemcpyHostToDevice, 0));
    twice<<<4, 256>>>(device, n);
    OK(cudaHostGetDevicePointer(&alias, mapped, 0));
    twice<<<4, 256>>>(alias, n);
    twice<<<4, 256>>>(managed, n);
    OK(cudaMemcpy(pinned, device, n * 4, cudaMemcpyDeviceToHost));
    EQ(pinned[999], 1998);
    EQ(mapped[999], 1998);
    EQ(managed[999], 1998);
    cudaPointerAttributes a;
    OK(cudaPointerGetAttributes(&a, device + 3));
    EQ(a.type, cudaMemoryTypeDevice);
    EQ(a.devicePointer, (void *)(device + 3));
    OK(cudaPointerGetAttributes(&a, pinned));
    EQ(a.type, cudaMemoryTypeHost);
    OK(cudaPointerGetAttributes(&a, managed));
    EQ(a.type, cudaMemoryTypeManaged);
    OK(cudaPointerGetAttributes(&a, &a));
    EQ(a.type, cudaMemoryTypeUnregistered);
    cudaMemLocation here = {cudaMemLocationTypeDevice, 0};
    OK(cudaMemPrefetchAsync(managed, n * 4, here, 0, 0));
    OK(cudaMemAdvise(managed, n * 4, cudaMemAdviseSetReadMostly, here));
    RT_ERR(cudaMemAdvise(device, n * 4, cudaMemAdviseSetReadMostly, here), cudaErrorInvalidValue);
    RT_ERR(cudaFree(pinned), cudaErrorInvalidValue);
    RT_ERR(cudaFreeHost(device), cudaErrorInvalidValue);
    RT_ERR(cudaFree(device + 1), cudaErrorInvalidValue);
    OK(cudaFree(device));
    RT_ERR(cudaFree(device), cudaErrorInvalidValue);
    OK(cudaFree(managed));
    OK(cudaFreeHost(pinned));
    OK(cudaFreeHost(mapped));
    OK(cudaFree(0));
    size_t free_bytes, total_bytes;
    OK(cudaMemGetInfo(&free_bytes, &total_bytes));
    EQ(free_bytes > 0 && free_bytes <= total_bytes, true);
    RT_ERR(cudaMalloc(&device, (size_t)1 << 60), cudaErrorMemoryAllocation);
}

// Memory the program made itself, page-locked afterwards: the kernel may use the host's address and the device's.
static void registered()
{
    std::vector<int> v(5000, 1);
    int *alias;
    OK(cudaHostRegister(v.data() + 7, 4000 * 4, cudaHostRegisterMapped));
    RT_ERR(cudaHostRegister(v.data() + 7, 16, 0), cudaErrorHostMemoryAlreadyRegistered);
    OK(cudaHostGetDevicePointer(&alias, v.data() + 7, 0));
    twice<<<16, 256>>>(alias, 4000);
    twice<<<16, 256>>>(v.data() + 7, 4000);
    OK(cudaDeviceSynchronize());
    EQ(v[6], 1);
    EQ(v[7], 4);
    EQ(v[4006], 4);
    v[7] = 10;
    OK(cudaHostUnregister(v.data() + 7));
    EQ(v[7], 10);
    EQ(v[4007], 1);
    v[8] = 5;
    RT_ERR(cudaHostUnregister(v.data() + 7), cudaErrorHostMemoryNotRegistered);
}

static void shapes()
{
    const size_t w = 100, h = 7, d = 3;
    std::vector<unsigned char> in(w * h * d), out(w * h * d, 0);
    for (size_t i = 0; i < in.size(); i++)
        in[i] = (unsigned char)(i * 7);
    unsigned char *flat;
    size_t pitch;
    OK(cudaMallocPitch(&flat, &pitch, w, h));
    EQ(pitch % 256, 0u);
    OK(cudaMemcpy2D(flat, pitch, in.data(), w, w, h, cudaMemcpyHostToDevice));
    OK(cudaMemset2D(flat + 10, pitch, 9, 5, 2));
    OK(cudaMemcpy2D(out.data(), w, flat, pitch, w, h, cudaMemcpyDeviceToHost));
    EQ(out[10], 9);
    EQ(out[w + 14], 9);
    EQ(out[2 * w + 10], in[2 * w + 10]);
    RT_ERR(cudaMemcpy2D(flat, pitch, in.data(), w - 1, w, h, cudaMemcpyHostToDevice), cudaErrorInvalidPitchValue);
    cudaPitchedPtr box;
    OK(cudaMalloc3D(&box, make_cudaExtent(w, h, d)));
    cudaMemcpy3DParms p = {};
    p.srcPtr = make_cudaPitchedPtr(in.data(), w, w, h);
    p.dstPtr = box;
    p.extent = make_cudaExtent(w, h, d);
    p.kind = cudaMemcpyHostToDevice;
    OK(cudaMemcpy3D(&p));
    OK(cudaMemset3D(box, 1, make_cudaExtent(2, 2, 2)));
    cudaMemcpy3DParms q = {};
    q.srcPtr = box;
    q.dstPtr = make_cudaPitchedPtr(out.data(), w, w, h);
    q.extent = p.extent;
    q.kind = cudaMemcpyDeviceToHost;
    OK(cudaMemcpy3DAsync(&q, 0));
    EQ(out[w * h + w + 1], 1);
    EQ(out[2 * w * h + w + 1], in[2 * w * h + w + 1]);
    // arrays: whole, part, back; layered through cudaMemcpy3D
    cudaArray_t array, other;
    cudaChannelFormatDesc desc = cudaCreateChannelDesc<uchar4>();
    OK(cudaMallocArray(&array, &desc, 25, h));
    OK(cudaMallocArray(&other, &desc, 25, h));
    OK(cudaMemcpy2DToArray(array, 0, 0, in.data(), w, w, h, cudaMemcpyHostToDevice));
    OK(cudaMemcpy2DArrayToArray(other, 0, 0, array, 0, 0, w, h, cudaMemcpyDeviceToDevice));
    memset(out.data(), 0, out.size());
    OK(cudaMemcpy2DFromArray(out.data(), w, other, 8, 1, 40, 2, cudaMemcpyDeviceToHost));
    EQ(out[0], in[w + 8]);
    EQ(out[w + 39], in[2 * w + 47]);
    RT_ERR(cudaMemcpy2DToArray(array, 4, 0, in.data(), w, w, h, cudaMemcpyHostToDevice), cudaErrorInvalidValue);
    cudaExtent extent;
    unsigned flags;
    OK(cudaArrayGetInfo(&desc, &extent, &flags, array));
    EQ(extent.width, 25u);
    EQ(desc.w, 8);
    OK(cudaFreeArray(array));
    OK(cudaFreeArray(other));
    OK(cudaFree(box.ptr));
    OK(cudaFree(flat));
    int host = 1;
    RT_ERR(cudaMemcpy(&host, &host, 4, cudaMemcpyHostToDevice), cudaErrorInvalidValue);
    RT_ERR(cudaMemcpy(&host, &host, 4, (cudaMemcpyKind)9), cudaErrorInvalidMemcpyDirection);
    OK(cudaMemcpy(&host, &host, 4, cudaMemcpyHostToHost));
}

static void pools()
{
    cudaStream_t s;
    int *p, *q;
    cudaMemPool_t pool, mine;
    unsigned long long used = 0, threshold = 1 << 20;
    OK(cudaStreamCreate(&s));
    OK(cudaDeviceGetDefaultMemPool(&pool, 0));
    OK(cudaMallocAsync(&p, 4000, s));
    OK(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrUsedMemCurrent, &used));
    EQ(used, 4000u);
    OK(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &threshold));
    cudaMemPoolProps props = {};
    props.allocType = cudaMemAllocationTypePinned;
    props.location.type = cudaMemLocationTypeDevice;
    OK(cudaMemPoolCreate(&mine, &props));
    OK(cudaMallocFromPoolAsync(&q, 100, mine, s));
    OK(cudaMemsetAsync(q, 0, 100, s));
    OK(cudaFreeAsync(q, s));
    OK(cudaFreeAsync(p, s));
    OK(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrUsedMemCurrent, &used));
    EQ(used, 0u);
    OK(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrUsedMemHigh, &used));
    EQ(used, 4000u);
    OK(cudaMemPoolDestroy(mine));
    RT_ERR(cudaMemPoolTrimTo(mine, 0), cudaErrorInvalidValue);
    OK(cudaStreamDestroy(s));
}

int main()
{
    kinds();
    registered();
    shapes();
    pools();
    return check_end();
}

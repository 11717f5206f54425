/* What the program has allocated, as it asked for it; memory that came another way (virtual memory management, other processes)
 * is asked of the driver. */
#include "harness/record_gpu/state.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static KS_VEC(struct ks_record_buffer) all; /* by address, no overlap */
static CUstream reader;
static CUcontext reader_context;

#define MAX_PLACES 16
#define PLACE_BITS 40

static struct {
    uintptr_t lo, hi; /* grow, are read without the lock */
} places[MAX_PLACES];
static int n_places;

static void place_add(uintptr_t lo, uintptr_t hi)
{
    int i = 0;
    while (i < n_places && places[i].lo >> PLACE_BITS != lo >> PLACE_BITS)
        i++;
    if (i == MAX_PLACES)
        return;
    if (i == n_places || lo < places[i].lo)
        __atomic_store_n(&places[i].lo, lo, __ATOMIC_RELAXED);
    if (hi > places[i].hi)
        __atomic_store_n(&places[i].hi, hi, __ATOMIC_RELAXED);
    if (i == n_places)
        __atomic_store_n(&n_places, n_places + 1, __ATOMIC_RELEASE);
}

bool gpu_memory_near(const void *p)
{
    int n = __atomic_load_n(&n_places, __ATOMIC_ACQUIRE);
    for (int i = 0; i < n; i++)
        if ((uintptr_t)p >= __atomic_load_n(&places[i].lo, __ATOMIC_RELAXED) &&
            (uintptr_t)p < __atomic_load_n(&places[i].hi, __ATOMIC_RELAXED))
            return true;
    return false;
}

/* The first that ends behind p. */
static size_t place_of(const unsigned char *p)
{
    size_t lo = 0, hi = all.n;
    while (lo < hi) {
        size_t mid = (lo + hi) / 2;
        if (all.data[mid].base + all.data[mid].size_bytes <= p)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

static void take_out(size_t first, size_t n)
{
    memmove(all.data + first, all.data + first + n, (all.n - first - n) * sizeof *all.data);
    all.n -= n;
}

void gpu_memory_add(const void *base, size_t size_bytes, const char *kind)
{
    struct ks_record_buffer b = {(unsigned char *)(uintptr_t)base, size_bytes, kind};
    if (!base || size_bytes == 0)
        return;
    pthread_mutex_lock(&lock);
    place_add((uintptr_t)base, (uintptr_t)base + size_bytes);
    size_t at = place_of(b.base), n = 0;
    while (at + n < all.n && all.data[at + n].base < b.base + size_bytes) /* of a context that is gone */
        n++;
    if (n)
        take_out(at, n);
    ks_vec_push(&all, b);
    memmove(all.data + at + 1, all.data + at, (all.n - 1 - at) * sizeof *all.data);
    all.data[at] = b;
    pthread_mutex_unlock(&lock);
}

void gpu_memory_remove(const void *base)
{
    pthread_mutex_lock(&lock);
    size_t at = place_of(base);
    if (at < all.n && all.data[at].base == base)
        take_out(at, 1);
    pthread_mutex_unlock(&lock);
}

void gpu_memory_forget_stream(void)
{
    reader = NULL;
    reader_context = NULL;
}

struct attributes {
    CUdeviceptr start;
    size_t size_bytes;
    unsigned type;
    uint64_t managed;
};

static bool ask(const void *p, struct attributes *ret)
{
    CUpointer_attribute names[] = {CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, CU_POINTER_ATTRIBUTE_RANGE_SIZE,
                                   CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CU_POINTER_ATTRIBUTE_IS_MANAGED};
    void *values[] = {&ret->start, &ret->size_bytes, &ret->type, &ret->managed};
    bool inside = gpu_inside;
    gpu_inside = true;
    CUresult r = gpu.cuPointerGetAttributes(4, names, values, (CUdeviceptr)(uintptr_t)p);
    gpu_inside = inside;
    return r == CUDA_SUCCESS;
}

bool gpu_memory_find(const void *p, struct ks_record_buffer *ret)
{
    bool found = false;
    pthread_mutex_lock(&lock);
    size_t at = place_of(p);
    if (at < all.n && all.data[at].base <= (const unsigned char *)p) {
        *ret = all.data[at];
        found = true;
    }
    pthread_mutex_unlock(&lock);
    struct attributes a = {0};
    if (found || (uintptr_t)p < 1 << 16 || (uintptr_t)p >> 57 || !ask(p, &a) || !a.type || !a.start || !a.size_bytes)
        return found;
    ret->base = (unsigned char *)(uintptr_t)a.start;
    ret->size_bytes = a.size_bytes;
    ret->kind = a.managed ? "managed" : a.type == CU_MEMORYTYPE_HOST ? "pinned" : "device";
    return true;
}

unsigned gpu_memory_type(const void *p)
{
    struct attributes a = {0};
    return ask(p, &a) ? a.type : 0;
}

static CUstream reading_stream(void)
{
    CUcontext now = NULL;
    gpu.cuCtxGetCurrent(&now);
    if (!reader || reader_context != now) {
        if (gpu.cuStreamCreate(&reader, CU_STREAM_NON_BLOCKING) != CUDA_SUCCESS)
            reader = NULL;
        reader_context = now;
    }
    return reader;
}

bool gpu_memory_read(const struct ks_record_buffer *b, size_t off_byte, void *to, size_t n)
{
    bool host = strcmp(b->kind, "pinned") == 0 || strcmp(b->kind, "registered") == 0, inside = gpu_inside;
    if (host) {
        memcpy(to, b->base + off_byte, n);
        return true;
    }
    gpu_inside = true;
    CUstream s = reading_stream();
    CUresult r = s ? gpu.cuMemcpyDtoHAsync_v2(to, (CUdeviceptr)(uintptr_t)(b->base + off_byte), n, s) : CUDA_ERROR_UNKNOWN;
    if (r == CUDA_SUCCESS)
        r = gpu.cuStreamSynchronize(s);
    gpu_inside = inside;
    return r == CUDA_SUCCESS;
}

/* Results of the cases of tests/gpu/async, for compare.py: one file, a case after the other.
 *
 *     name how n\n  then n bytes.   how: what the ISA fixes about them
 *         exact       every bit
 *         near-T      floats of 32 bits, up to T times the case's largest magnitude (order of accumulation)
 *         half-T      the same, two halves in a word
 *     A case whose launch failed has n = 0.  It has cost the process its context: the program starts itself again behind that case.
 *
 * PROGRAM OUT [SHARD SHARDS FROM]: of the cases from FROM on every SHARDS-th, SHARD being the first; with FROM, OUT is gone on with. */
#pragma once
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>
#include <cuda_runtime.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static FILE *out_file;
static int cases, refused, shard, shards = 1, from, next_case;
static bool sharded; /* on a card */
static char **own_argv;
static uint32_t noise_state = 1;

static bool open_results(int argc, char **argv)
{
    if (argc != 2 && argc != 5)
        return false;
    if (argc == 5)
        sharded = true, shard = atoi(argv[2]), shards = atoi(argv[3]), from = atoi(argv[4]);
    own_argv = argv;
    out_file = fopen(argv[1], from ? "ab" : "wb");
    return out_file != nullptr;
}
/* Is the next case this process's?  Its contents do not depend on which were before. */
static bool begin_case(void)
{
    int i = next_case++;
    noise_state = 77u + (uint32_t)i * 977u;
    return i >= from && i % shards == shard;
}
static void start_again(void)
{
    char number[16];
    (void)fclose(out_file);
    (void)fflush(stdout);
    snprintf(number, sizeof number, "%d", next_case);
    char text[2][16];
    snprintf(text[0], 16, "%d", shard), snprintf(text[1], 16, "%d", shards);
    execl("/proc/self/exe", own_argv[0], own_argv[1], text[0], text[1], number, (char *)nullptr);
    exit(4);
}
/* n bytes from the device, after everything launched so far. */
static void record(const char *name, const char *how, const void *device, size_t n)
{
    static uint8_t host[1 << 20];
    cudaError_t e = cudaGetLastError();
    e = e ? e : cudaDeviceSynchronize();
    e = e ? e : cudaMemcpy(host, device, n, cudaMemcpyDeviceToHost);
    if (e) {
        printf("%s: %s\n", name, cudaGetErrorString(e));
        refused++;
        n = 0;
    }
    cases++;
    fprintf(out_file, "%s %s %zu\n", name, how, n);
    fwrite(host, 1, n, out_file);
    if (e)
        start_again();
}
static int close_results(void)
{
    printf("%d cases, %d refused\n", cases, refused);
    return fclose(out_file) || refused;
}
static void *device_bytes(const void *from, size_t n)
{
    void *p = nullptr;
    if (cudaMalloc(&p, n) || (from && cudaMemcpy(p, from, n, cudaMemcpyHostToDevice)) || (!from && cudaMemset(p, 0xee, n)))
        exit(3);
    return p;
}
static void launch(const void *kernel, unsigned blocks, unsigned threads, unsigned shared_bytes, unsigned cluster, void **args)
{
    cudaLaunchConfig_t c = {};
    cudaLaunchAttribute a = {};
    c.gridDim = dim3(blocks), c.blockDim = dim3(threads), c.dynamicSmemBytes = shared_bytes;
    a.id = cudaLaunchAttributeClusterDimension;
    a.val.clusterDim.x = cluster, a.val.clusterDim.y = 1, a.val.clusterDim.z = 1;
    c.attrs = &a, c.numAttrs = cluster > 1;
    (void)cudaLaunchKernelExC(&c, kernel, args); /* record() hears of errors */
}

static uint32_t noise(void)
{
    noise_state = noise_state * 1664525u + 1013904223u;
    return noise_state >> 8;
}
static uint32_t bits_of(float f)
{
    uint32_t u;
    memcpy(&u, &f, 4);
    return u;
}

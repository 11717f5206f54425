/* kernels/flash_attention/ on the emulated device, and what tests want to know of its launches. */
#pragma once
#include "kernels/flash_attention/flash_attention.h"
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#ifdef FLASH_BLACKWELL
#define flash_attention_forward flash_attention_forward_sm100
#else
#define flash_attention_forward flash_attention_forward_sm90
#endif

/* Few, so that a CTA has one tile after the other. */
extern int emulated_multiprocessors;

/* The last launch of the kernel proper, and how many there were. */
struct emulated_launch {
    long long n;
    int grid, tiles, counter;
    bool skip; /* launch nothing */
};
extern struct emulated_launch emulated_launch;

/* Counters of tiles (counter.cuh), two numbers each: first those of streams, then those of captured calls, then shared ones. */
extern const int emulated_counters, emulated_stream_counters, emulated_own_counters;
cudaError_t emulated_read_counters(unsigned int *to);
cudaError_t emulated_write_counters(const unsigned int *from);
/* The shared counter of launches of so many tiles and their number of CTAs. */
int emulated_shared_counter(int tiles, int *ret_grid);

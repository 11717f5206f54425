/* Host side: which counter of tiles a launch draws from, and how many CTAs it gets.
 *
 * What can go wrong: two launches that run at once and draw from one counter each get a part of the numbers.  Tiles of both are then never
 * computed, and nobody is told.  So for every launch one of these holds:
 *
 *   1. Its counter is its stream's.  Launches of one stream do not draw at once: the one behind waits (griddepcontrol.wait) for the
 *      end of the one before, which has left the counter at zero.  That holds however many launches are queued, in however many
 *      streams.  A stream is known by its id, which CUDA gives to no other stream as long as the program lives; a counter never
 *      changes its stream.  cudaStreamPerThread is another stream in every thread: a number of the thread stands for it.
 *   2. It is captured, and its counter is that of this one captured call for as long as the program lives, whatever becomes of the
 *      graph.  So only the call itself can draw beside it, replayed from two instances or clones of its graph at once: two writers of
 *      one O, which nobody may ask for.  Should they have the same Q, K and V all the same, every tile is drawn by one or the
 *      other, O is right when both have ended, and the counter at zero.
 *   3. There is a CTA for every tile.  Then what is drawn does not matter as long as it is not negative: CTA i has tile i, and
 *      i + gridDim.x and all after it are past the last one.  Any number of such launches may share a counter.  That is for programs
 *      that have used up the counters of 1 or 2.
 *
 * That no number drawn is negative, in 3: launches that share a counter have the same number of CTAs, G (rounded up by at most a
 * sixteenth; the CTAs too many find no tile and end).  Every one adds 1 to `next`, or nothing, and then 1 to `ended`; who finds
 * ended = G - 1 sets both to zero.  ended counts up in steps of one, so it meets G - 1 in every G steps; between two zeros
 * `next` grows by G and by what is drawn while the zero is on its way, a few multiprocessors' worth.  With G <= FA_MOST and a
 * sixteenth, next + G stays below 2^31.
 *
 * Counters are module memory: every device, and every context of it, has its own. */
#pragma once
#include "kernels/flash_attention/schedule.cuh"
#include <cuda_runtime_api.h>

/* Of FA_COUNTERS: those of streams (1), of captured calls (2), shared ones (3). */
static constexpr int FA_STREAMS = 8192, FA_SHARED = 512, FA_CAPTURED = FA_COUNTERS - FA_STREAMS - FA_SHARED;
static constexpr int FA_PROBES = 64;

static unsigned long long fa_streams[FA_STREAMS]; /* whose counter it is, 0: nobody's yet */
static unsigned long long fa_threads;             /* how many have had a number */
static long long fa_captured;                     /* calls so far */

static unsigned long long fa_thread_number(void)
{
    static thread_local unsigned long long number;
    if (!number)
        number = __atomic_add_fetch(&fa_threads, 1, __ATOMIC_RELAXED);
    return number;
}

/* The counter of a stream, or -1 when there is none left.  Any number of threads may call. */
static int fa_counter_of(unsigned long long stream)
{
    unsigned long long at = stream * 0x9e3779b97f4a7c15ull >> 32;
    for (int i = 0; i < FA_PROBES; i++) {
        int slot = (int)((at + i) % FA_STREAMS);
        unsigned long long whose = __atomic_load_n(&fa_streams[slot], __ATOMIC_RELAXED);
        if (whose == 0 && __atomic_compare_exchange_n(&fa_streams[slot], &whose, stream, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
            return slot;
        if (whose == stream) /* also when another thread was quicker */
            return slot;
    }
    return -1;
}

/* The shared counter of launches with a CTA for each of so many tiles, and how many CTAs those have. */
static int fa_shared_counter(int tiles, int *ret_grid)
{
    int shift = 0;
    while (tiles >> shift >= 32)
        shift++;
    int sixteenths = (int)(((int64_t)tiles + (1 << shift) - 1) >> shift); /* 1 to 31, or 16 to 32 */
    *ret_grid = sixteenths << shift;
    return FA_STREAMS + FA_CAPTURED + shift * 16 + sixteenths;
}

/* Sets s->counter and the size of the grid for a launch on `stream` of a device with sm_count multiprocessors. */
static cudaError_t fa_choose_counter(fa_shape *s, int sm_count, cudaStream_t stream, int *ret_grid)
{
#ifdef CUDA_API_PER_THREAD_DEFAULT_STREAM
    bool per_thread = stream == NULL || stream == cudaStreamPerThread;
#else
    bool per_thread = stream == cudaStreamPerThread;
#endif
    cudaStreamCaptureStatus capture;
    unsigned long long id = 0;
    int counter = -1;
    cudaError_t e = cudaStreamIsCapturing(stream, &capture);
    if (e != cudaSuccess)
        return e;
    if (capture == cudaStreamCaptureStatusNone) {
        if (!per_thread && (e = cudaStreamGetId(stream, &id)) != cudaSuccess)
            return e;
        counter = fa_counter_of(per_thread ? fa_thread_number() << 1 | 1 : (id + 1) << 1);
    } else {
        long long number = __atomic_fetch_add(&fa_captured, 1, __ATOMIC_RELAXED);
        counter = number < FA_CAPTURED ? FA_STREAMS + (int)number : -1;
    }
    *ret_grid = s->tiles < sm_count ? s->tiles : sm_count;
    s->counter = counter >= 0 ? counter : fa_shared_counter(s->tiles, ret_grid);
    return cudaSuccess;
}

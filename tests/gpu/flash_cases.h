/* The ragged cases of attention: on a GPU all (flash_attention_check.cu), on the emulated device those that fit. */
#pragma once
#include <stdint.h>

enum distribution { NORMAL, TIMES_10, HOT_ROW, EQUAL_ROWS, SPIKES, SHIFTED, DISTRIBUTIONS };
static const char *const distribution_name[] = {"normal", "x10", "hot-row", "equal-rows", "spikes", "shifted"};

/* gap: extra elements between rows; offset: elements the pointers are off 16-byte alignment; heads_first: [B, H, S, D] */
struct test_case {
    int dtype, dim, heads_q, heads_kv, batch, seqlen_q, seqlen_k, causal, dist, gap, offset, heads_first, lse;
    float scale; /* 0: 1 / sqrt(dim) */
};

static const int LENGTHS[] = {1, 17, 63, 64, 65, 113, 127, 128, 129, 511, 512, 513, 1000, 2047, 4099};
static const int HEADS[][2] = {{1, 1}, {3, 1}, {3, 3}, {7, 7}, {7, 1}, {4, 2}, {8, 2}, {6, 2}};

/* Draws from all axes at once; every length is met on both sides, with both masks, by every instance. */
static void run_ragged(int cases, void (*run_case)(const struct test_case *))
{
    uint32_t x = 12345;
    for (int i = 0; i < cases; i++) {
        auto draw = [&](int n) { return (int)((x = x * 1664525u + 1013904223u) >> 8) % n; };
        struct test_case t = {};
        t.dim = 64 << i % 3;
        t.causal = i / 3 % 2;
        t.dtype = i / 6 % 2;
        t.seqlen_q = LENGTHS[(i / 12 + draw(2) * 7) % 15];
        t.seqlen_k = LENGTHS[draw(15)];
        int h = draw(8);
        t.heads_q = HEADS[h][0], t.heads_kv = HEADS[h][1];
        t.batch = (int[]){1, 2, 3, 5}[draw(4)];
        t.dist = draw(DISTRIBUTIONS);
        t.heads_first = draw(2);
        t.gap = (int[]){0, 0, 8, 64, 3}[draw(5)];
        t.offset = (int[]){0, 0, 0, 8, 1}[draw(5)];
        t.lse = draw(4) > 0;
        t.scale = (float[]){0, 0, 0, 0.5f, -0.1f}[draw(5)];
        run_case(&t);
    }
}

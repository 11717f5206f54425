/* Arguments of attention that are refused with cudaErrorInvalidValue and nothing launched: each spoils a call that is taken.  On a GPU
 * (flash_attention_check.cu) and on the emulated device (flash_contract.cu). */
#pragma once
#include "kernels/flash_attention/flash_attention.h"
#include <limits.h>

struct refusal {
    const char *what;
    void (*spoil)(struct flash_attention_args *a);
};

#define REFUSAL(...) {#__VA_ARGS__, [](struct flash_attention_args *a) { __VA_ARGS__; }}
static const struct refusal refusals[] = {
    REFUSAL(a->q = NULL),
    REFUSAL(a->k = NULL),
    REFUSAL(a->v = NULL),
    REFUSAL(a->o = NULL),
    REFUSAL(a->q = (const char *)a->q + 1),
    REFUSAL(a->k = (const char *)a->k + 1),
    REFUSAL(a->v = (const char *)a->v + 1),
    REFUSAL(a->o = (char *)a->o + 1),
    REFUSAL(a->lse = (float *)((char *)a->lse + 1)),
    REFUSAL(a->lse = (float *)((char *)a->lse + 2)),
    REFUSAL(a->batch = 0),
    REFUSAL(a->batch = -1),
    REFUSAL(a->seqlen_q = 0),
    REFUSAL(a->seqlen_q = -1),
    REFUSAL(a->seqlen_k = 0),
    REFUSAL(a->seqlen_k = INT_MIN),
    REFUSAL(a->heads_q = 0),
    REFUSAL(a->heads_q = -4),
    REFUSAL(a->heads_kv = 0),
    REFUSAL(a->heads_kv = -2),
    REFUSAL(a->heads_q = 3),
    REFUSAL(a->heads_kv = 3),
    REFUSAL(a->heads_kv = 8),
    REFUSAL(a->head_dim = 0),
    REFUSAL(a->head_dim = -64),
    REFUSAL(a->head_dim = 32),
    REFUSAL(a->head_dim = 63),
    REFUSAL(a->head_dim = 96),
    REFUSAL(a->head_dim = 129),
    REFUSAL(a->head_dim = 192),
    REFUSAL(a->head_dim = 512),
    REFUSAL(a->dtype = (enum flash_attention_dtype)2),
    REFUSAL(a->dtype = (enum flash_attention_dtype)-1),
    REFUSAL(a->causal = 2),
    REFUSAL(a->causal = -1),
    REFUSAL(a->seqlen_q = INT_MAX),
    REFUSAL(a->seqlen_k = INT_MAX),
    REFUSAL(a->seqlen_q = a->seqlen_k = 1 << 28),
    REFUSAL(a->batch = INT_MAX),
    REFUSAL(a->batch = INT_MAX, a->heads_q = a->heads_kv = INT_MAX),
    REFUSAL(a->heads_q = INT_MAX, a->heads_kv = 1),
    /* four row blocks a tile: 2^30 - 1 tiles, but 2^32 - 4 row blocks */
    REFUSAL(a->heads_q = INT_MAX - 1, a->heads_kv = 1, a->batch = 1),
    REFUSAL(a->heads_q = 1 << 23, a->heads_kv = 1, a->seqlen_q = 64 << 8, a->batch = 1),
};
static const int n_refusals = sizeof(refusals) / sizeof(refusals[0]);

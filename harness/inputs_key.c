/* Everything that is derived from the session's secret; the worker, which must not know it, does not contain this file. */
#include "harness/inputs.h"

#include "base/hash.h"

#include <stdlib.h>
#include <string.h>

static void digest(const uint8_t secret[32], const char *use, uint64_t call, uint32_t which, uint64_t ret[1])
{
    struct ks_hash h;
    char hex[65];
    ks_hash_init(&h);
    ks_hash_update(&h, secret, 32);
    ks_hash_update_field(&h, use, strlen(use));
    ks_hash_update(&h, &call, sizeof call);
    ks_hash_update(&h, &which, sizeof which);
    ks_hash_final_hex(&h, hex);
    hex[16] = 0;
    ret[0] = strtoull(hex, NULL, 16);
}

void ks_inputs_key(const uint8_t secret[32], uint64_t call, uint32_t buffer, uint32_t ret_key[2])
{
    uint64_t d;
    digest(secret, "input", call, buffer, &d);
    ret_key[0] = (uint32_t)d;
    ret_key[1] = (uint32_t)(d >> 32);
}

uint64_t ks_inputs_choice(const uint8_t secret[32], uint64_t call, uint32_t what, uint64_t bound)
{
    uint64_t d;
    digest(secret, "choice", call, what, &d);
    return bound ? ks_mulhi64(d, bound) : d;
}

/* 0x7ff8..0x7fff in both halves (sign varies): quiet NaN as half, bf16, float and double. */
uint32_t ks_inputs_poison(const uint8_t secret[32], uint64_t call)
{
    uint64_t d;
    digest(secret, "poison", call, 0, &d);
    return 0x7ff87ff8u | ((uint32_t)d & 0x00070007u) | ((uint32_t)(d >> 32) & 1u ? 0x80000000u : 0u);
}

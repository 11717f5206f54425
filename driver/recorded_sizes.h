#ifndef KS_DRIVER_RECORDED_SIZES_H
#define KS_DRIVER_RECORDED_SIZES_H

/* Numbers of one recorded launch as expressions over its integer arguments: a guess for a person to judge, from one launch. */

#include "base/str.h"

#include <stdint.h>

#define KS_MAX_SIZES 8

struct ks_sizes {
    struct {
        const char *name;
        int64_t value; /* at least 2: smaller ones say nothing */
        bool used;
    } item[KS_MAX_SIZES];
    size_t n;
};

void ks_sizes_add(struct ks_sizes *s, const char *name, int64_t value);
/* A length of `n` elements: "n", "n*m", "n+1", else the number. */
void ks_sizes_length(struct ks_sizes *s, int64_t n, struct ks_str *out);
/* `blocks` of `threads` each in one direction, as C: "1", "n", "(n + 255) / 256".  False: none of these, and the number is
 * appended. */
bool ks_sizes_grid(struct ks_sizes *s, uint32_t blocks, uint32_t threads, struct ks_str *out);

#endif

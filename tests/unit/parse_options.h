#ifndef KS_TESTS_UNIT_PARSE_OPTIONS_H
#define KS_TESTS_UNIT_PARSE_OPTIONS_H

/* What a parse needs, as the driver makes it of a line; nvcc and its host compiler are asked once for each test program. */

#include "driver/nvcc.h"
#include "driver/parse_line.h"

static inline void parse_options(char *const *words, struct ks_arena *arena, struct ks_parse_options *ret)
{
    static struct ks_arena keep;
    static struct ks_parse_options asked;
    if (!asked.cuda_path) {
        static struct ks_toolkit toolkit;
        struct ks_err err;
        char *const nothing[] = {(char *)"nvcc", NULL};
        ks_arena_init(&keep);
        if (ks_toolkit_query(KSCC_CUDA_ROOT "/bin/nvcc", &toolkit, &err) != KS_OK)
            toolkit.version = NULL; /* the tests that need it fail */
        ks_parse_options_of(nothing, KSCC_CUDA_ROOT, toolkit.version, &keep, &asked);
        asked.shim_dir = KSCC_SOURCE_DIR "/analyzer/shim";
    }
    *ret = asked;
    ks_parse_line(words, arena, ret);
}

#endif

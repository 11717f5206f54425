#ifndef KS_TESTS_SESSION_FIXTURE_H
#define KS_TESTS_SESSION_FIXTURE_H

/* A session on the emulated device over one contract text, for the tests of sessions. */

#include "harness/session_impl.h"

#include "base/file.h"
#include "tests/unit/test.h"

#define FIXTURE_POINTER(name_, text, is_const)                                                                                   \
    {                                                                                                                            \
        .name = name_, .kind = KS_PARAM_POINTER, .spelling = text, .pointee = KS_DT_FLOAT, .pointee_known = true,                \
        .pointee_bytes = 4, .pointee_const = is_const                                                                            \
    }
/* of void scale(const float *x, float *y, int n, float a), or of its first three */
static const struct ks_param scale_params[] = {
    FIXTURE_POINTER("x", "const float *", true),
    FIXTURE_POINTER("y", "float *", false),
    {.name = "n", .kind = KS_PARAM_I32, .spelling = "int"},
    {.name = "a", .kind = KS_PARAM_F32, .spelling = "float"},
};

struct fixture {
    struct ks_arena arena;
    struct ks_diags diags;
    struct ks_contract *contracts;
    char *work;
    struct ks_session *session;
};

/* `o` brings the unit's path, the signature, the secret and what else differs; the rest is filled in.  close_session() in any
 * case. */
static inline enum ks_code fixture_open(struct fixture *f, const char *text, struct ks_session_options o, struct ks_err *err)
{
    /* C++14: the headers of the default, C++17, are a third of each build. */
    char *argv[] = {KSCC_CUDA_ROOT "/bin/nvcc", "-std=c++14", "-c", (char *)o.unit_path, NULL};
    size_t n = 0;
    memset(f, 0, sizeof *f);
    ks_arena_init(&f->arena);
    ks_diags_init(&f->diags);
    KS_TRY(ks_dir_make_temp("kscc-test", &f->work, err));
    KS_TRY(ks_contracts_parse(o.unit_path, text, strlen(text), &f->arena, &f->diags, &f->contracts, &n, err));
    o.source = text;
    o.source_len = strlen(text);
    o.nvcc_argv = argv; /* the session copies it */
    o.input_index = 3;
    o.contract = f->contracts;
    o.device = KS_DEVICE_EMULATED;
    o.arch = "sm_90a";
    o.work_dir = f->work;
    o.bin_dir = KSCC_BUILD_DIR "/bin";
    o.delta = 0.02;
    o.regress_limit = 0.01;
    o.trial_timeout_ms = 60000;
    return ks_session_new(&o, &f->session, err);
}

static inline void close_session(struct fixture *f)
{
    struct ks_err err;
    ks_session_free(f->session);
    if (f->work)
        CHECK_OK(ks_dir_remove(f->work, &err));
    free(f->work);
    ks_diags_release(&f->diags);
    ks_arena_release(&f->arena);
}

#endif

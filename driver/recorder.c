#include "driver/recorder.h"

#include "base/file.h"
#include "driver/nvcc.h"
#include "driver/paths.h"
#include "driver/run_emulated.h"
#include "harness/cupti_find.h"
#include "harness/session.h"

#include <stdlib.h>

/* Which libcupti.so the recorder opens; the loader's own names are tried besides. */
static void add_cupti(const struct ks_settings *s, struct ks_args *out)
{
    KS_AUTO_FREE char *nvcc = NULL;
    KS_AUTO_STR struct ks_str bin = KS_STR_INIT, top = KS_STR_INIT, path = KS_STR_INIT;
    struct ks_err ignored;
    if (ks_nvcc_find(s->nvcc, &nvcc, &ignored) == KS_OK) {
        KS_AUTO_FREE char *real = realpath(nvcc, NULL);
        ks_path_dir(&bin, real ? real : nvcc);
        ks_str_addf(&top, "%s/..", ks_str_cstr(&bin));
    }
    if (ks_cupti_find(top.len ? ks_str_cstr(&top) : NULL, &path))
        ks_args_addf(out, "KSCC_RECORD_CUPTI=%s", ks_str_cstr(&path));
}

/* *ret_library: the recorder's; empty: the program runs on the emulated device. */
static enum ks_code choose(const struct ks_settings *s, struct ks_str *library, struct ks_err *err)
{
    bool asked = s->device.choice == KS_CHOOSE_CUDA;
    if (s->device.choice == KS_CHOOSE_EMULATED || s->device.host[0] || s->device.batch)
        return KS_OK;
    int n = ks_device_count_cuda(NULL, 0, NULL, 0);
    if (n <= 0)
        return !asked ? KS_OK
                      : ks_fail(err, KS_ERR_DEVICE,
                                "cannot record on a GPU: none is present or libcuda.so.1 is missing "
                                "(--kscc-device=emulated records without one)");
    ks_paths_recorder(library);
    if (library->len == 0 && asked)
        return ks_fail(err, KS_ERR_NOT_FOUND,
                       "cannot record on a GPU: this kscc has no libkscc-record.so (it was built without CUPTI's headers)");
    return KS_OK;
}

bool ks_recorder_is_gpu(const struct ks_settings *s)
{
    KS_AUTO_STR struct ks_str library = KS_STR_INIT;
    struct ks_err ignored;
    return choose(s, &library, &ignored) == KS_OK && library.len > 0;
}

enum ks_code ks_recorder_environment(const struct ks_settings *s, const char *dir, struct ks_args *out, bool *ret_gpu,
                                     struct ks_err *err)
{
    KS_AUTO_STR struct ks_str library = KS_STR_INIT;
    KS_TRY(choose(s, &library, err));
    if (library.len) {
        ks_args_addf(out, "CUDA_INJECTION64_PATH=%s", ks_str_cstr(&library));
        add_cupti(s, out);
    } else {
        KS_TRY(ks_run_emulated_words(s, out, err));
    }
    ks_args_addf(out, "KSCC_RECORD=%s", dir);
    *ret_gpu = library.len > 0;
    return KS_OK;
}

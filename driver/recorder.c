#include "driver/recorder.h"

#include "base/file.h"
#include "driver/nvcc.h"
#include "driver/paths.h"
#include "driver/run_emulated.h"
#include "harness/session.h"

#include <stdlib.h>

#define CUPTI_VARIABLE "KSCC_RECORD_CUPTI" /* which libcupti.so the recorder opens */

/* Where toolkits have CUPTI; the loader's own names are tried besides. */
static void add_cupti(const struct ks_settings *s, struct ks_args *out)
{
    static const char *const folders[] = {"lib64", "extras/CUPTI/lib64", "targets/x86_64-linux/lib", "lib"};
    static const char *const names[] = {"libcupti.so.13", "libcupti.so.12"};
    KS_AUTO_FREE char *nvcc = NULL;
    struct ks_err ignored;
    if (getenv(CUPTI_VARIABLE) || ks_nvcc_find(s->nvcc, &nvcc, &ignored) != KS_OK)
        return;
    KS_AUTO_FREE char *real = realpath(nvcc, NULL);
    KS_AUTO_STR struct ks_str bin = KS_STR_INIT;
    ks_path_dir(&bin, real ? real : nvcc);
    for (size_t i = 0; i < sizeof(folders) / sizeof(*folders) * 2; i++) {
        KS_AUTO_STR struct ks_str path = KS_STR_INIT;
        ks_str_addf(&path, "%s/../%s/%s", ks_str_cstr(&bin), folders[i / 2], names[i % 2]);
        if (ks_file_exists(ks_str_cstr(&path))) {
            ks_args_addf(out, CUPTI_VARIABLE "=%s", ks_str_cstr(&path));
            return;
        }
    }
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

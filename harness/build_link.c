/* What a candidate's object is linked with, and what the host compiler can do. */
#include "harness/build_impl.h"

#include "harness/fresh.h"
#include "harness/protocol.h"
#include "base/file.h"

#include <string.h>

/* The host compiler must be the same. */
static void host_compiler_words(const struct ks_session_options *opt, struct ks_args *out)
{
    for (size_t i = 1; opt->nvcc_argv[i]; i++) {
        const char *w = opt->nvcc_argv[i];
        if ((strcmp(w, "-ccbin") == 0 || strcmp(w, "--compiler-bindir") == 0) && opt->nvcc_argv[i + 1]) {
            ks_args_add(out, w);
            ks_args_add(out, opt->nvcc_argv[++i]);
        } else if (ks_str_starts(w, "-ccbin=") || ks_str_starts(w, "--compiler-bindir=")) {
            ks_args_add(out, w);
        }
    }
}

/* A C text of ours through nvcc, `option` handed to the host compiler. */
static enum ks_code own_object(const struct ks_session_options *opt, const char *dir, const char *text, const char *source,
                               const char *option, const char *object, int64_t timeout_ms, struct ks_str *log, struct ks_err *err)
{
    KS_AUTO_ARGS struct ks_args a;
    ks_args_init(&a);
    KS_TRY(ks_file_write_atomic(source, text, strlen(text), 0644, err));
    struct ks_session_options plain = *opt;
    plain.confined_to = NULL;
    ks_args_add(&a, opt->nvcc_argv[0]);
    host_compiler_words(opt, &a);
    ks_args_add(&a, "-Xcompiler");
    ks_args_add(&a, option);
    ks_args_add(&a, "-c");
    ks_args_add(&a, source);
    ks_args_add(&a, "-o");
    ks_args_add(&a, object);
    return ks_build_tool(&plain, dir, &a, "nvcc", timeout_ms, log, err);
}

/* The object's runtime may be its own (a static one): its last error is asked for by a function beside the candidate's.  Built
 * once a session. */
static enum ks_code last_error_object(const struct ks_session_options *opt, int64_t timeout_ms, struct ks_str *ret_path,
                                      struct ks_str *log, struct ks_err *err)
{
    static const char text[] = "extern int cudaGetLastError(void);\n"
                               "__attribute__((visibility(\"default\"))) int " KS_LAST_ERROR_SYMBOL "(void);\n"
                               "int " KS_LAST_ERROR_SYMBOL "(void)\n{\n    return cudaGetLastError();\n}\n";
    KS_AUTO_STR struct ks_str dir = KS_STR_INIT, source = KS_STR_INIT;
    ks_path_join(&dir, opt->work_dir, KS_LAST_ERROR_DIR);
    ks_path_join(ret_path, dir.data, "last_error.o");
    if (ks_file_exists(ret_path->data))
        return KS_OK;
    KS_TRY(ks_dir_make(dir.data, err));
    ks_path_join(&source, dir.data, "last_error.c");
    return own_object(opt, dir.data, text, source.data, "-fPIC", ret_path->data, timeout_ms, log, err);
}

/* Whether the host compiler knows an option: it is asked once a session. */
bool ks_build_host_takes(const struct ks_session_options *opt, const char *dir, const char *option, int64_t timeout_ms)
{
    KS_AUTO_STR struct ks_str folder = KS_STR_INIT, source = KS_STR_INIT, object = KS_STR_INIT, no = KS_STR_INIT,
                              log = KS_STR_INIT;
    struct ks_err ignored;
    ks_path_join(&folder, opt->work_dir, KS_LAST_ERROR_DIR);
    ks_path_join(&object, folder.data, "option.o");
    ks_path_join(&no, folder.data, "option.no");
    ks_path_join(&source, folder.data, "option.c");
    if (ks_file_exists(object.data) || ks_file_exists(no.data))
        return ks_file_exists(object.data);
    static const char text[] = "int kscc_option(void);\nint kscc_option(void)\n{\n    return 0;\n}\n";
    if (ks_dir_make(folder.data, &ignored) != KS_OK)
        return false;
    if (own_object(opt, dir, text, source.data, option, object.data, timeout_ms, &log, &ignored) == KS_OK &&
        ks_file_exists(object.data))
        return true;
    enum ks_code noted = ks_file_write_atomic(no.data, "", 0, 0644, &ignored);
    (void)noted; /* else it is asked again */
    return false;
}

/* What the object allocates comes without a past: its calls are led to functions of ours beside it.  Without any, the object
 * itself. */
static enum ks_code fresh_object(const struct ks_session_options *opt, const struct ks_built *b, const char *dir,
                                 int64_t timeout_ms, struct ks_args *link, struct ks_str *log, struct ks_err *err)
{
    KS_AUTO_STR struct ks_str map = KS_STR_INIT, text = KS_STR_INIT, path = KS_STR_INIT, option = KS_STR_INIT;
    for (size_t i = 0; i < b->object.n_symbols; i++)
        if (!b->object.symbols[i].defined)
            ks_fresh_add("__kscc_", b->object.symbols[i].name, &map, &text);
    if (map.len == 0) {
        ks_args_add(link, b->object_path);
        return KS_OK;
    }
    ks_path_join(&path, dir, "fresh.map");
    KS_TRY(ks_file_write_atomic(path.data, map.data, map.len, 0644, err));
    ks_str_addf(&option, "--redefine-syms=%s", path.data);
    ks_path_join(&path, dir, "fresh.c");
    KS_TRY(ks_file_write_atomic(path.data, text.data, text.len, 0644, err));
    ks_args_add(link, path.data);
    ks_path_join(&path, dir, "unit.fresh.o");
    ks_args_add(link, path.data);
    KS_AUTO_ARGS struct ks_args a;
    ks_args_init(&a);
    ks_args_add(&a, "objcopy");
    ks_args_add(&a, option.data);
    ks_args_add(&a, b->object_path);
    ks_args_add(&a, path.data);
    return ks_build_tool(opt, dir, &a, "objcopy", timeout_ms, log, err);
}

enum ks_code ks_build_link(const struct ks_session_options *opt, const struct ks_built *b, int64_t timeout_ms, struct ks_str *log,
                           struct ks_err *err)
{
    KS_AUTO_ARGS struct ks_args a;
    KS_AUTO_STR struct ks_str last_error = KS_STR_INIT, dir = KS_STR_INIT;
    ks_args_init(&a);
    KS_TRY(last_error_object(opt, timeout_ms, &last_error, log, err));
    ks_path_dir(&dir, b->object_path);
    ks_args_add(&a, opt->nvcc_argv[0]);
    host_compiler_words(opt, &a);
    ks_args_add(&a, "-shared");
    ks_args_add(&a, "-Xcompiler");
    ks_args_add(&a, "-fPIC");
    ks_args_add(&a, "-cudart");
    ks_args_add(&a, opt->device == KS_DEVICE_EMULATED ? "none" : "static");
    KS_TRY(fresh_object(opt, b, ks_str_cstr(&dir), timeout_ms, &a, log, err));
    ks_args_add(&a, last_error.data);
    ks_args_add(&a, "-o");
    ks_args_add(&a, b->shared_path);
    return ks_build_tool(opt, ks_str_cstr(&dir), &a, "nvcc (link)", timeout_ms, log, err);
}

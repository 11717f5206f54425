#include "harness/build.h"

#include "harness/build_impl.h"

#include "harness/protocol.h"

#include "harness/confine.h"

#include "base/file.h"
#include "base/hash.h"
#include "base/process.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

extern char **environ;

#define CANDIDATE_MEMORY_BYTES ((size_t)8 << 30) /* address space of each program that builds a candidate */

/* Words of the user's command line that a workload build leaves out; `value`: how the option takes one. */
static const struct {
    const char *name;
    enum { ALONE, NEXT_OR_JOINED } value; /* "-x v" and "-x=v" */
} dropped[] = {
    {"--arch", NEXT_OR_JOINED},
    {"--code", NEXT_OR_JOINED},
    {"--compile", ALONE},
    {"--cubin", ALONE},
    {"--cudart", NEXT_OR_JOINED},
    {"--dependency-output", NEXT_OR_JOINED},
    {"--dependency-target-name", NEXT_OR_JOINED},
    {"--device-c", ALONE},
    {"--device-w", ALONE},
    {"--fatbin", ALONE},
    {"--generate-code", NEXT_OR_JOINED},
    {"--generate-dependencies", ALONE},
    {"--generate-dependencies-with-compile", ALONE},
    {"--generate-dependency-targets", ALONE},
    {"--generate-line-info", ALONE},
    {"--generate-nonsystem-dependencies", ALONE},
    {"--generate-nonsystem-dependencies-with-compile", ALONE},
    {"--gpu-architecture", NEXT_OR_JOINED},
    {"--gpu-code", NEXT_OR_JOINED},
    {"--keep", ALONE},
    {"--output-file", NEXT_OR_JOINED},
    {"--preprocess", ALONE},
    {"--ptx", ALONE},
    {"--relocatable-device-code", NEXT_OR_JOINED},
    {"--threads", NEXT_OR_JOINED},
    {"-M", ALONE},
    {"-MD", ALONE},
    {"-MF", NEXT_OR_JOINED},
    {"-MM", ALONE},
    {"-MMD", ALONE},
    {"-MP", ALONE},
    {"-MT", NEXT_OR_JOINED},
    {"-arch", NEXT_OR_JOINED},
    {"-c", ALONE},
    {"-code", NEXT_OR_JOINED},
    {"-cubin", ALONE},
    {"-cudart", NEXT_OR_JOINED},
    {"-dc", ALONE},
    {"-dw", ALONE},
    {"-fatbin", ALONE},
    {"-gencode", NEXT_OR_JOINED},
    {"-keep", ALONE},
    {"-lineinfo", ALONE},
    {"-o", NEXT_OR_JOINED},
    {"-ptx", ALONE},
    {"-rdc", NEXT_OR_JOINED},
    {"-t", NEXT_OR_JOINED},
    {"-E", ALONE},
};

/* How many words of argv at `word` are dropped: 0, 1 or 2. */
static size_t words_dropped(const char *word)
{
    for (size_t i = 0; i < sizeof dropped / sizeof *dropped; i++) {
        size_t n = strlen(dropped[i].name);
        if (strcmp(word, dropped[i].name) == 0)
            return dropped[i].value == ALONE ? 1 : 2;
        if (dropped[i].value == NEXT_OR_JOINED && strncmp(word, dropped[i].name, n) == 0 && word[n] == '=')
            return 1;
    }
    return 0;
}

void ks_build_flags(const struct ks_session_options *opt, struct ks_args *out)
{
    for (size_t i = 1; opt->nvcc_argv[i]; i++) {
        if (i == opt->input_index)
            continue;
        size_t n = words_dropped(opt->nvcc_argv[i]);
        if (n == 0)
            ks_args_add(out, opt->nvcc_argv[i]);
        else if (n == 2 && opt->nvcc_argv[i + 1])
            i++;
    }
}

/* nvcc's own environment flags are already in nvcc_argv.  A fixed date makes __DATE__ and __TIME__ the same in every build. */
static char **build_environment(char *tmp)
{
    size_t n = 0, k = 0;
    while (environ[n])
        n++;
    char **env = ks_xcalloc(n + 4, sizeof *env);
    for (size_t i = 0; i < n; i++)
        if (!ks_str_starts(environ[i], "NVCC_APPEND_FLAGS=") && !ks_str_starts(environ[i], "NVCC_PREPEND_FLAGS=") &&
            !ks_str_starts(environ[i], "SOURCE_DATE_EPOCH=") && !ks_str_starts(environ[i], "TMPDIR="))
            env[k++] = environ[i];
    env[k++] = (char *)"SOURCE_DATE_EPOCH=0";
    env[k++] = (char *)"CCACHE_DISABLE=1"; /* its folder cannot be written where a candidate is built */
    env[k++] = tmp;
    return env;
}

/* The first line that names an error, for a one-line message. */
static void first_error(const struct ks_str *log, struct ks_str *out)
{
    const char *text = ks_str_cstr(log), *fallback = NULL;
    for (const char *p = text; *p;) {
        const char *end = strchr(p, '\n');
        size_t n = end ? (size_t)(end - p) : strlen(p);
        if (n > 0 && !fallback)
            fallback = p;
        if (memmem(p, n, "error", 5)) {
            ks_str_addn(out, p, n);
            return;
        }
        p += n + (end != NULL);
    }
    if (fallback)
        ks_str_addn(out, fallback, strcspn(fallback, "\n"));
}

enum ks_code ks_build_tool(const struct ks_session_options *opt, const char *dir, struct ks_args *argv, const char *what,
                           int64_t timeout_ms, struct ks_str *log, struct ks_err *err)
{
    KS_AUTO_STR struct ks_str tmp = KS_STR_INIT;
    KS_AUTO_ARGS struct ks_args confined;
    ks_str_addf(&tmp, "TMPDIR=%s", dir);
    KS_AUTO_FREE char **env = build_environment(tmp.data);
    ks_args_init(&confined);
    if (opt->confined_to)
        ks_confine_command(opt, dir, argv, &confined);
    struct ks_spawn s;
    ks_spawn_init(&s);
    s.argv = opt->confined_to ? confined.v : argv->v;
    s.envp = env;
    s.own_group = true;
    s.die_with_parent = true;
    s.timeout_ms = timeout_ms;
    if (opt->confined_to)
        s.memory_limit_bytes = CANDIDATE_MEMORY_BYTES;
    struct ks_exit e;
    KS_AUTO_STR struct ks_str out = KS_STR_INIT, errout = KS_STR_INIT;
    KS_TRY(ks_process_run(&s, &out, &errout, &e, err));
    ks_str_addn(log, out.data, out.len);
    ks_str_addn(log, errout.data, errout.len);
    if (e.kind == KS_EXIT_TIMEOUT)
        return ks_fail(err, KS_ERR_TIMEOUT, "%s did not end within %.0f s", what, (double)timeout_ms / 1e3);
    if (ks_exit_ok(&e))
        return KS_OK;
    KS_AUTO_STR struct ks_str line = KS_STR_INIT, how = KS_STR_INIT;
    first_error(log, &line);
    ks_exit_describe(&e, &how);
    return ks_fail(err, KS_ERR_BUILD, "%s %s: %s", what, ks_str_cstr(&how), line.len ? line.data : "no message");
}

/* The number behind "sm_": "90a". */
static const char *arch_number(const struct ks_session_options *opt)
{
    return ks_str_starts(opt->arch, "sm_") ? opt->arch + 3 : opt->arch;
}

/* nvcc writes the whole path of a file into PTX as it stands, and ptxas stumbles over a quote in it: in such a folder the file is
 * named by way of a folder without one. */
static const char *plain_cwd(const char *path)
{
    char cwd[PATH_MAX];
    return path[0] != '/' && getcwd(cwd, sizeof(cwd)) && strpbrk(cwd, "\"\\\n") ? "/proc/self/cwd/" : "";
}

static enum ks_code source_write(const struct ks_session_options *opt, const char *source, size_t len, const char *path,
                                 struct ks_err *err)
{
    size_t bom = ks_str_bom(source, len); /* counts as such at the very beginning only */
    KS_AUTO_STR struct ks_str text = KS_STR_INIT;
    ks_str_addn(&text, source, bom);
    source += bom;
    len -= bom;
    const char *name = opt->line_path ? opt->line_path : opt->unit_path;
    ks_str_add(&text, "#line 1 \""); /* messages and line information name a file that the user has */
    ks_str_add(&text, plain_cwd(name));
    for (const char *p = name; *p; p++) {
        if (*p == '"' || *p == '\\')
            ks_str_addc(&text, '\\');
        ks_str_addc(&text, *p);
    }
    ks_str_add(&text, "\"\n");
    ks_str_addn(&text, source, len);
    if (opt->signature && opt->signature->suffix)
        ks_str_addf(&text, "\n%s\n", opt->signature->suffix);
    return ks_file_write_atomic(path, text.data, text.len, 0644, err);
}

/* The folder of the unit for "quote" includes.  nvcc puts an -Xcompiler value into a shell line as it stands and splits it at
 * commas: a name with anything else than plain characters is reached through a link in our own folder. */
static enum ks_code quote_folder(const struct ks_session_options *opt, const char *dir, struct ks_str *out, struct ks_err *err)
{
    KS_AUTO_STR struct ks_str unit_dir = KS_STR_INIT, link = KS_STR_INIT;
    char absolute[PATH_MAX];
    ks_path_dir(&unit_dir, opt->unit_path);
    if (!realpath(ks_str_cstr(&unit_dir), absolute)) { /* nothing to include from there */
        ks_str_add(out, dir);
        return KS_OK;
    }
    if (absolute[strspn(absolute, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/._-+@=:")] == '\0') {
        ks_str_add(out, absolute);
        return KS_OK;
    }
    ks_path_join(&link, dir, "unit.dir");
    if (symlink(absolute, ks_str_cstr(&link)) < 0 && errno != EEXIST)
        return ks_fail_errno(err, KS_ERR_IO, "cannot make '%s'", ks_str_cstr(&link));
    ks_str_add(out, ks_str_cstr(&link));
    return KS_OK;
}

static enum ks_code compile(const struct ks_session_options *opt, const char *source_path, const char *object_path,
                            int64_t timeout_ms, struct ks_str *log, struct ks_err *err)
{
    KS_AUTO_ARGS struct ks_args a;
    KS_AUTO_STR struct ks_str dir = KS_STR_INIT, quote = KS_STR_INIT;
    ks_args_init(&a);
    ks_path_dir(&dir, source_path);
    KS_TRY(quote_folder(opt, ks_str_cstr(&dir), &quote, err));
    const char *number = arch_number(opt);
    ks_args_add(&a, opt->nvcc_argv[0]);
    ks_build_flags(opt, &a);
    if (opt->device == KS_DEVICE_EMULATED)
        ks_args_addf(&a, "--generate-code=arch=compute_%s,code=compute_%s", number, number);
    else
        ks_args_addf(&a, "--generate-code=arch=compute_%s,code=[sm_%s,compute_%s]", number, number, number);
    ks_args_add(&a, "--no-compress");
    ks_args_add(&a, "-lineinfo");
    ks_args_add(&a, "-Xcompiler");
    ks_args_add(&a, "-fPIC");
    ks_args_add(&a, "-Xcompiler"); /* the worker looks the entry up; emission makes it what it is in the baseline */
    ks_args_add(&a, "-fvisibility=default");
    ks_args_add(&a, "-Xcompiler");
    ks_args_addf(&a, "-iquote,%s", ks_str_cstr(&quote));
    if (ks_build_host_takes(opt, ks_str_cstr(&dir), KS_ZERO_VARIABLES, timeout_ms)) {
        ks_args_add(&a, "-Xcompiler"); /* a variable without a value finds nothing of the call before on the stack */
        ks_args_add(&a, KS_ZERO_VARIABLES);
    }
    ks_args_add(&a, "-Xcompiler"); /* unit.ii: what the host compiler reads (host_text.h) */
    ks_args_add(&a, "-save-temps=obj");
    if (!opt->confined_to) { /* the original: what it includes, candidates may read */
        ks_args_add(&a, "-MD");
        ks_args_add(&a, "-MF");
        ks_args_addf(&a, "%s.d", object_path);
    }
    ks_args_add(&a, "-c");
    ks_args_add(&a, source_path);
    ks_args_add(&a, "-o");
    ks_args_add(&a, object_path);
    return ks_build_tool(opt, ks_str_cstr(&dir), &a, "nvcc", timeout_ms, log, err);
}

static void user_ptxas_flags(const struct ks_session_options *opt, struct ks_args *out)
{
    static const char *const names[] = {"-Xptxas", "--ptxas-options"}, *const regs[] = {"-maxrregcount", "--maxrregcount"};
    for (size_t i = 1; opt->nvcc_argv[i]; i++) {
        const char *w = opt->nvcc_argv[i], *next = opt->nvcc_argv[i + 1], *value = NULL;
        for (size_t k = 0; k < 2; k++) {
            size_t n = strlen(names[k]), m = strlen(regs[k]);
            if (strcmp(w, names[k]) == 0)
                value = next;
            else if (strncmp(w, names[k], n) == 0 && w[n] == '=')
                value = w + n + 1;
            if (strcmp(w, regs[k]) == 0 && next)
                ks_args_addf(out, "--maxrregcount=%s", next);
            else if (strncmp(w, regs[k], m) == 0 && w[m] == '=')
                ks_args_addf(out, "--maxrregcount=%s", w + m + 1);
        }
        if (!value)
            continue;
        KS_AUTO_FREE char *copy = ks_xstrdup(value); /* a comma-separated list */
        char *save = NULL;
        for (char *item = strtok_r(copy, ",", &save); item; item = strtok_r(NULL, ",", &save))
            if (strcmp(item, "-v") != 0 && strcmp(item, "--verbose") != 0)
                ks_args_add(out, item);
    }
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct ks_kernel_resources *)a)->name, ((const struct ks_kernel_resources *)b)->name);
}

/* Reads what ptxas -v prints:
 *   ptxas info    : Compiling entry function '_Z1kPf' for 'sm_90a'
 *   ptxas info    : Function properties for _Z1kPf
 *       0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
 *   ptxas info    : Used 12 registers, used 1 barriers, 1024 bytes smem, 380 bytes cmem[0] */
static void resources_parse(struct ks_built *b, const char *text)
{
    KS_VEC(struct ks_kernel_resources) list = {NULL, 0, 0};
    struct ks_kernel_resources *k = NULL;
    for (const char *p = text; *p;) {
        const char *end = strchrnul(p, '\n'), *q;
        KS_AUTO_FREE char *line = ks_xstrndup(p, (size_t)(end - p));
        if ((q = strstr(line, "Compiling entry function '"))) {
            q += strlen("Compiling entry function '");
            struct ks_kernel_resources item = {.name = ks_xstrndup(q, strcspn(q, "'"))};
            ks_vec_push(&list, item);
            k = &list.data[list.n - 1];
        } else if (k && (q = strstr(line, "bytes stack frame"))) {
            sscanf(line, " %d bytes stack frame, %d bytes spill stores, %d bytes spill loads", &k->stack_bytes,
                   &k->spill_store_bytes, &k->spill_load_bytes);
        } else if (k && (q = strstr(line, "Used "))) {
            sscanf(q, "Used %d registers", &k->registers);
            const char *smem = strstr(q, " bytes smem");
            while (smem && smem > q && smem[-1] >= '0' && smem[-1] <= '9')
                smem--;
            if (smem)
                k->shared_bytes = (int)strtol(smem, NULL, 10);
            k = NULL;
        }
        p = *end ? end + 1 : end;
    }
    if (list.n)
        qsort(list.data, list.n, sizeof *list.data, by_name);
    b->kernels = list.data;
    b->n_kernels = list.n;
}

/* Lines that say how long ptxas took differ from build to build. */
static char *without_times(const char *text)
{
    struct ks_str out = KS_STR_INIT;
    ks_str_add(&out, "");
    for (const char *p = text; *p;) {
        const char *end = strchrnul(p, '\n');
        size_t n = (size_t)(end - p) + (*end != 0);
        if (!memmem(p, n, "Compile time", 12))
            ks_str_addn(&out, p, n);
        p += n;
    }
    return ks_str_detach(&out, NULL);
}

static enum ks_code resources_measure(const struct ks_session_options *opt, const char *dir, struct ks_built *b,
                                      int64_t timeout_ms, struct ks_str *log, struct ks_err *err)
{
    KS_AUTO_STR struct ks_str ptxas = KS_STR_INIT, ptx_path = KS_STR_INIT, nvcc_dir = KS_STR_INIT, said = KS_STR_INIT;
    KS_AUTO_FREE char *nvcc = NULL;
    KS_AUTO_ARGS struct ks_args a;
    ks_args_init(&a);
    KS_TRY(ks_path_search(opt->nvcc_argv[0], &nvcc, err));
    ks_path_dir(&nvcc_dir, nvcc);
    ks_path_join(&ptxas, ks_str_cstr(&nvcc_dir), "ptxas");
    ks_path_join(&ptx_path, dir, "unit.ptx");
    KS_TRY(ks_file_write_atomic(ptx_path.data, b->object.ptx.data, b->object.ptx.len, 0644, err));
    ks_args_add(&a, ptxas.data);
    ks_args_addf(&a, "-arch=sm_%s", arch_number(opt));
    ks_args_add(&a, "-v");
    user_ptxas_flags(opt, &a);
    ks_args_add(&a, ptx_path.data);
    ks_args_add(&a, "-o");
    ks_args_add(&a, "/dev/null");
    KS_TRY(ks_build_tool(opt, dir, &a, "ptxas", timeout_ms, &said, err));
    ks_str_add(log, ks_str_cstr(&said));
    resources_parse(b, ks_str_cstr(&said));
    b->ptxas_text = without_times(ks_str_cstr(&said));
    return KS_OK;
}

/* nvcc numbers a module by its file's path: eight hexadecimal digits behind one of these, in names with internal linkage. */
static void blank_module_ids(char *text)
{
    static const char *const marks[] = {"_GLOBAL__N__", "_INTERNAL_"};
    for (size_t i = 0; i < sizeof marks / sizeof *marks; i++)
        for (char *p = text; (p = strstr(p, marks[i])) != NULL;) {
            p += strlen(marks[i]);
            if (strspn(p, "0123456789abcdef") >= 8 && p[8] == '_')
                memset(p, '0', 8);
        }
}

/* What the object does, without what differs from build to build (the compiler's temporary names, our folder, the spelling of the
 * user's path in line information): host code and PTX. */
static void content_hash(struct ks_built *b, const char *dir, bool lines, char ret_hex[65])
{
    struct ks_hash h;
    KS_AUTO_STR struct ks_str ptx = KS_STR_INIT;
    ks_str_add(&ptx, "");
    for (const char *p = ks_str_cstr(&b->object.ptx), *end; *p; p = end) {
        end = strchrnul(p, '\n');
        end += *end != '\0';
        const char *q, *word = p + strspn(p, " \t");
        if (ks_str_starts(word, ".file")) /* line information only, and spelled as the user called us */
            continue;
        if (!lines && ks_str_starts(word, ".loc"))
            continue;
        if (ks_str_starts(word,
                          ".b8 ")) /* bytes of a debug section: names of inlined static functions, with the module's number */
            continue;
        for (; (q = memmem(p, (size_t)(end - p), dir, strlen(dir))) != NULL; p = q + strlen(dir))
            ks_str_addn(&ptx, p, (size_t)(q - p));
        ks_str_addn(&ptx, p, (size_t)(end - p));
    }
    blank_module_ids(ptx.data);
    ks_hash_init(&h);
    ks_hash_update_field(&h, b->object.code_hash, strlen(b->object.code_hash));
    ks_hash_update_field(&h, ks_str_cstr(&ptx), ptx.len);
    ks_hash_final_hex(&h, ret_hex);
}

/* The host compiler's preprocessed input.  A compiler that leaves none is named in the verdict. */
static enum ks_code host_text_take(const struct ks_session_options *opt, const char *dir, struct ks_built *b, struct ks_err *err)
{
    KS_AUTO_STR struct ks_str path = KS_STR_INIT, own = KS_STR_INIT;
    ks_str_addf(&own, "%s%s", plain_cwd(opt->unit_path), opt->unit_path);
    ks_path_join(&path, dir, "unit.ii");
    if (!ks_file_exists(path.data))
        return KS_OK;
    b->host_text = ks_xcalloc(1, sizeof *b->host_text);
    KS_TRY(ks_host_text_read(path.data, own.data, b->host_text, err));
    b->object.stubs_known = !b->host_text->names_stub;
    ks_path_join(&path, dir, "unit.s");
    unlink(path.data);
    ks_path_join(&path, dir, "unit.ii");
    unlink(path.data);
    return KS_OK;
}

static enum ks_code object_in(const struct ks_session_options *opt, const char *source, size_t len, const char *dir,
                              int64_t timeout_ms, struct ks_built *b, struct ks_str *log, struct ks_err *err)
{
    KS_AUTO_STR struct ks_str path = KS_STR_INIT;
    int64_t start_ns = ks_clock_ns();
    KS_TRY(ks_dir_make(dir, err));
    ks_path_join(&path, dir, "unit.o");
    b->object_path = ks_xstrdup(path.data);
    ks_path_join(&path, dir, "unit.so");
    b->shared_path = ks_xstrdup(path.data);
    ks_path_join(&path, dir, "unit.cu");
    ks_hash_hex(source, len, b->hash);
    KS_TRY(source_write(opt, source, len, path.data, err));
    KS_TRY(compile(opt, path.data, b->object_path, timeout_ms, log, err));
    KS_TRY(ks_object_read(b->object_path, &b->object, err));
    content_hash(b, dir, true, b->object_hash);
    content_hash(b, dir, false, b->code_hash);
    KS_TRY(host_text_take(opt, dir, b, err));
    b->object_bytes = b->object.file.len;
    b->build_ns = ks_clock_ns() - start_ns;
    return KS_OK;
}

enum ks_code ks_build_object(const struct ks_session_options *opt, const char *source, size_t len, const char *tag,
                             int64_t timeout_ms, struct ks_built **ret_built, struct ks_str *ret_log, struct ks_err *err)
{
    KS_AUTO_STR struct ks_str dir = KS_STR_INIT, log = KS_STR_INIT;
    ks_path_join(&dir, opt->work_dir, tag);
    struct ks_built *b = ks_xcalloc(1, sizeof *b);
    enum ks_code code = object_in(opt, source, len, dir.data, timeout_ms, b, &log, err);
    if (ret_log)
        ks_str_addn(ret_log, log.data, log.len);
    if (code != KS_OK) {
        ks_built_free(b);
        return code == KS_ERR_SYNTAX ? ks_fail(err, KS_ERR_BUILD, "%s", err->message) : code;
    }
    *ret_built = b;
    return KS_OK;
}

enum ks_code ks_build_finish(const struct ks_session_options *opt, struct ks_built *b, int64_t timeout_ms, struct ks_str *ret_log,
                             struct ks_err *err)
{
    KS_AUTO_STR struct ks_str dir = KS_STR_INIT, log = KS_STR_INIT;
    int64_t start_ns = ks_clock_ns();
    ks_path_dir(&dir, b->object_path);
    enum ks_code code = resources_measure(opt, ks_str_cstr(&dir), b, timeout_ms, &log, err);
    if (code == KS_OK)
        code = ks_build_link(opt, b, timeout_ms, &log, err);
    if (ret_log)
        ks_str_addn(ret_log, log.data, log.len);
    b->build_ns += ks_clock_ns() - start_ns;
    return code;
}

enum ks_code ks_build(const struct ks_session_options *opt, const char *source, size_t len, const char *tag, int64_t timeout_ms,
                      struct ks_built **ret_built, struct ks_str *ret_log, struct ks_err *err)
{
    struct ks_built *b = NULL;
    KS_TRY(ks_build_object(opt, source, len, tag, timeout_ms, &b, ret_log, err));
    enum ks_code code = ks_build_finish(opt, b, timeout_ms, ret_log, err);
    if (code != KS_OK) {
        ks_built_free(b);
        return code;
    }
    *ret_built = b;
    return KS_OK;
}

void ks_built_free(struct ks_built *b)
{
    if (!b)
        return;
    for (size_t i = 0; i < b->n_kernels; i++)
        free(b->kernels[i].name);
    free(b->kernels);
    free(b->ptxas_text);
    free(b->object_path);
    free(b->shared_path);
    ks_object_release(&b->object);
    if (b->host_text)
        ks_host_text_release(b->host_text);
    free(b->host_text);
    free(b);
}

void ks_built_registers(const struct ks_built *b, struct ks_str *out)
{
    for (size_t i = 0; i < b->n_kernels; i++)
        ks_str_addf(out, "%s=%d;", b->kernels[i].name, b->kernels[i].registers);
}

const struct ks_kernel_resources *ks_built_kernel(const struct ks_built *b, const char *name)
{
    for (size_t i = 0; i < b->n_kernels; i++)
        if (strcmp(b->kernels[i].name, name) == 0)
            return &b->kernels[i];
    return NULL;
}

#include "analyzer/args.h"

#include <ctype.h>
#include <glob.h>
#include <stdio.h>
#include <string.h>

/* What becomes of an nvcc option that takes a value.  Options that take none and are not in `flags` below are dropped. */
enum action {
    DROP, /* with its value */
    LIST, /* split at commas; `clang` is put before each part */
    ARCH, /* names an architecture */
    STD,
    COMPILER, /* words for the host compiler: those that matter to a parse are kept */
    RDC,
    STREAM
};

struct option {
    const char *name;
    enum action action;
    const char *clang;
    bool glued; /* the value may follow without a space */
};

/* Every option of nvcc that takes a value, short form first. */
static const struct option options[] = {
    {"-D", LIST, "-D", true},
    {"--define-macro", LIST, "-D", false},
    {"-U", LIST, "-U", true},
    {"--undefine-macro", LIST, "-U", false},
    {"-I", LIST, "-I", true},
    {"--include-path", LIST, "-I", false},
    {"-isystem", LIST, "-isystem", false},
    {"--system-include", LIST, "-isystem", false},
    {"-include", LIST, "-include", false},
    {"--pre-include", LIST, "-include", false},
    {"-std", STD, NULL, false},
    {"--std", STD, NULL, false},
    {"-arch", ARCH, NULL, false},
    {"--gpu-architecture", ARCH, NULL, false},
    {"-gencode", ARCH, NULL, false},
    {"--generate-code", ARCH, NULL, false},
    {"-rdc", RDC, NULL, false},
    {"--relocatable-device-code", RDC, NULL, false},
    {"-default-stream", STREAM, NULL, false},
    {"--default-stream", STREAM, NULL, false},
    {"-Xcompiler", COMPILER, NULL, false},
    {"--compiler-options", COMPILER, NULL, false},
    {"-x", DROP, NULL, false},
    {"--x", DROP, NULL, false},
    {"-o", DROP, NULL, false},
    {"--output-file", DROP, NULL, false},
    {"-l", DROP, NULL, true},
    {"--library", DROP, NULL, false},
    {"-L", DROP, NULL, true},
    {"--library-path", DROP, NULL, false},
    {"-O", DROP, NULL, true},
    {"--optimize", DROP, NULL, false},
    {"-t", DROP, NULL, true},
    {"--threads", DROP, NULL, false},
    {"-odir", DROP, NULL, false},
    {"--output-directory", DROP, NULL, false},
    {"-ccbin", DROP, NULL, false},
    {"--compiler-bindir", DROP, NULL, false},
    {"-arbin", DROP, NULL, false},
    {"--archiver-binary", DROP, NULL, false},
    {"-cudart", DROP, NULL, false},
    {"--cudart", DROP, NULL, false},
    {"-cudadevrt", DROP, NULL, false},
    {"--cudadevrt", DROP, NULL, false},
    {"-ldir", DROP, NULL, false},
    {"--libdevice-directory", DROP, NULL, false},
    {"-target-dir", DROP, NULL, false},
    {"--target-directory", DROP, NULL, false},
    {"-opt-info", DROP, NULL, false},
    {"--optimization-info", DROP, NULL, false},
    {"-dopt", DROP, NULL, false},
    {"--dopt", DROP, NULL, false},
    {"-ftemplate-backtrace-limit", DROP, NULL, false},
    {"--ftemplate-backtrace-limit", DROP, NULL, false},
    {"-ftemplate-depth", DROP, NULL, false},
    {"--ftemplate-depth", DROP, NULL, false},
    {"-m", DROP, NULL, false},
    {"--machine", DROP, NULL, false},
    {"-Xlinker", DROP, NULL, false},
    {"--linker-options", DROP, NULL, false},
    {"-Xarchive", DROP, NULL, false},
    {"--archive-options", DROP, NULL, false},
    {"-Xptxas", DROP, NULL, false},
    {"--ptxas-options", DROP, NULL, false},
    {"-Xnvlink", DROP, NULL, false},
    {"--nvlink-options", DROP, NULL, false},
    {"-Xcudafe", DROP, NULL, false},
    {"-Xcicc", DROP, NULL, false},
    {"-Xfatbin", DROP, NULL, false},
    {"-static-global-template-stub", DROP, NULL, false},
    {"--static-global-template-stub", DROP, NULL, false},
    {"-device-entity-has-hidden-visibility", DROP, NULL, false},
    {"--device-entity-has-hidden-visibility", DROP, NULL, false},
    {"-split-compile", DROP, NULL, false},
    {"--split-compile", DROP, NULL, false},
    {"-split-compile-extended", DROP, NULL, false},
    {"--split-compile-extended", DROP, NULL, false},
    {"-fdevice-time-trace", DROP, NULL, false},
    {"--fdevice-time-trace", DROP, NULL, false},
    {"-keep-dir", DROP, NULL, false},
    {"--keep-dir", DROP, NULL, false},
    {"-time", DROP, NULL, false},
    {"--time", DROP, NULL, false},
    {"-run-args", DROP, NULL, false},
    {"--run-args", DROP, NULL, false},
    {"-idp", DROP, NULL, false},
    {"--input-drive-prefix", DROP, NULL, false},
    {"-ddp", DROP, NULL, false},
    {"--dependency-drive-prefix", DROP, NULL, false},
    {"-dp", DROP, NULL, false},
    {"--drive-prefix", DROP, NULL, false},
    {"-MT", DROP, NULL, false},
    {"--dependency-target-name", DROP, NULL, false},
    {"-MF", DROP, NULL, false},
    {"--dependency-output", DROP, NULL, false},
    {"-code", DROP, NULL, false},
    {"--gpu-code", DROP, NULL, false},
    {"-e", DROP, NULL, false},
    {"--entries", DROP, NULL, false},
    {"-maxrregcount", DROP, NULL, false},
    {"--maxrregcount", DROP, NULL, false},
    {"-ftz", DROP, NULL, false},
    {"--ftz", DROP, NULL, false},
    {"-prec-div", DROP, NULL, false},
    {"--prec-div", DROP, NULL, false},
    {"-prec-sqrt", DROP, NULL, false},
    {"--prec-sqrt", DROP, NULL, false},
    {"-fmad", DROP, NULL, false},
    {"--fmad", DROP, NULL, false},
    {"-Werror", DROP, NULL, false},
    {"--Werror", DROP, NULL, false},
    {"-diag-error", DROP, NULL, false},
    {"--diag-error", DROP, NULL, false},
    {"-diag-suppress", DROP, NULL, false},
    {"--diag-suppress", DROP, NULL, false},
    {"-diag-warn", DROP, NULL, false},
    {"--diag-warn", DROP, NULL, false},
    {"-hls", DROP, NULL, false},
    {"--host-linker-script", DROP, NULL, false},
    {"-brief-diag", DROP, NULL, false},
    {"--brief-diagnostics", DROP, NULL, false},
    {"-jtd", DROP, NULL, false},
    {"--jump-table-density", DROP, NULL, false},
    {"-device-stack-protector", DROP, NULL, false},
    {"--device-stack-protector", DROP, NULL, false},
    {"-compress-mode", DROP, NULL, false},
    {"--compress-mode", DROP, NULL, false},
    {"-frandom-seed", DROP, NULL, false},
    {"--frandom-seed", DROP, NULL, false},
    {"-sanitize", DROP, NULL, false},
    {"--sanitize", DROP, NULL, false},
    {"-qpp-config", DROP, NULL, false},
    {"--qpp-config", DROP, NULL, false},
    {"-optf", DROP, NULL, false},
    {"--options-file", DROP, NULL, false},
};

/* Options without a value that change what a parse sees. */
static const struct {
    const char *name, *first, *second;
} flags[] = {
    {"-dc", "-fgpu-rdc", "-D__CUDACC_RDC__=1"},
    {"--device-c", "-fgpu-rdc", "-D__CUDACC_RDC__=1"},
    {"-expt-relaxed-constexpr", "-D__CUDACC_RELAXED_CONSTEXPR__=1", NULL},
    {"--expt-relaxed-constexpr", "-D__CUDACC_RELAXED_CONSTEXPR__=1", NULL},
    {"-extended-lambda", "-D__CUDACC_EXTENDED_LAMBDA__=1", NULL},
    {"--extended-lambda", "-D__CUDACC_EXTENDED_LAMBDA__=1", NULL},
    {"-expt-extended-lambda", "-D__CUDACC_EXTENDED_LAMBDA__=1", NULL},
    {"--expt-extended-lambda", "-D__CUDACC_EXTENDED_LAMBDA__=1", NULL},
    {"-G", "-D__CUDACC_DEBUG__=1", NULL},
    {"--device-debug", "-D__CUDACC_DEBUG__=1", NULL},
};

/* Words handed to the host compiler that matter to a parse; -m and -f by prefix. */
static const char *const kept_prefixes[] = {"-D", "-U", "-I", "-f", "-std=", "-pthread"};

/* Calls `use` for each part of a comma list; "a,b", double quotes and \, protect. */
static void each_part(const char *list, void (*use)(const char *part, void *ctx), void *ctx)
{
    KS_AUTO_STR struct ks_str part = KS_STR_INIT;
    bool quoted = false;
    for (const char *p = list;; p++) {
        if (*p == '\0' || (*p == ',' && !quoted)) {
            if (part.len)
                use(ks_str_cstr(&part), ctx);
            ks_str_clear(&part);
            if (*p == '\0')
                return;
        } else if (*p == '"' || *p == '\'') {
            quoted = !quoted; /* the level that the shell inside nvcc takes away */
        } else if (*p == '\\' && p[1]) {
            ks_str_addc(&part, *++p);
        } else {
            ks_str_addc(&part, *p);
        }
    }
}

struct sink {
    struct ks_args *out;
    const char *prefix;
    char arch[16]; /* the highest sm_ seen */
    int arch_number;
    bool has_std;
};

static void add_part(const char *part, void *ctx)
{
    struct sink *s = ctx;
    if (ks_str_starts(s->prefix, "-i")) { /* -isystem and -include take a word of their own */
        ks_args_add(s->out, s->prefix);
        ks_args_add(s->out, part);
    } else {
        ks_args_addf(s->out, "%s%s", s->prefix, part);
    }
}

static void add_compiler_word(const char *part, void *ctx)
{
    struct sink *s = ctx;
    for (size_t i = 0; i < sizeof kept_prefixes / sizeof *kept_prefixes; i++) {
        if (ks_str_starts(part, kept_prefixes[i]) && strlen(part) > 2) {
            s->has_std |= ks_str_starts(part, "-std=");
            ks_args_add(s->out, part);
            return;
        }
    }
}

/* "sm_90a", "compute_80", "arch=compute_90,code=[sm_90,compute_90]": the highest number with its suffix. */
static void note_arch(struct sink *s, const char *value)
{
    for (const char *p = value; (p = strchr(p, '_')); p++) {
        int number = 0, len = 0;
        for (const char *d = p + 1; isdigit((unsigned char)*d) && len < 4; d++, len++)
            number = number * 10 + (*d - '0');
        if (len == 0)
            continue;
        bool specific = p[1 + len] == 'a' || p[1 + len] == 'f'; /* clang knows no family targets: sm_100f is parsed as sm_100a */
        if (number > s->arch_number || (number == s->arch_number && specific)) {
            s->arch_number = number;
            snprintf(s->arch, sizeof s->arch, "sm_%d%s", number, specific ? "a" : "");
        }
    }
}

static void apply(struct sink *s, const struct option *o, const char *value)
{
    s->prefix = o->clang;
    switch (o->action) {
    case DROP:
        break;
    case LIST:
        each_part(value, add_part, s);
        break;
    case ARCH:
        note_arch(s, value);
        break;
    case STD:
        s->has_std = true;
        ks_args_addf(s->out, "-std=%s", value);
        break;
    case COMPILER:
        each_part(value, add_compiler_word, s);
        break;
    case RDC:
        if (ks_streq(value, "true")) {
            ks_args_add(s->out, "-fgpu-rdc");
            ks_args_add(s->out, "-D__CUDACC_RDC__=1");
        }
        break;
    case STREAM:
        if (ks_streq(value, "per-thread")) {
            ks_args_add(s->out, "-fgpu-default-stream=per-thread");
            ks_args_add(s->out, "-DCUDA_API_PER_THREAD_DEFAULT_STREAM=1");
        }
        break;
    }
}

/* The option that `word` is, with *ret_value its value when that is part of the word. */
static const struct option *find_option(const char *word, const char **ret_value)
{
    const struct option *glued = NULL;
    for (size_t i = 0; i < sizeof options / sizeof *options; i++) {
        size_t len = strlen(options[i].name);
        if (strncmp(word, options[i].name, len) != 0)
            continue;
        if (word[len] == '\0' || word[len] == '=') {
            *ret_value = word[len] ? word + len + 1 : NULL;
            return &options[i];
        }
        if (options[i].glued)
            glued = &options[i];
    }
    for (size_t i = 0; i < sizeof flags / sizeof *flags; i++) {
        if (ks_streq(word, flags[i].name))
            return NULL; /* -lineinfo would do as -l ineinfo, but a flag is never a glued value */
    }
    static const char *const not_glued[] = {"-lineinfo", "-link", "-lib", "-lto", "-ltoir", "-list-gpu-arch", "-list-gpu-code"};
    for (size_t i = 0; i < sizeof not_glued / sizeof *not_glued; i++) {
        if (ks_streq(word, not_glued[i]))
            return NULL;
    }
    if (glued)
        *ret_value = word + 2;
    return glued;
}

static void map_words(struct sink *s, char *const *argv)
{
    for (size_t i = 0; argv[i]; i++) {
        const char *value = NULL;
        const struct option *o = argv[i][0] == '-' ? find_option(argv[i], &value) : NULL;
        if (o && !value && argv[i + 1])
            value = argv[++i];
        if (o) {
            apply(s, o, value ? value : "");
            continue;
        }
        for (size_t k = 0; k < sizeof flags / sizeof *flags; k++) {
            if (!ks_streq(argv[i], flags[k].name))
                continue;
            ks_args_add(s->out, flags[k].first);
            if (flags[k].second)
                ks_args_add(s->out, flags[k].second);
        }
    }
}

/* The host compiler's own headers, omp.h among them, behind all others; the newest version installed. */
static void add_host_headers(struct ks_args *out)
{
    glob_t found;
    if (glob("/usr/lib/gcc/*/*/include", 0, NULL, &found) == 0) {
        ks_args_add(out, "-idirafter");
        ks_args_add(out, found.gl_pathv[found.gl_pathc - 1]);
    }
    globfree(&found);
}

void ks_clang_args(const struct ks_parse_options *opt, struct ks_args *out)
{
    struct sink s = {.out = out};
    const char *cuda = opt->cuda_path ? opt->cuda_path : "/usr/local/cuda";
    ks_args_add(out, "-x");
    ks_args_add(out, "cuda");
    ks_args_addf(out, "--cuda-path=%s", cuda);
    ks_args_add(out, "--cuda-device-only");
    ks_args_add(out, "-Wno-unknown-cuda-version");
    ks_args_add(out, "-w");
    ks_args_add(out, "-ferror-limit=0");
    ks_args_add(out, "-D__CUDACC_VER_MAJOR__=13");
    ks_args_add(out, "-D__CUDACC_VER_MINOR__=0");
    ks_args_add(out, "-D__CUDACC_VER_BUILD__=88");
    if (opt->shim_dir) {
        ks_args_add(out, "-include");
        ks_args_addf(out, "%s/kscc_clang_shim.h", opt->shim_dir);
    }
    if (opt->nvcc_argv && opt->nvcc_argv[0])
        map_words(&s, opt->nvcc_argv + 1);
    ks_args_add(out, "-isystem");
    ks_args_addf(out, "%s/include/cccl", cuda);
    ks_args_addf(out, "--cuda-gpu-arch=%s", s.arch[0] ? s.arch : "sm_75");
    if (!s.has_std)
        ks_args_add(out, "-std=c++17");
    add_host_headers(out);
}

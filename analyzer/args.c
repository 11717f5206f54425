#include "analyzer/args.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What becomes of an nvcc option that changes what a parse sees.  Which words are options is settled before (struct
 * ks_parse_word); an option that is not here is dropped with its value. */
enum action {
    LIST, /* split at commas; `first` is put before each part */
    VALUE,
    FLAG, /* `first` and `second` stand in its place */
    ARCH, /* names an architecture */
    STD,
    COMPILER, /* words for the host compiler: those that matter to a parse are kept */
    RDC,
    STREAM
};

static const struct option {
    const char *name; /* nvcc's long name */
    enum action action;
    const char *first, *second;
} options[] = {
    {"", COMPILER, NULL, NULL},
    {"compiler-options", COMPILER, NULL, NULL},
    {"default-stream", STREAM, NULL, NULL},
    {"define-macro", LIST, "-D", NULL},
    {"device-c", FLAG, "-fgpu-rdc", "-D__CUDACC_RDC__=1"},
    {"device-debug", FLAG, "-D__CUDACC_DEBUG__=1", NULL},
    {"dlink-time-opt", FLAG, "-fgpu-rdc", "-D__CUDACC_RDC__=1"},
    {"expt-extended-lambda", FLAG, "-D__CUDACC_EXTENDED_LAMBDA__=1", NULL},
    {"expt-relaxed-constexpr", FLAG, "-D__CUDACC_RELAXED_CONSTEXPR__=1", NULL},
    {"extended-lambda", FLAG, "-D__CUDACC_EXTENDED_LAMBDA__=1", NULL},
    {"extensible-whole-program", FLAG, "-D__CUDACC_EWP__=1", NULL},
    {"ftemplate-depth", VALUE, "-ftemplate-depth=", NULL},
    {"generate-code", ARCH, NULL, NULL},
    {"gpu-architecture", ARCH, NULL, NULL},
    {"include-path", LIST, "-I", NULL},
    {"pre-include", LIST, "-include", NULL},
    {"relocatable-device-code", RDC, NULL, NULL},
    {"std", STD, NULL, NULL},
    {"system-include", LIST, "-isystem", NULL},
    {"undefine-macro", LIST, "-U", NULL},
};

/* Words handed to the host compiler that matter to a parse: by their beginning, or with the word after them. */
static const char *const kept_prefixes[] = {"-D", "-U", "-I", "-f", "-m", "-std=", "-pthread"};
static const char *const kept_pairs[] = {"-D", "-U", "-I", "-isystem", "-iquote", "-idirafter", "-include", "-imacros"};

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
    const char *pair; /* a word for the host compiler whose value comes next */
    char arch[16];    /* the highest sm_ seen */
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
    if (s->pair) {
        ks_args_add(s->out, s->pair);
        ks_args_add(s->out, part);
        s->pair = NULL;
        return;
    }
    for (size_t i = 0; i < sizeof kept_pairs / sizeof *kept_pairs; i++)
        if (ks_streq(part, kept_pairs[i])) {
            s->pair = kept_pairs[i];
            return;
        }
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
    s->prefix = o->first;
    switch (o->action) {
    case LIST:
        each_part(value, add_part, s);
        break;
    case VALUE:
        ks_args_addf(s->out, "%s%s", o->first, value);
        break;
    case FLAG:
        ks_args_add(s->out, o->first);
        if (o->second)
            ks_args_add(s->out, o->second);
        break;
    case ARCH:
        note_arch(s, value);
        break;
    case STD:
        if (ks_streq(value, "none")) /* the host compiler's own: near our default, and no dialect of clang's */
            break;
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

static void map_words(struct sink *s, const struct ks_parse_options *opt)
{
    for (size_t i = 0; i < opt->n_words; i++)
        for (size_t k = 0; k < sizeof options / sizeof *options; k++)
            if (ks_streq(opt->words[i].name, options[k].name))
                apply(s, &options[k], opt->words[i].value ? opt->words[i].value : "");
}

size_t ks_clang_option_names(const char *const **ret_names)
{
    static const char *names[sizeof options / sizeof *options];
    for (size_t i = 0; i < sizeof options / sizeof *options; i++)
        names[i] = options[i].name;
    *ret_names = names;
    return sizeof options / sizeof *options;
}

/* "13.0.88": what nvcc defines of itself. */
static void add_version(const struct ks_parse_options *opt, struct ks_args *out)
{
    int major = 0, minor = 0, build = 0;
    if (!opt->toolkit_version || sscanf(opt->toolkit_version, "%d.%d.%d", &major, &minor, &build) < 2)
        return;
    ks_args_addf(out, "-D__CUDACC_VER_MAJOR__=%d", major);
    ks_args_addf(out, "-D__CUDACC_VER_MINOR__=%d", minor);
    ks_args_addf(out, "-D__CUDACC_VER_BUILD__=%d", build);
    ks_args_addf(out, "-D__CUDA_API_VER_MAJOR__=%d", major);
    ks_args_addf(out, "-D__CUDA_API_VER_MINOR__=%d", minor);
}

/* The host compiler that nvcc would call: its standard library, its version and, behind all others, its own headers (omp.h). */
static void add_host_compiler(const struct ks_parse_options *opt, struct ks_args *out)
{
    /* From 13 on, glibc's headers take _Float32 and its kin for words of C++, which clang has not: it is told the last version
     * before. */
    if (opt->gnuc_version)
        ks_args_addf(out, "-fgnuc-version=%s", strtol(opt->gnuc_version, NULL, 10) >= 13 ? "12.9.0" : opt->gnuc_version);
    if (!opt->gcc_dir)
        return;
    ks_args_addf(out, "--gcc-install-dir=%s", opt->gcc_dir);
    ks_args_add(out, "-idirafter");
    ks_args_addf(out, "%s/include", opt->gcc_dir);
}

/* The architecture nvcc takes when none is named. */
static const char *default_arch(const struct ks_parse_options *opt)
{
    int major = 0;
    return opt->toolkit_version && sscanf(opt->toolkit_version, "%d", &major) == 1 && major < 13 ? "sm_52" : "sm_75";
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
    add_version(opt, out);
    if (opt->shim_dir) {
        ks_args_add(out, "-include");
        ks_args_addf(out, "%s/kscc_clang_shim.h", opt->shim_dir);
        ks_args_add(out, "-idirafter"); /* headers that a toolkit may lack */
        ks_args_add(out, opt->shim_dir);
    }
    map_words(&s, opt);
    ks_args_add(out, "-isystem");
    ks_args_addf(out, "%s/include/cccl", cuda);
    ks_args_addf(out, "--cuda-gpu-arch=%s", s.arch[0] ? s.arch : default_arch(opt));
    if (!s.has_std)
        ks_args_add(out, "-std=c++17");
    add_host_compiler(opt, out);
}

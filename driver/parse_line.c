#include "driver/parse_line.h"

#include "driver/host_compiler.h"
#include "driver/paths.h"

#include <string.h>

static const char *name_of(const struct ks_flag *f)
{
    return f->long_name[0] ? f->long_name : f->short_name;
}

void ks_parse_line(char *const *argv, struct ks_arena *arena, struct ks_parse_options *ret)
{
    size_t n = 0, n_words = 0;
    while (argv[n])
        n++;
    struct ks_parse_word *words = KS_ARENA_ARRAY(arena, struct ks_parse_word, n + 1);
    for (size_t i = 1; i < n; i++) {
        const char *value = NULL;
        const struct ks_flag *f = ks_flag_match(argv[i], &value);
        if (!f && argv[i][0] == '-' && argv[i][1]) {
            words[n_words++] = (struct ks_parse_word){"", ks_arena_strdup(arena, argv[i])};
            continue;
        }
        if (!f)
            continue;
        if (!value && ks_flag_eats_next(f, argv[i + 1]) && argv[i + 1])
            value = argv[++i];
        words[n_words++] = (struct ks_parse_word){name_of(f), value ? ks_arena_strdup(arena, value) : NULL};
    }
    ret->words = words;
    ret->n_words = n_words;
}

/* The value of the last option of that name; NULL: none. */
static const char *last_value(const struct ks_parse_options *opt, const char *name)
{
    for (size_t i = opt->n_words; i-- > 0;)
        if (strcmp(opt->words[i].name, name) == 0)
            return opt->words[i].value;
    return NULL;
}

void ks_parse_options_of(char *const *argv, const char *cuda_path, const char *toolkit_version, struct ks_arena *arena,
                         struct ks_parse_options *ret)
{
    struct ks_host_compiler host = {0};
    struct ks_err ignored; /* libclang's own choice will do for most units */
    KS_AUTO_STR struct ks_str shim = KS_STR_INIT;
    ks_paths_shim(&shim);
    *ret = (struct ks_parse_options){
        .cuda_path = cuda_path, .toolkit_version = toolkit_version, .shim_dir = ks_arena_strdup(arena, ks_str_cstr(&shim))};
    ks_parse_line(argv, arena, ret);
    if (ks_host_compiler_query(last_value(ret, "compiler-bindir"), arena, &host, &ignored) == KS_OK) {
        ret->gnuc_version = host.gnuc_version;
        ret->gcc_dir = host.gcc_dir;
    }
}

void ks_unit_parse_options(const struct ks_unit *u, struct ks_parse_options *ret)
{
    ks_parse_options_of(u->build_argv.v, u->cuda_path, u->toolkit.version, u->arena, ret);
}

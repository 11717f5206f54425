#include "driver/unit.h"

#include "base/file.h"
#include "base/hash.h"
#include "base/limits.h"
#include "base/process.h"

#include <ctype.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum ks_code ks_unit_open(const struct ks_cmdline *c, const struct ks_settings *s, const char *nvcc, size_t input,
                          struct ks_arena *arena, struct ks_unit *ret, struct ks_err *err)
{
    struct ks_unit u = {.arena = arena, .cmdline = c, .settings = s, .input = input, .path = c->inputs.data[input].path};
    KS_AUTO_STR struct ks_str text = KS_STR_INIT;
    KS_TRY(ks_file_read(u.path, KS_MAX_SOURCE_BYTES, &text, err));
    u.source = ks_arena_strndup(arena, ks_str_cstr(&text), text.len);
    u.source_len = text.len;
    u.object = ks_cmdline_object(c, input);
    KS_TRY(ks_toolkit_query(nvcc, &u.toolkit, err));
    size_t len = strlen(u.toolkit.top);
    if (ks_str_ends(u.toolkit.top, "/bin/.."))
        len -= strlen("/bin/..");
    u.cuda_path = ks_arena_strndup(arena, u.toolkit.top, len);
    char resolved[PATH_MAX];
    u.toolkit_path = realpath(u.cuda_path, resolved) ? ks_arena_strdup(arena, resolved) : u.cuda_path;
    ks_args_init(&u.build_argv);
    ks_args_init(&u.includes);
    ks_cmdline_build_argv(c, nvcc, input, NULL, NULL, u.object, &u.build_argv, &u.input_index);
    *ret = u;
    return KS_OK;
}

void ks_unit_close(struct ks_unit *u)
{
    ks_toolkit_release(&u->toolkit);
    ks_args_release(&u->build_argv);
    ks_args_release(&u->includes);
}

/* ---- hash ----------------------------------------------------------------------------------------------------------- */

void ks_unit_add_own_folder(const struct ks_unit *u, struct ks_args *argv)
{
    KS_AUTO_STR struct ks_str dir = KS_STR_INIT;
    ks_path_dir(&dir, u->path);
    if (strpbrk(ks_str_cstr(&dir), ", \\\"'")) { /* nvcc would split the word */
        ks_args_add(argv, "-I");
        ks_args_add(argv, ks_str_cstr(&dir));
    } else {
        ks_args_add(argv, "-Xcompiler");
        ks_args_addf(argv, "-iquote,%s", ks_str_cstr(&dir));
    }
}

/* Runs the build line with the phase "-M": one make rule on stdout. */
static enum ks_code list_dependencies(const struct ks_unit *u, struct ks_str *out, struct ks_err *err)
{
    KS_AUTO_ARGS struct ks_args argv;
    KS_AUTO_STR struct ks_str errors = KS_STR_INIT;
    struct ks_spawn s;
    struct ks_exit e;
    ks_args_init(&argv);
    for (size_t i = 0; i + 2 < u->build_argv.n; i++) /* all but "-o OBJECT" */
        ks_args_add(&argv, i + 1 == u->input_index               ? "-M"
                           : i == u->input_index && u->text_path ? u->text_path
                                                                 : u->build_argv.v[i]);
    if (u->text_path)
        ks_unit_add_own_folder(u, &argv);
    ks_spawn_init(&s);
    s.argv = argv.v;
    s.timeout_ms = 120000;
    KS_TRY(ks_process_run(&s, out, &errors, &e, err));
    if (!ks_exit_ok(&e))
        return ks_fail(err, KS_ERR_BUILD, "cannot list what '%s' includes (nvcc -M)", u->path);
    return KS_OK;
}

/* Next file name of a make rule: blanks, "\ newline" and quoted blanks as gcc writes them.  False at the end. */
bool ks_rule_next(const char **p, struct ks_str *name)
{
    ks_str_clear(name);
    for (; **p; (*p)++) {
        if ((*p)[0] == '\\' && ((*p)[1] == ' ' || (*p)[1] == '#')) {
            ks_str_addc(name, *++*p);
        } else if ((*p)[0] == '\\' && (*p)[1] == '\n') {
            ++*p;
            if (name->len)
                return true;
        } else if (isspace((unsigned char)**p)) {
            if (name->len)
                return true;
        } else {
            ks_str_addc(name, **p);
        }
    }
    return name->len > 0;
}

static enum ks_code hash_dependencies(struct ks_unit *u, struct ks_hash *h, struct ks_err *err)
{
    KS_AUTO_STR struct ks_str rule = KS_STR_INIT, name = KS_STR_INIT;
    if (u->rule)
        ks_str_add(&rule, u->rule);
    else
        KS_TRY(list_dependencies(u, &rule, err));
    const char *p = strchr(ks_str_cstr(&rule), ':');
    if (!p)
        return ks_fail(err, KS_ERR_SYNTAX, "cannot read the make rule of '%s'", u->path);
    p++;
    for (bool own = true; ks_rule_next(&p, &name); own = false) {
        char hex[65];
        ks_args_add(&u->includes, ks_str_cstr(&name));
        if (own) /* the rule begins with the source, which is hashed already */
            continue;
        KS_TRY(ks_hash_file_hex(ks_str_cstr(&name), hex, err));
        ks_hash_update_field(h, hex, 64);
    }
    return KS_OK;
}

static void hash_variables(char ret_hex[65])
{
    static const char *const variables[] = {"PTXAS_FLAGS", "CUDAFE_FLAGS", "INCLUDES", "SYSTEM_INCLUDES", "NVCC_CCBIN"};
    struct ks_hash h;
    ks_hash_init(&h);
    for (size_t i = 0; i < sizeof(variables) / sizeof(variables[0]); i++) {
        const char *value = getenv(variables[i]);
        ks_hash_update_field(&h, value ? value : "", value ? strlen(value) : 0);
    }
    ks_hash_final_hex(&h, ret_hex);
}

enum ks_code ks_unit_hash(struct ks_unit *u, char ret_hex[65], struct ks_err *err)
{
    struct ks_hash h, included;
    ks_hash_init(&h);
    ks_hash_update_field(&h, u->source, u->source_len);
    ks_hash_update_field(&h, ks_path_base(u->path), strlen(ks_path_base(u->path)));
    ks_hash_update_field(&h, u->toolkit.version, strlen(u->toolkit.version));
    ks_hash_update_field(&h, u->toolkit_path, strlen(u->toolkit_path));
    for (size_t i = 1; i + 2 < u->build_argv.n; i++) /* neither nvcc's path nor the output's name */
        if (i != u->input_index)
            ks_hash_update_field(&h, u->build_argv.v[i], strlen(u->build_argv.v[i]));
    hash_variables(u->variables_hash);
    ks_hash_update_field(&h, u->variables_hash, 64);
    ks_hash_init(&included);
    KS_TRY(hash_dependencies(u, &included, err));
    ks_hash_final_hex(&included, u->included_hash);
    ks_hash_update_field(&h, u->included_hash, 64);
    ks_hash_final_hex(&h, ret_hex);
    return KS_OK;
}

/* ---- architecture ---------------------------------------------------------------------------------------------------------- */

/* "sm_90a" sorts by its number, then by having a suffix. */
static long arch_rank(const char *digits)
{
    char *end;
    long n = strtol(digits, &end, 10);
    return n * 2 + (*end == 'a' || *end == 'f');
}

static void take_archs(const char *value, long *best, char *ret, size_t size)
{
    static const char *const prefixes[] = {"sm_", "compute_"};
    for (size_t k = 0; k < 2; k++)
        for (const char *p = value; (p = strstr(p, prefixes[k]));) {
            p += strlen(prefixes[k]);
            long rank = isdigit((unsigned char)*p) ? arch_rank(p) : 0;
            if (rank <= *best)
                continue;
            *best = rank;
            snprintf(ret, size, "sm_%.*s", (int)strspn(p, "0123456789af"), p);
        }
}

void ks_unit_arch(const struct ks_unit *u, char *ret, size_t size)
{
    long best = 0;
    ret[0] = '\0';
    for (size_t i = 0; i < u->cmdline->items.n; i++) {
        const struct ks_item *item = &u->cmdline->items.data[i];
        if ((item->flag->bits & KS_FLAG_ARCH) && item->value)
            take_archs(item->value, &best, ret, size);
    }
}

#include "driver/emit.h"

#include "driver/demangle.h"
#include "driver/host_compiler.h"
#include "driver/paths.h"
#include "driver/portable.h"
#include "driver/work_dir.h"

#include "base/file.h"
#include "base/hash.h"
#include "base/limits.h"
#include "base/process.h"
#include "harness/build.h"
#include "harness/confine.h"
#include "harness/fresh.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define BUILD_TIMEOUT_MS 600000
#define LINKED_BINARY    "__cudaRegisterLinkedBinary_"
#define GET_KERNEL       "__cudaGetKernel" /* what k<<<...>>>(...) is compiled to */
#define LAUNCH_KERNEL    "__cudaLaunchKernel"

/* Names inside the combined object; each is local to it in the end. */
struct half_names {
    char *original;   /* symbol of the renamed entry; of a unit whose launches ask, of the function that they call */
    char *get_kernel; /* the same for the runtime's other function */
    char *candidate;  /* symbol of the candidate's entry */
    char *prefix;     /* of every symbol of the candidate */
};

struct emitter {
    const struct ks_unit *u;
    struct ks_emission *entries; /* copies, whose launches have the baseline's own symbols */
    size_t n;
    const char *dir; /* scratch */
    struct half_names *names;
    struct ks_symtab baseline;
    struct ks_args parts; /* objects to combine */
    char *bin_dir;        /* of kscc-worker, which confines the compiler */
    struct ks_args confined_to;
    bool unconfined, confinement_works;
};

/* Values that differ between two builds of one text: what was judged could not be built again. */
enum ks_code ks_emit_check_text(const char *what, const char *text, struct ks_err *err)
{
    static const char *const names[] = {"__DATE__", "__TIME__", "__TIMESTAMP__", "__BASE_FILE__"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (strstr(text, names[i]))
            return ks_fail(err, KS_ERR_UNSUPPORTED, "%s mentions %s, which differs from build to build", what, names[i]);
    return KS_OK;
}

/* ---- preparation ---------------------------------------------------------------------------------------------------- */

static bool has_symbol(const struct ks_symtab *t, const char *name)
{
    for (size_t i = 0; i < t->n; i++)
        if (ks_object_same_name(t->data[i].name, name) && ks_symbol_is_global_definition(t->data[i].type))
            return true;
    return false;
}

/* The host's function of a kernel of that name, which launches can be known by, as this object has it; that of a static kernel or
 * of a template's instance is local.  NULL: none, or several. */
static const char *find_kernel(const struct ks_symtab *t, const char *name)
{
    const char *found = NULL;
    int n = 0;
    for (size_t i = 0; i < t->n; i++)
        if (strchr("tTWV", t->data[i].type) && ks_demangles_same(t->data[i].name, name)) {
            found = t->data[i].name;
            n += strchr("tT", t->data[i].type) ? 1 : 2;
        }
    return n == 1 ? found : NULL;
}

/* Inline functions are weak and may be dropped for another object's; link-time optimisation leaves no machine code at all. */
static bool defines_function(const struct ks_symtab *t, const char *name)
{
    for (size_t i = 0; i < t->n; i++)
        if (strcmp(t->data[i].name, name) == 0)
            return t->data[i].type == 'T';
    return false;
}

static enum ks_code check_tools(struct ks_err *err)
{
    static const char *const tools[] = {"nm", "readelf", "objcopy", "ld"};
    for (size_t i = 0; i < sizeof(tools) / sizeof(tools[0]); i++) {
        KS_AUTO_FREE char *path = NULL;
        KS_TRY(ks_path_search(tools[i], &path, err));
    }
    return KS_OK;
}

static enum ks_code read_baseline(const struct ks_unit *u, bool launches, struct ks_symtab *ret, struct ks_err *err)
{
    struct stat st;
    if (stat(u->object, &st) < 0 || !S_ISREG(st.st_mode))
        return ks_fail(err, KS_ERR_UNSUPPORTED, "cannot replace '%s': not a regular file", u->object);
    if (!launches)
        KS_TRY(ks_emit_check_state(u->object, "the unit", err));
    return ks_symtab_read(u->object, ret, err);
}

static bool has_undefined(const struct ks_symtab *t, const char *name)
{
    for (size_t i = 0; i < t->n; i++)
        if (strcmp(t->data[i].name, name) == 0 && !ks_symbol_is_definition(t->data[i].type))
            return true;
    return false;
}

enum ks_code ks_emit_check_launches(const struct ks_unit *u, struct ks_err *err)
{
    struct ks_symtab t = {0};
    KS_TRY(check_tools(err));
    KS_TRY(ks_emit_check_text("the source", u->source, err));
    KS_TRY(read_baseline(u, true, &t, err));
    bool launches = has_undefined(&t, GET_KERNEL) && has_undefined(&t, LAUNCH_KERNEL);
    ks_symtab_release(&t);
    return launches ? KS_OK
                    : ks_fail(err, KS_ERR_UNSUPPORTED,
                              "cannot lead the launches of '%s' to candidates: it launches nothing by way of " LAUNCH_KERNEL
                              " (a toolkit before 12.8, or a default stream of each thread)",
                              u->object);
}

enum ks_code ks_emit_check_unit(const struct ks_unit *u, struct ks_err *err)
{
    struct ks_symtab t = {0};
    KS_TRY(check_tools(err));
    KS_TRY(ks_emit_check_text("the source", u->source, err));
    enum ks_code code = read_baseline(u, false, &t, err);
    ks_symtab_release(&t);
    return code;
}

static enum ks_code check_baseline(struct emitter *e, struct ks_err *err)
{
    bool launches = e->n > 0 && e->entries[0].launch; /* all entries of a unit are of one kind */
    KS_TRY(read_baseline(e->u, launches, &e->baseline, err));
    for (size_t i = 0; i < e->n; i++) {
        struct ks_emission *x = &e->entries[i];
        const char *symbol = x->launch ? x->launch->symbol : x->signature->symbol;
        const char *kernel = x->launch ? find_kernel(&e->baseline, symbol) : NULL;
        if (x->launch ? !kernel : !x->inner && !defines_function(&e->baseline, symbol))
            return ks_fail(err, KS_ERR_UNSUPPORTED, "object '%s' does not define '%s' as an ordinary function", e->u->object,
                           symbol);
        if (kernel) {
            struct ks_emission_launch *l = KS_ARENA_NEW(e->u->arena, struct ks_emission_launch);
            *l = *x->launch;
            l->symbol = kernel;
            x->launch = l;
        }
    }
    return KS_OK;
}

static void make_names(struct emitter *e)
{
    e->names = KS_ARENA_ARRAY(e->u->arena, struct half_names, e->n);
    for (size_t i = 0; i < e->n; i++) {
        const struct ks_emission *x = &e->entries[i];
        struct half_names *h = &e->names[i];
        h->prefix = ks_arena_printf(e->u->arena, "__kscc_%.8s_", x->key);
        h->candidate = ks_arena_printf(e->u->arena, "%s%s", h->prefix, x->signature->symbol);
        h->original = x->launch ? ks_arena_printf(e->u->arena, "%slaunch", h->prefix)
                                : ks_arena_printf(e->u->arena, "__kscc_original_%s", x->signature->symbol);
        h->get_kernel = ks_arena_printf(e->u->arena, "%sget_kernel", h->prefix);
    }
}

static char *scratch(struct emitter *e, const char *name, size_t i)
{
    return ks_arena_printf(e->u->arena, "%s/%s%zu", e->dir, name, i);
}

/* ---- the parts ------------------------------------------------------------------------------------------------------ */

/* more: further options of objcopy. */
static enum ks_code redefine(const char *from, const char *map_path, const struct ks_str *map, const struct ks_args *more,
                             const char *to, struct ks_err *err)
{
    KS_AUTO_ARGS struct ks_args argv;
    ks_args_init(&argv);
    KS_TRY(ks_file_write_atomic(map_path, ks_str_cstr(map), map->len, 0600, err));
    ks_args_add(&argv, "objcopy");
    ks_args_addf(&argv, "--redefine-syms=%s", map_path);
    if (more->n)
        ks_args_add_all(&argv, more->v);
    ks_args_add(&argv, from);
    ks_args_add(&argv, to);
    return ks_tool_run(argv.v, NULL, err);
}

/* The unit once more, by the user's line, with entries that ask by themselves. */
static enum ks_code compile_asking(struct emitter *e, const char **ret_object, struct ks_err *err)
{
    const struct ks_unit *u = e->u;
    struct ks_inner *inner = KS_ARENA_ARRAY(u->arena, struct ks_inner, e->n);
    char *dir = ks_arena_printf(u->arena, "%s/asking", e->dir), *object = scratch(e, "asking.o", 0);
    char *path = ks_arena_printf(u->arena, "%s/%s", dir, ks_path_base(u->path)); /* nvcc makes names out of the file's */
    size_t n = 0;
    KS_AUTO_STR struct ks_str text = KS_STR_INIT;
    KS_AUTO_ARGS struct ks_args argv;
    ks_args_init(&argv);
    for (size_t i = 0; i < e->n; i++)
        if (e->entries[i].inner)
            inner[n++] = *e->entries[i].inner;
    KS_TRY(ks_inner_text(u, inner, n, &text, err));
    KS_TRY(ks_dir_make(dir, err));
    KS_TRY(ks_file_write_atomic(path, ks_str_cstr(&text), text.len, 0600, err));
    for (size_t i = 0; i + 2 < u->build_argv.n; i++) /* all but "-o OBJECT" */
        ks_args_add(&argv, i == u->input_index ? path : u->build_argv.v[i]);
    ks_unit_add_own_folder(u, &argv);
    ks_args_add(&argv, "-o");
    ks_args_add(&argv, object);
    KS_TRY(ks_tool_run(argv.v, NULL, err));
    *ret_object = object;
    return KS_OK;
}

static enum ks_code make_original(struct emitter *e, struct ks_err *err)
{
    KS_AUTO_STR struct ks_str map = KS_STR_INIT;
    KS_AUTO_ARGS struct ks_args more;
    const char *from = e->u->object;
    bool asking = false;
    ks_args_init(&more);
    for (size_t i = 0; i < e->n; i++) {
        asking |= e->entries[i].inner != NULL;
        if (e->entries[i].launch) /* launches compare its address; make_local() undoes it */
            ks_args_addf(&more, "--globalize-symbol=%s", e->entries[i].launch->symbol);
        if (e->entries[i].launch && i == 0)
            ks_str_addf(&map, GET_KERNEL " %s\n" LAUNCH_KERNEL " %s\n", e->names[i].get_kernel, e->names[i].original);
        if (!e->entries[i].inner && !e->entries[i].launch)
            ks_str_addf(&map, "%s %s\n", e->entries[i].signature->symbol, e->names[i].original);
    }
    if (asking)
        KS_TRY(compile_asking(e, &from, err));
    char *to = scratch(e, "original.o", 0);
    KS_TRY(redefine(from, scratch(e, "original.map", 0), &map, &more, to, err));
    ks_args_add(&e->parts, to);
    return KS_OK;
}

/* The compiler reads what the trials' did and writes nowhere else.  Without the worker's program it is not confined. */
static void confine(struct emitter *e)
{
    KS_AUTO_STR struct ks_str bin = KS_STR_INIT, worker = KS_STR_INIT;
    ks_paths_bin(&bin);
    ks_path_join(&worker, ks_str_cstr(&bin), "kscc-worker");
    e->unconfined = !ks_file_is_executable(worker.data);
    e->bin_dir = ks_arena_strdup(e->u->arena, ks_str_cstr(&bin));
    struct ks_session_options opt = {.nvcc_argv = e->u->build_argv.v, .toolkit_dir = e->u->toolkit_path, .work_dir = e->dir};
    ks_confine_paths(&opt, NULL, &e->confined_to);
    for (size_t i = 0; i < e->u->includes.n; i++)
        ks_confine_add(&e->confined_to, e->u->includes.v[i]);
}

/* One build; where not even the original builds in the confinement, as in the trials, without it. */
static enum ks_code build_confined(struct emitter *e, struct ks_session_options *opt, const char *text, size_t len,
                                   const char *tag, struct ks_built **ret, struct ks_err *err)
{
    struct ks_built *original = NULL;
    struct ks_err ignored;
    opt->bin_dir = e->bin_dir;
    opt->confined_to = e->unconfined ? NULL : &e->confined_to;
    enum ks_code code = ks_build_object(opt, text, len, tag, BUILD_TIMEOUT_MS, ret, NULL, err);
    e->confinement_works |= code == KS_OK;
    if (code == KS_OK || e->unconfined || e->confinement_works)
        return code;
    if (ks_build_object(opt, e->u->source, e->u->source_len, "original", BUILD_TIMEOUT_MS, &original, NULL, &ignored) == KS_OK) {
        ks_built_free(original);
        e->confinement_works = true;
        return code;
    }
    e->unconfined = true;
    opt->confined_to = NULL;
    return ks_build_object(opt, text, len, tag, BUILD_TIMEOUT_MS, ret, NULL, err);
}

/* Builds the verified text by the line that the session built it by, and makes sure that the same came out: host code and PTX. */
static enum ks_code build_judged_as(struct emitter *e, size_t i, const char *line_path, struct ks_built **ret, struct ks_err *err)
{
    const struct ks_emission *x = &e->entries[i];
    char tag[32];
    KS_AUTO_STR struct ks_str text = KS_STR_INIT;
    struct ks_session_options opt = {.unit_path = e->u->path,
                                     .line_path = line_path,
                                     .nvcc_argv = e->u->build_argv.v,
                                     .input_index = e->u->input_index,
                                     .signature = x->signature,
                                     .device = KS_DEVICE_CUDA, /* machine code beside PTX */
                                     .arch = x->arch,
                                     .work_dir = e->dir};
    snprintf(tag, sizeof(tag), "candidate%zu%s", i, line_path ? "" : "u");
    KS_TRY(ks_file_read(x->candidate_path, KS_MAX_SOURCE_BYTES, &text, err));
    KS_TRY(ks_emit_check_text("candidate", ks_str_cstr(&text), err));
    KS_TRY(build_confined(e, &opt, ks_str_cstr(&text), text.len, tag, ret, err));
    if (ks_streq((*ret)->object_hash, x->judged))
        return KS_OK;
    ks_built_free(*ret);
    *ret = NULL;
    return ks_fail(err, KS_ERR_MISMATCH, "the candidate of '%s' compiles to other code than was judged", x->signature->entry);
}

/* The candidate as line information names it: objects/KEY/candidate.cu of a store, whose work tree may be said to lie elsewhere.
 */
static char *path_of_lines(struct emitter *e, const char *absolute)
{
    KS_AUTO_STR struct ks_str store = KS_STR_INIT, root = KS_STR_INIT;
    const char *instead = e->u->settings->lines_root;
    ks_str_add(&store, absolute);
    for (int i = 0; i < 3; i++) {
        char *slash = strrchr(store.data, '/');
        if (slash)
            *slash = '\0';
    }
    if (!instead || !ks_root_of(store.data, &root) || !ks_str_starts(absolute, ks_str_cstr(&root)))
        return ks_arena_strdup(e->u->arena, absolute);
    return ks_arena_printf(e->u->arena, "%s%s", instead, absolute + root.len);
}

/* ptxas looks for the files of lines and writes down their times, which differ from clone to clone.  The compiler therefore gets
 * a name in the same folder that no file has and no candidate can know, as long as the real one, which takes its place
 * afterwards. */
static char *nameless(struct emitter *e, const char *path)
{
    char *other = ks_arena_strdup(e->u->arena, path);
    unsigned char random[NAME_MAX];
    size_t at = strlen(path) - strlen(ks_path_base(path)), len = strlen(path + at);
    ks_random_bytes(random, sizeof(random));
    for (size_t i = 0; i < len && i < sizeof(random); i++)
        other[at + i] = (char)('a' + random[i] % 26);
    return other;
}

static enum ks_code name_lines(const char *object, const char *from, const char *to, struct ks_err *err)
{
    KS_AUTO_STR struct ks_str bytes = KS_STR_INIT;
    const char *name = ks_path_base(from);
    size_t len = strlen(name);
    KS_TRY(ks_file_read(object, SIZE_MAX, &bytes, err));
    for (char *p = bytes.data; p && (p = memmem(p, bytes.len - (size_t)(p - bytes.data), name, len)); p += len)
        memcpy(p, ks_path_base(to), len);
    return ks_file_write_atomic(object, ks_str_cstr(&bytes), bytes.len, 0600, err);
}

/* Debuggers and profilers shall find the lines of the candidate in the file of the store that holds it.  A text that looks at its
 * own name (__FILE__, assert) was judged under the user's, and keeps that. */
static enum ks_code build_judged(struct emitter *e, size_t i, struct ks_built **ret, struct ks_err *err)
{
    const char *path = e->entries[i].candidate_path;
    char absolute[PATH_MAX];
    struct ks_err ignored;
    if (e->entries[i].candidate_is_kept && realpath(path, absolute)) {
        const char *lines = path_of_lines(e, absolute), *compiled = nameless(e, lines);
        if (build_judged_as(e, i, compiled, ret, &ignored) == KS_OK)
            return name_lines((*ret)->object_path, compiled, lines, err);
    }
    return build_judged_as(e, i, NULL, ret, err);
}

/* Compiles C of ours and adds the object.  Position independent code serves every way of linking; no contraction: the contract's
 * values are not fused either. */
static enum ks_code add_c(struct emitter *e, const char *name, size_t i, const struct ks_str *text, struct ks_err *err)
{
    char *c = ks_arena_printf(e->u->arena, "%s/%s%zu.c", e->dir, name, i),
         *o = ks_arena_printf(e->u->arena, "%s/%s%zu.o", e->dir, name, i);
    KS_TRY(ks_file_write_atomic(c, ks_str_cstr(text), text->len, 0600, err));
    KS_AUTO_FREE char *compiler = ks_host_compiler_choose(ks_cmdline_value(e->u->cmdline, "compiler-bindir"), false);
    char *const argv[] = {compiler ? compiler : "gcc",
                          "-x",
                          "c",
                          "-std=gnu11",
                          "-O2",
                          "-fPIC",
                          "-ffp-contract=off",
                          "-fno-math-errno",
                          "-fexceptions", /* operator new's pass through */
                          "-Werror=implicit-function-declaration",
                          "-c",
                          c,
                          "-o",
                          o,
                          NULL};
    KS_TRY(ks_tool_run(argv, NULL, err));
    ks_args_add(&e->parts, o);
    return KS_OK;
}

/* Its definitions get our prefix; what it allocates comes from functions of ours, as in the trials (harness/fresh.h). */
static enum ks_code add_candidate(struct emitter *e, size_t i, const char *compiled, struct ks_err *err)
{
    char *renamed = scratch(e, "renamed.o", i);
    KS_AUTO_STR struct ks_str map = KS_STR_INIT, fresh = KS_STR_INIT;
    KS_AUTO_ARGS struct ks_args more;
    struct ks_symtab t = {0};
    ks_args_init(&more);
    KS_TRY(ks_emit_check_state(compiled, "the candidate", err));
    KS_TRY(ks_symtab_read(compiled, &t, err));
    for (size_t k = 0; k < t.n; k++)
        if (ks_symbol_is_global_definition(t.data[k].type))
            ks_str_addf(&map, "%s %s%s\n", t.data[k].name, e->names[i].prefix, t.data[k].name);
        else if (!ks_symbol_is_definition(t.data[k].type))
            ks_fresh_add(e->names[i].prefix, t.data[k].name, &map, &fresh);
    ks_symtab_release(&t);
    /* Its device code is whole: nothing of it is for the device link, which takes this section's text for a module to be found.
     * The section stays, under another name: debug information may need what it holds. */
    ks_args_add(&more, "--rename-section=__nv_module_id=.rodata.kscc_aside");
    KS_TRY(redefine(compiled, scratch(e, "candidate.map", i), &map, &more, renamed, err));
    ks_args_add(&e->parts, renamed);
    return fresh.len ? add_c(e, "fresh", i, &fresh, err) : KS_OK;
}

static enum ks_code make_candidate(struct emitter *e, size_t i, struct ks_err *err)
{
    struct ks_built *built = NULL;
    enum ks_code code = build_judged(e, i, &built, err);
    if (code == KS_OK)
        code = add_candidate(e, i, built->object_path, err);
    ks_built_free(built);
    return code;
}

static enum ks_code make_dispatcher(struct emitter *e, size_t i, struct ks_err *err)
{
    const struct ks_emission *x = &e->entries[i];
    char visibility[16];
    KS_AUTO_STR struct ks_str text = KS_STR_INIT;
    if (x->launch) {
        KS_AUTO_STR struct ks_str asked = KS_STR_INIT, launches = KS_STR_INIT;
        ks_emit_asked_symbol(x, &asked);
        KS_TRY(ks_emit_asked(x->signature, x->contract, ks_str_cstr(&asked), e->names[i].candidate, x->arch, &text, err));
        ks_emit_launches(e->entries, e->n, e->names[0].get_kernel, e->names[0].original, &launches);
        if (i == 0)
            KS_TRY(add_c(e, "launches", i, &launches, err));
    } else if (x->inner) {
        KS_TRY(ks_emit_asked(x->signature, x->contract, x->inner->symbol, e->names[i].candidate, x->arch, &text, err));
    } else {
        KS_TRY(ks_symbol_visibility(e->u->object, x->signature->symbol, visibility, err));
        KS_TRY(ks_emit_dispatcher(x->signature, x->contract, e->names[i].original, e->names[i].candidate, x->arch, visibility,
                                  &text, err));
    }
    return add_c(e, "dispatch", i, &text, err);
}

/* ---- the whole ------------------------------------------------------------------------------------------------------ */

static enum ks_code combine(struct emitter *e, const char *combined, struct ks_err *err)
{
    KS_AUTO_ARGS struct ks_args argv;
    ks_args_init(&argv);
    ks_args_add(&argv, "ld");
    ks_args_add(&argv, "-r");
    ks_args_add(&argv, "-o");
    ks_args_add(&argv, combined);
    ks_args_add_all(&argv, e->parts.v);
    return ks_tool_run(argv.v, NULL, err);
}

/* Makes local what the baseline does not export.  Weak definitions stay: a linkonce group needs its global name, which carries
 * our prefix. */
static enum ks_code make_local(struct emitter *e, const char *combined, const char *final, struct ks_err *err)
{
    struct ks_symtab t;
    KS_AUTO_STR struct ks_str list = KS_STR_INIT, option = KS_STR_INIT;
    char *list_path = scratch(e, "local.list", 0);
    KS_TRY(ks_symtab_read(combined, &t, err));
    for (size_t i = 0; i < t.n; i++)
        if (strchr("TDBRAGS", t.data[i].type) && !has_symbol(&e->baseline, t.data[i].name))
            ks_str_addf(&list, "%s\n", t.data[i].name);
    ks_symtab_release(&t);
    KS_TRY(ks_file_write_atomic(list_path, ks_str_cstr(&list), list.len, 0600, err));
    ks_str_addf(&option, "--localize-symbols=%s", list_path);
    char *const argv[] = {"objcopy", option.data, (char *)combined, (char *) final, NULL};
    return ks_tool_run(argv, NULL, err);
}

static bool is_ours(const struct emitter *e, const char *name)
{
    for (size_t i = 0; i < e->n; i++)
        if (ks_str_starts(name, e->names[i].prefix))
            return true;
    return false;
}

static bool has_undefined_of(const struct ks_symtab *t, const char *prefix)
{
    for (size_t i = 0; i < t->n; i++)
        if (ks_str_starts(t->data[i].name, prefix) && !ks_symbol_is_definition(t->data[i].type))
            return true;
    return false;
}

/* What the dispatcher needs, and what the gates allow a candidate: the program links it already, or the runtime has it. */
static bool may_be_undefined(const struct emitter *e, const char *name)
{
    static const char *const own[] = {"cudaGetDevice", "cudaDeviceGetAttribute", "exp", "log2", "_GLOBAL_OFFSET_TABLE_"};
    for (size_t i = 0; i < sizeof(own) / sizeof(own[0]); i++)
        if (strcmp(name, own[i]) == 0)
            return true;
    /* relocatable device code: what the device link defines, by a name of its own for every compilation */
    if (ks_str_starts(name, LINKED_BINARY) && has_undefined_of(&e->baseline, LINKED_BINARY))
        return true;
    return has_undefined(&e->baseline, name) || ks_admission_symbol_allowed(name);
}

/* The replacement exports what the baseline exports, no more and no less, and asks the linker for nothing unexpected. */
static enum ks_code check_exports(struct emitter *e, const char *final, struct ks_err *err)
{
    struct ks_symtab t;
    enum ks_code code = KS_OK;
    KS_TRY(ks_symtab_read(final, &t, err));
    for (size_t i = 0; i < t.n && code == KS_OK; i++)
        if (ks_symbol_is_global_definition(t.data[i].type) && !has_symbol(&e->baseline, t.data[i].name) &&
            !is_ours(e, t.data[i].name))
            code = ks_fail(err, KS_ERR_MISMATCH, "the combined object would export '%s', the baseline does not", t.data[i].name);
    for (size_t i = 0; i < t.n && code == KS_OK; i++)
        if (!ks_symbol_is_definition(t.data[i].type) && !may_be_undefined(e, t.data[i].name))
            code = ks_fail(err, KS_ERR_MISMATCH, "the combined object would need '%s', the baseline does not", t.data[i].name);
    for (size_t i = 0; i < e->baseline.n && code == KS_OK; i++)
        if (ks_symbol_is_global_definition(e->baseline.data[i].type) && !has_symbol(&t, e->baseline.data[i].name))
            code = ks_fail(err, KS_ERR_MISMATCH, "the combined object would not export '%s', the baseline does",
                           e->baseline.data[i].name);
    ks_symtab_release(&t);
    return code;
}

/* Same folder, same mode, one rename.  nvcc follows a symbolic link in the place of its output, and so do we. */
static enum ks_code replace_object(const struct ks_unit *u, const char *final, char ret_hash[65], struct ks_err *err)
{
    struct stat st;
    char target[PATH_MAX];
    KS_AUTO_STR struct ks_str data = KS_STR_INIT;
    if (!realpath(u->object, target) || stat(target, &st) < 0)
        return ks_fail_errno(err, KS_ERR_IO, "cannot find the baseline object '%s'", u->object);
    KS_TRY(ks_file_read(final, SIZE_MAX, &data, err));
    KS_TRY(ks_file_write_atomic(target, ks_str_cstr(&data), data.len, st.st_mode & 07777, err));
    ks_hash_hex(ks_str_cstr(&data), data.len, ret_hash);
    return KS_OK;
}

static enum ks_code emit_in(struct emitter *e, char ret_hash[65], struct ks_err *err)
{
    char *combined = scratch(e, "combined.o", 0), *final = scratch(e, "final.o", 0);
    KS_TRY(check_baseline(e, err));
    make_names(e);
    confine(e);
    KS_TRY(make_original(e, err));
    for (size_t i = 0; i < e->n; i++) {
        KS_TRY(make_candidate(e, i, err));
        KS_TRY(make_dispatcher(e, i, err));
    }
    KS_TRY(combine(e, combined, err));
    KS_TRY(make_local(e, combined, final, err));
    KS_TRY(check_exports(e, final, err));
    return replace_object(e->u, final, ret_hash, err);
}

enum ks_code ks_emit(const struct ks_unit *u, const struct ks_emission *entries, size_t n, char ret_hash[65], struct ks_err *err)
{
    struct emitter e = {.u = u, .entries = KS_ARENA_ARRAY(u->arena, struct ks_emission, n + 1), .n = n};
    memcpy(e.entries, entries, n * sizeof(*entries));
    ks_args_init(&e.parts);
    ks_args_init(&e.confined_to);
    struct ks_work_dir scratch;
    KS_TRY(ks_work_dir_open("kscc-emit", &scratch, err));
    e.dir = scratch.path;
    enum ks_code code = emit_in(&e, ret_hash, err);
    ks_symtab_release(&e.baseline);
    ks_args_release(&e.parts);
    ks_args_release(&e.confined_to);
    ks_work_dir_close(&scratch);
    return code;
}

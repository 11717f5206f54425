#include "driver/again.h"

#include "base/file.h"
#include "base/hash.h"
#include "base/limits.h"
#include "base/process.h"
#include "driver/again_line.h"
#include "driver/beside.h"
#include "driver/certificate.h"
#include "driver/device_choice.h"
#include "driver/entry.h"
#include "driver/fingerprint.h"
#include "driver/host_compiler.h"
#include "driver/kept_object.h"
#include "driver/known.h"
#include "driver/object_cache.h"
#include "driver/paths.h"
#include "driver/policy.h"
#include "driver/portable.h"
#include "driver/say.h"
#include "driver/signed.h"
#include "driver/stand_aside.h"
#include "driver/stats.h"

#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* What one look at the unit finds. */
struct look {
    struct ks_arena arena;
    struct ks_unit unit;
    struct ks_contract *contracts;
    size_t n_contracts;
    struct ks_policies policies;
    struct ks_device_chosen device;
    struct ks_store store, shared;
    struct ks_peek *peeks; /* n_peeks of them; all entries when the object is known */
    size_t n_peeks;
    struct ks_str root;   /* "": nothing can be said of other machines */
    char fingerprint[65]; /* of the unit; "": it has none */
    char elsewhere[65];   /* the same, for other machines */
    char key[65];         /* of the object; "": not all entries can be emitted */
    char portable[65];    /* the same, for other machines; "": none */
    struct ks_str ids;    /* as ks_emitted has them */
    struct ks_args read;  /* every file that unit and candidates are made of */
};

struct ks_again {
    const struct ks_cmdline *c;
    const struct ks_settings *s;
    const char *nvcc, *object, *deps; /* deps: NULL: no dependency file */
    struct timespec started;
    struct ks_echo echo;
    struct look look;
};

/* ---- lines that can be kept ----------------------------------------------------------------------------------------- */

/* Not a pipe, which can be read once. */
static bool can_be_read_twice(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && S_ISREG(st.st_mode);
}

/* A file that a rename may replace, or none. */
static bool is_plain_file(const char *path)
{
    struct stat st;
    return lstat(path, &st) == 0 ? S_ISREG(st.st_mode) : true;
}

/* The dependency file's name: -MF, or the object's with another suffix.  False: there is one, of a name not known. */
static bool find_deps(const struct ks_again *a, const char **ret)
{
    const struct ks_cmdline *c = a->c;
    bool wanted = false;
    for (size_t i = 0; i < c->items.n; i++)
        wanted |= ks_flag_is(c->items.data[i].flag, "generate-dependencies-with-compile") ||
                  ks_flag_is(c->items.data[i].flag, "generate-nonsystem-dependencies-with-compile");
    const char *named = ks_cmdline_value(c, "dependency-output");
    *ret = !wanted ? NULL : named;
    if (!wanted || named)
        return true;
    size_t len = strlen(a->object);
    if (!ks_str_ends(a->object, ".o"))
        return false;
    *ret = ks_arena_printf(c->arena, "%.*s.d", (int)(len - 2), a->object);
    return true;
}

/* ---- a look at the unit --------------------------------------------------------------------------------------------- */

/* Without a word to say about them.  False: there is one, or there are none. */
static bool read_contracts(struct look *l)
{
    struct ks_diags diags;
    struct ks_err err;
    KS_AUTO_STR struct ks_str sidecar = KS_STR_INIT;
    ks_sidecar_path(l->unit.path, &sidecar);
    ks_diags_init(&diags);
    bool ok = ks_contracts_parse(l->unit.path, l->unit.source, l->unit.source_len, &l->arena, &diags, &l->contracts,
                                 &l->n_contracts, &err) == KS_OK &&
              diags.n == 0;
    ks_diags_release(&diags);
    if (!ok || !ks_file_exists(ks_str_cstr(&sidecar)))
        return ok && l->n_contracts > 0;
    ks_diags_init(&diags);
    ok = ks_sidecar_read(ks_str_cstr(&sidecar), &l->arena, &diags, &l->contracts, &l->n_contracts, &err) == KS_OK && diags.n == 0;
    ks_diags_release(&diags);
    return ok && l->n_contracts > 0;
}

/* Entries that the policy leaves alone have a word said about them. */
static bool read_policies(struct look *l)
{
    struct ks_diags diags;
    struct ks_err err;
    const char *text, *where;
    ks_diags_init(&diags);
    bool ok =
        ks_policies_read(l->unit.settings, l->unit.path, &l->arena, &diags, &text, &l->policies, &err) == KS_OK && diags.n == 0;
    ks_diags_release(&diags);
    for (size_t i = 0; ok && i < l->n_contracts; i++)
        ok = ks_policies_of(&l->policies, l->contracts[i].entry, &where) != KS_POLICY_OFF;
    return ok;
}

/* Stores that are there. */
static void open_stores(struct look *l)
{
    struct ks_err none;
    KS_AUTO_STR struct ks_str dir = KS_STR_INIT;
    const struct ks_settings *s = l->unit.settings;
    ks_store_dir_of(s, l->unit.path, &dir);
    if (!ks_root_of(ks_str_cstr(&dir), &l->root))
        ks_str_clear(&l->root);
    if (ks_store_open_existing(ks_str_cstr(&dir), &l->store, &none) != KS_OK)
        l->store.dir = NULL;
    if (s->shared_dir && ks_store_open_existing(s->shared_dir, &l->shared, &none) != KS_OK)
        l->shared.dir = NULL;
}

/* A search would make them; where only approved certificates count, none come up. */
static bool may_be_known(const struct look *l)
{
    const struct ks_store *const stores[] = {&l->store, &l->shared};
    const char *where;
    for (size_t i = 0; i < l->n_contracts; i++)
        if (ks_policies_of(&l->policies, l->contracts[i].entry, &where) == KS_POLICY_EXPLORE)
            return true;
    for (size_t i = 0; i < sizeof(stores) / sizeof(stores[0]); i++) {
        KS_AUTO_ARGS struct ks_args keys;
        struct ks_err none;
        ks_args_init(&keys);
        if (stores[i]->dir && ks_store_keys(stores[i], &keys, &none) == KS_OK && keys.n)
            return true;
    }
    return false;
}

/* but: a file whose contents its hash vouches for. */
static void add_read(struct look *l, const char *rule, const char *but)
{
    KS_AUTO_STR struct ks_str name = KS_STR_INIT;
    for (const char *p = strchr(rule, ':') ? strchr(rule, ':') + 1 : rule; ks_rule_next(&p, &name);)
        if (!ks_streq(ks_str_cstr(&name), but))
            ks_args_add(&l->read, ks_str_cstr(&name));
}

static bool print_unit(struct look *l)
{
    struct ks_err err;
    KS_AUTO_STR struct ks_str rule = KS_STR_INIT;
    if (ks_fingerprint(l->unit.build_argv.v, l->unit.input_index, ks_str_cstr(&l->root), l->fingerprint, l->elsewhere, &rule,
                       &err) != KS_OK)
        return false;
    add_read(l, ks_str_cstr(&rule), NULL);
    l->unit.rule = ks_arena_strndup(&l->arena, ks_str_cstr(&rule), rule.len);
    return true;
}

static const char *allowed_signers(const struct look *l)
{
    return l->unit.settings->allowed_signers ? l->unit.settings->allowed_signers : l->policies.allowed_signers;
}

static bool peek_entries(struct look *l, char unit_hash[65])
{
    struct ks_entry_context x = {.unit = &l->unit,
                                 .device = &l->device,
                                 .store = l->store.dir ? &l->store : NULL,
                                 .shared = l->shared.dir ? &l->shared : NULL,
                                 .unit_hash = unit_hash,
                                 .allowed_signers = allowed_signers(l)};
    l->peeks = KS_ARENA_ARRAY(&l->arena, struct ks_peek, l->n_contracts);
    for (size_t i = 0; i < l->n_contracts; i++) {
        const char *where;
        x.policy = ks_policies_of(&l->policies, l->contracts[i].entry, &where);
        if (!ks_known_peek(&x, &l->contracts[i], &l->peeks[i]))
            return false;
        l->n_peeks++;
    }
    return true;
}

/* A candidate may read other headers than the original.  Its line is the trials' in all that the preprocessor can see. */
static bool print_candidate(struct look *l, const struct ks_peek *p, const char *candidate, char ret[65], char ret_elsewhere[65])
{
    KS_AUTO_ARGS struct ks_args line;
    KS_AUTO_STR struct ks_str rule = KS_STR_INIT;
    struct ks_err err;
    size_t index;
    ks_args_init(&line);
    ks_cmdline_build_argv(l->unit.cmdline, l->unit.build_argv.v[0], l->unit.input, candidate, p->device->arch, "candidate.o",
                          &line, &index);
    ks_unit_add_own_folder(&l->unit, &line);
    ks_args_add(&line, "-Xcompiler");
    ks_args_add(&line, "-fPIC");
    if (ks_fingerprint(line.v, index, ks_str_cstr(&l->root), ret, ret_elsewhere, &rule, &err) != KS_OK)
        return false;
    add_read(l, ks_str_cstr(&rule), candidate);
    return true;
}

/* What an object is made of, for this machine and for others. */
struct keys {
    struct ks_hash here, elsewhere;
    const char *root;
};

static void add_here(struct keys *k, const char *text)
{
    ks_hash_update_field(&k->here, text ? text : "", text ? strlen(text) : 0);
}

static void add_elsewhere(struct keys *k, const char *text)
{
    KS_AUTO_STR struct ks_str relative = KS_STR_INIT;
    if (text)
        ks_root_hide(k->root, text, strlen(text), &relative);
    ks_hash_update_field(&k->elsewhere, ks_str_cstr(&relative), relative.len);
}

static void add_text(struct keys *k, const char *text)
{
    add_here(k, text);
    add_elsewhere(k, text);
}

/* A program of ours, or one that puts the object together. */
static void add_program(struct keys *k, const char *path)
{
    struct stat st;
    KS_AUTO_STR struct ks_str text = KS_STR_INIT;
    if (stat(path, &st) == 0)
        ks_str_addf(&text, "%s %llu %llu %lld %lld.%09ld %lld.%09ld", path, (unsigned long long)st.st_dev,
                    (unsigned long long)st.st_ino, (long long)st.st_size, (long long)st.st_mtim.tv_sec, st.st_mtim.tv_nsec,
                    (long long)st.st_ctim.tv_sec, st.st_ctim.tv_nsec);
    add_here(k, ks_str_cstr(&text));
}

/* Elsewhere kscc's version stands for its programs, and the plan has the host compiler already. */
static bool add_programs(struct keys *k, const struct ks_cmdline *c)
{
    static const char *const tools[] = {"ld", "objcopy", "nm", "readelf"}, *const own[] = {"kscc-core", "kscc-worker"};
    KS_AUTO_FREE char *compiler = ks_host_compiler_choose(ks_cmdline_value(c, "compiler-bindir"), false);
    KS_AUTO_STR struct ks_str bin = KS_STR_INIT, path = KS_STR_INIT;
    struct ks_err err;
    for (size_t i = 0; i < sizeof(tools) / sizeof(tools[0]); i++) {
        KS_AUTO_FREE char *found = NULL;
        if (ks_path_search(tools[i], &found, &err) != KS_OK || ks_program_sample(found, &k->elsewhere, &err) != KS_OK)
            return false;
        add_program(k, found);
    }
    ks_paths_bin(&bin);
    for (size_t i = 0; i < sizeof(own) / sizeof(own[0]); i++) {
        ks_path_join(&path, ks_str_cstr(&bin), own[i]);
        add_program(k, ks_str_cstr(&path));
    }
    if (compiler)
        add_program(k, compiler);
    return true;
}

static bool add_candidate(struct keys *k, struct look *l, const struct ks_peek *p)
{
    KS_AUTO_STR struct ks_str candidate = KS_STR_INIT;
    char print[65], elsewhere[65], absolute[PATH_MAX];
    ks_store_path(p->store, p->key, KS_CANDIDATE_FILE, &candidate);
    ks_again_id(p->key, p->device->arch, ks_str_cstr(&candidate), &l->ids);
    if (!realpath(ks_str_cstr(&candidate), absolute) || !print_candidate(l, p, absolute, print, elsewhere))
        return false;
    add_here(k, print);
    add_elsewhere(k, elsewhere);
    return true;
}

static bool make_keys(const struct ks_again *a, struct look *l)
{
    struct keys k = {.root = ks_str_cstr(&l->root)};
    KS_AUTO_STR struct ks_str emission = KS_STR_INIT;
    ks_hash_init(&k.here);
    ks_hash_init(&k.elsewhere);
    add_here(&k, "object 1");
    ks_str_addf(&emission, "kept %d %s", KS_EMISSION, KSCC_VERSION);
    add_elsewhere(&k, ks_str_cstr(&emission));
    add_here(&k, l->fingerprint);
    add_elsewhere(&k, l->elsewhere);
    add_text(&k, a->object);
    add_text(&k, a->deps);
    add_text(&k, a->s->lines_root);
    add_here(&k, isatty(STDERR_FILENO) ? "terminal" : "");
    for (size_t i = 0; i < a->c->words.n; i++)
        if (!a->c->words.data[i].ours)
            add_text(&k, a->c->words.data[i].text);
    for (size_t i = 0; i < l->n_peeks; i++)
        if (!add_candidate(&k, l, &l->peeks[i]))
            return false;
    add_text(&k, ks_str_cstr(&l->ids));
    if (!add_programs(&k, a->c))
        return false;
    ks_hash_final_hex(&k.here, l->key);
    if (l->root.len)
        ks_hash_final_hex(&k.elsewhere, l->portable);
    return true;
}

/* False: nothing can be said about the unit. */
static bool look_at(const struct ks_again *a, struct look *l)
{
    struct ks_err err;
    char unit_hash[65];
    *l = (struct look){.store = {.scratch_fd = -1}, .shared = {.scratch_fd = -1}, .ids = KS_STR_INIT, .root = KS_STR_INIT};
    ks_args_init(&l->read);
    ks_arena_init(&l->arena);
    const char *path = a->c->inputs.data[0].path;
    if (!can_be_read_twice(path) || !ks_unit_may_have_contract(path) ||
        ks_unit_open(a->c, a->s, a->nvcc, 0, &l->arena, &l->unit, &err) != KS_OK || !read_contracts(l) || !read_policies(l))
        return false;
    open_stores(l);
    if (!may_be_known(l) || !print_unit(l))
        return false;
    if ((l->store.dir || l->shared.dir) && ks_device_choose(&l->unit, &l->device, &err) == KS_OK &&
        ks_unit_hash(&l->unit, unit_hash, &err) == KS_OK && peek_entries(l, unit_hash) && !make_keys(a, l))
        l->key[0] = l->portable[0] = '\0';
    return true;
}

static void look_release(struct look *l)
{
    for (size_t i = 0; i < l->n_peeks; i++)
        ks_json_free(l->peeks[i].certificate);
    ks_store_close(&l->store);
    ks_store_close(&l->shared);
    ks_unit_close(&l->unit);
    ks_str_release(&l->ids);
    ks_str_release(&l->root);
    ks_args_release(&l->read);
    ks_arena_release(&l->arena);
}

/* ---- opening -------------------------------------------------------------------------------------------------------- */

/* The words of these variables are in the line already; nvcc, when it runs for the user, reads them itself. */
static void look_without_variables(struct ks_again *a)
{
    static const char *const names[] = {"NVCC_PREPEND_FLAGS", "NVCC_APPEND_FLAGS"};
    char *values[2];
    for (size_t i = 0; i < 2; i++) {
        const char *value = getenv(names[i]);
        values[i] = value ? ks_xstrdup(value) : NULL;
        unsetenv(names[i]);
    }
    if (!look_at(a, &a->look))
        a->look.fingerprint[0] = '\0';
    for (size_t i = 0; i < 2; i++) {
        if (values[i])
            setenv(names[i], values[i], 1);
        free(values[i]);
    }
}

/* What we open must not take the number of a stream that the caller closed. */
static bool streams_are_open(void)
{
    return fcntl(STDIN_FILENO, F_GETFD) >= 0 && fcntl(STDOUT_FILENO, F_GETFD) >= 0 && fcntl(STDERR_FILENO, F_GETFD) >= 0;
}

struct ks_again *ks_again_open(const struct ks_cmdline *c, const struct ks_settings *s, const char *nvcc)
{
    struct ks_again *a = ks_xcalloc(1, sizeof(*a));
    *a = (struct ks_again){.c = c, .s = s, .nvcc = nvcc};
    a->look.store.scratch_fd = a->look.shared.scratch_fd = -1;
    ks_arena_init(&a->look.arena);
    ks_echo_init(&a->echo);
    clock_gettime(CLOCK_REALTIME_COARSE, &a->started); /* the clock of files' times */
    if (!ks_again_line_is_plain(c) || s->fresh || s->kept_off || !streams_are_open())
        return a;
    a->object = ks_cmdline_object(c, 0);
    if (find_deps(a, &a->deps) && is_plain_file(a->object) && (!a->deps || is_plain_file(a->deps)))
        look_without_variables(a);
    return a;
}

void ks_again_free(struct ks_again *a)
{
    look_release(&a->look);
    ks_echo_release(&a->echo);
    free(a);
}

/* ---- emitting ------------------------------------------------------------------------------------------------------- */

void ks_again_id(const char *key, const char *arch, const char *candidate_path, struct ks_str *out)
{
    KS_AUTO_STR struct ks_str dir = KS_STR_INIT, certificate = KS_STR_INIT;
    char hex[65], absolute[PATH_MAX];
    struct ks_err err;
    ks_path_dir(&dir, candidate_path);
    ks_path_join(&certificate, ks_str_cstr(&dir), KS_CERTIFICATE_FILE);
    if (realpath(candidate_path, absolute) && ks_hash_file_hex(ks_str_cstr(&certificate), hex, &err) == KS_OK)
        ks_str_addf(out, "%s %s %s %s\n", key, hex, arch, absolute);
}

void ks_again_say(const char *object, const char *entry, const char *candidate_path)
{
    KS_AUTO_STR struct ks_str certificate = KS_STR_INIT, dir = KS_STR_INIT;
    if (candidate_path) {
        ks_path_dir(&dir, candidate_path);
        ks_path_join(&certificate, ks_str_cstr(&dir), KS_CERTIFICATE_FILE);
    }
    ks_say_progress("emitted %s: original, candidate of %s and guard; certificate: %s", object, entry,
                    candidate_path ? ks_str_cstr(&certificate) : "not kept");
}

/* As nvcc would leave it: a new file, by the mask of this process. */
static bool put_in_place(const char *path, const struct ks_str *bytes)
{
    struct ks_err err;
    mode_t mask = umask(0);
    umask(mask);
    return ks_file_write_atomic(path, ks_str_cstr(bytes), bytes->len, 0666 & ~mask, &err) == KS_OK;
}

/* One that came with the store, when a person's approval covers it.  It was made without a word. */
static bool get_kept(const struct look *l, struct ks_cached_object *ret)
{
    KS_AUTO_ARGS struct ks_args keys;
    struct ks_kept k;
    struct ks_err err;
    ks_args_init(&keys);
    for (size_t i = 0; i < l->n_peeks; i++) {
        if (l->peeks[i].store != l->peeks[0].store ||
            ks_approval_check(l->peeks[i].store, l->peeks[i].key, allowed_signers(l), &err) != KS_OK)
            return false;
        ks_args_add(&keys, l->peeks[i].key);
    }
    if (!l->portable[0] || !l->n_peeks)
        return false;
    if (ks_kept_get(l->peeks[0].store, keys.v, keys.n, l->portable, ks_str_cstr(&l->root), &k, &err) != KS_OK) {
        if (err.code != KS_ERR_NOT_FOUND)
            ks_say_instead(&err, "compiling");
        return false;
    }
    *ret = (struct ks_cached_object){k.object, KS_STR_INIT, k.deps, k.has_deps};
    return true;
}

bool ks_again_emit(struct ks_again *a)
{
    struct look *l = &a->look;
    struct ks_cached_object o;
    if (!l->key[0] || !((l->store.dir && ks_object_cache_get(&l->store, l->key, &o)) || get_kept(l, &o)))
        return false;
    bool done =
        o.has_deps == (a->deps != NULL) && (!a->deps || put_in_place(a->deps, &o.deps)) && put_in_place(a->object, &o.object);
    if (done) {
        struct ks_entry_context x = {.unit = &l->unit};
        ks_echo_again(ks_str_cstr(&o.messages), o.messages.len);
        ks_stats_count(KS_STAT_UNITS);
        ks_stats_count(KS_STAT_EMITTED);
        for (size_t i = 0; i < l->n_peeks; i++) {
            ks_stats_count(KS_STAT_ENTRIES);
            ks_stats_count(KS_STAT_HITS);
            ks_known_say(&x, &l->peeks[i]);
        }
        for (size_t i = 0; i < l->n_peeks; i++) {
            KS_AUTO_STR struct ks_str candidate = KS_STR_INIT;
            ks_store_path(l->peeks[i].store, l->peeks[i].key, KS_CANDIDATE_FILE, &candidate);
            ks_again_say(a->object, l->contracts[i].entry, ks_str_cstr(&candidate));
        }
    }
    ks_cached_object_release(&o);
    return done;
}

/* ---- keeping -------------------------------------------------------------------------------------------------------- */

const char *ks_again_rule(const struct ks_again *a)
{
    return a->look.unit.rule;
}

struct ks_echo *ks_again_echo(struct ks_again *a)
{
    return a->look.fingerprint[0] && (a->echo.whole || ks_echo_open(&a->echo)) ? &a->echo : NULL;
}

static bool is_before(const struct timespec *t, const struct timespec *than)
{
    return t->tv_sec < than->tv_sec || (t->tv_sec == than->tv_sec && t->tv_nsec < than->tv_nsec);
}

/* The file, and the link to it. */
static bool is_older(const char *path, const struct timespec *than)
{
    struct stat st, link;
    return stat(path, &st) == 0 && lstat(path, &link) == 0 && is_before(&st.st_ctim, than) && is_before(&link.st_ctim, than);
}

/* What was changed during the build and changed back shows here, whatever times were set: those of the inodes. */
static bool all_older(const struct look *l, const struct timespec *than)
{
    for (size_t i = 0; i < l->read.n; i++)
        if (!is_older(l->read.v[i], than))
            return false;
    return l->read.n > 0;
}

static bool read_results(const struct ks_again *a, const struct ks_emitted *emitted, struct ks_cached_object *o)
{
    struct ks_err err;
    char hex[65];
    if (ks_file_read(a->object, SIZE_MAX, &o->object, &err) != KS_OK)
        return false;
    ks_hash_hex(ks_str_cstr(&o->object), o->object.len, hex);
    o->has_deps = a->deps != NULL;
    ks_str_addn(&o->messages, ks_str_cstr(&a->echo.text), a->echo.text.len);
    return ks_streq(hex, emitted->object_hash) &&
           (!a->deps ||
            (!is_older(a->deps, &a->started) && ks_file_read(a->deps, KS_MAX_CAPTURE_BYTES, &o->deps, &err) == KS_OK));
}

/* For other machines too, when somebody is going to look at the certificates: what is approved already stays as it is.  What the
 * compiler said would be said in this machine's words. */
static void keep_for_others(const struct look *l, const struct ks_cached_object *o)
{
    KS_AUTO_ARGS struct ks_args keys, words;
    KS_AUTO_FREE char *folder = getcwd(NULL, 0);
    struct ks_err err;
    bool approved = true;
    ks_args_init(&keys);
    ks_args_init(&words);
    for (size_t i = 0; i < l->n_peeks; i++) {
        if (l->peeks[i].store != &l->store)
            return;
        approved &= ks_store_is_approved(&l->store, l->peeks[i].key);
        ks_args_add(&keys, l->peeks[i].key);
    }
    if (approved || !l->portable[0] || o->messages.len || !folder)
        return;
    for (size_t i = 1; i + 2 < l->unit.build_argv.n; i++) /* all but nvcc's path and "-o OBJECT" */
        ks_args_add(&words, l->unit.build_argv.v[i]);
    struct ks_kept k = {o->object, o->deps, o->has_deps};
    const char *lines_root = l->unit.settings->lines_root;
    struct ks_kept_line line = {ks_str_cstr(&l->root), folder, lines_root ? lines_root : ks_str_cstr(&l->root), words.v};
    if (ks_kept_put(&l->store, keys.v, keys.n, l->portable, &k, &line, &err) != KS_OK)
        ks_say_progress("the object of %s is not kept for other machines: %s", l->unit.path, err.message);
}

void ks_again_keep(struct ks_again *a, const struct ks_emitted *emitted)
{
    struct look now;
    struct ks_cached_object o = {KS_STR_INIT, KS_STR_INIT, KS_STR_INIT, false};
    struct ks_err err;
    if (!a->look.fingerprint[0] || !a->echo.whole || ks_say_said() || !emitted->object_hash[0])
        return;
    if (look_at(a, &now) && now.key[0] && ks_streq(now.fingerprint, a->look.fingerprint) &&
        ks_streq(ks_str_cstr(&now.ids), ks_str_cstr(&emitted->ids)) && all_older(&now, &a->started) &&
        read_results(a, emitted, &o)) {
        if (ks_object_cache_put(&now.store, now.key, &o, &err) != KS_OK)
            ks_say_progress("the object of %s is not kept for the next build: %s", now.unit.path, err.message);
        keep_for_others(&now, &o);
    }
    ks_cached_object_release(&o);
    look_release(&now);
}

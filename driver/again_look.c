#include "driver/again_look.h"

#include "base/file.h"
#include "base/hash.h"
#include "driver/again.h"
#include "driver/beside.h"
#include "driver/certificate.h"
#include "driver/entry.h"
#include "driver/fingerprint.h"
#include "driver/host_compiler.h"
#include "driver/kept_object.h"
#include "driver/paths.h"
#include "driver/portable.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

void ks_look_init(struct ks_look *l)
{
    *l = (struct ks_look){.store = {.scratch_fd = -1}, .shared = {.scratch_fd = -1}, .ids = KS_STR_INIT, .root = KS_STR_INIT};
    ks_args_init(&l->read);
    ks_arena_init(&l->arena);
}

/* ---- what is there -------------------------------------------------------------------------------------------------- */

/* Not a pipe, which can be read once. */
static bool can_be_read_twice(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && S_ISREG(st.st_mode);
}

/* Without a word to say about them.  False: there is one, or there are none. */
static bool read_contracts(struct ks_look *l)
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
static bool read_policies(struct ks_look *l)
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
static void open_stores(struct ks_look *l)
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
static bool may_be_known(const struct ks_look *l)
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
static void add_read(struct ks_look *l, const char *rule, const char *but)
{
    KS_AUTO_STR struct ks_str name = KS_STR_INIT;
    for (const char *p = strchr(rule, ':') ? strchr(rule, ':') + 1 : rule; ks_rule_next(&p, &name);)
        if (!ks_streq(ks_str_cstr(&name), but))
            ks_args_add(&l->read, ks_str_cstr(&name));
}

static bool print_unit(struct ks_look *l)
{
    struct ks_err err;
    KS_AUTO_STR struct ks_str rule = KS_STR_INIT;
    if (ks_fingerprint(l->unit.build_argv.v, l->unit.input_index, ks_str_cstr(&l->root), l->fingerprint, l->elsewhere, &rule,
                       &err) != KS_OK) {
        l->why = ks_arena_strdup(&l->arena, err.message);
        return false;
    }
    add_read(l, ks_str_cstr(&rule), NULL);
    l->unit.rule = ks_arena_strndup(&l->arena, ks_str_cstr(&rule), rule.len);
    return true;
}

const char *ks_look_signers(const struct ks_look *l)
{
    return l->unit.settings->allowed_signers ? l->unit.settings->allowed_signers : l->policies.allowed_signers;
}

static bool peek_entries(struct ks_look *l, char unit_hash[65])
{
    struct ks_entry_context x = {.unit = &l->unit,
                                 .device = &l->device,
                                 .store = l->store.dir ? &l->store : NULL,
                                 .shared = l->shared.dir ? &l->shared : NULL,
                                 .unit_hash = unit_hash,
                                 .allowed_signers = ks_look_signers(l)};
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
static bool print_candidate(struct ks_look *l, const struct ks_peek *p, const char *candidate, char ret[65],
                            char ret_elsewhere[65])
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

/* ---- keys ----------------------------------------------------------------------------------------------------------- */

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
    KS_AUTO_STR struct ks_str text = KS_STR_INIT;
    struct ks_err none; /* one that is not there counts as that */
    time_t changed;
    add_here(k, ks_fingerprint_stat(path, &text, &changed, &none) == KS_OK ? ks_str_cstr(&text) : "");
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

static bool add_candidate(struct keys *k, struct ks_look *l, const struct ks_peek *p)
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

static bool make_keys(const struct ks_look_line *line, struct ks_look *l)
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
    add_text(&k, line->object);
    add_text(&k, line->deps);
    add_text(&k, line->settings->lines_root);
    add_here(&k, isatty(STDERR_FILENO) ? "terminal" : "");
    for (size_t i = 0; i < line->cmdline->words.n; i++)
        if (!line->cmdline->words.data[i].ours)
            add_text(&k, line->cmdline->words.data[i].text);
    for (size_t i = 0; i < l->n_peeks; i++)
        if (!add_candidate(&k, l, &l->peeks[i]))
            return false;
    add_text(&k, ks_str_cstr(&l->ids));
    if (!add_programs(&k, line->cmdline))
        return false;
    ks_hash_final_hex(&k.here, l->key);
    if (l->root.len)
        ks_hash_final_hex(&k.elsewhere, l->portable);
    return true;
}

/* ---- the whole ------------------------------------------------------------------------------------------------------ */

bool ks_look_at(const struct ks_look_line *line, struct ks_look *l)
{
    struct ks_err err;
    char unit_hash[65];
    ks_look_init(l);
    const char *path = line->cmdline->inputs.data[0].path;
    if (!can_be_read_twice(path) || !ks_unit_may_have_contract(path) ||
        ks_unit_open(line->cmdline, line->settings, line->nvcc, 0, &l->arena, &l->unit, &err) != KS_OK || !read_contracts(l) ||
        !read_policies(l))
        return false;
    open_stores(l);
    if (!may_be_known(l) || !print_unit(l))
        return false;
    if ((l->store.dir || l->shared.dir) && ks_device_choose(&l->unit, &l->device, &err) == KS_OK &&
        ks_unit_hash(&l->unit, unit_hash, &err) == KS_OK && peek_entries(l, unit_hash) && !make_keys(line, l))
        l->key[0] = l->portable[0] = '\0';
    return true;
}

void ks_look_release(struct ks_look *l)
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

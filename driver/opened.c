#include "driver/opened.h"

#include "base/file.h"
#include "base/limits.h"
#include "driver/beside.h"
#include "driver/call.h"
#include "driver/emit.h"
#include "driver/parse_line.h"
#include "driver/say.h"

#include <string.h>

#define MAX_PARSE_ERRORS_SHOWN 5

bool ks_opened_words(struct ks_opened *o, char *const *argv)
{
    *o = (struct ks_opened){.store = {.scratch_fd = -1}};
    ks_arena_init(&o->arena);
    ks_args_init(&o->words);
    ks_args_add(&o->words, argv[0]);
    return ks_command_args(argv, &o->settings, &o->words);
}

void ks_opened_release(struct ks_opened *o)
{
    ks_store_close(&o->store);
    ks_unit_close(&o->unit);
    ks_cmdline_release(&o->cmdline);
    ks_args_release(&o->words);
    ks_arena_release(&o->arena);
    *o = (struct ks_opened){.store = {.scratch_fd = -1}};
}

enum ks_code ks_opened_input(struct ks_opened *o, const char **ret_path, struct ks_err *err)
{
    ks_call_parse_command(o->words.v, &o->arena, &o->cmdline);
    if (o->cmdline.inputs.n != 1)
        return ks_fail(err, KS_ERR_USAGE, "expected one CUDA source, got %zu", o->cmdline.inputs.n);
    *ret_path = o->cmdline.inputs.data[0].path;
    return KS_OK;
}

/* ---- store ---------------------------------------------------------------------------------------------------------- */

enum ks_code ks_opened_store(struct ks_opened *o, struct ks_err *err)
{
    KS_AUTO_STR struct ks_str dir = KS_STR_INIT;
    ks_store_dir_of(&o->settings, o->cmdline.inputs.data[0].path, &dir);
    return ks_store_open(ks_str_cstr(&dir), &o->store, err);
}

/* ---- contracts ------------------------------------------------------------------------------------------------------ */

static enum ks_code read_contracts(struct ks_opened *o, struct ks_err *err)
{
    struct ks_diags diags;
    const struct ks_unit *u = &o->unit;
    KS_AUTO_STR struct ks_str sidecar = KS_STR_INIT;
    ks_sidecar_path(u->path, &sidecar);
    ks_diags_init(&diags);
    enum ks_code code =
        ks_contracts_parse(u->path, u->source, u->source_len, &o->arena, &diags, &o->contracts, &o->n_contracts, err);
    ks_say_diags(&diags, u->source, u->source_len);
    ks_diags_release(&diags);
    ks_diags_init(&diags);
    if (code == KS_OK && ks_file_exists(ks_str_cstr(&sidecar)))
        code = ks_sidecar_read(ks_str_cstr(&sidecar), &o->arena, &diags, &o->contracts, &o->n_contracts, err);
    ks_say_diags(&diags, NULL, 0);
    ks_diags_release(&diags);
    if (code == KS_OK && o->n_contracts == 0)
        code = ks_fail(err, KS_ERR_NOT_FOUND, "no workload: neither a contract ('// kscc: entry ...') in '%s' nor '%s'", u->path,
                       ks_str_cstr(&sidecar));
    return code;
}

enum ks_code ks_opened_contract(const struct ks_opened *o, const char *entry, const struct ks_contract **ret, struct ks_err *err)
{
    KS_AUTO_STR struct ks_str names = KS_STR_INIT;
    const struct ks_contract *found = !entry && o->n_contracts == 1 ? &o->contracts[0] : NULL;
    for (size_t i = 0; i < o->n_contracts; i++) {
        ks_str_addf(&names, "%s%s", i ? ", " : "", o->contracts[i].entry);
        if (entry && strcmp(o->contracts[i].entry, entry) == 0)
            found = &o->contracts[i];
    }
    if (found) {
        *ret = found;
        return KS_OK;
    }
    if (entry)
        return ks_fail(err, KS_ERR_NOT_FOUND, "'%s' has no contract for the entry '%s' (it has: %s)", o->unit.path, entry,
                       ks_str_cstr(&names));
    return ks_fail(err, KS_ERR_USAGE, "'%s' has several entries, name one with --entry: %s", o->unit.path, ks_str_cstr(&names));
}

/* ---- unit and facts ------------------------------------------------------------------------------------------------- */

static enum ks_code stand_in(struct ks_opened *o, const char *text_path, struct ks_err *err)
{
    KS_AUTO_STR struct ks_str text = KS_STR_INIT;
    KS_TRY(ks_file_read(text_path, KS_MAX_SOURCE_BYTES, &text, err));
    o->unit.source = ks_arena_strndup(&o->arena, ks_str_cstr(&text), text.len);
    o->unit.source_len = text.len;
    o->unit.text_path = ks_arena_strdup(&o->arena, text_path);
    return KS_OK;
}

static enum ks_code read_facts(struct ks_opened *o, struct ks_err *err)
{
    struct ks_diags diags;
    const struct ks_unit *u = &o->unit;
    ks_unit_parse_options(u, &o->parse);
    ks_diags_init(&diags);
    enum ks_code code = ks_facts_parse(u->path, u->source, u->source_len, &o->parse, &o->arena, &diags, &o->facts, err);
    for (size_t i = 0, shown = 0; code != KS_OK && i < diags.n && shown < MAX_PARSE_ERRORS_SHOWN; i++) {
        bool here = ks_streq(diags.data[i].file, u->path);
        if (diags.data[i].severity == KS_SEV_ERROR && ++shown)
            ks_say_diag(&diags.data[i], here ? u->source : NULL, here ? u->source_len : 0);
    }
    ks_diags_release(&diags);
    return code == KS_OK ? code : ks_wrap(err, "cannot analyse '%s'", u->path);
}

enum ks_code ks_opened_read(struct ks_opened *o, const char *text_path, struct ks_err *err)
{
    KS_AUTO_FREE char *nvcc = NULL;
    KS_TRY(ks_nvcc_find(o->settings.nvcc, &nvcc, err));
    KS_TRY(ks_unit_open(&o->cmdline, &o->settings, nvcc, 0, &o->arena, &o->unit, err));
    if (text_path)
        KS_TRY(stand_in(o, text_path, err));
    KS_TRY(read_contracts(o, err));
    KS_TRY(read_facts(o, err));
    KS_TRY(ks_device_choose(&o->unit, &o->device, err));
    return ks_unit_hash(&o->unit, o->unit_hash, err);
}

struct ks_entry_context ks_opened_context(const struct ks_opened *o)
{
    return (struct ks_entry_context){.unit = &o->unit,
                                     .facts = o->facts,
                                     .parse = &o->parse,
                                     .device = &o->device,
                                     .store = (struct ks_store *)&o->store,
                                     .unit_hash = o->unit_hash};
}

/* ---- words ---------------------------------------------------------------------------------------------------------- */

static void drop_word(struct ks_args *words, size_t i)
{
    free(words->v[i]);
    memmove(words->v + i, words->v + i + 1, (words->n - i) * sizeof(*words->v)); /* with the NULL at the end */
    words->n--;
}

char *ks_opened_option(struct ks_args *words, const char *name, bool *ret_missing)
{
    size_t len = strlen(name);
    for (size_t i = 1; i < words->n; i++) {
        if (strncmp(words->v[i], name, len) != 0 || (words->v[i][len] && words->v[i][len] != '='))
            continue;
        char *value = NULL;
        if (words->v[i][len] == '=') {
            value = ks_xstrdup(words->v[i] + len + 1);
        } else if (i + 1 < words->n) {
            value = ks_xstrdup(words->v[i + 1]);
            drop_word(words, i + 1);
        } else {
            *ret_missing = true;
        }
        drop_word(words, i);
        return value;
    }
    return NULL;
}

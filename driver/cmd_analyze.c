/* kscc analyze and kscc contract: the analysis without any trial. */

#include "analyzer/hypothesis.h"
#include "analyzer/ncu.h"
#include "base/file.h"
#include "driver/call.h"
#include "driver/command_args.h"
#include "driver/commands.h"
#include "driver/contract_outline.h"
#include "driver/database.h"
#include "driver/entry_check.h"
#include "driver/inner.h"
#include "driver/looked.h"
#include "driver/nvcc.h"
#include "driver/opt_record.h"
#include "driver/parse_line.h"
#include "driver/roofline.h"
#include "driver/sarif.h"
#include "driver/recorded_unit.h"
#include "driver/say.h"
#include "driver/signature.h"
#include "driver/unit.h"
#include "harness/contract.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void ks_looked_release(struct ks_looked *l)
{
    free(l->counters);
    ks_unit_close(&l->unit);
    ks_cmdline_release(&l->cmdline);
    ks_args_release(&l->words);
    ks_arena_release(&l->arena);
}

static enum ks_code open_unit(struct ks_looked *l, struct ks_err *err)
{
    KS_AUTO_FREE char *nvcc = NULL;
    KS_TRY(ks_nvcc_find(l->settings.nvcc, &nvcc, err));
    return ks_unit_open(&l->cmdline, &l->settings, nvcc, 0, &l->arena, &l->unit, err);
}

bool ks_look(char *const *argv, struct ks_looked *l)
{
    struct ks_err err;
    *l = (struct ks_looked){.refusal = 2};
    ks_arena_init(&l->arena);
    ks_args_init(&l->words);
    ks_args_add(&l->words, argv[0]);
    if (!ks_command_args(argv, &l->settings, &l->words))
        return false;
    l->json = ks_command_flag(&l->words, "--json");
    l->sarif = ks_command_flag(&l->words, "--sarif");
    l->yaml = ks_command_flag(&l->words, "--yaml");
    l->profile = ks_command_flag(&l->words, "--profile");
    l->counters = ks_command_value(&l->words, "--counters");
    ks_call_parse_command(l->words.v, &l->arena, &l->cmdline);
    if (l->cmdline.inputs.n != 1 || l->json + l->sarif + l->yaml > 1) {
        ks_command_usage(argv[0]);
        return false;
    }
    l->refusal = 1;
    if (open_unit(l, &err) == KS_OK)
        return true;
    ks_say_error(&err);
    return false;
}

bool ks_look_parse(struct ks_looked *l)
{
    struct ks_diags diags;
    struct ks_err err;
    struct ks_parse_options opt;
    ks_unit_parse_options(&l->unit, &opt);
    opt.user_headers = true;
    ks_diags_init(&diags);
    enum ks_code code =
        ks_facts_parse(l->unit.path, l->unit.source, l->unit.source_len, &opt, &l->arena, &diags, &l->facts, &err);
    for (size_t i = 0; i < diags.n; i++) {
        bool here = ks_streq(diags.data[i].file, l->unit.path);
        if (diags.data[i].severity >= KS_SEV_WARNING)
            ks_say_diag(&diags.data[i], here ? l->unit.source : NULL, here ? l->unit.source_len : 0);
    }
    ks_diags_release(&diags);
    if (code != KS_OK)
        ks_wrap(&err, "cannot analyse '%s'", l->unit.path), ks_say_error(&err);
    return code == KS_OK;
}

/* Remarks are the product here: they go to stdout. */
static void print_diags(const struct ks_diags *d, const struct ks_unit *u)
{
    for (size_t i = 0; i < d->n; i++) {
        KS_AUTO_STR struct ks_str text = KS_STR_INIT;
        bool here = ks_streq(d->data[i].file, u->path);
        ks_diag_render(&d->data[i], here ? u->source : NULL, here ? u->source_len : 0, false, &text);
        fputs(ks_str_cstr(&text), stdout);
    }
}

/* What `kscc profile --json` wrote, or Nsight Compute's CSV. */
static enum ks_code read_counters(const char *path, struct ks_json **ret, struct ks_err *err)
{
    KS_AUTO_STR struct ks_str text = KS_STR_INIT;
    KS_TRY(ks_file_read(path, KS_MAX_JSON_BYTES, &text, err));
    if (!ks_ncu_is_csv(ks_str_cstr(&text)))
        return ks_json_parse(ks_str_cstr(&text), text.len, path, ret, err);
    enum ks_code code = ks_ncu_read(ks_str_cstr(&text), ret, err);
    return code == KS_OK ? code : ks_wrap(err, "cannot read '%s'", path);
}

bool ks_look_counters(struct ks_looked *l, struct ks_json **ret_all, const struct ks_json **ret_profile)
{
    struct ks_err err;
    *ret_profile = NULL;
    *ret_all = NULL;
    if (l->profile)
        *ret_all = ks_look_profile(l);
    if (l->profile && ks_json_len(*ret_all) == 0)
        return false;
    if (!l->counters && !l->profile)
        return true;
    if (!l->profile && read_counters(l->counters, ret_all, &err) != KS_OK) {
        ks_say_error(&err);
        return false;
    }
    const struct ks_json *first = ks_json_is_array(*ret_all) ? ks_json_at(*ret_all, 0) : *ret_all;
    *ret_profile = ks_json_get(first, "profile") ? ks_json_get(first, "profile") : *ret_all;
    return true;
}

void ks_look_derive(struct ks_looked *l, const struct ks_json *profile, struct ks_hypotheses *ret)
{
    struct ks_ptxas_info *infos = NULL;
    size_t n = 0;
    const char *ptxas = profile ? ks_json_get_str(profile, "ptxas", NULL) : NULL;
    if (ptxas)
        ks_ptxas_parse(ptxas, strlen(ptxas), &l->arena, &infos, &n);
    ks_hypotheses_derive(l->facts, infos, n, profile, &l->arena, ret);
}

/* Which kernels there are, and which of them were left out because a parse error lies inside. */
static struct ks_json *kernels_json(const struct ks_facts *f)
{
    struct ks_json *list = ks_json_array();
    for (size_t i = 0; i < f->n_kernels; i++) {
        struct ks_json *k = ks_json_object();
        ks_json_set_str(k, "name", f->kernels[i].name);
        ks_json_set_i64(k, "line", f->kernels[i].node->line);
        ks_json_set_bool(k, "left_out", f->kernels[i].has_error);
        ks_json_push(list, k);
    }
    return list;
}

static bool print_hypotheses(struct ks_looked *l)
{
    struct ks_hypotheses h;
    KS_AUTO_JSON struct ks_json *all = NULL;
    const struct ks_json *profile = NULL;
    if (!ks_look_counters(l, &all, &profile))
        return false;
    ks_look_derive(l, profile, &h);
    if (l->facts->n_kernels == 0)
        ks_say(KS_SEV_NOTE, "%s: no kernel ('__global__' function) in the source, there is nothing to analyse [kscc-not-found]",
               l->unit.path);
    if (l->json) {
        KS_AUTO_JSON struct ks_json *j = ks_json_object();
        ks_json_set_str(j, "unit", l->unit.path);
        ks_json_set(j, "kernels", kernels_json(l->facts));
        ks_json_set(j, "hypotheses", ks_hypotheses_to_json(&h, l->facts));
        if (ks_json_get(profile, "roofline"))
            ks_json_set(j, "roofline", ks_json_copy(ks_json_get(profile, "roofline")));
        ks_command_print(j);
        return true;
    }
    if (l->yaml) {
        KS_AUTO_STR struct ks_str text = KS_STR_INIT;
        ks_opt_records(&h, l->unit.path, &text);
        fputs(ks_str_cstr(&text), stdout);
        return true;
    }
    struct ks_diags d;
    ks_diags_init(&d);
    ks_hypotheses_to_diags(&h, l->facts, &d);
    ks_roofline_diag(profile, l->facts, &d);
    if (l->sarif) {
        KS_AUTO_JSON struct ks_json *j = ks_sarif(&d, l->unit.path, l->unit.source, l->unit.source_len);
        ks_command_print(j);
    } else {
        print_diags(&d, &l->unit);
    }
    ks_diags_release(&d);
    return true;
}

static int analyze_unit(char *const *argv)
{
    struct ks_looked l;
    bool ok = ks_look(argv, &l) && ks_look_parse(&l);
    ok = ok && print_hypotheses(&l);
    int status = ok ? 0 : l.refusal;
    ks_looked_release(&l);
    return status;
}

/* ---- a whole build -------------------------------------------------------------------------------------------------- */

static bool is_unit(const char *word)
{
    size_t len = strlen(word);
    return word[0] != '-' && len > 3 && ks_streq(word + len - 3, ".cu");
}

/* No unit is named, or the command's file is among those that are: as paths from the folder where kscc was called. */
static bool is_wanted(const struct ks_args *named, const char *file)
{
    KS_AUTO_FREE char *real = realpath(file, NULL);
    for (size_t i = 0; i < named->n; i++)
        if (ks_streq(named->v[i], real ? real : file))
            return true;
    return named->n == 0;
}

/* The command's words behind the compiler, which a launcher may stand before. */
static char *const *options_of(const struct ks_database_command *c)
{
    bool launched = c->argv[1] && (ks_streq(ks_path_base(c->argv[1]), "nvcc") || ks_streq(ks_path_base(c->argv[1]), "kscc"));
    return c->argv + 1 + launched;
}

/* Every .cu of a compilation database, or those that `named` names, each by its own command and in its own folder; `common` are
 * the words for all of them.  A unit that cannot be analysed is said, and the others go on. */
static int analyze_build(const char *build, const struct ks_args *common, const struct ks_args *named)
{
    struct ks_err err;
    struct ks_database_command *commands;
    size_t n = 0, n_units = 0;
    int status = 0;
    struct ks_arena arena;
    ks_arena_init(&arena);
    if (ks_database_read(build, &arena, &commands, &n, &err) != KS_OK) {
        ks_say_error(&err);
        ks_arena_release(&arena);
        return 1;
    }
    for (size_t i = 0; i < n; i++) {
        KS_AUTO_ARGS struct ks_args words;
        ks_args_init(&words);
        if (chdir(commands[i].directory) != 0) {
            ks_say(KS_SEV_ERROR, "cannot go to '%s' of '%s', its unit was left out [kscc-not-found]", commands[i].directory,
                   commands[i].file);
            status = 1;
            continue;
        }
        if (!is_wanted(named, commands[i].file))
            continue;
        for (size_t k = 0; k < common->n; k++)
            ks_args_add(&words, common->v[k]);
        for (char *const *w = options_of(&commands[i]); *w; w++)
            ks_args_add(&words, *w);
        status |= analyze_unit(words.v);
        n_units++;
    }
    if (n_units == 0) {
        ks_say(KS_SEV_ERROR, "found no command for %s in the compilation database of '%s' [kscc-not-found]",
               named->n ? named->v[0] : "a .cu", build);
        status = 1;
    }
    ks_arena_release(&arena);
    return status;
}

int ks_cmd_analyze(char *const *argv)
{
    KS_AUTO_ARGS struct ks_args common, named;
    const char *build = NULL;
    ks_args_init(&common);
    ks_args_init(&named);
    if (argv[1] && ks_streq(argv[1], "--ncu-metrics") && !argv[2]) {
        KS_AUTO_STR struct ks_str text = KS_STR_INIT;
        ks_ncu_metrics(&text);
        puts(ks_str_cstr(&text));
        return 0;
    }
    for (size_t i = 0; argv[i]; i++) {
        if (i > 0 && ks_streq(argv[i], "-p") && argv[i + 1]) {
            build = argv[++i];
        } else if (i > 0 && is_unit(argv[i])) {
            KS_AUTO_FREE char *real = realpath(argv[i], NULL);
            ks_args_add(&named, real ? real : argv[i]);
        } else {
            ks_args_add(&common, argv[i]);
        }
    }
    return build ? analyze_build(build, &common, &named) : analyze_unit(argv);
}

/* ---- contract ------------------------------------------------------------------------------------------------------- */

/* Adds an error at the entry's line when the file has no such entry that can be called; else what binding says. */
static void check_entry(struct ks_looked *l, const struct ks_contract *c, struct ks_diags *diags)
{
    struct ks_signature signature, oracle;
    struct ks_err err;
    const struct ks_entry *entry = ks_entry_check(l->facts, c, diags);
    if (!entry)
        return;
    if (ks_inner_signature(&l->unit, l->facts, entry, c->entry, &l->arena, &signature, &err) != KS_OK) {
        ks_diags_add(diags, KS_SEV_ERROR, c->path, c->entry_line, c->entry_col, (uint32_t)strlen(c->entry), "contract", "%s",
                     err.message);
        return;
    }
    if (ks_contract_bind(c, &signature, diags, &err) != KS_OK && ks_diags_count(diags, KS_SEV_ERROR) == 0)
        ks_diags_add(diags, KS_SEV_ERROR, c->path, c->entry_line, c->entry_col, 1, "contract", "%s", err.message);
    const struct ks_node *function = c->oracle ? ks_oracle_check(l->facts, c, diags) : NULL;
    if (!function)
        return;
    ks_signature_of_function(function, &l->arena, &oracle);
    if (ks_contract_bind_oracle(c, &oracle, diags, &err) != KS_OK && ks_diags_count(diags, KS_SEV_ERROR) == 0)
        ks_diags_add(diags, KS_SEV_ERROR, c->path, c->oracle_line, c->oracle_col, 1, "contract", "%s", err.message);
}

/* The text that is judged with that workload, for who writes candidates, and its calls. */
static void print_draft(const struct ks_recorded *r, const char *text)
{
    KS_AUTO_JSON struct ks_json *j = ks_json_object();
    struct ks_json *calls = ks_json_array();
    for (size_t i = 0; i < r->n; i++) {
        struct ks_json *c = ks_json_object();
        ks_json_set_str(c, "kernel", r->calls[i].kernel->name);
        ks_json_set_num(c, "share", r->calls[i].share);
        ks_json_set_i64(c, "launches", r->calls[i].n_launches);
        ks_json_set_str(c, r->calls[i].refused ? "refused" : "entry",
                        r->calls[i].refused ? r->calls[i].refused : r->calls[i].entry);
        ks_json_push(calls, c);
    }
    ks_json_set(j, "calls", calls);
    ks_json_set_str(j, "text", text);
    ks_command_print(j);
}

/* A unit without a contract, and a recording: what a contract could say, for its author to paste. */
static int draft_contracts(struct ks_looked *l)
{
    struct ks_recorded r;
    struct ks_err err;
    KS_AUTO_STR struct ks_str text = KS_STR_INIT;
    if (!ks_look_parse(l))
        return 1;
    if (ks_recorded_read(l->unit.settings->workload, l->facts, &l->arena, &r, &err) != KS_OK) {
        ks_say_error(&err);
        return 1;
    }
    if (l->json)
        ks_recorded_hollow(l->facts, &text);
    size_t before = text.len;
    ks_recorded_draft(&l->unit, l->facts, &r, !l->json, &l->arena, &text);
    ks_recorded_say_refused(&l->unit, &r);
    bool any = text.len > before;
    if (!any)
        ks_say(KS_SEV_ERROR,
               "%s: the recording '%s' has no launch of this unit that a contract can be drafted from [kscc-no-workload]",
               l->unit.path, l->unit.settings->workload);
    else if (l->json)
        print_draft(&r, ks_str_cstr(&text));
    else
        fputs(ks_str_cstr(&text), stdout);
    ks_recorded_release(&r);
    return any ? 0 : 1;
}

/* A unit without a contract: what one could begin with. */
static void outline_contracts(struct ks_looked *l)
{
    KS_AUTO_STR struct ks_str text = KS_STR_INIT;
    size_t n = !l->json && ks_look_parse(l) ? ks_contract_outline(l->facts, &l->arena, &text) : 0;
    fputs(ks_str_cstr(&text), stdout);
    ks_say(KS_SEV_ERROR, "%s: no contract ('// kscc: entry ...') in the source%s [kscc-no-workload]", l->unit.path,
           n ? "; a beginning is on stdout: put it before its function and write what is true for each '?' "
               "('kscc help contract')"
             : "");
}

static int check_contracts(struct ks_looked *l)
{
    struct ks_diags diags;
    struct ks_err err;
    struct ks_contract *contracts = NULL;
    size_t n = 0;
    ks_diags_init(&diags);
    enum ks_code code =
        ks_contracts_parse(l->unit.path, l->unit.source, l->unit.source_len, &l->arena, &diags, &contracts, &n, &err);
    if (code != KS_OK && code != KS_ERR_SYNTAX)
        n = 0;
    bool ok = code == KS_OK && n > 0;
    if (code == KS_OK && n == 0 && l->unit.settings->workload) {
        ks_diags_release(&diags);
        return draft_contracts(l);
    }
    if (n > 0 && ks_look_parse(l))
        for (size_t i = 0; i < n; i++)
            check_entry(l, &contracts[i], &diags);
    size_t n_errors = ks_diags_count(&diags, KS_SEV_ERROR);
    ok = ok && l->facts && n_errors == 0;
    KS_AUTO_JSON struct ks_json *all = ks_json_array();
    for (size_t i = 0; i < n; i++)
        ks_json_push(all, ks_contract_to_json(&contracts[i]));
    if (l->json)
        ks_command_print(all);
    ks_say_diags(&diags, l->unit.source, l->unit.source_len);
    ks_diags_release(&diags);
    if (code != KS_OK && n_errors == 0)
        ks_wrap(&err, "cannot read the contracts of '%s'", l->unit.path), ks_say_error(&err);
    else if (code == KS_OK && n == 0)
        outline_contracts(l);
    else if (ok && !l->json)
        printf("%s: %zu contract%s, no errors\n", l->unit.path, n, ks_plural_s(n));
    return ok ? 0 : 1;
}

int ks_cmd_contract(char *const *argv)
{
    struct ks_looked l;
    int status = ks_look(argv, &l) ? check_contracts(&l) : l.refusal;
    ks_looked_release(&l);
    return status;
}

/* kscc profile: counters of the emulated device by kernel and source line, of a unit's contract or of a program. */

#include "base/file.h"
#include "base/hash.h"
#include "driver/commands.h"
#include "driver/command_args.h"
#include "driver/device_choice.h"
#include "driver/entry_check.h"
#include "driver/inner.h"
#include "driver/looked.h"
#include "driver/paths.h"
#include "driver/profile_print.h"
#include "driver/run_emulated.h"
#include "driver/say.h"
#include "driver/work_dir.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define COUNTERS_VARIABLE "KSCC_EMU_COUNTERS" /* where the emulated runtime leaves its counters */

static void print_report(const struct ks_json *report, const struct ks_json *kernels, bool json)
{
    KS_AUTO_STR struct ks_str text = KS_STR_INIT;
    if (json) {
        ks_json_print_pretty(report, &text);
    } else {
        ks_profile_print_kernels(kernels, &text);
        ks_profile_print_source(kernels, &text);
    }
    fputs(ks_str_cstr(&text), stdout);
}

/* ---- a unit --------------------------------------------------------------------------------------------------------- */

/* The baseline at the timing points of its contract. */
static enum ks_code profile_entry(const struct ks_looked *l, const struct ks_contract *c, const struct ks_entry *entry,
                                  struct ks_json **ret, struct ks_err *err)
{
    struct ks_work_dir work = {0};
    struct ks_session *session = NULL;
    struct ks_signature signature;
    struct ks_device_chosen device;
    struct ks_arena arena;
    KS_AUTO_STR struct ks_str bin = KS_STR_INIT;
    unsigned char secret[32];
    char hex[65];
    KS_TRY(ks_device_choose(&l->unit, &device, err));
    ks_paths_bin(&bin);
    ks_hash_hex(l->unit.source, l->unit.source_len, hex); /* the same inputs, and so the same counts, whenever asked */
    memcpy(secret, hex, sizeof(secret));
    KS_TRY(ks_work_dir_open("kscc-work", &work, err));
    ks_arena_init(&arena);
    enum ks_code known = ks_inner_signature(&l->unit, l->facts, entry, c->entry, &arena, &signature, err);
    struct ks_session_options o = {.unit_path = l->unit.path,
                                   .source = l->unit.source,
                                   .source_len = l->unit.source_len,
                                   .nvcc_argv = l->unit.build_argv.v,
                                   .toolkit_dir = l->unit.toolkit_path,
                                   .input_index = l->unit.input_index,
                                   .contract = c,
                                   .signature = &signature,
                                   .device = KS_DEVICE_EMULATED,
                                   .arch = device.arch,
                                   .work_dir = work.path,
                                   .bin_dir = ks_str_cstr(&bin),
                                   .secret = secret,
                                   .delta = l->settings.delta,
                                   .regress_limit = l->settings.regress,
                                   .trial_timeout_ms = (int64_t)(l->settings.trial_timeout_s * 1000),
                                   .sample_thread_insts = l->settings.sample,
                                   .line_bytes = true};
    enum ks_code code = known == KS_OK ? ks_session_new(&o, &session, err) : known;
    if (code == KS_OK)
        code = ks_session_profile(session, ret, err);
    ks_session_free(session);
    ks_work_dir_close(&work);
    ks_arena_release(&arena);
    return code;
}

static void print_points(const struct ks_json *profile, const char *entry)
{
    const struct ks_json *points = ks_json_get(profile, "points");
    for (size_t i = 0; i < ks_json_len(points); i++) {
        const struct ks_json *p = ks_json_at(points, i);
        printf("%s%s at %s: %.3f us modelled\n", i ? "\n" : "", entry, ks_json_get_str(p, "shape", ""),
               ks_json_get_num(p, "modelled_ns", 0) / 1000);
        print_report(NULL, ks_json_get(p, "kernels"), false);
    }
}

static bool profile_contract(struct ks_looked *l, const struct ks_contract *c, struct ks_json *all)
{
    struct ks_diags diags;
    struct ks_err err;
    struct ks_json *profile = NULL;
    ks_diags_init(&diags);
    const struct ks_entry *entry = ks_entry_check(l->facts, c, &diags);
    ks_say_diags(&diags, l->unit.source, l->unit.source_len);
    ks_diags_release(&diags);
    if (!entry)
        return false;
    if (profile_entry(l, c, entry, &profile, &err) != KS_OK) {
        ks_wrap(&err, "cannot profile '%s'", c->entry), ks_say_error(&err);
        return false;
    }
    struct ks_json *j = ks_json_object();
    ks_json_set_str(j, "unit", l->unit.path);
    ks_json_set_str(j, "entry", c->entry);
    ks_json_set(j, "profile", profile);
    ks_json_push(all, j);
    return true;
}

struct ks_json *ks_look_profile(struct ks_looked *l)
{
    struct ks_diags diags;
    struct ks_err err;
    struct ks_contract *contracts = NULL;
    size_t n = 0;
    struct ks_json *all = ks_json_array();
    if (l->settings.device.choice == KS_CHOOSE_CUDA) {
        ks_say(KS_SEV_ERROR, "profile counts on the emulated device; Nsight Compute does it on a GPU [kscc-device]");
        return all;
    }
    l->settings.device.choice = KS_CHOOSE_EMULATED;
    ks_diags_init(&diags);
    bool ok =
        ks_contracts_parse(l->unit.path, l->unit.source, l->unit.source_len, &l->arena, &diags, &contracts, &n, &err) == KS_OK;
    ks_say_diags(&diags, l->unit.source, l->unit.source_len);
    ks_diags_release(&diags);
    if (ok && n == 0)
        ks_say(KS_SEV_ERROR,
               "%s: no contract ('// kscc: entry ...') says how to call it; a program is profiled by 'kscc profile -- PROGRAM' "
               "[kscc-no-workload]",
               l->unit.path);
    for (size_t i = 0; ok && i < n; i++)
        ok = profile_contract(l, &contracts[i], all);
    if (ok)
        return all;
    ks_json_free(all);
    return ks_json_array();
}

static int profile_unit(char *const *argv)
{
    struct ks_looked l;
    KS_AUTO_JSON struct ks_json *all = NULL;
    if (ks_look(argv, &l) && ks_look_parse(&l))
        all = ks_look_profile(&l);
    bool ok = ks_json_len(all) > 0;
    for (size_t i = 0; ok && !l.json && i < ks_json_len(all); i++) {
        const struct ks_json *j = ks_json_at(all, i);
        print_points(ks_json_get(j, "profile"), ks_json_get_str(j, "entry", ""));
    }
    if (ok && l.json)
        print_report(all, NULL, true);
    int status = ok ? 0 : l.refusal;
    ks_looked_release(&l);
    return status;
}

/* ---- a program ------------------------------------------------------------------------------------------------------ */

/* One object a process that used the device, in the order of their ids. */
static struct ks_json *read_counters(const char *dir)
{
    struct ks_json *all = ks_json_array();
    struct dirent **names;
    int n = scandir(dir, &names, NULL, alphasort);
    for (int i = 0; i < n; i++) {
        KS_AUTO_STR struct ks_str path = KS_STR_INIT;
        struct ks_json *j = NULL;
        struct ks_err err;
        ks_path_join(&path, dir, names[i]->d_name);
        if (ks_str_ends(names[i]->d_name, ".json")) {
            if (ks_json_read_file(ks_str_cstr(&path), &j, &err) == KS_OK)
                ks_json_push(all, j);
            else
                ks_say_instead(&err, "leaving this process out");
        }
        free(names[i]);
    }
    if (n >= 0)
        free(names);
    return all;
}

static int run_counted(char *const *program, const char *dir, bool json, struct ks_err *err)
{
    setenv(COUNTERS_VARIABLE, dir, 1);
    /* with json the product is ours */
    int status = ks_command_run(program, json ? STDERR_FILENO : -1, "printing what it counted before", err);
    if (status < 0)
        return status;
    KS_AUTO_JSON struct ks_json *all = read_counters(dir);
    if (ks_json_len(all) == 0)
        ks_say(KS_SEV_WARNING,
               "no process used the emulated device, or none ended through exit(): nothing was counted [kscc-nothing-seen]");
    if (json)
        print_report(all, NULL, true);
    for (size_t i = 0; !json && i < ks_json_len(all); i++) {
        const struct ks_json *j = ks_json_at(all, i);
        printf("%s%s on %s: %.3f us modelled\n", i ? "\n" : "", ks_json_get_str(j, "program", ""),
               ks_json_get_str(j, "device", ""), ks_json_get_num(j, "modelled_ns", 0) / 1000);
        print_report(NULL, ks_json_get(j, "kernels"), false);
    }
    return status;
}

/* `words`: the switches before "--"; ends with the program's status. */
static int profile_program(char *const *argv, size_t dashes)
{
    KS_AUTO_ARGS struct ks_args before, words;
    struct ks_settings s;
    struct ks_err err;
    struct ks_work_dir dir = {0};
    ks_args_init(&before);
    ks_args_init(&words);
    for (size_t i = 0; i < dashes; i++)
        ks_args_add(&before, argv[i]);
    if (!ks_command_args(before.v, &s, &words))
        return 2;
    bool json = ks_command_flag(&words, "--json");
    if (words.n || !argv[dashes + 1])
        return ks_command_usage("profile");
    if (!ks_run_emulated_prepare(&s, argv[dashes + 1]))
        return 1;
    int status = -1;
    if (ks_work_dir_open("kscc-work", &dir, &err) == KS_OK)
        status = run_counted(argv + dashes + 1, dir.path, json, &err);
    ks_work_dir_close(&dir);
    if (status < 0)
        ks_say_error(&err);
    return status < 0 ? 127 : status;
}

int ks_cmd_profile(char *const *argv)
{
    for (size_t i = 1; argv[i]; i++)
        if (strcmp(argv[i], "--") == 0)
            return profile_program(argv, i);
    return profile_unit(argv);
}

#include "driver/options.h"

#include "harness/remote/slurm.h"
#include "harness/remote/ssh.h"

#include "driver/policy.h"
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

const struct ks_option ks_options[] = {
#define X(name, form, type, field, allowed, metavar, help)                                                                       \
    {name, KS_OPT_##form, KS_TYPE_OPT_##type, offsetof(struct ks_settings, field), allowed, metavar, help},
#include "driver/options.def"
#undef X
};
const size_t ks_n_options = sizeof(ks_options) / sizeof(ks_options[0]);

static const char *const policy_texts[] = {"explore", "approved", "off"};

const char *ks_policy_text(int policy)
{
    return policy_texts[policy];
}

void ks_settings_init(struct ks_settings *s)
{
    *s = (struct ks_settings){.agent = "builtin",
                              .delta = 0.02,
                              .regress = 0.01,
                              .trial_timeout_s = 120,
                              .http = {.retries = 5, .context_tokens = 100000, .timeout_s = 300}};
}

/* ---- values by type ------------------------------------------------------------------------------------------------- */

static enum ks_code parse_number(const char *text, double min, double max, const char *what, double *ret, struct ks_err *err)
{
    char *end;
    errno = 0;
    double v = strtod(text, &end);
    if (end == text || *end || errno || !(v >= min && v <= max))
        return ks_fail(err, KS_ERR_USAGE, "expected %s from %g to %g, got '%s'", what, min, max, text);
    *ret = v;
    return KS_OK;
}

static enum ks_code parse_bool(const char *text, bool *ret, struct ks_err *err)
{
    static const char *const yes[] = {"1", "yes", "true", "on"}, *const no[] = {"0", "no", "false", "off", ""};
    for (size_t i = 0; i < sizeof(yes) / sizeof(yes[0]); i++)
        if (strcmp(text, yes[i]) == 0) {
            *ret = true;
            return KS_OK;
        }
    for (size_t i = 0; i < sizeof(no) / sizeof(no[0]); i++)
        if (strcmp(text, no[i]) == 0) {
            *ret = false;
            return KS_OK;
        }
    return ks_fail(err, KS_ERR_USAGE, "expected 1 or 0, got '%s'", text);
}

/* One "name:number" of a budget; text is not terminated at len. */
static enum ks_code parse_limit(const char *text, size_t len, struct ks_budget *b, struct ks_err *err)
{
    KS_AUTO_FREE char *item = ks_xstrndup(text, len);
    double v;
    if (ks_str_starts(item, "trials:")) {
        KS_TRY(parse_number(item + 7, 1, 1e6, "a number of trials", &v, err));
        b->trials = (int64_t)v;
    } else if (ks_str_starts(item, "time:")) {
        KS_TRY(parse_number(item + 5, 0.001, 1e7, "seconds", &v, err));
        b->time_s = v;
    } else if (ks_str_starts(item, "target:")) {
        KS_TRY(parse_number(item + 7, 1, 1e6, "a speed-up", &v, err));
        b->target = v;
    } else if (ks_str_starts(item, "tokens:")) {
        KS_TRY(parse_number(item + 7, 1, 1e12, "a number of tokens", &v, err));
        b->tokens = (int64_t)v;
    } else if (ks_str_starts(item, "money:")) {
        KS_TRY(parse_number(item + 6, 0.0001, 1e6, "US dollars", &v, err));
        b->usd = v;
    } else {
        return ks_fail(err, KS_ERR_USAGE, "expected trials:N, time:SECONDS, target:SPEEDUP, tokens:N or money:USD, got '%s'",
                       item);
    }
    return KS_OK;
}

static enum ks_code parse_budget(const char *text, struct ks_budget *ret, struct ks_err *err)
{
    struct ks_budget b = *ret;
    for (;;) {
        size_t len = strcspn(text, ",");
        KS_TRY(parse_limit(text, len, &b, err));
        if (!text[len])
            break;
        text += len + 1;
    }
    *ret = b;
    return KS_OK;
}

static bool is_arch(const char *text)
{
    if (!ks_str_starts(text, "sm_") || !isdigit((unsigned char)text[3]))
        return false;
    const char *p = text + 3;
    while (isdigit((unsigned char)*p))
        p++;
    return (*p == '\0' || ((*p == 'a' || *p == 'f') && !p[1])) && strlen(text) < 16;
}

static bool parse_device_kind(const char *text, struct ks_settings *s)
{
    if (strcmp(text, "auto") == 0)
        s->device.choice = KS_CHOOSE_AUTO;
    else if (strcmp(text, "cuda") == 0)
        s->device.choice = KS_CHOOSE_CUDA;
    else if (strcmp(text, "emulated") == 0 || (ks_str_starts(text, "emulated:") && is_arch(text + 9)))
        s->device.choice = KS_CHOOSE_EMULATED;
    else
        return false;
    snprintf(s->device.arch, sizeof(s->device.arch), "%s", text[0] == 'e' && text[8] ? text + 9 : "");
    return true;
}

/* ssh:HOST or ssh:HOST,KIND */
static bool parse_device_ssh(const char *text, struct ks_settings *s)
{
    size_t n = strcspn(text, ",");
    if (n >= sizeof(s->device.host) || !parse_device_kind(text[n] ? text + n + 1 : "auto", s))
        return false;
    snprintf(s->device.host, sizeof(s->device.host), "%.*s", (int)n, text);
    return ks_ssh_host_ok(s->device.host);
}

/* slurm, then NAME=VALUE words and a KIND, behind a colon and between commas. */
static bool parse_device_slurm(const char *text, struct ks_settings *s)
{
    KS_AUTO_STR struct ks_str spec = KS_STR_INIT, word = KS_STR_INIT;
    bool ok = parse_device_kind("auto", s) && (!*text || ((*text == ':' || *text == ',') && text[1]));
    for (size_t n; ok && *text; text += n) {
        n = strcspn(++text, ",");
        ks_str_clear(&word);
        ks_str_addn(&word, text, n);
        if (strchr(ks_str_cstr(&word), '='))
            ks_str_addf(&spec, "%s%s", spec.len ? "," : "", word.data);
        else
            ok = parse_device_kind(ks_str_cstr(&word), s);
    }
    s->device.batch = true;
    return ok && spec.len < sizeof(s->device.host) && ks_slurm_spec_ok(ks_str_cstr(&spec)) &&
           snprintf(s->device.host, sizeof(s->device.host), "%s", ks_str_cstr(&spec)) >= 0;
}

static enum ks_code parse_device(const char *text, struct ks_settings *s, struct ks_err *err)
{
    bool slurm = ks_str_starts(text, "slurm") && (!text[5] || text[5] == ':' || text[5] == ',');
    s->device.host[0] = '\0';
    s->device.batch = false;
    if (slurm                         ? parse_device_slurm(text + 5, s)
        : ks_str_starts(text, "ssh:") ? parse_device_ssh(text + 4, s)
                                      : parse_device_kind(text, s))
        return KS_OK;
    return ks_fail(err, KS_ERR_USAGE,
                   "expected auto, cuda, emulated, emulated:sm_XX, ssh:HOST[,one of these] or slurm[:NAME=VALUE,...][,one of "
                   "these], got '%s'",
                   text);
}

static enum ks_code parse_enum(const struct ks_option *o, const char *text, int *ret, struct ks_err *err)
{
    const char *p = o->allowed;
    for (int i = 0;; i++) {
        size_t len = strcspn(p, "|");
        if (strlen(text) == len && strncmp(p, text, len) == 0) {
            *ret = i;
            return KS_OK;
        }
        if (!p[len])
            return ks_fail(err, KS_ERR_USAGE, "expected one of %s, got '%s'", o->allowed, text);
        p += len + 1;
    }
}

static enum ks_code parse_proposer(const char *text, const char **ret, struct ks_err *err)
{
    struct stat st;
    if (strcmp(text, "builtin") != 0 && strcmp(text, "http") != 0 && !ks_str_starts(text, "file:") &&
        !(ks_str_starts(text, "command:") && text[8]))
        return ks_fail(err, KS_ERR_USAGE, "expected builtin, http, file:DIR or command:PRESET, got '%s'", text);
    if (ks_str_starts(text, "file:") && (stat(text + 5, &st) < 0 || !S_ISDIR(st.st_mode)))
        return ks_fail(err, KS_ERR_USAGE, "cannot find the folder of candidates '%s'", text + 5);
    *ret = text;
    return KS_OK;
}

static enum ks_code parse_asker(const char *text, struct ks_settings *s, struct ks_err *err)
{
    static const char *const names[] = {
        [KS_ASK_BANK] = "bank", [KS_ASK_SELF] = "self", [KS_ASK_HUMAN] = "human", [KS_ASK_OFF] = "off"};
    bool file = ks_str_starts(text, "human:") && text[6];
    struct stat st;
    if (file && (stat(text + 6, &st) < 0 || S_ISDIR(st.st_mode)))
        return ks_fail(err, KS_ERR_USAGE, "cannot find the file of questions '%s'", text + 6);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (file ? i == KS_ASK_HUMAN : strcmp(text, names[i]) == 0) {
            s->ask.who = (enum ks_ask)i;
            s->ask.file = file ? text + 6 : NULL;
            return KS_OK;
        }
    return ks_fail(err, KS_ERR_USAGE, "expected bank, self, human, human:FILE or off, got '%s'", text);
}

static enum ks_code set_agent(struct ks_settings *s, const char *text, struct ks_err *err)
{
    bool on = true;
    enum ks_code code = KS_OK;
    if (text && parse_bool(text, &on, NULL) != KS_OK) {
        on = true; /* a wrong value too: somebody meant to ask, and is told */
        code = parse_budget(text, &s->budget, err);
    }
    s->o_agent = on;
    return code;
}

static enum ks_code set_value(const struct ks_option *o, struct ks_settings *s, const char *text, struct ks_err *err)
{
    void *field = (char *)s + o->offset;
    double v;
    switch (o->type) {
    case KS_TYPE_OPT_AGENT:
        return set_agent(s, text, err);
    case KS_TYPE_OPT_ASKER:
        return parse_asker(text, s, err);
    case KS_TYPE_OPT_ACTION:
    case KS_TYPE_OPT_BOOL:
        *(bool *)field = true;
        return text ? parse_bool(text, field, err) : KS_OK;
    case KS_TYPE_OPT_BUDGET:
        return parse_budget(text, field, err);
    case KS_TYPE_OPT_COUNT:
        KS_TRY(parse_number(text, 1, 1e15, "a count", &v, err));
        *(int64_t *)field = (int64_t)v;
        return KS_OK;
    case KS_TYPE_OPT_DEVICE:
        return parse_device(text, s, err);
    case KS_TYPE_OPT_ENUM:
        return parse_enum(o, text, field, err);
    case KS_TYPE_OPT_FRACTION:
        return parse_number(text, 0, 1, "a fraction", field, err);
    case KS_TYPE_OPT_SECONDS:
        return parse_number(text, 0.1, 1e6, "seconds", field, err);
    case KS_TYPE_OPT_POLICY:
        KS_TRY(ks_policy_words(text, err));
        *(const char **)field = text;
        return KS_OK;
    case KS_TYPE_OPT_PROPOSER:
        return parse_proposer(text, field, err);
    case KS_TYPE_OPT_WORDS: *(const char **)field = text; return KS_OK;
    case KS_TYPE_OPT_PATH:
        if (!*text)
            return ks_fail(err, KS_ERR_USAGE, "expected a value");
        *(const char **)field = text;
        return KS_OK;
    }
    return ks_fail(err, KS_ERR_USAGE, "unknown option type");
}

/* ---- where they come from ------------------------------------------------------------------------------------------- */

enum ks_code ks_settings_apply(struct ks_settings *s, const char *word, struct ks_err *err)
{
    size_t len = strcspn(word, "=");
    const char *value = word[len] ? word + len + 1 : NULL;
    for (size_t i = 0; i < ks_n_options; i++) {
        const struct ks_option *o = &ks_options[i];
        if (strlen(o->name) != len || strncmp(o->name, word, len) != 0)
            continue;
        if (o->form == KS_OPT_BARE && value)
            return ks_fail(err, KS_ERR_USAGE, "option '%s' takes no value", o->name);
        if (o->form == KS_OPT_EQUALS && !value)
            return ks_fail(err, KS_ERR_USAGE, "option '%s' needs a value: %s=%s", o->name, o->name, o->metavar);
        if (set_value(o, s, value, err) != KS_OK)
            return ks_wrap(err, "option '%s'", o->name);
        return KS_OK;
    }
    return ks_fail(err, KS_ERR_USAGE, "unknown option '%s' (kscc --kscc-help lists them)", word);
}

void ks_option_env_name(const struct ks_option *o, struct ks_str *out)
{
    ks_str_clear(out);
    const char *name = o->name;
    while (*name == '-')
        name++;
    if (!ks_str_starts(name, "kscc-"))
        ks_str_add(out, "KSCC_");
    for (; *name; name++)
        ks_str_addc(out, *name == '-' ? '_' : (char)toupper((unsigned char)*name));
}

enum ks_code ks_settings_apply_env(struct ks_settings *s, const char *(*get)(const char *name), struct ks_err *err)
{
    enum ks_code code = KS_OK; /* the first failure; the other variables still count */
    for (size_t i = 0; i < ks_n_options; i++) {
        if (ks_options[i].type == KS_TYPE_OPT_ACTION)
            continue;
        KS_AUTO_STR struct ks_str name = KS_STR_INIT;
        ks_option_env_name(&ks_options[i], &name);
        const char *value = get(ks_str_cstr(&name));
        if (!value || (!*value && ks_options[i].form == KS_OPT_EQUALS))
            continue;
        struct ks_err value_err;
        if (set_value(&ks_options[i], s, value, &value_err) == KS_OK || code != KS_OK)
            continue;
        *err = value_err;
        code = ks_wrap(err, "environment variable '%s'", ks_str_cstr(&name));
    }
    return code;
}

void ks_option_form(const struct ks_option *o, struct ks_str *out)
{
    ks_str_addf(out, "%s%s%s%s", o->name,
                o->form == KS_OPT_EITHER   ? "[="
                : o->form == KS_OPT_EQUALS ? "="
                                           : "",
                o->metavar, o->form == KS_OPT_EITHER ? "]" : "");
}

void ks_options_help(struct ks_str *out)
{
    ks_str_add(out, "Usage: kscc [nvcc options] [options below] file.cu...\n"
                    "       kscc COMMAND [arguments]\n\n"
                    "Every nvcc option keeps its meaning; without -O-agent nvcc runs exactly as called.\n\nOptions:\n");
    for (size_t i = 0; i < ks_n_options; i++) {
        const struct ks_option *o = &ks_options[i];
        KS_AUTO_STR struct ks_str left = KS_STR_INIT, env = KS_STR_INIT;
        ks_option_env_name(o, &env);
        ks_option_form(o, &left);
        ks_str_addf(out, "  %-28s %s", ks_str_cstr(&left), o->help);
        if (o->type != KS_TYPE_OPT_ACTION)
            ks_str_addf(out, " [%s]", ks_str_cstr(&env));
        if (*o->allowed && !strstr(o->help, o->allowed))
            ks_str_addf(out, " (%s)", o->allowed);
        ks_str_addc(out, '\n');
    }
    ks_str_add(out, "\nThe name in brackets is the environment variable with the same meaning.\n");
}

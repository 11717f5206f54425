#include "base/redact.h"

#include "base/regex.h"

#include <ctype.h>
#include <string.h>

extern char **environ;

#define MIN_ENV_BYTES   8
#define MIN_GIVEN_BYTES 4
#define MAX_NAME_BYTES  128

/* Group 1 is the secret, where there is one; else the whole match.  A text may be megabytes of anything, so none of them may look
 * at a byte more than a few times: a run of letters begins once, what comes before a mark has a length, and nothing is given
 * back. */
static const char *const forms[] = {
    "\\b(?:sk|rk|pk)[-_][A-Za-z0-9_-]{16,}", /* OpenAI, Anthropic, Stripe */
    "\\b(?:gh[pousr]_|github_pat_|glpat-|xox[abprs]-|hf_|gsk_|nvapi-|pypi-|npm_)[A-Za-z0-9_-]{16,}", /* services by prefix */
    "\\b(?:AKIA|ASIA)[A-Z0-9]{16}\\b",                                                               /* AWS */
    "\\bAIza[A-Za-z0-9_-]{30,}",                                                                     /* Google */
    "(?<![A-Za-z0-9_-])eyJ[A-Za-z0-9_-]{8,}+\\.[A-Za-z0-9_-]{8,}+\\.[A-Za-z0-9_-]{8,}",              /* JSON web token */
    "(?i)\\b(?:bearer|basic)[ \\t]+([A-Za-z0-9._~+/=-]{12,})",                                       /* Authorization */
    "(?i)\\b(?:x-)?(?:api[-_ ]?key|access[-_ ]?token|secret[-_ ]?key|password|passwd)[\"']?[ \\t]*[:=][ "
    "\\t]*[\"']?([^\\s\"',;]{8,})",
    "\\b[a-z][a-z0-9+.-]{0,40}://[^\\s/:@\"']*+:([^\\s/@\"']++)@", /* scheme://user:password@host */
    "-----BEGIN [A-Z ]{0,40}PRIVATE KEY-----(?:[^-]++|-(?!----END [A-Z ]{0,40}PRIVATE KEY-----))*+(?:-----END [A-Z "
    "]{0,40}KEY-----)?", /* PEM */
};
#define N_FORMS (sizeof(forms) / sizeof(forms[0]))

static struct ks_args secrets;
static struct ks_regex *compiled[N_FORMS];
static bool ready;

/* One word of the name, between underscores, says that the value is a secret. */
static bool names_a_secret(const char *name, size_t len)
{
    static const char *const words[] = {"KEY",    "KEYS",       "APIKEY",      "TOKEN",  "TOKENS",
                                        "SECRET", "SECRETS",    "PASSWORD",    "PASSWD", "PASSWORDS",
                                        "PASS",   "CREDENTIAL", "CREDENTIALS", "PAT",    "AUTH"};
    for (size_t at = 0; at < len;) {
        size_t n = 0;
        while (at + n < len && name[at + n] != '_')
            n++;
        for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
            if (strlen(words[i]) == n && strncasecmp(name + at, words[i], n) == 0)
                return true;
        at += n + 1;
    }
    return false;
}

static void add_secret(const char *text)
{
    for (size_t i = 0; i < secrets.n; i++)
        if (strcmp(secrets.v[i], text) == 0)
            return;
    ks_args_add(&secrets, text);
}

static void start(void)
{
    struct ks_err err;
    ready = true;
    for (char **e = environ; e && *e; e++) {
        const char *equals = strchr(*e, '=');
        if (equals && equals - *e < MAX_NAME_BYTES && names_a_secret(*e, (size_t)(equals - *e)) &&
            strlen(equals + 1) >= MIN_ENV_BYTES)
            add_secret(equals + 1);
    }
    for (size_t i = 0; i < N_FORMS; i++)
        KS_BUG(ks_regex_new(forms[i], "", &compiled[i], &err) != KS_OK);
}

void ks_redact_add(const char *secret)
{
    if (!ready)
        start();
    if (strlen(secret) >= MIN_GIVEN_BYTES)
        add_secret(secret);
}

/* Replaces every occurrence of `secret` in `text`. */
static void take_out_word(struct ks_str *text, const char *secret)
{
    size_t len = strlen(secret);
    const char *from = ks_str_cstr(text), *end = from + text->len, *hit = memmem(from, text->len, secret, len);
    if (!hit)
        return;
    struct ks_str out = KS_STR_INIT;
    for (; hit; hit = memmem(from, (size_t)(end - from), secret, len)) {
        ks_str_addn(&out, from, (size_t)(hit - from));
        ks_str_add(&out, KS_REDACTED);
        from = hit + len;
    }
    ks_str_addn(&out, from, (size_t)(end - from));
    ks_str_release(text);
    *text = out;
}

static void take_out_form(struct ks_str *text, const struct ks_regex *re)
{
    struct ks_str out = KS_STR_INIT;
    struct ks_match m;
    struct ks_err err;
    enum ks_code code;
    size_t at = 0;
    bool found = false;
    while ((code = ks_regex_match(re, ks_str_cstr(text), text->len, at, &m, &found, &err)) == KS_OK && found) {
        size_t group = m.n > 1 && m.begin[1] != SIZE_MAX ? 1 : 0;
        ks_str_addn(&out, ks_str_cstr(text) + at, m.begin[group] - at);
        ks_str_add(&out, KS_REDACTED);
        at = m.end[group];
    }
    if (code != KS_OK) { /* too much to look at: the rest may hold anything */
        ks_str_add(&out, KS_REDACTED);
        at = text->len;
    }
    if (at > 0) {
        ks_str_addn(&out, ks_str_cstr(text) + at, text->len - at);
        ks_str_release(text);
        *text = out;
    }
}

void ks_redact(const char *text, size_t len, struct ks_str *out)
{
    KS_AUTO_STR struct ks_str s = KS_STR_INIT;
    if (!ready)
        start();
    ks_str_addn(&s, text, len);
    for (size_t i = 0; i < secrets.n; i++)
        take_out_word(&s, secrets.v[i]);
    for (size_t i = 0; i < N_FORMS; i++)
        take_out_form(&s, compiled[i]);
    ks_str_addn(out, ks_str_cstr(&s), s.len);
}

struct ks_json *ks_redact_json(const struct ks_json *j)
{
    KS_AUTO_STR struct ks_str text = KS_STR_INIT;
    if (ks_json_is_string(j)) {
        ks_redact(ks_json_str(j), strlen(ks_json_str(j)), &text);
        return ks_json_string(ks_str_cstr(&text));
    }
    bool object = ks_json_is_object(j);
    if (!object && !ks_json_is_array(j))
        return ks_json_copy(j);
    struct ks_json *out = object ? ks_json_object() : ks_json_array();
    for (size_t i = 0; i < ks_json_len(j); i++) {
        const struct ks_json *member = ks_json_at(j, i);
        if (object) {
            ks_str_clear(&text);
            ks_redact(ks_json_key(member), strlen(ks_json_key(member)), &text);
            ks_json_set(out, ks_str_cstr(&text), ks_redact_json(member));
        } else {
            ks_json_push(out, ks_redact_json(member));
        }
    }
    return out;
}

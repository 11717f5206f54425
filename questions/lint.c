/* The rules of the bank.  A question opens a direction or doubts a limit; how to get there is the agent's to find.  So the text
 * is one question without orders, names of interfaces or remedies, numbers or code. */

#include "questions/bank.h"
#include "base/limits.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

enum rule { RULE_IMPERATIVE, RULE_OPENING, RULE_API, RULE_TECHNIQUE, RULE_NUMBER, N_RULES };

static const struct {
    enum rule rule;
    const char *words;
} banned[] = {
#define X(rule, words) {RULE_##rule, words},
#include "questions/lint_words.def"
#undef X
};

static const char *const rule_texts[N_RULES] = {
    [RULE_IMPERATIVE] = "orders or advises with",
    [RULE_OPENING] = "gives an order with",
    [RULE_API] = "names an interface or tool,",
    [RULE_TECHNIQUE] = "says how, with",
    [RULE_NUMBER] = "sets a number,",
};

static void complain(struct ks_diags *out, const struct ks_question *q, const char *fmt, ...) KS_PRINTF(3, 4);
static void complain(struct ks_diags *out, const struct ks_question *q, const char *fmt, ...)
{
    KS_AUTO_STR struct ks_str text = KS_STR_INIT;
    va_list ap;
    va_start(ap, fmt);
    ks_str_addf(&text, "question '%s' ", q->id);
    ks_str_vaddf(&text, fmt, ap);
    va_end(ap);
    ks_diags_add(out, KS_SEV_ERROR, q->file, q->line, q->col, (uint32_t)strlen(q->id) + 2, "questions", "%s", ks_str_cstr(&text));
}

static bool is_word(char c)
{
    return isalnum((unsigned char)c) || c == '\'' || c == '-' || c == '_';
}

/* Where `pattern` (whole words, "*" at its end for any ending) next occurs in text from `from`; NULL: nowhere. */
static const char *find_words(const char *text, const char *from, const char *pattern)
{
    size_t len = strlen(pattern);
    bool any_ending = len && pattern[len - 1] == '*';
    if (any_ending)
        len--;
    for (const char *p = from; *p; p++)
        if (strncasecmp(p, pattern, len) == 0 && (p == text || !is_word(p[-1])) && (any_ending || !is_word(p[len])))
            return p;
    return NULL;
}

/* A clause opens at the beginning and after , : ; . and a dash. */
static bool opens_clause(const char *text, const char *at)
{
    while (at > text && at[-1] == ' ')
        at--;
    return at == text || strchr(",:;.!-", at[-1]) != NULL;
}

static void lint_words(const struct ks_question *q, struct ks_diags *out)
{
    for (size_t i = 0; i < sizeof banned / sizeof banned[0]; i++)
        for (const char *at = q->text; (at = find_words(q->text, at, banned[i].words)) != NULL; at++) {
            if (banned[i].rule == RULE_OPENING && !opens_clause(q->text, at))
                continue;
            size_t len = strcspn(banned[i].words, "*");
            while (is_word(at[len]))
                len++;
            complain(out, q, "%s '%.*s'", rule_texts[banned[i].rule], (int)len, at);
            break;
        }
}

static size_t count_chars(const char *text, const char *set, char *ret_first)
{
    size_t n = 0;
    for (const char *p = text; *p; p++)
        if (strchr(set, *p) && n++ == 0)
            *ret_first = *p;
    return n;
}

static void lint_form(const struct ks_question *q, struct ks_diags *out)
{
    size_t chars = 0, len = strlen(q->text);
    for (const char *p = q->text; *p; p++)
        chars += ((unsigned char)*p & 0xc0) != 0x80;
    if (chars > KS_MAX_QUESTION_CHARS)
        complain(out, q, "has %zu characters, more than the limit of %d", chars, KS_MAX_QUESTION_CHARS);
    if (len == 0 || q->text[len - 1] != '?')
        complain(out, q, "does not end in '?'");
    char c = 0;
    if (count_chars(q->text, "?", &c) > 1)
        complain(out, q, "asks more than one question");
    if (count_chars(q->text, ".!", &c) > 0)
        complain(out, q, "has more than one sentence");
    if (count_chars(q->text, "0123456789", &c) > 0)
        complain(out, q, "holds the digit '%c'; a question sets no numbers", c);
    if (count_chars(q->text, "_(){}[]<>=;*/\\`#&|^~%$@\"\n\t", &c) > 0)
        complain(out, q, c == '\n' || c == '\t' ? "holds a line break or tab" : "holds '%c' as code does", c);
    if (len && !isupper((unsigned char)q->text[0]))
        complain(out, q, "does not begin with a capital letter");
    if (!q->origin[0])
        complain(out, q, "does not say where it comes from");
}

/* The id is "<layer>/<name>" and stands in <layer>.json. */
static void lint_id(const struct ks_question *q, struct ks_diags *out)
{
    const char *layer = ks_layer_text(q->layer);
    size_t len = strlen(layer);
    if (strncmp(q->id, layer, len) != 0 || q->id[len] != '/' || q->id[len + 1] == '\0')
        complain(out, q, "has an id that does not begin with '%s/'", layer);
    if (strspn(q->id, "abcdefghijklmnopqrstuvwxyz-/") != strlen(q->id))
        complain(out, q, "has an id with other characters than a-z and '-'");
    if (strncmp(q->file, layer, len) != 0 || strcmp(q->file + len, ".json") != 0)
        complain(out, q, "belongs into '%s.json'", layer);
}

/* Letters only, in lower case: texts that differ in punctuation are the same question. */
static void fold(const char *text, struct ks_str *out)
{
    ks_str_clear(out);
    for (const char *p = text; *p; p++)
        if (isalnum((unsigned char)*p))
            ks_str_addc(out, (char)tolower((unsigned char)*p));
}

static void lint_duplicates(const struct ks_bank *bank, size_t i, struct ks_diags *out)
{
    const struct ks_question *q = &bank->data[i];
    KS_AUTO_STR struct ks_str a = KS_STR_INIT, b = KS_STR_INIT;
    fold(q->text, &a);
    for (size_t k = 0; k < i; k++) {
        if (strcmp(bank->data[k].id, q->id) == 0)
            complain(out, q, "has the id of another question");
        fold(bank->data[k].text, &b);
        if (strcmp(ks_str_cstr(&a), ks_str_cstr(&b)) == 0)
            complain(out, q, "asks the same as '%s'", bank->data[k].id);
    }
}

size_t ks_bank_lint(const struct ks_bank *bank, struct ks_diags *out)
{
    size_t before = ks_diags_count(out, KS_SEV_ERROR);
    for (size_t i = 0; i < bank->n; i++) {
        lint_id(&bank->data[i], out);
        lint_form(&bank->data[i], out);
        lint_words(&bank->data[i], out);
        lint_duplicates(bank, i, out);
    }
    return ks_diags_count(out, KS_SEV_ERROR) - before;
}

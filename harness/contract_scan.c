/* The words of a contract line and the small pieces of grammar that both spellings share. */

#include "harness/contract_build.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>

static const char *const dist_texts[] = {
    [KS_DIST_NORMAL] = "normal", [KS_DIST_UNIFORM] = "uniform", [KS_DIST_INT] = "int", [KS_DIST_CONST] = "const"};
static const char *const direction_texts[] = {
    [KS_DIR_IN] = "in", [KS_DIR_OUT] = "out", [KS_DIR_INOUT] = "inout", [KS_DIR_SCRATCH] = "scratch"};

const char *ks_dist_text(enum ks_dist_kind kind)
{
    return dist_texts[kind];
}

const char *ks_direction_text(enum ks_direction d)
{
    return direction_texts[d];
}

struct ks_cplace ks_scan_place(const struct ks_scan *s, size_t from, size_t to)
{
    if (s->line == 0)
        return (struct ks_cplace){0, 0, 1, s->where};
    return (struct ks_cplace){s->line, s->col + (uint32_t)from, (uint32_t)(to > from ? to - from : 1), s->where};
}

void ks_scan_blanks(struct ks_scan *s)
{
    while (s->pos < s->len && (s->text[s->pos] == ' ' || s->text[s->pos] == '\t'))
        s->pos++;
}

bool ks_scan_at_end(struct ks_scan *s)
{
    ks_scan_blanks(s);
    return s->pos == s->len;
}

bool ks_scan_char(struct ks_scan *s, char c)
{
    ks_scan_blanks(s);
    if (s->pos == s->len || s->text[s->pos] != c)
        return false;
    s->pos++;
    return true;
}

static bool is_word(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

bool ks_scan_word(struct ks_scan *s, const char **ret_word, size_t *ret_from)
{
    ks_scan_blanks(s);
    size_t from = s->pos, to = from;
    if (from == s->len || !is_word(s->text[from]) || isdigit((unsigned char)s->text[from]))
        return false;
    while (to < s->len && is_word(s->text[to]))
        to++;
    *ret_word = ks_arena_strndup(s->b->arena, s->text + from, to - from);
    *ret_from = from;
    s->pos = to;
    return true;
}

/* Past the '>' of the '<' at `at`; 0: it has none. */
static size_t closing(const struct ks_scan *s, size_t at)
{
    int depth = 0;
    for (; at < s->len; at++) {
        depth += s->text[at] == '<' || s->text[at] == '(';
        depth -= s->text[at] == '>' || s->text[at] == ')';
        if (depth == 0)
            return at + 1;
    }
    return 0;
}

bool ks_scan_entry(struct ks_scan *s, const char **ret_name, size_t *ret_from)
{
    const char *word;
    size_t from, part;
    if (!ks_scan_word(s, &word, &from))
        return false;
    while (s->pos + 2 < s->len && s->text[s->pos] == ':' && s->text[s->pos + 1] == ':') {
        s->pos += 2;
        if (s->text[s->pos] == ' ' || s->text[s->pos] == '\t' || !ks_scan_word(s, &word, &part))
            return false;
    }
    size_t end = s->pos < s->len && s->text[s->pos] == '<' ? closing(s, s->pos) : s->pos;
    if (end == 0)
        return false;
    s->pos = end;
    *ret_name = ks_arena_strndup(s->b->arena, s->text + from, end - from);
    *ret_from = from;
    return true;
}

size_t ks_scan_token_len(const struct ks_scan *s)
{
    size_t to = s->pos;
    while (to < s->len && is_word(s->text[to]))
        to++;
    if (to == s->pos && to < s->len) /* one character, of however many bytes of UTF-8 */
        for (to++; to < s->len && ((unsigned char)s->text[to] & 0xc0) == 0x80;)
            to++;
    return to - s->pos;
}

void ks_scan_error(struct ks_scan *s, const char *expected)
{
    ks_scan_blanks(s);
    size_t len = ks_scan_token_len(s);
    if (len == 0)
        ks_cbuild_error(s->b, ks_scan_place(s, s->pos, s->pos), "expected %s, found the end of the line", expected);
    else if (s->text[s->pos] == '\0')
        ks_cbuild_error(s->b, ks_scan_place(s, s->pos, s->pos + 1), "expected %s, found a NUL byte", expected);
    else
        ks_cbuild_error(s->b, ks_scan_place(s, s->pos, s->pos + len), "expected %s, found '%.*s'", expected,
                        (int)(len > 80 ? 80 : len), s->text + s->pos);
}

/* Copies the number at pos, sign included, to buf; 0: none there. */
static size_t copy_number(struct ks_scan *s, bool fraction, char *buf, size_t size)
{
    ks_scan_blanks(s);
    size_t from = s->pos, i = from;
    const char *t = s->text;
    if (i < s->len && (t[i] == '-' || t[i] == '+'))
        i++;
    size_t digits = i;
    while (i < s->len && isdigit((unsigned char)t[i]))
        i++;
    bool any = i > digits;
    if (fraction && i < s->len && t[i] == '.') {
        size_t begin = ++i;
        while (i < s->len && isdigit((unsigned char)t[i]))
            i++;
        any |= i > begin;
    }
    if (fraction && any && i < s->len && (t[i] == 'e' || t[i] == 'E')) {
        size_t j = i + 1;
        if (j < s->len && (t[j] == '-' || t[j] == '+'))
            j++;
        if (j < s->len && isdigit((unsigned char)t[j]))
            for (i = j; i < s->len && isdigit((unsigned char)t[i]);)
                i++;
    }
    if (!any || i - from >= size)
        return 0;
    memcpy(buf, t + from, i - from);
    buf[i - from] = '\0';
    return i - from;
}

bool ks_scan_int(struct ks_scan *s, int64_t *ret, const char *what)
{
    char buf[64];
    size_t len = copy_number(s, false, buf, sizeof buf);
    if (len == 0) {
        ks_scan_error(s, what);
        return false;
    }
    errno = 0;
    int64_t v = strtoll(buf, NULL, 10);
    if (errno == ERANGE) {
        ks_cbuild_error(s->b, ks_scan_place(s, s->pos, s->pos + len), "number '%s' does not fit 64 bits", buf);
        return false;
    }
    s->pos += len;
    if (s->pos < s->len && (is_word(s->text[s->pos]) ||
                            (s->text[s->pos] == '.' && s->pos + 1 < s->len && isdigit((unsigned char)s->text[s->pos + 1])))) {
        s->pos -= len;
        ks_cbuild_error(s->b, ks_scan_place(s, s->pos, s->pos + len + 1), "expected %s, an integer", what);
        return false;
    }
    *ret = v;
    return true;
}

bool ks_scan_number(struct ks_scan *s, double *ret, const char *what)
{
    char buf[64];
    size_t len = copy_number(s, true, buf, sizeof buf);
    if (len == 0) {
        ks_scan_error(s, what);
        return false;
    }
    double v = strtod(buf, NULL);
    if (!(v <= 1e300 && v >= -1e300)) {
        ks_cbuild_error(s->b, ks_scan_place(s, s->pos, s->pos + len), "number '%s' is out of range", buf);
        return false;
    }
    s->pos += len;
    *ret = v;
    return true;
}

bool ks_scan_dtype(struct ks_scan *s, enum ks_dtype *ret)
{
    const char *word;
    size_t from;
    if (!ks_scan_word(s, &word, &from)) {
        ks_scan_error(s, "an element type");
        return false;
    }
    KS_AUTO_STR struct ks_str known = KS_STR_INIT;
    for (int t = 0; t < KS_N_DTYPES; t++) {
        if (strcmp(word, ks_dtype_text((enum ks_dtype)t)) == 0) {
            *ret = (enum ks_dtype)t;
            return true;
        }
        ks_str_addf(&known, "%s%s", t == 0 ? "" : t == KS_N_DTYPES - 1 ? " or " : ", ", ks_dtype_text((enum ks_dtype)t));
    }
    ks_cbuild_error(s->b, ks_scan_place(s, from, s->pos), "unknown element type '%s', expected %s", word, ks_str_cstr(&known));
    return false;
}

bool ks_scan_recorded(struct ks_scan *s, const char **ret_hash, int64_t *ret_off_byte)
{
    size_t n = 0;
    ks_scan_blanks(s);
    while (s->pos + n < s->len && strchr("0123456789abcdef", s->text[s->pos + n]))
        n++;
    if (n != 64) {
        ks_scan_error(s, "the name of recorded contents (64 hexadecimal digits)");
        return false;
    }
    *ret_hash = ks_arena_strndup(s->b->arena, s->text + s->pos, n);
    s->pos += n;
    return !ks_scan_char(s, '+') || ks_scan_int(s, ret_off_byte, "a number of bytes");
}

bool ks_scan_dist(struct ks_scan *s, enum ks_dist_kind *ret_kind, double *ret_a, double *ret_b)
{
    const char *word;
    size_t from;
    if (!ks_scan_word(s, &word, &from)) {
        ks_scan_error(s, "a distribution");
        return false;
    }
    int kind = -1;
    for (int i = KS_DIST_NORMAL; i <= KS_DIST_CONST; i++)
        if (strcmp(word, dist_texts[i]) == 0)
            kind = i;
    if (kind < 0) {
        ks_cbuild_error(s->b, ks_scan_place(s, from, s->pos),
                        "unknown distribution '%s', expected normal(mean,sd), uniform(lo,hi), int(lo,hi) or const(v)", word);
        return false;
    }
    double a, b = 0;
    if (!ks_scan_char(s, '(')) {
        ks_scan_error(s, "'('");
        return false;
    }
    if (!ks_scan_number(s, &a, "a number"))
        return false;
    if (kind != KS_DIST_CONST) {
        if (!ks_scan_char(s, ',')) {
            ks_scan_error(s, "',' and a second number");
            return false;
        }
        if (!ks_scan_number(s, &b, "a number"))
            return false;
    }
    if (!ks_scan_char(s, ')')) {
        ks_scan_error(s, "')'");
        return false;
    }
    *ret_kind = (enum ks_dist_kind)kind;
    *ret_a = a;
    *ret_b = b;
    return true;
}

/* After "NAME=": LO..HI[%M], A|B|C, or an expression. */
static bool scan_domain(struct ks_scan *s, struct ks_dim *d)
{
    char buf[64];
    ks_scan_blanks(s);
    size_t start = s->pos, len = copy_number(s, false, buf, sizeof buf), after = start + len;
    bool is_range = len && after + 1 < s->len && s->text[after] == '.' && s->text[after + 1] == '.';
    size_t bar = after;
    while (bar < s->len && (s->text[bar] == ' ' || s->text[bar] == '\t'))
        bar++;
    bool is_choice = len && bar < s->len && s->text[bar] == '|';
    d->multiple = 1;
    if (is_range) {
        if (!ks_scan_int(s, &d->lo, "the lower bound"))
            return false;
        s->pos += 2;
        if (!ks_scan_int(s, &d->hi, "the upper bound"))
            return false;
        return !ks_scan_char(s, '%') || ks_scan_int(s, &d->multiple, "a multiple");
    }
    if (is_choice) {
        KS_VEC(int64_t) choices = {0};
        bool ok = true;
        do {
            int64_t v = 0;
            ok = ks_scan_int(s, &v, "a choice");
            ks_vec_push(&choices, v);
        } while (ok && ks_scan_char(s, '|'));
        int64_t *copy = KS_ARENA_ARRAY(s->b->arena, int64_t, choices.n);
        memcpy(copy, choices.data, choices.n * sizeof *copy);
        d->choices = copy;
        d->n_choices = choices.n;
        ks_vec_release(&choices);
        return ok;
    }
    d->derived = ks_scan_expr(s, true);
    if (d->derived && ks_expr_constant(d->derived, &d->lo)) {
        d->derived = NULL;
        d->hi = d->lo;
        return true;
    }
    return d->derived != NULL;
}

bool ks_scan_dim(struct ks_scan *s)
{
    const char *name;
    size_t from;
    if (!ks_scan_word(s, &name, &from)) {
        ks_scan_error(s, "NAME=LO..HI, NAME=A|B|C or NAME=EXPRESSION");
        return false;
    }
    struct ks_cplace at = ks_scan_place(s, from, s->pos);
    if (!ks_scan_char(s, '=')) {
        ks_scan_error(s, "'=' after the dim's name");
        return false;
    }
    struct ks_dim d = {.name = name, .line = at.line, .col = at.line ? at.col : 0};
    if (!ks_cbuild_name_ok(s->b, name, true, at))
        return false;
    ks_scan_blanks(s);
    size_t domain = s->pos;
    if (!scan_domain(s, &d))
        return false;
    (void)ks_cbuild_add_dim(s->b, d, ks_scan_place(s, domain, s->pos)); /* a bad domain is no reason to stop reading the line */
    return true;
}

/* Contracts written as comments.  A comment line counts when "kscc:" is its first word; the lines from one `entry` to the next
 * make one contract.  Dims are read before everything else, so the order of the other lines is free. */

#include "harness/contract_build.h"
#include "base/regex.h"

#include <string.h>

/* X(word, reads one line after the dims are known) */
#define DIRECTIVES(X)                                                                                                            \
    X(entry, NULL)                                                                                                               \
    X(dims, NULL)                                                                                                                \
    X(in, read_buffers)                                                                                                          \
    X(out, read_buffers)                                                                                                         \
    X(inout, read_buffers) X(scratch, read_buffers) X(arg, read_arg) X(time, read_time) X(work, read_work) X(oracle, read_oracle)

enum directive {
#define X(word, read) DIRECTIVE_##word,
    DIRECTIVES(X)
#undef X
        N_DIRECTIVES
};

struct line {
    enum directive directive;
    struct ks_scan rest; /* after the directive */
};

/* Options after the element type: ~ distribution, nonfinite, rtol=, atol=, align=, used=, recorded=, in any order. */
struct buffer_options {
    bool dist, rtol, atol, align, used, nonfinite, recorded;
};

static bool read_option(struct ks_scan *s, struct ks_buffer *buf, struct buffer_options *given)
{
    const char *word;
    size_t from = s->pos;
    if (ks_scan_char(s, '~')) {
        if (given->dist) {
            ks_cbuild_error(s->b, ks_scan_place(s, from, s->pos), "distribution is given twice");
            return false;
        }
        given->dist = true;
        return ks_scan_dist(s, &buf->dist, &buf->dist_a, &buf->dist_b);
    }
    if (!ks_scan_word(s, &word, &from)) {
        ks_scan_error(s, "'~' and a distribution, nonfinite, rtol=, atol=, align=, used= or recorded=");
        return false;
    }
    bool *seen = strcmp(word, "rtol") == 0        ? &given->rtol
                 : strcmp(word, "atol") == 0      ? &given->atol
                 : strcmp(word, "align") == 0     ? &given->align
                 : strcmp(word, "used") == 0      ? &given->used
                 : strcmp(word, "nonfinite") == 0 ? &given->nonfinite
                 : strcmp(word, "recorded") == 0  ? &given->recorded
                                                  : NULL;
    if (!seen || *seen) {
        ks_cbuild_error(s->b, ks_scan_place(s, from, s->pos),
                        seen ? "'%s' is given twice"
                             : "unknown option '%s', expected rtol=, atol=, align=, used=, nonfinite, recorded= or '~' and a "
                               "distribution",
                        word);
        return false;
    }
    *seen = true;
    if (seen == &given->nonfinite) {
        buf->nonfinite = true;
        return true;
    }
    if (!ks_scan_char(s, '=')) {
        ks_scan_error(s, "'='");
        return false;
    }
    if (seen == &given->rtol)
        return ks_scan_number(s, &buf->rtol, "a tolerance");
    if (seen == &given->atol)
        return ks_scan_number(s, &buf->atol, "a tolerance");
    if (seen == &given->recorded)
        return ks_scan_recorded(s, &buf->recorded, &buf->recorded_off_byte);
    if (seen == &given->used)
        return (buf->used = ks_scan_expr(s, true)) != NULL;
    int64_t align;
    ks_scan_blanks(s);
    size_t at = s->pos;
    if (!ks_scan_int(s, &align, "a number of bytes"))
        return false;
    if (align < 1) {
        ks_cbuild_error(s->b, ks_scan_place(s, at, s->pos), "align is %lld, expected a power of two", (long long)align);
        return false;
    }
    buf->align_bytes = (size_t)align;
    return true;
}

static bool read_shape(struct ks_scan *s, struct ks_buffer *buf)
{
    if (!ks_scan_char(s, '[')) {
        ks_scan_error(s, "'[' and the lengths of the array ([1] for a single element)");
        return false;
    }
    do {
        if (buf->rank == KS_MAX_RANK) {
            ks_cbuild_error(s->b, ks_scan_place(s, s->pos, s->pos), "array has more than %d lengths", KS_MAX_RANK);
            return false;
        }
        const struct ks_expr *e = ks_scan_expr(s, true);
        if (!e)
            return false;
        buf->shape[buf->rank++] = e;
    } while (ks_scan_char(s, ','));
    if (!ks_scan_char(s, ']')) {
        ks_scan_error(s, "',' or ']'");
        return false;
    }
    return true;
}

struct name {
    const char *text;
    size_t from, to;
};

/* NAMES : DTYPE[EXPR,...] OPTIONS */
static void read_buffers(struct ks_scan *s, enum directive directive)
{
    KS_VEC(struct name) names = {0};
    struct buffer_options given = {0};
    struct ks_buffer buf = {0};
    buf.direction = directive == DIRECTIVE_in      ? KS_DIR_IN
                    : directive == DIRECTIVE_out   ? KS_DIR_OUT
                    : directive == DIRECTIVE_inout ? KS_DIR_INOUT
                                                   : KS_DIR_SCRATCH;
    bool ok = true;
    do {
        struct name n = {0};
        ok = ks_scan_word(s, &n.text, &n.from);
        n.to = s->pos;
        if (ok)
            ks_vec_push(&names, n);
        else
            ks_scan_error(s, "a parameter's name");
    } while (ok && ks_scan_char(s, ','));
    if (ok && !ks_scan_char(s, ':')) {
        ks_scan_error(s, "',' or ':' and the element type");
        ok = false;
    }
    ok = ok && ks_scan_dtype(s, &buf.dtype) && read_shape(s, &buf);
    size_t options = (ks_scan_blanks(s), s->pos);
    while (ok && !ks_scan_at_end(s))
        ok = read_option(s, &buf, &given);
    for (size_t i = 0; ok && i < names.n; i++) {
        const struct name *n = &names.data[i];
        struct ks_cplace at = ks_scan_place(s, n->from, n->to);
        buf.name = n->text;
        buf.line = at.line;
        buf.col = at.col;
        ok = ks_cbuild_name_ok(s->b, buf.name, false, at) &&
             ks_cbuild_add_buffer(s->b, buf, given.dist, given.rtol, given.atol,
                                  options < s->len ? ks_scan_place(s, options, s->len) : at);
    }
    ks_vec_release(&names);
}

/* NAME = EXPR */
static void read_arg(struct ks_scan *s, enum directive directive)
{
    (void)directive;
    struct ks_scalar_arg arg = {0};
    size_t from;
    if (!ks_scan_word(s, &arg.name, &from)) {
        ks_scan_error(s, "a parameter's name");
        return;
    }
    struct ks_cplace at = ks_scan_place(s, from, s->pos);
    arg.line = at.line;
    arg.col = at.col;
    if (!ks_scan_char(s, '=')) {
        ks_scan_error(s, "'='");
        return;
    }
    if (!ks_cbuild_name_ok(s->b, arg.name, false, at))
        return;
    arg.value = ks_scan_expr(s, false);
    if (!arg.value)
        return;
    if (!ks_scan_at_end(s))
        ks_scan_error(s, "an operator or the end of the line");
    else
        (void)ks_cbuild_add_arg(s->b, arg, at);
}

static void read_work(struct ks_scan *s, enum directive directive)
{
    (void)directive;
    do {
        const char *word;
        size_t from;
        bool known = ks_scan_word(s, &word, &from);
        const struct ks_expr **slot = known && strcmp(word, "bytes") == 0 ? &s->b->work_bytes
                                      : known && strcmp(word, "ops") == 0 ? &s->b->work_ops
                                                                          : NULL;
        if (!known) {
            ks_scan_error(s, "bytes=EXPRESSION or ops=EXPRESSION");
            return;
        }
        if (!slot || *slot) {
            ks_cbuild_error(s->b, ks_scan_place(s, from, s->pos),
                            slot ? "'%s' is given twice" : "unknown kind of work '%s', expected bytes= or ops=", word);
            return;
        }
        if (!ks_scan_char(s, '=')) {
            ks_scan_error(s, "'='");
            return;
        }
        *slot = ks_scan_expr(s, false);
        if (!*slot)
            return;
    } while (!ks_scan_at_end(s));
}

/* NAME */
static void read_oracle(struct ks_scan *s, enum directive directive)
{
    (void)directive;
    const char *name;
    size_t from;
    if (!ks_scan_word(s, &name, &from)) {
        ks_scan_error(s, "the name of a host function");
        return;
    }
    struct ks_cplace at = ks_scan_place(s, from, s->pos);
    if (!ks_scan_at_end(s)) {
        ks_scan_error(s, "the end of the line");
    } else if (s->b->oracle) {
        ks_cbuild_error(s->b, at, "the contract of '%s' has two oracles", s->b->entry);
    } else {
        s->b->oracle = name;
        s->b->oracle_line = at.line;
        s->b->oracle_col = at.col;
    }
}

/* One DIM=V or weight=W of a timing point. */
static bool read_time_item(struct ks_scan *s, struct ks_time_point *t, bool *given, bool *weight_given)
{
    const char *word;
    size_t from;
    if (!ks_scan_word(s, &word, &from)) {
        ks_scan_error(s, "DIM=VALUE, weight=W or ';'");
        return false;
    }
    struct ks_cplace at = ks_scan_place(s, from, s->pos);
    bool is_weight = strcmp(word, "weight") == 0;
    size_t dim = is_weight ? 0 : ks_cbuild_find_dim(s->b, word);
    if (dim == SIZE_MAX) {
        ks_cbuild_error(s->b, at, "'%s' is no dim of this contract", word);
        return false;
    }
    if (!is_weight && s->b->dims.data[dim].derived) {
        ks_cbuild_error(s->b, at, "'%s' follows from other dims; leave it out of timing points", word);
        return false;
    }
    bool *seen = is_weight ? weight_given : &given[dim];
    if (*seen) {
        ks_cbuild_error(s->b, at, "'%s' is given twice in one timing point", word);
        return false;
    }
    *seen = true;
    if (!ks_scan_char(s, '=')) {
        ks_scan_error(s, "'='");
        return false;
    }
    return is_weight ? ks_scan_number(s, &t->weight, "a weight") : ks_scan_int(s, &t->shape.dim[dim], "a value");
}

/* Points are separated by ';'.  An empty line is the one point of a contract without free dims. */
static void read_time(struct ks_scan *s, enum directive directive)
{
    (void)directive;
    do {
        struct ks_time_point t = {.weight = 1.0};
        bool given[KS_MAX_DIMS] = {false}, weight_given = false, ok = true;
        ks_scan_blanks(s);
        size_t from = s->pos, to = from;
        while (ok && !ks_scan_at_end(s) && s->text[s->pos] != ';') {
            ok = read_time_item(s, &t, given, &weight_given);
            to = s->pos;
        }
        if (!ok || !ks_cbuild_add_time(s->b, t, given, ks_scan_place(s, from, to)))
            return;
    } while (ks_scan_char(s, ';'));
}

static void read_dims(struct ks_scan *s)
{
    if (ks_scan_at_end(s))
        ks_scan_error(s, "NAME=LO..HI, NAME=A|B|C or NAME=EXPRESSION");
    while (!ks_scan_at_end(s) && ks_scan_dim(s))
        (void)ks_scan_char(s, ',');
}

typedef void read_fn(struct ks_scan *s, enum directive directive);
static const struct {
    const char *word;
    read_fn *read;
} directives[N_DIRECTIVES] = {
#define X(word, read) {#word, read},
    DIRECTIVES(X)
#undef X
};

static bool directive_find(const char *word, enum directive *ret)
{
    for (int i = 0; i < N_DIRECTIVES; i++)
        if (strcmp(word, directives[i].word) == 0) {
            *ret = (enum directive)i;
            return true;
        }
    return false;
}

/* ---- files ---------------------------------------------------------------------------------------------------------------- */

struct reader {
    struct ks_arena *arena;
    struct ks_diags *diags;
    const char *path;
    struct ks_regex *comment;  /* group 1: after "kscc:" */
    struct ks_regex *trailing; /* such a comment after code */
    KS_VEC(struct line) lines; /* of the contract being collected */
    struct ks_cbuild build;
    bool in_contract;
    bool failed;
    KS_VEC(struct ks_contract) contracts;
};

static void close_contract(struct reader *r)
{
    if (!r->in_contract)
        return;
    struct ks_cbuild *b = &r->build;
    bool failed_before = b->failed;
    b->failed = false;
    for (size_t i = 0; i < r->lines.n; i++)
        if (r->lines.data[i].directive == DIRECTIVE_dims)
            read_dims(&r->lines.data[i].rest);
    bool dims_ok = !b->failed; /* a broken dim would make each of its uses an error of its own */
    b->failed |= failed_before;
    for (size_t i = 0; i < r->lines.n && dims_ok; i++)
        if (r->lines.data[i].directive != DIRECTIVE_time && directives[r->lines.data[i].directive].read)
            directives[r->lines.data[i].directive].read(&r->lines.data[i].rest, r->lines.data[i].directive);
    for (size_t i = 0; i < r->lines.n && dims_ok; i++)
        if (r->lines.data[i].directive == DIRECTIVE_time)
            read_time(&r->lines.data[i].rest, DIRECTIVE_time);
    struct ks_contract c;
    if (ks_cbuild_finish(b, &c))
        ks_vec_push(&r->contracts, c);
    else
        r->failed = true;
    ks_cbuild_release(b);
    r->lines.n = 0;
    r->in_contract = false;
}

static void open_contract(struct reader *r, struct ks_scan *s)
{
    close_contract(r);
    ks_cbuild_init(&r->build, r->path, r->arena, r->diags);
    r->in_contract = true;
    size_t from;
    if (!ks_scan_entry(s, &r->build.entry, &from)) {
        ks_scan_error(s, "the name of a host function");
        return;
    }
    struct ks_cplace at = ks_scan_place(s, from, s->pos);
    r->build.entry_line = at.line;
    r->build.entry_col = at.col;
    if (!ks_scan_at_end(s))
        ks_scan_error(s, "the end of the line");
    for (size_t i = 0; i < r->contracts.n; i++)
        if (strcmp(r->contracts.data[i].entry, r->build.entry) == 0)
            ks_cbuild_error(&r->build, at, "entry '%s' has two contracts", r->build.entry);
}

/* One line after "kscc:". */
static void read_line(struct reader *r, struct ks_scan s)
{
    struct ks_cbuild loose; /* complaints about lines that belong to no contract */
    ks_cbuild_init(&loose, r->path, r->arena, r->diags);
    s.b = r->in_contract ? &r->build : &loose;
    const char *word;
    size_t from;
    enum directive d = DIRECTIVE_entry;
    if (!ks_scan_word(&s, &word, &from))
        ks_scan_error(&s, "entry, dims, in, out, inout, scratch, arg, time, work or oracle");
    else if (!directive_find(word, &d))
        ks_cbuild_error(s.b, ks_scan_place(&s, from, s.pos),
                        "unknown directive '%s', expected entry, dims, in, out, inout, scratch, arg, time, work or oracle", word);
    else if (d == DIRECTIVE_entry) {
        s.b = &r->build;
        open_contract(r, &s);
    } else if (!r->in_contract)
        ks_cbuild_error(s.b, ks_scan_place(&s, from, s.pos),
                        "'%s' stands before any 'entry'; begin the contract with 'entry NAME'", word);
    else {
        struct line line = {d, s};
        ks_vec_push(&r->lines, line);
    }
    r->failed |= loose.failed;
    ks_cbuild_release(&loose);
}

/* Every complaint about a line is made here or below; errors of the regex library itself come back. */
static enum ks_code read_source(struct reader *r, const char *source, size_t len, struct ks_err *err)
{
    uint32_t line = 1;
    for (size_t begin = ks_str_bom(source, len); begin < len; line++) {
        const char *newline = memchr(source + begin, '\n', len - begin);
        size_t end = newline ? (size_t)(newline - source) : len;
        size_t n = end - begin;
        if (n && source[end - 1] == '\r')
            n--;
        if (memmem(source + begin, n, "kscc:", 5)) {
            struct ks_match m;
            bool found;
            KS_TRY(ks_regex_match(r->comment, source + begin, n, 0, &m, &found, err));
            if (found) {
                struct ks_scan s = {.text = source + begin + m.begin[1],
                                    .len = m.end[1] - m.begin[1],
                                    .line = line,
                                    .col = (uint32_t)m.begin[1] + 1};
                read_line(r, s);
            } else {
                KS_TRY(ks_regex_match(r->trailing, source + begin, n, 0, &m, &found, err));
                if (found)
                    ks_diags_add(r->diags, KS_SEV_WARNING, r->path, line, (uint32_t)m.begin[1] + 1,
                                 (uint32_t)(m.end[1] - m.begin[1]), "contract",
                                 "contract lines stand on lines of their own, ignoring this one after code");
            }
        }
        begin = end + 1;
    }
    close_contract(r);
    return KS_OK;
}

enum ks_code ks_contracts_parse(const char *path, const char *source, size_t len, struct ks_arena *arena, struct ks_diags *diags,
                                struct ks_contract **ret_contracts, size_t *ret_n, struct ks_err *err)
{
    struct reader r = {.arena = arena, .diags = diags, .path = ks_arena_strdup(arena, path)};
    enum ks_code code = ks_regex_new("^[ \\t]*(?://+|/\\*+|\\*+)[ \\t]*kscc:(.*?)[ \\t]*(?:\\*/[ \\t]*)?$", "s", &r.comment, err);
    if (code == KS_OK)
        code = ks_regex_new("^[ \\t]*(?![ \\t]|//|/?\\*).*(//+[ \\t]*kscc:)", "", &r.trailing, err);
    if (code == KS_OK)
        code = read_source(&r, source, len, err);
    if (code == KS_OK && r.failed)
        code = ks_fail(err, KS_ERR_SYNTAX, "contract in '%s' has errors", path);
    if (code == KS_OK || code == KS_ERR_SYNTAX) {
        /* Contracts without errors are usable even when another one of the file is not. */
        struct ks_contract *all = KS_ARENA_ARRAY(arena, struct ks_contract, r.contracts.n);
        if (r.contracts.n)
            memcpy(all, r.contracts.data, r.contracts.n * sizeof *all);
        *ret_contracts = all;
        *ret_n = r.contracts.n;
    }
    if (r.in_contract)
        ks_cbuild_release(&r.build);
    ks_vec_release(&r.lines);
    ks_vec_release(&r.contracts);
    ks_regex_free(r.comment);
    ks_regex_free(r.trailing);
    return code;
}

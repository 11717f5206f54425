#include "rewriter/http/conversation.h"

#include "base/file.h"
#include "base/limits.h"
#include "base/redact.h"

#include <string.h>

#define BYTES_PER_TOKEN 3.2 /* source code; corrected by what the endpoint reports */
#define MESSAGE_TOKENS  8   /* around each message */
#define KEPT_PART       0.5 /* of the budget for the newest turns when old ones go */

/* ---- journal -------------------------------------------------------------------------------------------------------- */

void ks_conversation_open(struct ks_conversation *c, const char *journal_path)
{
    KS_AUTO_STR struct ks_str text = KS_STR_INIT;
    struct ks_err err;
    KS_VEC(struct ks_json *) lines = {0};
    *c = (struct ks_conversation){.bytes_per_token = BYTES_PER_TOKEN};
    c->untold = ks_json_array();
    if (!journal_path)
        return;
    c->journal_path = ks_xstrdup(journal_path);
    if (ks_file_read(journal_path, SIZE_MAX, &text, &err) != KS_OK)
        return;
    const char *end;
    for (const char *p = ks_str_cstr(&text); (end = strchr(p, '\n')); p = end + 1) {
        struct ks_json *j; /* a line cut short by a kill is the last one, or has another behind it: passed over */
        if (end > p && ks_json_parse(p, (size_t)(end - p), journal_path, &j, &err) == KS_OK)
            ks_vec_push(&lines, j);
    }
    c->lines = lines.data;
    c->n_lines = lines.n;
    if (text.len && text.data[text.len - 1] != '\n') /* end the half line, so that the next one is whole */
        (void)!ks_file_append_line(journal_path, "", &err);
}

static void said_release(struct ks_said *s)
{
    free(s->text);
    free(s->call_id);
    if (s->by == KS_SAID_MODEL)
        ks_reply_release(&s->reply);
}

void ks_conversation_release(struct ks_conversation *c)
{
    for (size_t i = 0; i < c->n; i++)
        said_release(&c->said[i]);
    for (size_t i = 0; i < c->n_lines; i++)
        ks_json_free(c->lines[i]);
    free(c->said);
    free(c->lines);
    free(c->journal_path);
    ks_json_free(c->untold);
    *c = (struct ks_conversation){0};
}

static const struct ks_json *peek(const struct ks_conversation *c, const char *ev)
{
    const struct ks_json *line = c->next_line < c->n_lines ? c->lines[c->next_line] : NULL;
    return line && ks_streq(ks_json_get_str(line, "ev", NULL), ev) ? line : NULL;
}

/* A line of the journal: written, or, when it was played back, passed; hands `line` over.  What is said in another order than it
 * was then ends the playing back: the search went another way. */
static enum ks_code record(struct ks_conversation *c, struct ks_json *line, bool played, struct ks_err *err)
{
    KS_AUTO_JSON struct ks_json *owned = line;
    KS_AUTO_STR struct ks_str text = KS_STR_INIT;
    ks_json_push(c->untold, ks_json_copy(line));
    if (played) {
        c->next_line++;
        return KS_OK;
    }
    c->next_line = c->n_lines;
    if (!c->journal_path)
        return KS_OK;
    ks_json_print(line, &text);
    return ks_file_append_line(c->journal_path, ks_str_cstr(&text), err);
}

/* ---- saying --------------------------------------------------------------------------------------------------------- */

static struct ks_said *add(struct ks_conversation *c, enum ks_said_by by)
{
    if (c->n == c->cap)
        c->said = ks_vec_grow_(c->said, &c->cap, sizeof *c->said);
    c->said[c->n] = (struct ks_said){.by = by};
    return &c->said[c->n++];
}

static char *without_secrets(const char *text)
{
    KS_AUTO_STR struct ks_str out = KS_STR_INIT;
    ks_redact(text, strlen(text), &out);
    ks_str_reserve(&out, 1);
    ks_make_utf8(out.data, out.len);
    return ks_str_detach(&out, NULL);
}

enum ks_code ks_conversation_user(struct ks_conversation *c, const char *text, struct ks_err *err)
{
    const struct ks_json *before = peek(c, "user");
    struct ks_json *line = ks_json_object();
    char *clean = before ? ks_xstrdup(ks_json_get_str(before, "text", "")) : without_secrets(text);
    add(c, KS_SAID_USER)->text = clean;
    ks_json_set_str(line, "ev", "user");
    ks_json_set_str(line, "text", clean);
    return record(c, line, before != NULL, err);
}

const char *ks_conversation_recorded_answer(const struct ks_conversation *c, const char *call_id)
{
    const struct ks_json *line = peek(c, "answer");
    return line && ks_streq(ks_json_get_str(line, "call", NULL), call_id) ? ks_json_get_str(line, "text", NULL) : NULL;
}

enum ks_code ks_conversation_answer(struct ks_conversation *c, const char *call_id, const char *text, bool refused,
                                    struct ks_err *err)
{
    const char *before = ks_conversation_recorded_answer(c, call_id);
    struct ks_json *line = ks_json_object();
    struct ks_said *s = add(c, KS_SAID_TOOL);
    s->text = before ? ks_xstrdup(before) : without_secrets(text);
    s->call_id = ks_xstrdup(call_id);
    s->refused = before ? ks_json_get_bool(c->lines[c->next_line], "refused", refused) : refused;
    ks_json_set_str(line, "ev", "answer");
    ks_json_set_str(line, "call", call_id);
    ks_json_set_str(line, "text", s->text);
    ks_json_set_bool(line, "refused", s->refused);
    return record(c, line, before != NULL, err);
}

enum ks_code ks_conversation_request(struct ks_conversation *c, int64_t estimated_tokens, struct ks_err *err)
{
    KS_AUTO_STR struct ks_str text = KS_STR_INIT;
    if (!c->journal_path)
        return KS_OK;
    ks_str_addf(&text, "{\"ev\":\"request\",\"tokens\":%lld}", (long long)estimated_tokens);
    c->next_line = c->n_lines;
    return ks_file_append_line(c->journal_path, ks_str_cstr(&text), err);
}

enum ks_code ks_conversation_reply(struct ks_conversation *c, struct ks_reply *r, struct ks_err *err)
{
    struct ks_said *s = add(c, KS_SAID_MODEL);
    s->reply = *r;
    *r = (struct ks_reply){0};
    ks_reply_init(r);
    struct ks_json *whole = ks_reply_to_json(&s->reply), *line = ks_redact_json(whole);
    ks_json_free(whole);
    ks_json_set_str(line, "ev", "reply");
    return record(c, line, false, err);
}

bool ks_conversation_play(struct ks_conversation *c, int64_t *ret_lost_tokens)
{
    int64_t lost = 0;
    for (const struct ks_json *line; (line = peek(c, "request")); c->next_line++) {
        const struct ks_json *behind = c->next_line + 1 < c->n_lines ? c->lines[c->next_line + 1] : NULL;
        if (!ks_streq(ks_json_get_str(behind, "ev", NULL), "reply"))
            lost += ks_json_get_i64(line, "tokens", 0);
    }
    *ret_lost_tokens = lost;
    const struct ks_json *line = peek(c, "reply");
    if (!line)
        return false;
    ks_json_push(c->untold, ks_json_copy(line));
    ks_reply_from_json(line, &add(c, KS_SAID_MODEL)->reply); /* ids were made unique before it was written */
    c->next_line++;
    return true;
}

struct ks_said *ks_conversation_last(struct ks_conversation *c)
{
    return c->n ? &c->said[c->n - 1] : NULL;
}

struct ks_json *ks_conversation_take_untold(struct ks_conversation *c)
{
    if (ks_json_len(c->untold) == 0)
        return NULL;
    struct ks_json *j = c->untold;
    c->untold = ks_json_array();
    return j;
}

/* ---- length --------------------------------------------------------------------------------------------------------- */

static int64_t tokens_of(const struct ks_conversation *c, const struct ks_said *s)
{
    size_t bytes = s->text ? strlen(s->text) : 0;
    if (s->by == KS_SAID_MODEL) {
        bytes = s->reply.text.len;
        for (size_t i = 0; i < s->reply.n_calls; i++)
            bytes += s->reply.calls[i].arguments.len + strlen(s->reply.calls[i].name) + 16;
    }
    return (int64_t)((double)bytes / c->bytes_per_token) + MESSAGE_TOKENS;
}

int64_t ks_conversation_tokens(const struct ks_conversation *c)
{
    int64_t n = 0;
    for (size_t i = 0; i < c->n; i++)
        n += tokens_of(c, &c->said[i]);
    return n;
}

/* The first message of the turns that stay: a reply, the oldest so that everything from it on fits; the newest reply in any
 * case.  0: there is nothing to drop. */
static size_t first_kept(const struct ks_conversation *c, int64_t budget)
{
    int64_t n = 0;
    size_t kept = 0;
    for (size_t i = c->n; i-- > 1;) {
        n += tokens_of(c, &c->said[i]);
        if (c->said[i].by != KS_SAID_MODEL)
            continue;
        if (kept && (double)n > KEPT_PART * (double)budget)
            break;
        kept = i;
    }
    return kept;
}

bool ks_conversation_shorten(struct ks_conversation *c, int64_t budget, const char *summary)
{
    size_t kept = first_kept(c, budget);
    if (kept < 2 || (kept == 2 && c->said[1].by == KS_SAID_USER)) /* nothing but an earlier summary stands between */
        return false;
    for (size_t i = 1; i < kept; i++)
        said_release(&c->said[i]);
    c->said[1] = (struct ks_said){.by = KS_SAID_USER, .text = without_secrets(summary)};
    memmove(&c->said[2], &c->said[kept], (c->n - kept) * sizeof *c->said);
    c->n -= kept - 2;
    return true;
}

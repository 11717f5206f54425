#include "rewriter/http/reply.h"

#include <string.h>

void ks_reply_init(struct ks_reply *r)
{
    *r = (struct ks_reply){.tokens_in = -1, .tokens_out = -1, .tokens_cached = -1};
}

void ks_reply_release(struct ks_reply *r)
{
    for (size_t i = 0; i < r->n_calls; i++) {
        free(r->calls[i].id);
        free(r->calls[i].name);
        ks_str_release(&r->calls[i].arguments);
    }
    free(r->calls);
    ks_str_release(&r->text);
    free(r->error);
    ks_reply_init(r);
    r->calls = NULL;
    r->n_calls = r->cap_calls = 0;
}

struct ks_tool_call *ks_reply_call(struct ks_reply *r, int64_t block)
{
    size_t at = r->n_calls;
    while (at && r->calls[at - 1].block >= block)
        at--;
    if (at < r->n_calls && r->calls[at].block == block)
        return &r->calls[at];
    if (r->n_calls == KS_MAX_CALLS) {
        r->malformed = true;
        return NULL;
    }
    if (r->n_calls == r->cap_calls)
        r->calls = ks_vec_grow_(r->calls, &r->cap_calls, sizeof *r->calls);
    memmove(&r->calls[at + 1], &r->calls[at], (r->n_calls++ - at) * sizeof *r->calls);
    r->calls[at] = (struct ks_tool_call){.block = block};
    return &r->calls[at];
}

void ks_reply_set(char **place, const char *text)
{
    if (!text)
        return;
    free(*place);
    *place = ks_xstrdup(text);
}

static bool id_taken(const struct ks_reply *r, size_t before, const char *id)
{
    for (size_t i = 0; i < before; i++)
        if (strcmp(r->calls[i].id, id) == 0)
            return true;
    return false;
}

void ks_reply_finish(struct ks_reply *r, size_t turn)
{
    for (size_t i = 0; i < r->n_calls; i++) {
        struct ks_tool_call *c = &r->calls[i];
        if (!c->id || !*c->id || id_taken(r, i, c->id)) {
            KS_AUTO_STR struct ks_str id = KS_STR_INIT;
            ks_str_addf(&id, "kscc_%zu_%zu", turn, i);
            while (id_taken(r, i, ks_str_cstr(&id))) /* a model may have thought of it, too */
                ks_str_addc(&id, '_');
            ks_reply_set(&c->id, ks_str_cstr(&id));
        }
        if (!c->name)
            c->name = ks_xstrdup("");
    }
}

struct ks_json *ks_reply_to_json(const struct ks_reply *r)
{
    struct ks_json *j = ks_json_object(), *calls = ks_json_array();
    ks_json_set_str(j, "text", ks_str_cstr(&r->text));
    for (size_t i = 0; i < r->n_calls; i++) {
        struct ks_json *c = ks_json_object();
        ks_json_set_str(c, "id", r->calls[i].id);
        ks_json_set_str(c, "name", r->calls[i].name);
        ks_json_set_str(c, "arguments", ks_str_cstr(&r->calls[i].arguments));
        ks_json_push(calls, c);
    }
    ks_json_set(j, "calls", calls);
    ks_json_set_i64(j, "stop", r->stop);
    ks_json_set_i64(j, "tokens_in", r->tokens_in);
    ks_json_set_i64(j, "tokens_out", r->tokens_out);
    ks_json_set_i64(j, "tokens_cached", r->tokens_cached);
    return j;
}

void ks_reply_from_json(const struct ks_json *j, struct ks_reply *ret)
{
    const struct ks_json *calls = ks_json_get(j, "calls");
    ks_reply_init(ret);
    ks_str_add(&ret->text, ks_json_get_str(j, "text", ""));
    for (size_t i = 0; i < ks_json_len(calls) && i < KS_MAX_CALLS; i++) {
        struct ks_tool_call *c = ks_reply_call(ret, (int64_t)i);
        ks_reply_set(&c->id, ks_json_get_str(ks_json_at(calls, i), "id", NULL));
        ks_reply_set(&c->name, ks_json_get_str(ks_json_at(calls, i), "name", NULL));
        ks_str_add(&c->arguments, ks_json_get_str(ks_json_at(calls, i), "arguments", ""));
    }
    ret->stop = (enum ks_reply_stop)ks_json_get_i64(j, "stop", KS_STOP_OTHER);
    ret->tokens_in = ks_json_get_i64(j, "tokens_in", -1);
    ret->tokens_out = ks_json_get_i64(j, "tokens_out", -1);
    ret->tokens_cached = ks_json_get_i64(j, "tokens_cached", -1);
    ks_reply_finish(ret, 0);
}

#include "driver/try_port.h"

#include "base/file.h"
#include "base/limits.h"

#include <string.h>

/* ---- a list of calls ------------------------------------------------------------------------------------------------ */

void ks_call_list_release(struct ks_call_list *l)
{
    for (size_t i = 0; i < l->calls.n; i++)
        ks_json_free(l->calls.data[i].arguments);
    ks_vec_release(&l->calls);
    ks_json_free(l->last);
    *l = (struct ks_call_list){0};
}

void ks_call_list_add(struct ks_call_list *l, const char *tool, struct ks_json *arguments)
{
    struct ks_call_item item = {tool, arguments};
    ks_vec_push(&l->calls, item);
}

static bool list_next(void *ctx, char **ret_tool, struct ks_json **ret_arguments)
{
    struct ks_call_list *l = ctx;
    if (l->refused || l->at == l->calls.n)
        return false;
    struct ks_call_item *item = &l->calls.data[l->at++];
    *ret_tool = ks_xstrdup(item->tool);
    *ret_arguments = ks_steal(item->arguments);
    l->last_tool = item->tool;
    return true;
}

static void list_answer(void *ctx, const struct ks_json *content, bool refused)
{
    struct ks_call_list *l = ctx;
    ks_json_free(l->last);
    l->last = ks_json_copy(content);
    l->refused = refused;
}

struct ks_operator_port ks_call_list_port(struct ks_call_list *l)
{
    return (struct ks_operator_port){.ctx = l, .next = list_next, .answer = list_answer};
}

/* ---- one try -------------------------------------------------------------------------------------------------------- */

void ks_try_calls(const struct ks_try *t, struct ks_call_list *l)
{
    if (t->text) {
        struct ks_json *edit = ks_json_object();
        ks_json_set_str(edit, "text", t->text);
        ks_call_list_add(l, "edit", edit);
    }
    if (t->layer || t->because || t->predict != 0) {
        struct ks_json *state = ks_json_object(); /* what is missing, the desk says */
        if (t->layer)
            ks_json_set_str(state, "layer", t->layer);
        if (t->because)
            ks_json_set_str(state, "hypothesis", t->because);
        if (t->predict != 0)
            ks_json_set_num(state, "predicted_speedup", t->predict);
        ks_call_list_add(l, "state_hypothesis", state);
    }
    struct ks_json *evaluate = ks_json_object();
    if (t->label)
        ks_json_set_str(evaluate, "label", t->label);
    ks_call_list_add(l, "evaluate", evaluate);
}

enum ks_code ks_try_read(const char *path, struct ks_str *out, struct ks_err *err)
{
    KS_TRY(ks_file_read(path, KS_MAX_SOURCE_BYTES, out, err));
    if (memchr(ks_str_cstr(out), '\0', out->len))
        return ks_fail(err, KS_ERR_SYNTAX, "'%s' holds zero bytes: that is no source", path);
    return KS_OK;
}

/* ---- answers -------------------------------------------------------------------------------------------------------- */

static void add_speedup(const struct ks_json *v, struct ks_str *out)
{
    const struct ks_json *interval = ks_json_get(v, "interval");
    double speedup = ks_json_get_num(v, "speedup", 0);
    if (!(speedup > 0))
        return;
    if (ks_streq(ks_json_get_str(v, "times", ""), "modelled"))
        ks_str_addf(out, ": %.2fx modelled", speedup);
    else
        ks_str_addf(out, ": %.2fx [%.2f, %.2f]", speedup, ks_json_num(ks_json_at(interval, 0), 0),
                    ks_json_num(ks_json_at(interval, 1), 0));
}

static void add_verdict(const struct ks_json *v, struct ks_str *out)
{
    const struct ks_json *gates = ks_json_get(v, "gates");
    const char *gate = ks_json_get_str(v, "failed_gate", NULL);
    ks_str_addf(out, "trial %lld", (long long)ks_json_get_i64(v, "candidate", 0));
    if (ks_json_get_str(v, "label", NULL))
        ks_str_addf(out, " (%s)", ks_json_get_str(v, "label", ""));
    ks_str_addf(out, ": %s", ks_json_get_str(v, "outcome", "?"));
    add_speedup(v, out);
    if (ks_json_get_num(v, "predicted", 0) > 0)
        ks_str_addf(out, ", predicted %.2fx", ks_json_get_num(v, "predicted", 0));
    if (ks_json_get_bool(v, "is_best", false))
        ks_str_add(out, ", the best so far");
    if (gate)
        ks_str_addf(out, "\n  %s: %s", gate, ks_json_get_str(v, "reason", ""));
    for (size_t i = 0; i < ks_json_len(gates); i++)
        ks_str_addf(out, "%s%s %s", i ? ", " : "\n  gates: ", ks_json_key(ks_json_at(gates, i)),
                    ks_json_get_str(ks_json_at(gates, i), "state", "?"));
    ks_str_addc(out, '\n');
}

void ks_answer_text(const char *tool, const struct ks_json *content, bool refused, struct ks_str *out)
{
    const struct ks_json *question = ks_json_get(content, "question"), *trials = ks_json_get(content, "trials");
    if (refused) {
        ks_str_addf(out, "not done: %s\n", ks_json_get_str(content, "error", "?"));
    } else if (strcmp(tool, "history") == 0) {
        for (size_t i = 0; i < ks_json_len(trials); i++)
            add_verdict(ks_json_at(trials, i), out);
        if (ks_json_len(trials) == 0)
            ks_str_add(out, "no trial yet\n");
    } else if (ks_json_get(content, "outcome")) {
        add_verdict(content, out);
    } else if (strcmp(tool, "ask") == 0 && ks_json_get_str(content, "text", NULL)) {
        ks_str_addf(out, "question (%s): %s\n", ks_json_get_str(content, "layer", "?"), ks_json_get_str(content, "text", ""));
    } else if (strcmp(tool, "read") == 0 && ks_json_get_str(content, "text", NULL)) {
        ks_str_add(out, ks_json_get_str(content, "text", ""));
    } else {
        KS_AUTO_JSON struct ks_json *rest = ks_json_copy(content);
        ks_json_print_pretty(rest, out);
    }
    if (ks_json_get_str(content, "note", NULL) && ks_json_get(content, "outcome"))
        ks_str_addf(out, "  %s\n", ks_json_get_str(content, "note", ""));
    if (question)
        ks_str_addf(out, "question (%s): %s\n", ks_json_get_str(question, "layer", "?"), ks_json_get_str(question, "text", ""));
}

int ks_answer_status(const char *tool, const struct ks_json *content, bool refused)
{
    if (refused || !content)
        return 2;
    if (strcmp(tool, "evaluate") != 0)
        return 0;
    return strcmp(ks_json_get_str(content, "outcome", ""), "accepted") == 0 ? 0 : 1;
}

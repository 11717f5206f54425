#include "rewriter/actions_desk.h"

#include "base/file.h"
#include "base/limits.h"

#include <limits.h>
#include <stdarg.h>
#include <string.h>

/* ---- the desk ------------------------------------------------------------------------------------------------------- */

struct ks_actions *ks_actions_new(const char *unit_path, char *const *readable, size_t n_readable,
                                  const struct ks_action_hooks *hooks)
{
    struct ks_actions *a = ks_xcalloc(1, sizeof *a);
    KS_AUTO_STR struct ks_str dir = KS_STR_INIT;
    ks_path_dir(&dir, unit_path);
    a->unit_path = ks_xstrdup(unit_path);
    a->unit_dir = realpath(ks_str_cstr(&dir), NULL);
    if (!a->unit_dir)
        a->unit_dir = ks_xstrdup(ks_str_cstr(&dir));
    ks_args_init(&a->readable);
    for (size_t i = 0; i < n_readable; i++)
        ks_args_add(&a->readable, readable[i]);
    a->hooks = hooks;
    return a;
}

void ks_actions_free(struct ks_actions *a)
{
    if (!a)
        return;
    ks_args_release(&a->readable);
    free(a->unit_path);
    free(a->unit_dir);
    free(a->text);
    free(a->hypothesis);
    free(a->label);
    free(a);
}

void ks_actions_look(struct ks_actions *a, const struct ks_agent_view *view)
{
    a->view = view;
    if (!a->text) {
        ks_action_set_text(a, view->source, view->source_len);
        a->parent = view->best;
    }
}

const char *ks_actions_source(const struct ks_actions *a, size_t *ret_len)
{
    *ret_len = a->text_len;
    return a->text;
}

void ks_action_set_text(struct ks_actions *a, const char *text, size_t len)
{
    char *copy = ks_xstrndup(text, len); /* text may lie in the old one */
    free(a->text);
    a->text = copy;
    a->text_len = strlen(copy);
}

const char *ks_action_candidate(const struct ks_actions *a, int64_t number, size_t *ret_len)
{
    if (number == 0) {
        *ret_len = a->view->original_len;
        return a->view->original;
    }
    if (number < 0 || (uint64_t)number > a->view->n_attempts)
        return NULL;
    *ret_len = strlen(a->view->attempts[number - 1].source);
    return a->view->attempts[number - 1].source;
}

void ks_action_result_release(struct ks_action_result *r)
{
    ks_json_free(r->content);
    r->content = NULL;
}

void ks_action_refuse(struct ks_action_result *ret, const char *fmt, ...)
{
    KS_AUTO_STR struct ks_str text = KS_STR_INIT;
    va_list ap;
    va_start(ap, fmt);
    ks_str_vaddf(&text, fmt, ap);
    va_end(ap);
    ks_json_free(ret->content);
    ret->kind = KS_ACTION_REFUSED;
    ret->content = ks_json_object();
    ks_json_set_str(ret->content, "error", ks_str_cstr(&text));
}

/* ---- statement and evaluation --------------------------------------------------------------------------------------- */

static void act_state(struct ks_actions *a, const struct ks_json *arguments, struct ks_action_result *ret)
{
    const char *text = ks_json_get_str(arguments, "hypothesis", "");
    double predicted = ks_json_get_num(arguments, "predicted_speedup", 0);
    if (!*text || !(predicted > 0) || predicted > 1e6) {
        ks_action_refuse(ret, "a statement needs a hypothesis and a predicted speed-up above 0, such as 1.8");
        return;
    }
    KS_BUG(!ks_layer_parse(ks_json_get_str(arguments, "layer", ""), &a->layer));
    free(a->hypothesis);
    a->hypothesis = ks_xstrdup(text);
    a->predicted = predicted;
    a->stated = true;
    ks_json_set_str(ret->content, "stated", ks_layer_text(a->layer));
}

/* Number of the trial of the working text; 0: it is the original; -1: it was not tried. */
static int64_t tried_as(const struct ks_actions *a)
{
    for (size_t i = 0; i < a->view->n_attempts; i++)
        if (strcmp(a->view->attempts[i].source, a->text) == 0)
            return (int64_t)i + 1;
    bool original = a->text_len == a->view->original_len && memcmp(a->text, a->view->original, a->text_len) == 0;
    return original ? 0 : -1;
}

static void act_evaluate(struct ks_actions *a, const struct ks_json *arguments, struct ks_action_result *ret)
{
    int64_t number = tried_as(a);
    if (number == 0) {
        ks_action_refuse(ret, "the working text is the original: there is nothing to try");
    } else if (number > 0 && a->view->attempts[number - 1].pending) {
        ks_json_set_i64(ret->content, "candidate", number);
        ks_json_set_str(ret->content, "note", "this very text is being tried; its verdict answers that call");
    } else if (number > 0) {
        ks_json_free(ret->content);
        ret->content = ks_actions_verdict(a->view, (size_t)number);
        ks_json_set_str(ret->content, "note", "this very text was tried before; it was not tried again");
    } else if (!a->stated) {
        ks_action_refuse(ret, "state_hypothesis must come first: the layer, why, and the speed-up you predict");
    } else {
        free(a->label);
        a->label = ks_xstrdup(ks_json_get_str(arguments, "label", ""));
        a->ready = true;
        ret->kind = KS_ACTION_EVALUATE;
    }
}

void ks_actions_take(struct ks_actions *a, struct ks_proposal *ret)
{
    KS_BUG(!a->ready);
    *ret = (struct ks_proposal){.layer = a->layer,
                                .hypothesis = ks_steal(a->hypothesis),
                                .predicted_speedup = a->predicted,
                                .source = ks_xstrdup(a->text),
                                .source_len = a->text_len,
                                .parent = a->parent};
    KS_AUTO_STR struct ks_str label = KS_STR_INIT;
    if (a->label && *a->label)
        ks_str_addf(&label, "%.100s", a->label);
    else
        ks_str_addf(&label, "edit %zu", a->view->n_attempts + 1);
    for (size_t i = 0; i < label.len; i++) /* it is shown in a line */
        if ((unsigned char)label.data[i] < ' ')
            label.data[i] = ' ';
    ks_make_utf8(label.data, label.len); /* it may end in half a character */
    ret->transform = ks_str_detach(&label, NULL);
    a->ready = a->stated = false;
    a->parent = (int64_t)a->view->n_attempts + 1; /* what is edited next was made from this */
}

/* ---- the other tools ------------------------------------------------------------------------------------------------ */

static void act_branch(struct ks_actions *a, const struct ks_json *arguments, struct ks_action_result *ret)
{
    size_t len;
    int64_t number = ks_json_get_i64(arguments, "candidate", -1);
    const char *text = ks_action_candidate(a, number, &len);
    if (!text) {
        ks_action_refuse(ret, "there is no candidate %lld: trials so far: %zu", (long long)number, a->view->n_attempts);
        return;
    }
    ks_action_set_text(a, text, len);
    a->parent = number;
    ks_json_set_i64(ret->content, "working_text_is", number);
}

static void act_ask(struct ks_actions *a, const struct ks_json *arguments, struct ks_action_result *ret)
{
    struct ks_err err;
    enum ks_layer layer = KS_N_LAYERS;
    const char *name = ks_json_get_str(arguments, "layer", NULL);
    struct ks_json *answer = NULL;
    if (name)
        KS_BUG(!ks_layer_parse(name, &layer));
    if (a->hooks->ask(a->hooks->ctx, layer, ks_json_get_str(arguments, "question", NULL), &answer, &err) != KS_OK) {
        ks_action_refuse(ret, "%s", err.message);
        return;
    }
    ks_json_free(ret->content);
    ret->content = answer;
    if (ks_json_len(answer) == 0)
        ks_json_set_str(answer, "note", "there is no question now");
}

static void act_shell(struct ks_actions *a, const struct ks_json *arguments, struct ks_action_result *ret)
{
    struct ks_err err;
    struct ks_json *answer = NULL;
    const char *command = ks_json_get_str(arguments, "command", "");
    if (a->hooks->shell(a->hooks->ctx, command, a->text, a->text_len, &answer, &err) != KS_OK) {
        ks_action_refuse(ret, "%s", err.message);
        return;
    }
    ks_json_free(ret->content);
    ret->content = answer;
}

static void act_claim(const struct ks_json *arguments, struct ks_action_result *ret)
{
    ret->kind = KS_ACTION_CLAIM;
    ks_json_set_str(ret->content, "reason", ks_json_get_str(arguments, "reason", ""));
}

static bool offered(const struct ks_actions *a, enum ks_action_id id)
{
    return id < KS_N_ACTS && (id != KS_ACT_ask || (a->hooks && a->hooks->ask)) &&
           (id != KS_ACT_shell || (a->hooks && a->hooks->shell));
}

static void dispatch(struct ks_actions *a, enum ks_action_id id, const struct ks_json *arguments, struct ks_action_result *ret)
{
    switch (id) {
    case KS_ACT_read:
        ks_action_read(a, arguments, ret);
        break;
    case KS_ACT_search:
        ks_action_search(a, arguments, ret);
        break;
    case KS_ACT_edit:
        ks_action_edit(a, arguments, ret);
        break;
    case KS_ACT_state_hypothesis:
        act_state(a, arguments, ret);
        break;
    case KS_ACT_evaluate:
        act_evaluate(a, arguments, ret);
        break;
    case KS_ACT_profile:
        ks_action_profile(a, arguments, ret);
        break;
    case KS_ACT_ask:
        act_ask(a, arguments, ret);
        break;
    case KS_ACT_shell:
        act_shell(a, arguments, ret);
        break;
    case KS_ACT_best:
        ks_action_best(a, ret);
        break;
    case KS_ACT_history:
        ks_action_history(a, ret);
        break;
    case KS_ACT_branch:
        act_branch(a, arguments, ret);
        break;
    case KS_ACT_claim_limit:
        act_claim(arguments, ret);
        break;
    case KS_N_ACTS:
        break;
    }
}

struct ks_json *ks_actions_tools(const struct ks_actions *a)
{
    return ks_actions_table(offered(a, KS_ACT_ask), offered(a, KS_ACT_shell));
}

static void refuse_unknown(const struct ks_actions *a, const char *tool, struct ks_action_result *ret)
{
    KS_AUTO_STR struct ks_str names = KS_STR_INIT;
    for (int i = 0; i < KS_N_ACTS; i++)
        if (offered(a, (enum ks_action_id)i))
            ks_str_addf(&names, "%s%s", names.len ? ", " : "", ks_action_name((enum ks_action_id)i));
    ks_action_refuse(ret, "there is no tool '%.80s'; there are: %s", tool ? tool : "", ks_str_cstr(&names));
}

void ks_actions_call(struct ks_actions *a, const char *tool, const struct ks_json *arguments, struct ks_action_result *ret)
{
    KS_AUTO_STR struct ks_str problem = KS_STR_INIT;
    enum ks_action_id id = ks_action_find(tool);
    KS_BUG(!a->view);
    *ret = (struct ks_action_result){.kind = KS_ACTION_DONE, .content = ks_json_object()};
    if (!offered(a, id))
        refuse_unknown(a, tool, ret);
    else if (ks_action_check(id, arguments, &problem))
        ks_action_refuse(ret, "%s", ks_str_cstr(&problem));
    else
        dispatch(a, id, arguments, ret);
}

void ks_actions_call_text(struct ks_actions *a, const char *tool, const char *arguments, size_t len, struct ks_action_result *ret)
{
    KS_AUTO_JSON struct ks_json *j = NULL;
    struct ks_err err;
    bool empty = true; /* some models send nothing for a tool without arguments */
    for (size_t i = 0; i < len; i++)
        empty = empty && strchr(" \t\r\n", arguments[i]) && arguments[i];
    if (!empty && ks_json_parse(arguments, len, "the arguments", &j, &err) != KS_OK) {
        *ret = (struct ks_action_result){.kind = KS_ACTION_REFUSED};
        ks_action_refuse(ret, "the arguments of '%.80s' are not JSON (line %u, column %u)", tool ? tool : "", err.loc.line,
                         err.loc.col);
        return;
    }
    ks_actions_call(a, tool, j, ret);
}

/* A whole answer of either API into a reply, and its calls to a desk without hooks.  Whatever comes, each call has an answer that
 * is an object, and the reply survives the journal. */
#include "rewriter/actions.h"
#include "rewriter/http/api.h"

#include <stdlib.h>
#include <string.h>

static const char source[] = "int a;\nint b;\n";

static void play(const struct ks_reply *r)
{
    struct ks_attempt attempt = {.source = "int c;\n", .hypothesis = "h", .transform = "t"};
    struct ks_agent_view view = {.path = "unit.cu",
                                 .source = source,
                                 .source_len = strlen(source),
                                 .original = source,
                                 .original_len = strlen(source),
                                 .attempts = &attempt,
                                 .n_attempts = 1};
    struct ks_actions *desk = ks_actions_new("unit.cu", NULL, 0, NULL);
    ks_actions_look(desk, &view);
    for (size_t i = 0; i < r->n_calls; i++) {
        struct ks_action_result result;
        ks_actions_call_text(desk, r->calls[i].name, ks_str_cstr(&r->calls[i].arguments), r->calls[i].arguments.len, &result);
        if (!ks_json_is_object(result.content))
            abort();
        if (result.kind == KS_ACTION_EVALUATE) {
            struct ks_proposal p;
            ks_actions_take(desk, &p);
            if (!p.hypothesis || !(p.predicted_speedup > 0) || p.layer >= KS_N_LAYERS)
                abort();
            ks_proposal_release(&p);
        }
        ks_action_result_release(&result);
    }
    ks_actions_free(desk);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    KS_AUTO_JSON struct ks_json *body = NULL;
    struct ks_err err;
    struct ks_reply reply, again;
    if (size < 1 || ks_json_parse((const char *)data + 1, size - 1, "body", &body, &err) != KS_OK)
        return 0;
    ks_reply_init(&reply);
    (data[0] & 1 ? &ks_api_anthropic : &ks_api_openai)->whole(body, &reply);
    ks_reply_finish(&reply, 1);
    play(&reply);
    KS_AUTO_JSON struct ks_json *first = ks_reply_to_json(&reply);
    ks_reply_from_json(first, &again);
    KS_AUTO_JSON struct ks_json *second = ks_reply_to_json(&again);
    KS_AUTO_STR struct ks_str a = KS_STR_INIT, b = KS_STR_INIT;
    ks_json_print(first, &a);
    ks_json_print(second, &b);
    if (a.len != b.len || memcmp(a.data, b.data, a.len) != 0)
        abort();
    ks_reply_release(&reply);
    ks_reply_release(&again);
    return 0;
}

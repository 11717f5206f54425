#include "rewriter/http/prompt.h"

#include "base/file.h"

#include <string.h>

#define MAX_TASK_SOURCE (24u << 10) /* a longer source is read piece by piece */
#define MAX_HYPOTHESES  5

static const char system_text[] =
    "You make CUDA kernels faster inside a compiler. One translation unit is given, with a contract that says what its entry "
    "computes. You work with tools on a working text of that unit.\n"
    "\n"
    "How it goes: look, state a hypothesis (state_hypothesis: which layer is the bottleneck, why, and the speed-up you predict), "
    "edit the working text, evaluate. A harness you cannot see builds the text and checks interface, correctness on hidden "
    "inputs "
    "and shapes, memory safety, resources and time; its verdict is the only one that counts. Nothing you write about your own "
    "result is read by anyone who decides.\n"
    "\n"
    "What stays as it is: the contract lines, the entry's signature, the results within the contract's tolerances for every "
    "shape "
    "of its domain, whatever the inputs. Host code may launch other kernels in another way, and may not do anything else.\n"
    "\n"
    "The speed-up is the original's time divided by the candidate's. Where times are modelled, they come from an emulated "
    "device. You may go back to any candidate with branch and follow another line. A surprising verdict is worth understanding "
    "before the next edit. When you see nothing left to gain, call claim_limit with the reason. Always call tools; plain text "
    "is not acted on.";

const char *ks_prompt_system(void)
{
    return system_text;
}

static void add_json(const char *title, const struct ks_json *j, struct ks_str *out)
{
    if (!j)
        return;
    ks_str_addf(out, "%s: ", title);
    ks_json_print(j, out);
    ks_str_addc(out, '\n');
}

static void add_hypotheses(const struct ks_json *all, struct ks_str *out)
{
    KS_AUTO_JSON struct ks_json *first = ks_json_array();
    for (size_t i = 0; i < ks_json_len(all) && i < MAX_HYPOTHESES; i++)
        ks_json_push(first, ks_json_copy(ks_json_at(all, i)));
    add_json("What the analyzer suspects, strongest first", first, out);
}

void ks_prompt_task(const struct ks_agent_view *view, struct ks_str *out)
{
    ks_str_addf(out, "Make the entry '%s' of %s faster on %s.\n\n", view->entry, ks_path_base(view->path), view->arch);
    add_json("Contract", view->contract, out);
    add_hypotheses(view->hypotheses, out);
    ks_str_addf(out, "Trials left: %lld\n", (long long)view->trials_left);
    if (view->n_devices > 1)
        ks_str_addf(
            out,
            "Devices: %lld; so many evaluate calls of one reply, each with its own edit and statement before it, are tried "
            "side by side (branch goes back to a text for another line)\n",
            (long long)view->n_devices);
    if (view->question)
        ks_str_addf(out, "A question: %s\n", view->question);
    if (view->source_len > MAX_TASK_SOURCE) {
        ks_str_addf(out, "\nThe unit has %zu bytes; read shows it.\n", view->source_len);
        return;
    }
    ks_str_add(out, "\nThe unit as it is now:\n```\n");
    ks_str_addn(out, view->source, view->source_len);
    ks_str_add(out, "```\n");
}

void ks_prompt_summary(const struct ks_actions *desk, const struct ks_agent_view *view, size_t max_bytes, struct ks_str *out)
{
    KS_AUTO_JSON struct ks_json *state = ks_actions_state(desk);
    size_t len;
    const char *text = ks_actions_source(desk, &len);
    ks_str_add(out, "Earlier turns were left out to keep this short. What holds:\n");
    add_json("State", state, out);
    if (view->question)
        ks_str_addf(out, "The open question: %s\n", view->question);
    if (len <= max_bytes / 2)
        ks_str_addf(out, "\nThe working text:\n```\n%s```\n", text);
    else
        ks_str_addf(out, "The working text has %zu bytes; read shows it.\n", len);
    bool other = view->best > 0 && (view->source_len != len || memcmp(view->source, text, len) != 0);
    if (other && view->source_len <= max_bytes / 2) {
        ks_str_addf(out, "\nThe best candidate (%lld):\n```\n", (long long)view->best);
        ks_str_addn(out, view->source, view->source_len);
        ks_str_add(out, "```\n");
    } else if (other) {
        ks_str_addf(out, "The best candidate is %lld; read shows it.\n", (long long)view->best);
    }
}

void ks_prompt_answer(const struct ks_json *content, size_t max_bytes, struct ks_str *out)
{
    const char *text = ks_json_get_str(content, "text", NULL);
    size_t before = out->len;
    KS_AUTO_JSON struct ks_json *rest = ks_json_copy(content);
    if (text)
        ks_json_set_str(rest, "text", "below");
    ks_json_print(rest, out);
    if (text)
        ks_str_addf(out, "\n%s", text);
    if (out->len - before > max_bytes) {
        out->len = before + max_bytes;
        ks_str_add(out, "\n... (cut off: too long for the context)");
    }
}

/* The tools of an agent's desk: every wrong call is an answer, and nothing is reached that is not on the desk. */
#include "base/file.h"
#include "rewriter/actions.h"
#include "test.h"

#include <stdlib.h>
#include <unistd.h>

static const char original[] = "#include \"own.cuh\"\nint a;\nint b;\nint b;\n";

static struct ks_attempt attempts[4];
static struct ks_agent_view view;

struct desk {
    struct ks_actions *a;
    char *dir;
    struct ks_str unit, header, secret;
};

static int shell_calls, ask_calls;

static enum ks_code fake_shell(void *ctx, const char *command, const char *source, size_t len, struct ks_json **ret,
                               struct ks_err *err)
{
    (void)ctx, (void)source, (void)len, (void)err;
    shell_calls++;
    *ret = ks_json_object();
    ks_json_set_str(*ret, "stdout", command);
    return KS_OK;
}

static enum ks_code fake_ask(void *ctx, enum ks_layer layer, const char *own, struct ks_json **ret, struct ks_err *err)
{
    (void)ctx, (void)layer, (void)err;
    ask_calls++;
    *ret = ks_json_object();
    if (own)
        ks_json_set_str(*ret, "text", own);
    return KS_OK;
}

static const struct ks_action_hooks hooks = {.ask = fake_ask, .shell = fake_shell};

static struct desk desk_open(void)
{
    struct desk d = {0};
    struct ks_err err;
    CHECK_OK(ks_dir_make_temp("test-actions", &d.dir, &err));
    ks_path_join(&d.unit, d.dir, "unit.cu");
    ks_path_join(&d.header, d.dir, "own.cuh");
    ks_path_join(&d.secret, d.dir, "secret.env");
    CHECK_OK(ks_file_write_atomic(d.unit.data, original, strlen(original), 0644, &err));
    CHECK_OK(ks_file_write_atomic(d.header.data, "float f;\n", 9, 0644, &err));
    CHECK_OK(ks_file_write_atomic(d.secret.data, "KEY=1\n", 6, 0644, &err));
    char *readable[1] = {realpath(d.header.data, NULL)};
    d.a = ks_actions_new(d.unit.data, readable, 1, &hooks);
    free(readable[0]);
    memset(attempts, 0, sizeof attempts);
    view = (struct ks_agent_view){.path = d.unit.data,
                                  .source = original,
                                  .source_len = strlen(original),
                                  .original = original,
                                  .original_len = strlen(original),
                                  .attempts = attempts};
    ks_actions_look(d.a, &view);
    return d;
}

static void desk_close(struct desk *d)
{
    struct ks_err err;
    ks_actions_free(d->a);
    CHECK_OK(ks_dir_remove(d->dir, &err));
    free(d->dir);
    ks_str_release(&d->unit);
    ks_str_release(&d->header);
    ks_str_release(&d->secret);
}

/* The answer as text, its kind in *ret_kind.  Valid until the next call. */
static const char *call(struct desk *d, const char *tool, const char *arguments, enum ks_action_kind *ret_kind)
{
    static struct ks_str text;
    struct ks_action_result r;
    ks_str_clear(&text);
    ks_actions_call_text(d->a, tool, arguments, strlen(arguments), &r);
    *ret_kind = r.kind;
    if (r.content)
        ks_json_print(r.content, &text);
    ks_action_result_release(&r);
    return ks_str_cstr(&text);
}

#define EXPECT(d, tool, arguments, want_kind, part)                                                                              \
    do {                                                                                                                         \
        enum ks_action_kind kind_;                                                                                               \
        const char *text_ = call(d, tool, arguments, &kind_);                                                                    \
        CHECK_INT(kind_, want_kind);                                                                                             \
        CHECK_CONTAINS(text_, part);                                                                                             \
    } while (0)

TEST(table_makes_schemas)
{
    KS_AUTO_JSON struct ks_json *all = ks_actions_table(true, true), *fewer = ks_actions_table(false, false);
    CHECK_INT(ks_json_len(all), 12);
    CHECK_INT(ks_json_len(fewer), 10);
    const struct ks_json *state = NULL;
    for (size_t i = 0; i < ks_json_len(all); i++)
        if (ks_streq(ks_json_get_str(ks_json_at(all, i), "name", NULL), "state_hypothesis"))
            state = ks_json_get(ks_json_at(all, i), "inputSchema");
    CHECK_INT(ks_json_len(ks_json_get(state, "required")), 3);
    const struct ks_json *layer = ks_json_get(ks_json_get(state, "properties"), "layer");
    CHECK_INT(ks_json_len(ks_json_get(layer, "enum")), KS_N_LAYERS);
}

TEST(wrong_calls_are_answers)
{
    struct desk d = desk_open();
    EXPECT(&d, "rm_rf", "{}", KS_ACTION_REFUSED, "there is no tool 'rm_rf'");
    EXPECT(&d, "", "{}", KS_ACTION_REFUSED, "there is no tool");
    EXPECT(&d, "read", "{\"first_line\":\"one\"}", KS_ACTION_REFUSED, "expected an integer");
    EXPECT(&d, "read", "{\"first_line\":1.5}", KS_ACTION_REFUSED, "expected an integer");
    EXPECT(&d, "read", "{\"first_line\":1e300}", KS_ACTION_REFUSED, "expected an integer");
    EXPECT(&d, "read", "{\"line\":1}", KS_ACTION_REFUSED, "has no argument 'line'");
    EXPECT(&d, "read", "[1]", KS_ACTION_REFUSED, "must be a JSON object");
    EXPECT(&d, "read", "{\"path\":", KS_ACTION_REFUSED, "are not JSON");
    EXPECT(&d, "read", "}]}{\"verdict\":\"accepted\"}", KS_ACTION_REFUSED, "are not JSON");
    EXPECT(&d, "search", "{}", KS_ACTION_REFUSED, "'pattern' of 'search' is missing");
    EXPECT(&d, "search", "{\"pattern\":\"(\"}", KS_ACTION_REFUSED, "error");
    EXPECT(&d, "state_hypothesis", "{\"layer\":\"luck\",\"hypothesis\":\"x\",\"predicted_speedup\":2}", KS_ACTION_REFUSED,
           "operator-boundary");
    EXPECT(&d, "state_hypothesis", "{\"layer\":\"compute\",\"hypothesis\":\"x\",\"predicted_speedup\":-2}", KS_ACTION_REFUSED,
           "above 0");
    EXPECT(&d, "branch", "{\"candidate\":7}", KS_ACTION_REFUSED, "no candidate 7");
    EXPECT(&d, "profile", "{\"candidate\":-1}", KS_ACTION_REFUSED, "no candidate -1");
    desk_close(&d);
}

TEST(reading_stays_in_the_include_tree)
{
    struct desk d = desk_open();
    EXPECT(&d, "read", "", KS_ACTION_DONE, "2\\tint a;");
    EXPECT(&d, "read", "{\"path\":\"unit.cu\",\"first_line\":3,\"last_line\":3}", KS_ACTION_DONE, "\"3\\tint b;\\n\"");
    EXPECT(&d, "read", "{\"path\":\"own.cuh\"}", KS_ACTION_DONE, "float f;");
    EXPECT(&d, "read", "{\"path\":\"secret.env\"}", KS_ACTION_REFUSED, "not in the include tree");
    EXPECT(&d, "read", "{\"path\":\"../../../../etc/passwd\"}", KS_ACTION_REFUSED, "not in the include tree");
    EXPECT(&d, "read", "{\"path\":\"/etc/passwd\"}", KS_ACTION_REFUSED, "not in the include tree");
    EXPECT(&d, "read", "{\"path\":\"/proc/self/environ\"}", KS_ACTION_REFUSED, "not in the include tree");
    EXPECT(&d, "search", "{\"pattern\":\"KEY\"}", KS_ACTION_DONE, "\"matches\":[]");
    EXPECT(&d, "search", "{\"pattern\":\"float\"}", KS_ACTION_DONE, "own.cuh:1: float f;");
    EXPECT(&d, "search", "{\"pattern\":\"int b\",\"path\":\"unit.cu\"}", KS_ACTION_DONE, "unit.cu:4: int b;");
    EXPECT(&d, "search", "{\"pattern\":\"root\",\"path\":\"/etc/passwd\"}", KS_ACTION_REFUSED, "not in the include tree");
    KS_AUTO_STR struct ks_str link = KS_STR_INIT; /* a link beside the header leads to what it leads to */
    ks_path_join(&link, d.dir, "link.cuh");
    CHECK(symlink(d.secret.data, link.data) == 0);
    EXPECT(&d, "read", "{\"path\":\"link.cuh\"}", KS_ACTION_REFUSED, "not in the include tree");
    desk_close(&d);
}

TEST(a_search_ends_whatever_is_searched_for_what)
{
    struct desk d = desk_open();
    KS_AUTO_STR struct ks_str edit = KS_STR_INIT;
    ks_str_add(&edit, "{\"text\":\"b\\n");
    for (int i = 0; i < 1000000; i++)
        ks_str_addc(&edit, 'a');
    ks_str_add(&edit, "\\nc\"}");
    EXPECT(&d, "edit", ks_str_cstr(&edit), KS_ACTION_DONE, "\"changed\":true");
    EXPECT(&d, "search", "{\"pattern\":\"[bc]$\"}", KS_ACTION_DONE, "\"matches\":[\"unit.cu:1: b\",\"unit.cu:3: c\"]}");
    static const char *const patterns[] = {"(?=a*[bc])", "(?:a{0,300}){2}[bc]"};
    for (size_t i = 0; i < 2; i++) { /* each looks at the rest from each a, or at enough of it */
        KS_AUTO_STR struct ks_str search = KS_STR_INIT;
        ks_str_addf(&search, "{\"pattern\":\"%s\"}", patterns[i]);
        EXPECT(&d, "search", ks_str_cstr(&search), KS_ACTION_DONE, "too many steps");
    }
    desk_close(&d);
}

TEST(edits_are_exact)
{
    struct desk d = desk_open();
    EXPECT(&d, "edit", "{\"old\":\"int a\",\"new\":\"int c\"}", KS_ACTION_DONE, "\"changed\":true");
    EXPECT(&d, "edit", "{\"old\":\"int a\",\"new\":\"int c\"}", KS_ACTION_REFUSED, "does not occur");
    EXPECT(&d, "edit", "{\"old\":\"int b\",\"new\":\"int c\"}", KS_ACTION_REFUSED, "occurs 2 times");
    EXPECT(&d, "edit", "{\"old\":\"int b\",\"new\":\"int e\",\"all\":true}", KS_ACTION_DONE, "\"changed\":true");
    EXPECT(&d, "edit", "{\"old\":\"\",\"new\":\"x\"}", KS_ACTION_REFUSED, "empty");
    EXPECT(&d, "edit", "{\"old\":\"int e\"}", KS_ACTION_REFUSED, "give `old` and `new`");
    EXPECT(&d, "edit", "{}", KS_ACTION_REFUSED, "give `old` and `new`");
    size_t len;
    CHECK_STR(ks_actions_source(d.a, &len), "#include \"own.cuh\"\nint c;\nint e;\nint e;\n");
    EXPECT(&d, "edit", "{\"text\":\"int z;\\n\"}", KS_ACTION_DONE, "\"bytes\":7");
    CHECK_STR(ks_actions_source(d.a, &len), "int z;\n");
    KS_AUTO_STR struct ks_str text = KS_STR_INIT;
    struct ks_err err;
    CHECK_OK(ks_file_read(d.unit.data, 1000, &text, &err));
    CHECK_STR(ks_str_cstr(&text), original); /* the user's file is never touched */
    desk_close(&d);
}

TEST(no_statement_no_trial)
{
    struct desk d = desk_open();
    struct ks_proposal p;
    const char *state = "{\"layer\":\"compute\",\"hypothesis\":\"slow\",\"predicted_speedup\":1.5}";
    EXPECT(&d, "evaluate", "{}", KS_ACTION_REFUSED, "is the original");
    EXPECT(&d, "edit", "{\"text\":\"int z;\\n\"}", KS_ACTION_DONE, "");
    EXPECT(&d, "evaluate", "{}", KS_ACTION_REFUSED, "state_hypothesis must come first");
    EXPECT(&d, "state_hypothesis", state, KS_ACTION_DONE, "compute");
    EXPECT(&d, "evaluate", "{\"label\":\"z\\u001b[31m\"}", KS_ACTION_EVALUATE, "");
    ks_actions_take(d.a, &p);
    CHECK_STR(p.source, "int z;\n");
    CHECK_STR(p.hypothesis, "slow");
    CHECK_STR(p.transform, "z [31m"); /* no escape reaches a terminal */
    CHECK_INT(p.parent, 0);
    attempts[0] = (struct ks_attempt){.source = p.source,
                                      .transform = p.transform,
                                      .hypothesis = p.hypothesis,
                                      .layer = p.layer,
                                      .accepted = true,
                                      .correct = true,
                                      .improved = true,
                                      .speedup = 2,
                                      .speedup_lo = 1.9,
                                      .speedup_hi = 2.1,
                                      .predicted = p.predicted_speedup};
    view.n_attempts = 1;
    view.best = 1;
    ks_actions_look(d.a, &view);
    EXPECT(&d, "evaluate", "{}", KS_ACTION_DONE, "tried before");
    EXPECT(&d, "best", "{}", KS_ACTION_DONE, "\"candidate\":1");
    EXPECT(&d, "history", "{}", KS_ACTION_DONE, "\"hypothesis\":\"slow\"");
    EXPECT(&d, "branch", "{\"candidate\":0}", KS_ACTION_DONE, "\"working_text_is\":0");
    EXPECT(&d, "edit", "{\"old\":\"int a\",\"new\":\"int y\"}", KS_ACTION_DONE, "");
    EXPECT(&d, "evaluate", "{}", KS_ACTION_REFUSED, "state_hypothesis must come first"); /* a statement is spent by a trial */
    EXPECT(&d, "state_hypothesis", state, KS_ACTION_DONE, "");
    EXPECT(&d, "evaluate", "{}", KS_ACTION_EVALUATE, "");
    struct ks_proposal second;
    ks_actions_take(d.a, &second);
    CHECK_INT(second.parent, 0); /* another lineage */
    CHECK_STR(second.transform, "edit 2");
    EXPECT(&d, "state_hypothesis", state, KS_ACTION_DONE, "");
    KS_AUTO_STR struct ks_str label = KS_STR_INIT, cut = KS_STR_INIT;
    for (int i = 0; i < 60; i++)
        ks_str_add(&label, i ? "\xc3\xa9" : "{\"label\":\"x"); /* an even number of bytes is not cut between characters */
    ks_str_add(&label, "\"}");
    EXPECT(&d, "evaluate", ks_str_cstr(&label), KS_ACTION_EVALUATE, "");
    ks_proposal_release(&second);
    ks_actions_take(d.a, &second);
    ks_str_addn(&cut, ks_str_cstr(&label) + strlen("{\"label\":\""), 99);
    ks_str_addc(&cut, '?');
    CHECK_STR(second.transform, ks_str_cstr(&cut));
    ks_proposal_release(&p);
    ks_proposal_release(&second);
    desk_close(&d);
}

TEST(hooks_are_the_drivers)
{
    struct desk d = desk_open();
    EXPECT(&d, "shell", "{\"command\":\"echo\"}", KS_ACTION_DONE, "echo");
    EXPECT(&d, "ask", "{\"layer\":\"compute\"}", KS_ACTION_DONE, "no question");
    EXPECT(&d, "ask", "{\"question\":\"Who reads it twice?\"}", KS_ACTION_DONE, "Who reads it twice?");
    EXPECT(&d, "claim_limit", "{\"reason\":\"bandwidth\"}", KS_ACTION_CLAIM, "bandwidth");
    CHECK_INT(shell_calls, 1);
    CHECK_INT(ask_calls, 2);
    struct ks_actions *bare = ks_actions_new("unit.cu", NULL, 0, NULL);
    struct ks_action_result r;
    ks_actions_look(bare, &view);
    ks_actions_call(bare, "shell", NULL, &r);
    CHECK_INT(r.kind, KS_ACTION_REFUSED);
    ks_action_result_release(&r);
    ks_actions_free(bare);
    desk_close(&d);
}

TEST_MAIN

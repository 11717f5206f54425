/* kscc try FILE.cu: one step of an operator's work on a file (sitting.h), or all of them over a pipe (--serve). */

#include "driver/commands.h"
#include "driver/say.h"
#include "driver/sitting.h"
#include "driver/stop.h"
#include "driver/try_client.h"
#include "driver/try_port.h"
#include "driver/try_serve.h"

#include <stdio.h>
#include <string.h>

/* The command's own words. */
struct words {
    char *layer, *because, *predict, *label, *entry, *baseline, *show, *ask; /* owned, NULL: not given */
    bool ask_any, restart, finish, serve, json;
};

static void words_release(struct words *w)
{
    char *const all[] = {w->layer, w->because, w->predict, w->label, w->entry, w->baseline, w->show, w->ask};
    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
        free(all[i]);
}

static enum ks_code take_words(struct ks_opened *o, struct words *w, double *ret_predict, struct ks_err *err)
{
    struct {
        const char *name;
        char **value;
    } const options[] = {{"--layer", &w->layer}, {"--because", &w->because},   {"--predict", &w->predict}, {"--label", &w->label},
                         {"--entry", &w->entry}, {"--baseline", &w->baseline}, {"--show", &w->show}};
    bool missing = false;
    char *end;
    for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++) {
        *options[i].value = ks_opened_option(&o->words, options[i].name, &missing);
        if (missing)
            return ks_fail(err, KS_ERR_USAGE, "%s needs a value", options[i].name);
    }
    w->ask_any = ks_command_flag(&o->words, "--ask");
    w->ask = ks_opened_option(&o->words, "--ask", &missing); /* "--ask=LAYER" is what is left */
    w->restart = ks_command_flag(&o->words, "--restart");
    w->finish = ks_command_flag(&o->words, "--finish");
    w->serve = ks_command_flag(&o->words, "--serve");
    w->json = ks_command_flag(&o->words, "--json");
    *ret_predict = w->predict ? strtod(w->predict, &end) : 0;
    if (w->predict && (end == w->predict || *end || !(*ret_predict > 0)))
        return ks_fail(err, KS_ERR_USAGE, "--predict needs a speed-up above 0, such as 1.2, got '%s'", w->predict);
    if (w->show && strcmp(w->show, "history") != 0 && strcmp(w->show, "best") != 0 && strcmp(w->show, "profile") != 0)
        return ks_fail(err, KS_ERR_USAGE, "--show needs history, best or profile, got '%s'", w->show);
    bool states = w->layer || w->because || w->predict || w->label;
    if ((w->show != NULL) + (w->ask_any || w->ask) + w->finish + w->serve + states > 1)
        return ks_fail(err, KS_ERR_USAGE, "--show, --ask, --finish, --serve and a statement exclude each other");
    return KS_OK;
}

/* What is asked for as calls.  original: the sitting's; NULL: not known here. */
static enum ks_code make_calls(const struct words *w, double predict, const char *path, const char *original,
                               struct ks_call_list *l, struct ks_err *err)
{
    KS_AUTO_STR struct ks_str text = KS_STR_INIT;
    if (w->show || w->ask_any || w->ask) {
        struct ks_json *arguments = ks_json_object();
        if (w->ask)
            ks_json_set_str(arguments, "layer", w->ask);
        ks_call_list_add(l, w->show ? w->show : "ask", arguments);
        return KS_OK;
    }
    KS_TRY(ks_try_read(path, &text, err));
    bool states = w->layer || w->because || w->predict || w->label;
    if (!states && ks_streq(ks_str_cstr(&text), original)) { /* nothing was edited yet: how do things stand */
        ks_call_list_add(l, "history", ks_json_object());
        return KS_OK;
    }
    if (!w->layer || !w->because || !w->predict)
        return ks_fail(
            err, KS_ERR_USAGE,
            "state what you expect before it is tried: --layer LAYER --because \"what holds it back\" --predict SPEEDUP");
    struct ks_try t = {
        .text = ks_str_cstr(&text), .layer = w->layer, .because = w->because, .label = w->label, .predict = predict};
    ks_try_calls(&t, l);
    return KS_OK;
}

static int print_answer(const struct ks_call_list *l, bool json)
{
    KS_AUTO_STR struct ks_str out = KS_STR_INIT;
    if (!l->last)
        return 1;
    if (json) {
        ks_json_print_pretty(l->last, &out);
        ks_make_utf8(out.data, out.len);
        fputs(ks_str_cstr(&out), stdout);
    } else {
        ks_answer_text(l->last_tool, l->last, l->refused, &out);
        ks_print_visible(&out);
    }
    fflush(stdout);
    return ks_answer_status(l->last_tool, l->last, l->refused);
}

static enum ks_code run_finish(struct ks_sitting *s, int *ret_status, struct ks_err *err)
{
    KS_AUTO_FREE char *line = NULL;
    bool confirmed;
    KS_TRY(ks_sitting_finish(s, "operator", &confirmed, &line, err));
    puts(line);
    *ret_status = confirmed ? 0 : 1;
    return KS_OK;
}

static enum ks_code run_calls(struct ks_sitting *s, const struct words *w, double predict, int *ret_status, struct ks_err *err)
{
    struct ks_call_list l = {0};
    enum ks_code code = make_calls(w, predict, s->o->unit.path, s->o->unit.source, &l, err);
    struct ks_operator_port port = ks_call_list_port(&l);
    if (code == KS_OK)
        code = ks_sitting_run(s, "operator", &port, err);
    if (code == KS_OK)
        *ret_status = ks_stop_asked() ? 130 : print_answer(&l, w->json);
    if (code == KS_OK && ks_stop_asked())
        ks_say(KS_SEV_WARNING, "interrupted by %s: this trial says nothing, and nothing was lost [kscc-interrupted]",
               ks_stop_signal_name());
    ks_call_list_release(&l);
    return code;
}

/* In a workspace that another kscc prepared: it does the work. */
static enum ks_code ask_parent(const struct words *w, double predict, const char *path, int *ret_status, struct ks_err *err)
{
    struct ks_call_list l = {0};
    enum ks_code code = KS_OK;
    if (w->finish || w->serve || w->restart || w->baseline || w->entry)
        return ks_fail(err, KS_ERR_USAGE, "this option is for those who began the search; here there is one text to work on");
    code = make_calls(w, predict, path, NULL, &l, err);
    if (code == KS_OK)
        code = ks_try_client(&l, err);
    if (code == KS_OK)
        *ret_status = print_answer(&l, w->json);
    ks_call_list_release(&l);
    return code;
}

static enum ks_code work(struct ks_opened *o, const struct words *w, double predict, int *ret_status, struct ks_err *err)
{
    const struct ks_sitting_options opt = {.entry = w->entry, .baseline = w->baseline, .restart = w->restart};
    struct ks_sitting s;
    enum ks_code code = ks_sitting_open(o, &opt, &s, err);
    if (code == KS_OK && w->finish)
        code = run_finish(&s, ret_status, err);
    else if (code == KS_OK && w->serve)
        code = ks_try_serve(&s, err);
    else if (code == KS_OK)
        code = run_calls(&s, w, predict, ret_status, err);
    ks_sitting_close(&s);
    return code;
}

int ks_cmd_try(char *const *argv)
{
    struct ks_opened o;
    struct words w = {0};
    struct ks_err err;
    const char *path;
    double predict = 0;
    int status = 0;
    ks_stop_install();
    if (!ks_opened_words(&o, argv)) {
        ks_opened_release(&o);
        return 2;
    }
    ks_say_quiet(o.settings.quiet);
    ks_say_verbose(o.settings.verbose || ks_cmdline_find(&o.cmdline, "verbose"));
    enum ks_code code = take_words(&o, &w, &predict, &err);
    if (code == KS_OK)
        code = ks_opened_input(&o, &path, &err);
    if (code == KS_OK && ks_try_has_parent())
        code = ask_parent(&w, predict, path, &status, &err);
    else if (code == KS_OK)
        code = work(&o, &w, predict, &status, &err);
    if (code != KS_OK) {
        ks_say_error(&err);
        status = code == KS_ERR_USAGE ? 2 : code == KS_ERR_INTERRUPTED ? 130 : 1;
    }
    words_release(&w);
    ks_opened_release(&o);
    return status;
}

/* kscc interactive FILE.cu: a sitting at a prompt (sitting.h).  The file is edited elsewhere; here it is tried, and questions are
 * put. */

#include "driver/commands.h"
#include "driver/say.h"
#include "driver/sitting.h"
#include "driver/stop.h"
#include "driver/try_port.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define MAX_LINE_BYTES 65536

static const char help[] =
    "edit the file in your editor, then:\n"
    "  try LAYER SPEEDUP BECAUSE   state what holds it back and the gain you predict, and have the file judged\n"
    "  ask [LAYER]                 a question about where else to look\n"
    "  history | best | profile [N]\n"
    "  read [N]                    the text of trial N (0: the original)\n"
    "  branch N                    what is tried next counts as made from trial N\n"
    "  search PATTERN\n"
    "  finish                      confirm the best, put its certificate into the store\n"
    "  quit\n"
    "layers: ";

struct prompt {
    struct ks_sitting *s;
    struct ks_call_list list; /* the calls of the last command */
    bool finish, over;
};

static void say_help(void)
{
    fputs(help, stdout);
    for (int i = 0; i < KS_N_LAYERS; i++)
        printf("%s%s", i ? ", " : "", ks_layer_text((enum ks_layer)i));
    putchar('\n');
}

/* The next line without its end; false: there is none.  One that is too long is read to its end and comes back empty. */
static bool read_line(struct ks_str *line)
{
    bool too_long = false;
    int c;
    ks_str_clear(line);
    if (isatty(STDIN_FILENO))
        fputs("kscc> ", stdout);
    fflush(stdout);
    while ((c = getchar()) != EOF && c != '\n') {
        too_long |= line->len >= MAX_LINE_BYTES;
        if (!too_long && c)
            ks_str_addc(line, (char)c);
    }
    if (too_long) {
        printf("the line is longer than %d bytes\n", MAX_LINE_BYTES);
        ks_str_clear(line);
    }
    return c != EOF || line->len > 0;
}

/* ---- commands ------------------------------------------------------------------------------------------------------- */

static void do_try(struct prompt *p, const char *rest)
{
    char layer[64] = "";
    double predict = 0;
    int at = 0;
    KS_AUTO_STR struct ks_str text = KS_STR_INIT;
    struct ks_err err;
    if (sscanf(rest, "%63s %lf %n", layer, &predict, &at) < 2 || !rest[at] || !(predict > 0)) {
        puts("try LAYER SPEEDUP BECAUSE, as: try data-movement 1.4 each value is read twice");
        return;
    }
    if (ks_try_read(p->s->o->unit.path, &text, &err) != KS_OK) {
        puts(err.message);
        return;
    }
    struct ks_try t = {.text = ks_str_cstr(&text), .layer = layer, .because = rest + at, .predict = predict};
    ks_try_calls(&t, &p->list);
}

/* A call with at most one argument. */
static void do_call(struct prompt *p, const char *tool, const char *name, bool number, const char *rest)
{
    struct ks_json *arguments = ks_json_object();
    char *end;
    double v = strtod(rest, &end);
    if (*rest && number && (end == rest || *end)) {
        printf("%s takes the number of a trial\n", tool);
        ks_json_free(arguments);
        return;
    }
    if (*rest && number)
        ks_json_set_num(arguments, name, v);
    else if (*rest)
        ks_json_set_str(arguments, name, rest);
    ks_call_list_add(&p->list, tool, arguments);
}

static const struct {
    const char *name, *argument; /* argument: NULL: none */
    bool number;
} calls[] = {
    {"ask", "layer", false},        {"best", NULL, false},       {"branch", "candidate", true}, {"history", NULL, false},
    {"profile", "candidate", true}, {"read", "candidate", true}, {"search", "pattern", false},
};

static void do_line(struct prompt *p, char *line)
{
    char *save = NULL, *word = strtok_r(line, " \t\r", &save);
    if (!word)
        return;
    char *rest = save ? save + strspn(save, " \t") : line + strlen(line);
    for (size_t n = strlen(rest); n && strchr(" \t\r", rest[n - 1]); n--)
        rest[n - 1] = '\0';
    for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
        if (strcmp(word, calls[i].name) == 0) {
            do_call(p, calls[i].name, calls[i].argument, calls[i].number, calls[i].argument ? rest : "");
            return;
        }
    if (strcmp(word, "try") == 0)
        do_try(p, rest);
    else if (strcmp(word, "finish") == 0)
        p->finish = true;
    else if (strcmp(word, "quit") == 0 || strcmp(word, "exit") == 0)
        p->over = true;
    else if (strcmp(word, "help") == 0)
        say_help();
    else
        printf("there is no command '%.40s'; help lists them\n", word);
}

/* ---- port ----------------------------------------------------------------------------------------------------------- */

static bool next(void *ctx, char **ret_tool, struct ks_json **ret_arguments)
{
    struct prompt *p = ctx;
    KS_AUTO_STR struct ks_str line = KS_STR_INIT;
    for (;;) {
        struct ks_operator_port list = ks_call_list_port(&p->list);
        if (list.next(list.ctx, ret_tool, ret_arguments))
            return true;
        ks_call_list_release(&p->list);
        if (p->finish || p->over || ks_stop_asked())
            return false;
        if (!read_line(&line)) {
            p->over = true;
            return false;
        }
        if (line.len)
            do_line(p, line.data);
    }
}

static void answer(void *ctx, const struct ks_json *content, bool refused)
{
    struct prompt *p = ctx;
    KS_AUTO_STR struct ks_str text = KS_STR_INIT;
    bool last = refused || p->list.at == p->list.calls.n;
    const struct ks_json *question = ks_json_get(content, "question");
    p->list.refused = refused;
    if (last)
        ks_answer_text(p->list.last_tool, content, refused, &text);
    else if (question) /* steps of a try say nothing else */
        ks_str_addf(&text, "question (%s): %s\n", ks_json_get_str(question, "layer", "?"), ks_json_get_str(question, "text", ""));
    ks_print_visible(&text);
    fflush(stdout);
}

static enum ks_code finish(struct prompt *p, struct ks_err *err)
{
    KS_AUTO_FREE char *line = NULL;
    bool confirmed;
    p->finish = false;
    KS_TRY(ks_sitting_finish(p->s, "operator", &confirmed, &line, err));
    puts(line);
    return KS_OK;
}

static enum ks_code talk(struct ks_opened *o, const struct ks_sitting_options *opt, struct ks_err *err)
{
    struct ks_sitting s;
    struct prompt p = {.s = &s};
    const struct ks_operator_port port = {.ctx = &p, .next = next, .answer = answer};
    enum ks_code code = ks_sitting_open(o, opt, &s, err);
    if (code == KS_OK)
        puts("help lists the commands");
    while (code == KS_OK && !p.over && !ks_stop_asked()) {
        code = ks_sitting_run(&s, "operator", &port, err);
        if (code == KS_OK && p.finish)
            code = finish(&p, err);
    }
    ks_call_list_release(&p.list);
    ks_sitting_close(&s);
    return code;
}

int ks_cmd_interactive(char *const *argv)
{
    struct ks_opened o;
    struct ks_err err;
    const char *path;
    bool missing = false;
    ks_stop_install();
    bool ok = ks_opened_words(&o, argv);
    KS_AUTO_FREE char *entry = ok ? ks_opened_option(&o.words, "--entry", &missing) : NULL,
                      *baseline = ok ? ks_opened_option(&o.words, "--baseline", &missing) : NULL;
    int status = 2;
    if (ok) {
        const struct ks_sitting_options opt = {
            .entry = entry, .baseline = baseline, .restart = ks_command_flag(&o.words, "--restart")};
        ks_say_quiet(o.settings.quiet);
        ks_say_verbose(o.settings.verbose || ks_cmdline_find(&o.cmdline, "verbose"));
        enum ks_code code =
            missing ? ks_fail(&err, KS_ERR_USAGE, "--entry and --baseline need a value") : ks_opened_input(&o, &path, &err);
        if (code == KS_OK)
            code = talk(&o, &opt, &err);
        if (code != KS_OK)
            ks_say_error(&err);
        status = code == KS_OK ? (ks_stop_asked() ? 130 : 0) : code == KS_ERR_USAGE ? 2 : 1;
    }
    ks_opened_release(&o);
    return status;
}

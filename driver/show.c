#include "driver/show.h"

#include "analyzer/args.h"
#include "driver/host.h"
#include "driver/parse_line.h"
#include "driver/say.h"
#include "driver/stand_aside.h"
#include "driver/unit.h"

#include <stdio.h>

static void show_line(const char *who, char *const *argv)
{
    KS_AUTO_STR struct ks_str text = KS_STR_INIT;
    ks_args_quote(&text, argv);
    fprintf(stderr, "%s: %s\n", who, ks_str_cstr(&text));
}

static bool show_host(const struct ks_call *call)
{
    KS_AUTO_ARGS struct ks_args line;
    struct ks_err err;
    enum ks_code code;
    ks_args_init(&line);
    if (!ks_host_takes(call, &line, &code, &err))
        return false;
    if (code == KS_OK)
        show_line("host", line.v);
    else
        ks_say_error(&err);
    return true;
}

static void show_libclang(const struct ks_call *call, const char *nvcc, size_t input)
{
    struct ks_unit unit;
    struct ks_arena arena;
    struct ks_err err;
    KS_AUTO_ARGS struct ks_args line;
    ks_args_init(&line);
    ks_arena_init(&arena);
    if (ks_unit_open(&call->cmdline, &call->settings, nvcc, input, &arena, &unit, &err) != KS_OK) {
        ks_say_instead(&err, "no line for libclang");
        ks_arena_release(&arena);
        return;
    }
    struct ks_parse_options opt;
    ks_unit_parse_options(&unit, &opt);
    ks_clang_args(&opt, &line);
    ks_args_add(&line, unit.path);
    show_line("libclang", line.v);
    ks_unit_close(&unit);
    ks_arena_release(&arena);
}

int ks_show_commands(const struct ks_call *call, const char *nvcc)
{
    const struct ks_cmdline *c = &call->cmdline;
    KS_AUTO_ARGS struct ks_args line;
    ks_args_init(&line);
    if (show_host(call))
        return 0;
    ks_call_take_out(call, nvcc, &line);
    show_line("nvcc", line.v);
    for (size_t i = 0; i < c->inputs.n; i++)
        if (c->inputs.data[i].lang == KS_LANG_CUDA)
            show_libclang(call, nvcc, i);
    struct ks_stand_aside aside = ks_stand_aside(c);
    fprintf(stderr, "agent: %s%s%s\n",
            aside.yes                ? "stands aside"
            : call->settings.o_agent ? "asked"
                                     : "not asked",
            aside.reason ? ": " : "", aside.reason ? aside.reason : "");
    return 0;
}

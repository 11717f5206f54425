#include "driver/compile.h"

#include "base/file.h"
#include "driver/again.h"
#include "driver/call.h"
#include "driver/commands.h"
#include "driver/nvcc.h"
#include "driver/one_step.h"
#include "driver/options.h"
#include "driver/pipeline.h"
#include "driver/say.h"
#include "driver/show.h"
#include "driver/stand_aside.h"
#include "driver/stats.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* What make and shells report for a command that is not there. */
#define STATUS_NO_NVCC 127

static int fail_without_nvcc(const struct ks_err *err)
{
    ks_say(KS_SEV_ERROR, "%s; nothing was compiled [kscc-not-found]", err->message);
    return STATUS_NO_NVCC;
}

/* Standard streams that the caller closed: from here on files are opened that must not take their numbers. */
static void use_closed_streams(void)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        if (fcntl(fd, F_GETFD) < 0 && errno == EBADF) {
            int null = open("/dev/null", O_RDWR);
            (void)null; /* the lowest number free is this one */
        }
}

/* The units of the line, one after the other.  Returns the exit status. */
static int emit_units(const struct ks_cmdline *c, const struct ks_settings *s, const char *nvcc, struct ks_again *again)
{
    bool gate_missing = false;
    for (size_t i = 0; i < c->inputs.n; i++) {
        struct ks_emitted emitted = {"", KS_STR_INIT};
        if (c->inputs.data[i].lang == KS_LANG_CUDA && !ks_pipeline_run(c, s, nvcc, i, NULL, ks_again_rule(again), &emitted))
            gate_missing = true;
        ks_again_keep(again, &emitted);
        ks_str_release(&emitted.ids);
    }
    return gate_missing && s->require_gate ? 1 : 0;
}

/* Baseline first, exactly as asked; then the agent, which can only replace an object that is already there.  Where all of it was
 * done before and nothing has changed, neither. */
static int compile_with_agent(const struct ks_cmdline *c, const struct ks_settings *s, char *const *baseline_argv,
                              struct ks_again *again)
{
    struct ks_err err;
    struct ks_wait_status status;
    if (ks_again_emit(again))
        return 0;
    if (ks_nvcc_run(baseline_argv, ks_again_echo(again), &status, &err) != KS_OK)
        return fail_without_nvcc(&err);
    if (status.by_signal || status.value != 0) {
        ks_stats_count(KS_STAT_BASELINE_FAILED);
        ks_end_like(&status);
    }
    use_closed_streams();
    /* the flags in these variables are words of our own lines from here on */
    unsetenv("NVCC_PREPEND_FLAGS");
    unsetenv("NVCC_APPEND_FLAGS");
    if (ks_links(c))
        return ks_one_step(c, s, baseline_argv[0]) || !s->require_gate ? 0 : 1;
    if (s->program_args)
        ks_say(KS_SEV_REMARK, "--kscc-args is for calls that link a program, nothing is run for this one [kscc-no-workload]");
    return emit_units(c, s, baseline_argv[0], again);
}

static int print_about(const struct ks_settings *s)
{
    KS_AUTO_STR struct ks_str text = KS_STR_INIT;
    if (s->show_help) {
        ks_options_help(&text);
        ks_commands_help(&text);
    } else {
        ks_str_add(&text, "kscc " KSCC_VERSION "\n");
    }
    fputs(ks_str_cstr(&text), stdout);
    return 0;
}

static int compile_call(const struct ks_call *call, const char *nvcc)
{
    const struct ks_cmdline *c = &call->cmdline;
    const struct ks_settings *s = &call->settings;
    bool bad_settings = call->settings_code != KS_OK;
    KS_AUTO_ARGS struct ks_args clean;
    ks_args_init(&clean);
    ks_call_take_out(call, nvcc, &clean);
    struct ks_stand_aside aside = ks_stand_aside_call(call);
    ks_say_quiet(s->quiet);
    ks_say_verbose(s->verbose || ks_cmdline_find(c, "verbose"));
    ks_stats_use(s->dir);
    if (!aside.yes && !bad_settings && !ks_streq(s->policy_words, "off")) {
        struct ks_again *again = ks_again_open(c, s, clean.v[0]);
        int status = compile_with_agent(c, s, clean.v, again);
        ks_again_free(again);
        return status;
    }
    if (bad_settings && (!aside.yes || aside.reason))
        ks_say_instead(&call->settings_err, "compiling with nvcc only");
    else if (aside.reason)
        ks_say(KS_SEV_REMARK, "%s, compiling with nvcc only [kscc-stand-aside]", aside.reason);
    else if (!aside.yes)
        ks_say(KS_SEV_REMARK, "policy is off, compiling with nvcc only [kscc-policy]");
    struct ks_err err;
    ks_stats_count(aside.yes ? aside.stat : bad_settings ? KS_STAT_BAD_VALUE : KS_STAT_POLICY_OFF);
    ks_nvcc_exec(clean.v, &err);
    return fail_without_nvcc(&err);
}

int ks_compile(char *const *argv, const char *nvcc)
{
    struct ks_call call;
    ks_call_read(argv, &call);
    bool about = call.settings.show_version || call.settings.show_help;
    int status = about                         ? print_about(&call.settings)
                 : call.settings.show_commands ? ks_show_commands(&call, nvcc)
                                               : compile_call(&call, nvcc);
    ks_call_release(&call);
    return status;
}

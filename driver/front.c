/* kscc: a drop-in for nvcc.  This small program is what a build calls: it becomes nvcc at once unless something is asked of kscc
 * itself, and then becomes kscc-core, which holds the rest.  Two programs because libclang and LLVM take tens of milliseconds to
 * load, which every plain compilation would pay.
 *
 * A command ("kscc analyze ...") is taken as one only when the program was not called as nvcc; nvcc itself rejects a first word
 * of that kind, because it is neither an option nor a file it knows what to do with. */

#include "base/file.h"
#include "base/process.h"
#include "driver/call.h"
#include "driver/host.h"
#include "driver/nvcc.h"
#include "driver/paths.h"
#include "driver/say.h"
#include "driver/stand_aside.h"
#include "driver/stats.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* What make and shells report for a command that is not there. */
#define STATUS_NOT_FOUND 127

static bool is_command(const char *word)
{
    static const char *const names[] = {
#define X(name, function, usage, help) name,
#include "driver/commands.def"
#undef X
    };
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (strcmp(names[i], word) == 0)
            return true;
    return false;
}

static int fail(const struct ks_err *err)
{
    ks_say(KS_SEV_ERROR, "%s; nothing was compiled [kscc-not-found]", err->message);
    return STATUS_NOT_FOUND;
}

/* A library of the core's that is gone (an upgrade of the system took it) would end the build in the loader, when it is too late to
 * become nvcc: the loader is asked first, which takes it 5 ms. */
static enum ks_code check_core(const char *core, struct ks_err *err)
{
    KS_AUTO_STR struct ks_str out = KS_STR_INIT, errout = KS_STR_INIT;
    static const char trace[] = "LD_TRACE_LOADED_OBJECTS", missing[] = " => not found", broken[] = "shared libraries: ";
    char *const argv[] = {(char *)core, NULL};
    struct ks_spawn spawn;
    struct ks_exit end;
    struct ks_err unknown; /* then it is tried */
    ks_spawn_init(&spawn);
    spawn.argv = argv;
    setenv(trace, "1", 1);
    enum ks_code code = ks_process_run(&spawn, &out, &errout, &end, &unknown);
    unsetenv(trace);
    if (code != KS_OK)
        return KS_OK;
    char *at = strstr(ks_str_cstr(&out), missing), *why = strstr(ks_str_cstr(&errout), broken);
    if (at) {
        *at = '\0';
        const char *line = strrchr(ks_str_cstr(&out), '\n');
        line = line ? line + 1 : ks_str_cstr(&out);
        return ks_fail(err, KS_ERR_NOT_FOUND, "cannot load '%s': its library %s is not there", core, line + strspn(line, "\t "));
    }
    if (ks_exit_ok(&end) || !why)
        return KS_OK;
    why += sizeof broken - 1;
    why[strcspn(why, "\n")] = '\0';
    return ks_fail(err, KS_ERR_NOT_FOUND, "cannot load '%s': %s", core, why);
}

/* Becomes "kscc-core NVCC argv...": the core gets the nvcc that was found here, because only this program knows which files are
 * itself. Returns only when it cannot. */
static enum ks_code become_core(const char *nvcc, char *const *call, struct ks_err *err)
{
    KS_AUTO_STR struct ks_str core = KS_STR_INIT;
    KS_AUTO_ARGS struct ks_args argv;
    ks_args_init(&argv);
    ks_paths_core(&core);
    ks_args_add(&argv, ks_str_cstr(&core));
    ks_args_add(&argv, nvcc);
    ks_args_add_all(&argv, call);
    if (ks_file_is_executable(ks_str_cstr(&core)))
        KS_TRY(check_core(ks_str_cstr(&core), err));
    execv(ks_str_cstr(&core), argv.v);
    return ks_fail_errno(err, KS_ERR_NOT_FOUND, "cannot run '%s'", ks_str_cstr(&core));
}

/* A command, or a question about kscc: nothing can stand in for the core. */
static int ask_core(char *const *call)
{
    struct ks_err err;
    become_core(KS_CORE_COMMAND, call, &err);
    ks_say_error(&err);
    return STATUS_NOT_FOUND;
}

/* Becomes nvcc, with the line as it was, or without our switches when the core that should have had them is missing (a lone copy
 * of kscc). */
static int become_nvcc(const struct ks_call *call, const char *nvcc)
{
    struct ks_err err;
    KS_AUTO_ARGS struct ks_args line;
    ks_args_init(&line);
    ks_call_take_out(call, nvcc, &line);
    ks_nvcc_exec(line.v, &err);
    return fail(&err);
}

/* Returns KS_OK when the line is nvcc's. */
static enum ks_code become_host_compiler(const struct ks_call *call, struct ks_err *err)
{
    KS_AUTO_ARGS struct ks_args line;
    enum ks_code code = KS_OK;
    ks_args_init(&line);
    if (call->settings.show_commands || !ks_host_takes(call, &line, &code, err) || code != KS_OK)
        return code;
    ks_stats_count(KS_STAT_HOST);
    return ks_nvcc_exec(line.v, err);
}

/* Lines on which neither agent nor kscc has a word to say: builds that ask for the agent everywhere (KSCC_O_AGENT=1) probe,
 * preprocess and compile C at nvcc's own cost. */
static bool is_silent(const struct ks_call *call, enum ks_stat *ret_stat)
{
    struct ks_stand_aside aside = ks_stand_aside_call(call);
    if (call->settings.show_commands || !aside.yes || aside.reason)
        return false;
    *ret_stat = aside.stat;
    return true;
}

/* Comes back only when no other program could be become. */
static int compile(const struct ks_call *call)
{
    struct ks_err err;
    KS_AUTO_FREE char *nvcc = NULL;
    if (call->settings.show_help || call->settings.show_version)
        return ask_core(call->argv);
    ks_stats_use(call->settings.dir);
    if (!call->settings.show_commands)
        ks_stats_count(KS_STAT_CALLS);
    if (become_host_compiler(call, &err) != KS_OK || ks_call_find_nvcc(call, &nvcc, &err) != KS_OK)
        return fail(&err);
    enum ks_stat stat = KS_STAT_PLAIN;
    if (ks_call_asks(call) && !is_silent(call, &stat)) {
        become_core(nvcc, call->argv, &err);
        ks_say_instead(&err, "compiling with nvcc only");
    }
    ks_stats_count(stat);
    return become_nvcc(call, nvcc);
}

/* "kscc store": a command, unless nvcc would take it for a source, which needs -x and the file. */
static bool is_command_line(char **argv)
{
    if (!is_command(argv[1]))
        return false;
    bool has_language = false;
    for (size_t i = 2; argv[i]; i++)
        has_language |= strcmp(argv[i], "-x") == 0 || ks_str_starts(argv[i], "-x=") || strcmp(argv[i], "--x") == 0;
    return !has_language || !ks_file_exists(argv[1]);
}

int main(int argc, char **argv)
{
    struct ks_err err;
    const char *name = argc > 0 ? ks_path_base(argv[0]) : "";
    if (ks_nvcc_is_parent()) {
        ks_nvcc_exec_host_compiler(argv, &err);
        return fail(&err);
    }
    if (argc > 1 && strcmp(name, "nvcc") != 0 && is_command_line(argv))
        return ask_core(argv);
    struct ks_call call;
    ks_call_read(argv, &call);
    int status = compile(&call);
    ks_call_release(&call);
    return status;
}

#include "driver/shell.h"

#include "base/file.h"
#include "base/process.h"
#include "driver/work_dir.h"

#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define TIMEOUT_MS   20000
#define MEMORY_BYTES ((size_t)4 << 30)
#define SHOWN_BYTES  8000 /* of each stream */
#define NOBODY       65534
#define CANNOT_RUN   126 /* kscc-worker's status when it cannot confine */

/* As root the command runs as nobody (confine.c), who must be able to write here. */
static void hand_over(const char *path)
{
    if (geteuid() == 0)
        (void)!chown(path, NOBODY, NOBODY);
}

static enum ks_code put(const char *dir, const char *name, const char *text, size_t len, struct ks_err *err)
{
    KS_AUTO_STR struct ks_str path = KS_STR_INIT, parent = KS_STR_INIT;
    ks_path_join(&path, dir, name);
    ks_path_dir(&parent, ks_str_cstr(&path));
    KS_TRY(ks_dir_make(ks_str_cstr(&parent), err));
    hand_over(ks_str_cstr(&parent));
    KS_TRY(ks_file_write_atomic(ks_str_cstr(&path), text, len, 0644, err));
    hand_over(ks_str_cstr(&path));
    return KS_OK;
}

/* The unit, and what it includes from its own folder and below. */
static enum ks_code copy_unit(const struct ks_shell *s, const char *dir, const char *source, size_t len, struct ks_err *err)
{
    char real[PATH_MAX], home[PATH_MAX];
    KS_AUTO_STR struct ks_str unit_dir = KS_STR_INIT;
    KS_TRY(put(dir, ks_path_base(s->unit->path), source, len, err));
    ks_path_dir(&unit_dir, s->unit->path);
    if (!realpath(ks_str_cstr(&unit_dir), home))
        return KS_OK;
    size_t n = strlen(home);
    for (size_t i = 0; i < s->unit->includes.n; i++) {
        KS_AUTO_STR struct ks_str text = KS_STR_INIT;
        struct ks_err ignored;
        if (!realpath(s->unit->includes.v[i], real) || strncmp(real, home, n) != 0 || real[n] != '/' ||
            strcmp(real + n + 1, ks_path_base(s->unit->path)) == 0)
            continue;
        if (ks_file_read(real, SIZE_MAX, &text, &ignored) == KS_OK)
            KS_TRY(put(dir, real + n + 1, ks_str_cstr(&text), text.len, err));
    }
    return KS_OK;
}

static void environment(const struct ks_shell *s, const char *dir, struct ks_args *out)
{
    ks_args_addf(out, "PATH=%s/bin:/usr/local/bin:/usr/bin:/bin", s->unit->cuda_path);
    ks_args_addf(out, "HOME=%s", dir);
    ks_args_addf(out, "TMPDIR=%s", dir);
    ks_args_add(out, "LC_ALL=C");
}

static void command_line(const struct ks_shell *s, const char *dir, const char *command, struct ks_args *out)
{
    ks_args_addf(out, "%s/kscc-worker", s->bin_dir);
    ks_args_add(out, "--confine");
    ks_args_add(out, "-s");
    ks_args_add(out, "-r");
    ks_args_add(out, s->unit->cuda_path);
    ks_args_add(out, "-w");
    ks_args_add(out, dir);
    ks_args_add(out, "--");
    ks_args_add(out, "/bin/sh");
    ks_args_add(out, "-c");
    ks_args_add(out, command);
}

static void add_stream(struct ks_json *j, const char *name, const struct ks_str *text)
{
    KS_AUTO_STR struct ks_str shown = KS_STR_INIT;
    size_t n = text->len < SHOWN_BYTES ? text->len : SHOWN_BYTES;
    for (size_t i = 0; i < n; i++)
        ks_str_addc(&shown, text->data[i] ? text->data[i] : '?');
    if (n < text->len)
        ks_str_addf(&shown, "\n... (%zu bytes more)", text->len - n);
    ks_json_set_str(j, name, ks_str_cstr(&shown));
}

static enum ks_code run(const struct ks_shell *s, const char *dir, const char *command, struct ks_json **ret, struct ks_err *err)
{
    KS_AUTO_ARGS struct ks_args argv, envp;
    KS_AUTO_STR struct ks_str out = KS_STR_INIT, errors = KS_STR_INIT, how = KS_STR_INIT;
    struct ks_spawn spawn;
    struct ks_exit e;
    ks_args_init(&argv);
    ks_args_init(&envp);
    command_line(s, dir, command, &argv);
    environment(s, dir, &envp);
    ks_spawn_init(&spawn);
    spawn.argv = argv.v;
    spawn.envp = envp.v;
    spawn.cwd = dir;
    spawn.own_group = spawn.die_with_parent = true;
    spawn.timeout_ms = TIMEOUT_MS;
    spawn.memory_limit_bytes = MEMORY_BYTES;
    KS_TRY(ks_process_run(&spawn, &out, &errors, &e, err));
    if (e.kind == KS_EXIT_STATUS && e.status == CANNOT_RUN && strstr(ks_str_cstr(&errors), "kscc-worker: "))
        return ks_fail(err, KS_ERR_SANDBOX, "there is no shell here: this system has no walls to run it in");
    ks_exit_describe(&e, &how);
    struct ks_json *j = ks_json_object();
    ks_json_set_str(j, "how", ks_str_cstr(&how));
    if (e.kind == KS_EXIT_STATUS)
        ks_json_set_i64(j, "status", e.status);
    add_stream(j, "stdout", &out);
    add_stream(j, "stderr", &errors);
    *ret = j;
    return KS_OK;
}

enum ks_code ks_shell_run(const struct ks_shell *s, const char *command, const char *source, size_t len, struct ks_json **ret,
                          struct ks_err *err)
{
    struct ks_work_dir scratch = {.lock_fd = -1};
    KS_TRY(ks_work_dir_open("kscc-work", &scratch, err));
    hand_over(scratch.path);
    enum ks_code code = copy_unit(s, scratch.path, source, len, err);
    if (code == KS_OK)
        code = run(s, scratch.path, command, ret, err);
    ks_work_dir_close(&scratch);
    return code;
}

#include "harness/remote/ssh.h"

#include "harness/remote/worker_files.h"
#include "base/file.h"
#include "base/process.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define CALL_MS   120000
#define COPY_MS   600000
#define MAX_WORDS 400

struct ks_ssh {
    char *host, *name;
    char *control; /* ControlPath; NULL: connections are not shared */
    struct ks_worker_files files;
    struct ks_remote_via via;
};

/* The words of ssh up to the host. */
static void ssh_words(const struct ks_ssh *s, struct ks_args *a)
{
    ks_args_add(a, "ssh");
    ks_args_add(a, "-T");
    ks_args_add_all(a, (char *const[]){"-o", "BatchMode=yes", "-o", "ConnectTimeout=20", "-o", "ServerAliveInterval=15", "-o",
                                       "ServerAliveCountMax=4", NULL});
    if (s->control) {
        ks_args_add_all(a, (char *const[]){"-o", "ControlMaster=auto", "-o", "ControlPersist=60", "-o", NULL});
        ks_args_addf(a, "ControlPath=%s", s->control);
    }
    ks_args_add(a, "--");
    ks_args_add(a, s->host);
}

/* One line of what a program said, its end. */
static void words_of(const struct ks_str *text, char *out, size_t size)
{
    const char *p = ks_str_cstr(text);
    size_t n = text->len;
    while (n > 0 && isspace((unsigned char)p[n - 1]))
        n--;
    size_t from = n > MAX_WORDS ? n - MAX_WORDS : 0;
    snprintf(out, size, "%.*s", (int)(n - from), p + from);
    for (char *c = out; *c; c++)
        *c = (unsigned char)*c < ' ' ? ' ' : *c;
}

/* Runs argv; its standard output in `out`.  what: for the message. */
static enum ks_code run(const struct ks_ssh *s, char *const *argv, const char *what, int64_t timeout_ms, struct ks_str *out,
                        struct ks_err *err)
{
    KS_AUTO_STR struct ks_str said = KS_STR_INIT, how = KS_STR_INIT;
    struct ks_spawn spawn;
    struct ks_exit e;
    char words[MAX_WORDS + 1];
    ks_spawn_init(&spawn);
    spawn.argv = argv;
    spawn.own_group = true;
    spawn.timeout_ms = timeout_ms;
    KS_TRY(ks_process_run(&spawn, out, &said, &e, err));
    if (ks_exit_ok(&e))
        return KS_OK;
    words_of(&said, words, sizeof words);
    ks_exit_describe(&e, &how);
    return ks_fail(err, KS_ERR_DEVICE, "%s %s: %s", what, s->name, words[0] ? words : ks_str_cstr(&how));
}

#define CACHE "d=\"${XDG_CACHE_HOME:-$HOME/.cache}/kscc/worker\"; "

static enum ks_code present(const struct ks_ssh *s, bool *ret, struct ks_err *err)
{
    KS_AUTO_ARGS struct ks_args a;
    KS_AUTO_STR struct ks_str out = KS_STR_INIT;
    ks_args_init(&a);
    ssh_words(s, &a);
    ks_args_addf(&a, CACHE "if test -x \"$d/%s/bin/kscc-worker\"; then echo kscc-present; else echo kscc-absent; fi",
                 s->files.key);
    KS_TRY(run(s, a.v, "reach", CALL_MS, &out, err));
    *ret = strstr(ks_str_cstr(&out), "kscc-present") != NULL; /* a login script may print, too */
    if (!*ret && !strstr(ks_str_cstr(&out), "kscc-absent"))
        return ks_fail(err, KS_ERR_DEVICE, "run a command on %s: its shell does not answer", s->name);
    return KS_OK;
}

/* One rename puts the copy in place; who comes second finds it there. */
static enum ks_code copy(const struct ks_ssh *s, struct ks_err *err)
{
    KS_AUTO_ARGS struct ks_args a, ssh;
    KS_AUTO_STR struct ks_str out = KS_STR_INIT, quoted = KS_STR_INIT;
    ks_args_init(&a);
    ks_args_init(&ssh);
    ssh_words(s, &ssh);
    ks_args_addf(&ssh,
                 "set -e; umask 077; " CACHE "mkdir -p \"$d\"; t=$(mktemp -d \"$d/new.XXXXXX\"); trap 'rm -rf \"$t\"' EXIT; "
                 "tar -xf - -C \"$t\"; chmod 700 \"$t/bin/kscc-worker\"; test -e \"$d/%s\" || mv -T \"$t\" \"$d/%s\"; "
                 "echo kscc-copied",
                 s->files.key, s->files.key);
    ks_args_quote(&quoted, ssh.v);
    /* set -o pipefail is not every shell's: what counts is what the far end says */
    ks_args_add_all(&a, (char *const[]){"sh", "-c", NULL});
    ks_args_addf(&a, "tar -C \"$1\" -cf - bin/kscc-worker ${2:+\"$2\"} | %s", quoted.data);
    ks_args_add_all(&a,
                    (char *const[]){"sh", s->files.root, (char *)(uintptr_t)(s->files.runtime ? s->files.runtime : ""), NULL});
    KS_TRY(run(s, a.v, "copy the worker to", COPY_MS, &out, err));
    if (!strstr(ks_str_cstr(&out), "kscc-copied"))
        return ks_fail(err, KS_ERR_DEVICE, "copy the worker to %s: it does not say that it has it", s->name);
    return KS_OK;
}

/* Appends the words that run the worker with `word`, after seeing to it that it is there. */
static enum ks_code worker_words(const struct ks_ssh *s, const char *word, struct ks_args *out, struct ks_err *err)
{
    bool there = false;
    KS_TRY(present(s, &there, err));
    if (!there)
        KS_TRY(copy(s, err));
    ssh_words(s, out);
    ks_args_addf(out, CACHE "exec \"$d/%s/bin/kscc-worker\" %s", s->files.key, word);
    return KS_OK;
}

static enum ks_code via_command(void *context, struct ks_args *out, struct ks_err *err)
{
    return worker_words(context, "serve", out, err);
}

enum ks_code ks_ssh_devices(struct ks_ssh *s, struct ks_json **ret, struct ks_err *err)
{
    KS_AUTO_ARGS struct ks_args a;
    KS_AUTO_STR struct ks_str out = KS_STR_INIT;
    ks_args_init(&a);
    KS_TRY(worker_words(s, "devices", &a, err));
    KS_TRY(run(s, a.v, "ask what there is on", CALL_MS, &out, err));
    const char *begin = strstr(ks_str_cstr(&out), "{\"cuda\"");
    if (!begin)
        return ks_fail(err, KS_ERR_DEVICE, "ask what there is on %s: the worker does not answer", s->name);
    return ks_json_parse(begin, strcspn(begin, "\n"), "the worker's answer", ret, err);
}

/* A folder that is only ours: who can write there could take over the connection.  NULL: there is none. */
static char *control_path(void)
{
    const char *run = getenv("XDG_RUNTIME_DIR"), *tmp = getenv("TMPDIR");
    KS_AUTO_STR struct ks_str dir = KS_STR_INIT;
    struct stat st;
    if (run && *run)
        ks_str_addf(&dir, "%s/kscc-ssh", run);
    else
        ks_str_addf(&dir, "%s/kscc-ssh-%u", tmp && *tmp ? tmp : "/tmp", (unsigned)getuid());
    if (dir.len > 40) /* a socket's path has at most 107 bytes, ssh's hash is 40, and it adds 17 for a moment */
        return NULL;
    if ((mkdir(dir.data, 0700) != 0 && access(dir.data, W_OK) != 0) || lstat(dir.data, &st) != 0 || !S_ISDIR(st.st_mode) ||
        st.st_uid != getuid() || (st.st_mode & 077))
        return NULL;
    ks_str_add(&dir, "/%C");
    return ks_str_detach(&dir, NULL);
}

enum ks_code ks_ssh_new(const char *host, const char *bin_dir, struct ks_ssh **ret, struct ks_err *err)
{
    KS_AUTO_FREE char *program = NULL;
    KS_AUTO_STR struct ks_str name = KS_STR_INIT;
    struct ks_worker_files files;
    if (!ks_ssh_host_ok(host))
        return ks_fail(err, KS_ERR_USAGE, "use '%s' as a host", host);
    KS_TRY(ks_path_search("ssh", &program, err));
    KS_TRY(ks_worker_files_find(bin_dir, &files, err));
    ks_str_addf(&name, "ssh:%s", host);
    struct ks_ssh *s = ks_xcalloc(1, sizeof *s);
    s->host = ks_xstrdup(host);
    s->name = ks_str_detach(&name, NULL);
    s->files = files;
    s->control = control_path();
    s->via = (struct ks_remote_via){.name = s->name, .context = s, .command = via_command};
    *ret = s;
    return KS_OK;
}

void ks_ssh_free(struct ks_ssh *s)
{
    if (!s)
        return;
    free(s->host);
    free(s->name);
    ks_worker_files_release(&s->files);
    free(s->control);
    free(s);
}

const struct ks_remote_via *ks_ssh_via(const struct ks_ssh *s)
{
    return &s->via;
}

#include "harness/worker/confine_agent.h"

#include "harness/worker/namespaces.h"
#include "harness/worker/sandbox.h"

#include <ctype.h>
#include <dirent.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define FILE_BYTES    (1ull << 30)
#define TICKS_TO_SIZE 20 /* the workspace is measured every two seconds */

static struct timespec end_time;
static const char *folder;
static unsigned long long bytes, files;
static int ticks;

static int add_size(const char *path, const struct stat *st, int kind, struct FTW *where)
{
    (void)path;
    (void)kind;
    (void)where;
    bytes += (unsigned long long)st->st_blocks * 512;
    return ++files > KS_AGENT_FILES; /* enough is known */
}

static int count_processes(void)
{
    DIR *d = opendir("/proc");
    int n = 0;
    for (struct dirent *e; d && (e = readdir(d));)
        n += isdigit((unsigned char)e->d_name[0]) != 0;
    if (d)
        closedir(d);
    return n;
}

/* In the namespace's first process. */
static int watch(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    if (now.tv_sec > end_time.tv_sec || (now.tv_sec == end_time.tv_sec && now.tv_nsec >= end_time.tv_nsec))
        return KS_CONFINE_TOO_LONG;
    if (count_processes() > KS_AGENT_PROCESSES)
        return KS_CONFINE_TOO_MANY;
    if (++ticks % TICKS_TO_SIZE)
        return 0;
    bytes = files = 0;
    nftw(folder, add_size, 16, FTW_PHYS | FTW_MOUNT);
    return bytes > KS_AGENT_BYTES || files > KS_AGENT_FILES ? KS_CONFINE_TOO_FULL : 0;
}

static _Noreturn void cannot(const char *what)
{
    fprintf(stderr, "kscc-worker: %s [kscc-sandbox-refusal]\n", what);
    _exit(126);
}

/* /proc names the environment of every process of this user: readable only where it is a new one. */
static size_t read_paths(int argc, char **argv, struct ks_confine_path *paths, bool own_proc, int *ret_command)
{
    size_t n = 0;
    int i = 4;
    for (; i + 1 < argc && strcmp(argv[i], "--") != 0 && n < KS_MAX_CONFINE_PATHS - 1; i += 2) {
        bool writable = strcmp(argv[i], "-w") == 0;
        if (writable)
            folder = argv[i + 1];
        if (own_proc || strcmp(argv[i + 1], "/proc") != 0)
            paths[n++] = (struct ks_confine_path){argv[i + 1], writable};
    }
    paths[n++] = (struct ks_confine_path){"/dev/null", true};
    *ret_command = i + 1 < argc && strcmp(argv[i], "--") == 0 ? i + 1 : 0;
    return n;
}

_Noreturn void ks_confine_agent_run(int argc, char **argv)
{
    struct ks_confine_path paths[KS_MAX_CONFINE_PATHS];
    struct ks_namespaces ns;
    int command;
    char *end;
    long seconds = argc > 4 ? strtol(argv[3], &end, 10) : 0;
    read_paths(argc, argv, paths, true, &command);
    if (seconds < 1 || *end || !command || !folder)
        cannot("--confine -a SECONDS [-r PATH]... -w FOLDER -- COMMAND");
    clock_gettime(CLOCK_MONOTONIC, &end_time);
    end_time.tv_sec += seconds;
    setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
    setrlimit(RLIMIT_FSIZE, &(struct rlimit){FILE_BYTES, FILE_BYTES});
    setrlimit(RLIMIT_NPROC, &(struct rlimit){KS_AGENT_PROCESSES, KS_AGENT_PROCESSES}); /* not for root: hence watch() */
    ks_namespaces_watch(watch);
    ks_namespaces_writable(folder);
    ks_namespaces_enter(&ns, KS_WITH_NETWORK, NULL, 0);
    size_t n = read_paths(argc, argv, paths, ns.pid && ns.mount, &command);
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || !ks_sandbox_confine_agent(paths, n))
        cannot("cannot confine the agent's program: this kernel has no Landlock, or it is switched off");
    if (chdir(folder) != 0)
        cannot("cannot enter the workspace");
    execv(argv[command], argv + command);
    perror(argv[command]);
    _exit(126);
}

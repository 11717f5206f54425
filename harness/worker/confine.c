#include "harness/worker/confine.h"

#include "harness/worker/confine_agent.h"
#include "harness/worker/namespaces.h"
#include "harness/worker/sandbox.h"

#include <grp.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#define FILE_BYTES (4ull << 30)
/* Of a shell. */
#define SHELL_FILE_BYTES (64ull << 20)
#define SHELL_PROCESSES  64
#define SHELL_FILES      256
#define NOBODY           65534

/* What compilers read besides their own folders.  Not /proc: it shows the environment. */
static const char *const readable[] = {"/usr",
                                       "/lib",
                                       "/lib32",
                                       "/lib64",
                                       "/bin",
                                       "/sbin",
                                       "/opt",
                                       "/etc/alternatives",
                                       "/etc/ld.so.cache",
                                       "/etc/ld.so.conf",
                                       "/etc/ld.so.conf.d",
                                       "/etc/ld.so.preload",
                                       "/etc/localtime",
                                       "/proc/cpuinfo",
                                       "/proc/meminfo",
                                       "/proc/stat",
                                       "/proc/version",
                                       "/sys/devices/system/cpu",
                                       "/sys/devices/system/node"};

/* A shell's commands are not a compiler: none of the user's rights, few processes, and all of them end with the first.  As root
 * it becomes nobody, because root has no limit on processes. */
static void shell_confine(void)
{
    struct ks_namespaces namespaces;
    if (geteuid() == 0) {
        (void)!setgroups(0, NULL);
        (void)!setresgid(NOBODY, NOBODY, NOBODY);
        (void)!setresuid(NOBODY, NOBODY, NOBODY);
    }
    ks_namespaces_enter(&namespaces, KS_WITHOUT_READ_ONLY, NULL, 0); /* what may be written, Landlock says */
    setrlimit(RLIMIT_FSIZE, &(struct rlimit){SHELL_FILE_BYTES, SHELL_FILE_BYTES});
    setrlimit(RLIMIT_NPROC, &(struct rlimit){SHELL_PROCESSES, SHELL_PROCESSES});
    setrlimit(RLIMIT_NOFILE, &(struct rlimit){SHELL_FILES, SHELL_FILES});
}

_Noreturn void ks_confine_run(int argc, char **argv)
{
    if (argc > 2 && strcmp(argv[2], "-a") == 0)
        ks_confine_agent_run(argc, argv);
    struct ks_confine_path paths[KS_MAX_CONFINE_PATHS];
    size_t n = 0;
    bool shell = argc > 2 && strcmp(argv[2], "-s") == 0;
    int i = shell ? 3 : 2;
    for (size_t k = 0; k < sizeof readable / sizeof *readable; k++)
        paths[n++] = (struct ks_confine_path){readable[k], false};
    paths[n++] = (struct ks_confine_path){"/dev/null", true};
    for (; i + 1 < argc && strcmp(argv[i], "--") != 0 && n < KS_MAX_CONFINE_PATHS; i += 2)
        paths[n++] = (struct ks_confine_path){argv[i + 1], strcmp(argv[i], "-w") == 0};
    if (i + 1 >= argc || strcmp(argv[i], "--") != 0) {
        fputs("kscc-worker: --confine [-s] [-r PATH]... [-w PATH]... -- COMMAND [kscc-usage]\n", stderr);
        _exit(126);
    }
    setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
    setrlimit(RLIMIT_FSIZE, &(struct rlimit){FILE_BYTES, FILE_BYTES});
    if (shell)
        shell_confine();
    else
        ks_network_leave();
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || !ks_sandbox_confine(paths, n, !shell)) {
        fputs("kscc-worker: cannot confine the command [kscc-sandbox-refusal]\n", stderr);
        _exit(126);
    }
    execvp(argv[i + 1], argv + i + 1);
    perror(argv[i + 1]);
    _exit(126);
}

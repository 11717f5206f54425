#include "harness/cgroup.h"

#include "base/file.h"
#include "base/mem.h"
#include "base/process.h"
#include "base/str.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PREFIX     "kscc-worker-"
#define MAX_PIDS   4096                /* threads included: the emulated device has one for each processor */
#define REMOVE_MS  2000                /* what was killed may take to be gone */
#define SPARE_SIZE ((size_t)256 << 20) /* page tables, code, the driver */

static bool text_write(const char *dir, const char *name, const char *text)
{
    KS_AUTO_STR struct ks_str path = KS_STR_INIT;
    ks_path_join(&path, dir, name);
    int fd = open(path.data, O_WRONLY | O_CLOEXEC);
    bool ok = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);
    if (fd >= 0)
        close(fd);
    return ok;
}

static bool text_read(const char *dir, const char *name, char *out, size_t size)
{
    KS_AUTO_STR struct ks_str path = KS_STR_INIT;
    ks_path_join(&path, dir, name);
    int fd = open(path.data, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd >= 0 ? read(fd, out, size - 1) : -1;
    if (fd >= 0)
        close(fd);
    out[n > 0 ? n : 0] = 0;
    return n >= 0;
}

/* Where version 2 is mounted: "... / /sys/fs/cgroup rw,... - cgroup2 cgroup2 rw". */
static bool mount_find(struct ks_str *out)
{
    char line[4096], place[1024];
    FILE *f = fopen("/proc/self/mountinfo", "re");
    bool found = false;
    while (f && !found && fgets(line, sizeof line, f))
        found = strstr(line, " - cgroup2 ") && sscanf(line, "%*s %*s %*s %*s %1023s", place) == 1;
    if (f)
        fclose(f);
    if (found)
        ks_str_add(out, place);
    return found;
}

/* The folder of the group that we are in. */
static bool own_folder(struct ks_str *out)
{
    char line[4096];
    FILE *f = fopen("/proc/self/cgroup", "re");
    bool found = false;
    while (f && !found && fgets(line, sizeof line, f))
        found = ks_str_starts(line, "0::/");
    if (f)
        fclose(f);
    if (!found || !mount_find(out))
        return false;
    line[strcspn(line, "\n")] = 0;
    if (!ks_streq(line, "0::/"))
        ks_str_add(out, line + strlen("0::"));
    return true;
}

void ks_cgroup_make(size_t memory_limit_bytes, struct ks_cgroup *ret)
{
    static unsigned n_made;
    KS_AUTO_STR struct ks_str own = KS_STR_INIT, path = KS_STR_INIT;
    char text[64];
    memset(ret, 0, sizeof *ret);
    if (!own_folder(&own))
        return;
    ks_str_addf(&path, "%s/" PREFIX "%d-%u", ks_str_cstr(&own), (int)getpid(), ++n_made);
    if (mkdir(path.data, 0700) != 0)
        return;
    /* Works where no process but those of the root group is in the way. */
    (void)text_write(own.data, "cgroup.subtree_control", "+memory");
    (void)text_write(own.data, "cgroup.subtree_control", "+pids");
    snprintf(text, sizeof text, "%zu", memory_limit_bytes + SPARE_SIZE);
    ret->memory = memory_limit_bytes && text_write(path.data, "memory.max", text);
    if (ret->memory)
        (void)text_write(path.data, "memory.swap.max", "0");
    snprintf(text, sizeof text, "%d", MAX_PIDS);
    ret->n_pids = text_write(path.data, "pids.max", text);
    ks_str_clear(&own);
    ks_path_join(&own, path.data, "cgroup.kill");
    ret->kill = ks_file_exists(own.data);
    ret->path = ks_str_detach(&path, NULL);
}

bool ks_cgroup_used(const struct ks_cgroup *c)
{
    char text[64];
    return c->path && text_read(c->path, "cgroup.procs", text, sizeof text) && text[0];
}

void ks_cgroup_end(struct ks_cgroup *c)
{
    if (!c->path)
        return;
    if (c->kill)
        (void)text_write(c->path, "cgroup.kill", "1");
    for (int i = 0; i < REMOVE_MS && rmdir(c->path) != 0 && errno == EBUSY; i++)
        usleep(1000);
    free(c->path);
    memset(c, 0, sizeof *c);
}

void ks_cgroup_report(const struct ks_cgroup *c, struct ks_json *sandbox)
{
    const struct {
        const char *name;
        bool active;
    } parts[] = {{"kill", c->kill}, {"memory", c->memory}, {"pids", c->n_pids}};
    struct ks_json *j = ks_json_array(), *missing = ks_json_get(sandbox, "missing");
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        KS_AUTO_STR struct ks_str name = KS_STR_INIT;
        if (c->path && parts[i].active) {
            ks_json_push(j, ks_json_string(parts[i].name));
            continue;
        }
        ks_str_addf(&name, "cgroup: %s", parts[i].name);
        if (missing)
            ks_json_push(missing, ks_json_string(name.data));
    }
    ks_json_set(sandbox, "cgroup", j);
}

void ks_cgroup_sweep(void)
{
    KS_AUTO_STR struct ks_str own = KS_STR_INIT;
    DIR *d = own_folder(&own) ? opendir(own.data) : NULL;
    for (struct dirent *e; d && (e = readdir(d));) {
        int pid = 0;
        if (sscanf(e->d_name, PREFIX "%d-", &pid) != 1 || pid <= 0 || kill(pid, 0) == 0 || errno != ESRCH)
            continue;
        KS_AUTO_STR struct ks_str path = KS_STR_INIT;
        ks_path_join(&path, own.data, e->d_name);
        (void)rmdir(path.data); /* its workers died with it; one that is not empty is not ours to end */
    }
    if (d)
        closedir(d);
}

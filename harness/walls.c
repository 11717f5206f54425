#include "harness/walls.h"

#include "harness/cgroup.h"
#include "harness/client.h"
#include "base/file.h"
#include "base/process.h"

#include <stdio.h>
#include <stdlib.h>

#define PROBE_MS 30000

const char *ks_walls_text(enum ks_worker_walls walls)
{
    switch (walls) {
    case KS_WALLS_OWN:
        return "own";
    case KS_WALLS_WRITABLE:
        return "writable";
    case KS_WALLS_OPEN:
        return "open";
    case KS_WALLS_SHARED:
        return "shared";
    case KS_WALLS_PLAIN:
        return "plain";
    }
    return "?";
}

static void cgroup_probe(struct ks_json *report)
{
    struct ks_cgroup c;
    ks_cgroup_make((size_t)1 << 30, &c);
    ks_cgroup_report(&c, report);
    ks_cgroup_end(&c);
}

enum ks_code ks_walls_probe(const char *bin_dir, struct ks_json **ret, struct ks_err *err)
{
    KS_AUTO_STR struct ks_str path = KS_STR_INIT, out = KS_STR_INIT, said = KS_STR_INIT, how = KS_STR_INIT;
    struct ks_spawn s;
    struct ks_exit e;
    ks_path_join(&path, bin_dir, "kscc-worker");
    ks_spawn_init(&s);
    s.argv = (char *[]){path.data, (char[]){"--probe"}, NULL};
    s.die_with_parent = true;
    s.timeout_ms = PROBE_MS;
    KS_TRY(ks_process_run(&s, &out, &said, &e, err));
    ks_exit_describe(&e, &how);
    if (!ks_exit_ok(&e))
        return ks_fail(err, KS_ERR_SANDBOX, "'%s --probe' %s", path.data, ks_str_cstr(&how));
    KS_TRY(ks_json_parse(ks_str_cstr(&out), out.len, "sandbox report", ret, err));
    cgroup_probe(*ret);
    return KS_OK;
}

enum ks_code ks_walls_probe_cuda(const char *bin_dir, const char *arch, const char **ret_name, struct ks_str *why,
                                 struct ks_err *err)
{
    KS_AUTO_STR struct ks_str path = KS_STR_INIT;
    struct ks_worker_options *o = ks_xcalloc(1, sizeof *o);
    enum ks_code code = KS_ERR_DEVICE;
    ks_path_join(&path, bin_dir, "kscc-worker");
    o->program = path.data;
    o->timeout_ms = PROBE_MS;
    o->hello.device = KS_DEVICE_CUDA;
    snprintf(o->hello.arch, sizeof o->hello.arch, "%s", arch);
    o->hello.arena_bytes = (uint64_t)1 << 20;
    o->hello.shm_bytes = KS_WIRE_DATA_OFF + (1u << 20);
    for (int walls = KS_WALLS_OWN; code != KS_OK && walls <= KS_WALLS_PLAIN; walls++) {
        struct ks_worker *w = NULL;
        o->walls = (enum ks_worker_walls)walls;
        code = ks_worker_start(o, &w, err);
        *ret_name = ks_walls_text(o->walls);
        if (code != KS_OK)
            ks_str_addf(why, "%sbehind '%s': %s", why->len ? "; " : "", *ret_name, err->message);
        ks_worker_stop(w);
    }
    free(o);
    return code;
}

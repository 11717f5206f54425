#include "harness/sanitizer_tool.h"

#include "base/file.h"

#include <pthread.h>

static const char *const names[KS_N_TOOLS] = {"memcheck", "racecheck", "initcheck", "synccheck", "leakcheck", "sizecheck"};

const char *ks_tool_name(size_t tool)
{
    return names[tool];
}

bool ks_tool_find(const char *nvcc, char **ret_path)
{
    struct ks_err ignored;
    KS_AUTO_FREE char *found = NULL;
    KS_AUTO_STR struct ks_str dir = KS_STR_INIT, path = KS_STR_INIT;
    if (ks_path_search("compute-sanitizer", ret_path, &ignored) == KS_OK)
        return true;
    if (ks_path_search(nvcc, &found, &ignored) != KS_OK)
        return false;
    ks_path_dir(&dir, found);
    ks_path_join(&path, dir.data, "compute-sanitizer");
    if (!ks_file_is_executable(path.data))
        return false;
    *ret_path = ks_str_detach(&path, NULL);
    return true;
}

static void tool_run(const struct ks_tools_task *t, size_t tool, struct ks_tool_report *ret)
{
    KS_AUTO_ARGS struct ks_args a;
    struct ks_spawn spawn;
    struct ks_err err;
    ks_args_init(&a);
    ks_args_add(&a, t->sanitizer);
    ks_args_addf(&a, "--tool=%s", tool >= KS_TOOL_LEAKS ? "memcheck" : names[tool]);
    if (tool == KS_TOOL_LEAKS)
        ks_args_add(&a, "--leak-check=full");
    ks_args_addf(&a, "--error-exitcode=%d", KS_TOOL_ERROR_STATUS);
    ks_args_add(&a, "--print-limit=4");
    ks_args_add(&a, t->worker);
    ks_args_add(&a, t->sealed ? "--replay" : "--replay-unsealed");
    ks_args_add(&a, tool == KS_TOOL_SIZES ? t->sizes : t->replay);
    ks_spawn_init(&spawn);
    spawn.argv = a.v;
    spawn.own_group = true;
    spawn.die_with_parent = true;
    spawn.timeout_ms = t->timeout_ms;
    ret->ran = ks_process_run(&spawn, &ret->out, &ret->errout, &ret->exit, &err) == KS_OK;
    if (!ret->ran) {
        ks_str_clear(&ret->errout);
        ks_str_add(&ret->errout, err.message);
    }
}

struct job {
    const struct ks_tools_task *task;
    size_t tool;
    struct ks_tool_report *report;
};

static void *job_run(void *arg)
{
    struct job *j = arg;
    tool_run(j->task, j->tool, j->report);
    return NULL;
}

void ks_tools_run(const struct ks_tools_task *task, struct ks_tool_report *ret)
{
    pthread_t threads[KS_N_TOOLS];
    struct job jobs[KS_N_TOOLS];
    bool started[KS_N_TOOLS] = {false};
    for (size_t i = 0; i < KS_N_TOOLS; i++) {
        if (!(task->mask >> i & 1))
            continue;
        jobs[i] = (struct job){task, i, &ret[i]};
        started[i] = pthread_create(&threads[i], NULL, job_run, &jobs[i]) == 0;
        if (!started[i])
            job_run(&jobs[i]);
    }
    for (size_t i = 0; i < KS_N_TOOLS; i++)
        if (started[i])
            pthread_join(threads[i], NULL);
}

void ks_tool_reports_release(struct ks_tool_report *reports)
{
    for (size_t i = 0; i < KS_N_TOOLS; i++) {
        ks_str_release(&reports[i].out);
        ks_str_release(&reports[i].errout);
    }
}

/* Times of kernels: CUPTI has a record a kernel (CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL), nodes of graphs included.  A thread of
 * ours asks for them ten times a second and writes the lines, so that the program's threads do not. */
#include "harness/record_gpu/state.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define PERIOD_NS 100000000L
#define PAUSE_NS  20000000L /* between two flushes at least: CUPTI lets no launch by meanwhile */

/* A kernel that ended. */
struct ended {
    uint32_t correlation;
    double ns;
    struct ks_record_launch l; /* the name is ours */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t wake = PTHREAD_COND_INITIALIZER;
static KS_VEC(struct ended) all; /* under lock */
static bool started, stop, woken;
static pthread_t thread;

static void take(const CUpti_Activity *a)
{
    const CUpti_ActivityKernel10 *k = (const CUpti_ActivityKernel10 *)a;
    if (a->kind != CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL && a->kind != CUPTI_ACTIVITY_KIND_KERNEL)
        return;
    struct ended e = {.correlation = k->correlationId, .ns = k->end > k->start && k->start ? (double)(k->end - k->start) : -1};
    const int32_t grid[3] = {k->gridX, k->gridY, k->gridZ}, block[3] = {k->blockX, k->blockY, k->blockZ};
    for (int i = 0; i < 3; i++) {
        e.l.grid[i] = (uint32_t)grid[i];
        e.l.block[i] = (uint32_t)block[i];
    }
    if (k->clusterX * k->clusterY * k->clusterZ > 1) {
        e.l.cluster[0] = k->clusterX;
        e.l.cluster[1] = k->clusterY;
        e.l.cluster[2] = k->clusterZ;
    }
    e.l.shared_bytes = (uint64_t)k->dynamicSharedMemory;
    e.l.graph = k->graphNodeId != 0;
    e.l.cooperative = k->launchType != CUPTI_ACTIVITY_LAUNCH_TYPE_REGULAR;
    e.l.kernel = ks_xstrdup(k->name ? k->name : "");
    pthread_mutex_lock(&lock);
    ks_vec_push(&all, e);
    pthread_mutex_unlock(&lock);
}

static void write_all(void)
{
    for (;;) {
        pthread_mutex_lock(&lock);
        __typeof__(all) mine = all;
        memset(&all, 0, sizeof all);
        pthread_mutex_unlock(&lock);
        for (size_t i = 0; i < mine.n; i++) {
            gpu_launch_timed(mine.data[i].correlation, mine.data[i].ns, &mine.data[i].l);
            free((char *)(uintptr_t)mine.data[i].l.kernel);
        }
        bool none = mine.n == 0;
        ks_vec_release(&mine);
        if (none)
            return;
    }
}

static void *run(void *arg)
{
    gpu_inside = true;
    (void)arg;
    pthread_mutex_lock(&lock);
    while (!stop) {
        struct timespec until;
        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_nsec += PERIOD_NS;
        until.tv_sec += until.tv_nsec / 1000000000;
        until.tv_nsec %= 1000000000;
        while (!stop && !woken && pthread_cond_timedwait(&wake, &lock, &until) != ETIMEDOUT)
            ;
        woken = false;
        pthread_mutex_unlock(&lock);
        nanosleep(&(struct timespec){.tv_nsec = PAUSE_NS}, NULL);
        gpu.cuptiActivityFlushAll(0);
        pthread_rwlock_rdlock(&gpu_paper);
        write_all();
        pthread_rwlock_unlock(&gpu_paper);
        pthread_mutex_lock(&lock);
    }
    pthread_mutex_unlock(&lock);
    return NULL;
}

enum ks_code gpu_activity_start(struct ks_err *err)
{
    static const CUpti_ActivityKind kinds[] = {CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL};
    return gpu_records_start(take, kinds, 1, err);
}

void gpu_activity_wake(void)
{
    sigset_t all_signals, old; /* the program's signals are for its own threads */
    pthread_mutex_lock(&lock);
    if (!started && !stop) {
        sigfillset(&all_signals);
        pthread_sigmask(SIG_SETMASK, &all_signals, &old);
        started = pthread_create(&thread, NULL, run, NULL) == 0;
        pthread_sigmask(SIG_SETMASK, &old, NULL);
    }
    woken = true;
    pthread_cond_signal(&wake);
    pthread_mutex_unlock(&lock);
}

void gpu_activity_finish(void)
{
    pthread_mutex_lock(&lock);
    bool join = started;
    stop = true;
    started = false;
    pthread_cond_signal(&wake);
    pthread_mutex_unlock(&lock);
    if (join)
        pthread_join(thread, NULL);
    gpu.cuptiActivityFlushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
    write_all();
}

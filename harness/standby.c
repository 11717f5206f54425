/* Workers that wait: they have opened the device and have seen no object of anybody's.  On a GPU a context costs some 0.3 s,
 * which a trial otherwise pays when it starts its processes anew; here it is paid while the compiler works, and never while
 * anything is timed. A worker that ends takes as long again: it is killed at once and buried by a thread, which keeps its share
 * of the device's lock so long, so that no other kscc times beside it.  A pair that others replace while something is timed has
 * nothing more to do and is parked till the trial ends.  Workers themselves are started by the session's own
 * thread only: they die with it. */
#include "harness/session_impl.h"

#include "base/mem.h"

#include <string.h>

/* All contexts together take at most a quarter of the device's memory. */
void ks_standby_allow(struct ks_session *s)
{
    double memory = ks_json_get_num(s->device, "memory_bytes", 0);
    s->standby_allowed = s->opt.standby && s->opt.device == KS_DEVICE_CUDA && !s->opt.remote && s->walls_known &&
                         s->walls != KS_WALLS_PLAIN && (double)s->arena_bytes * (2 + KS_MAX_STANDBY + KS_MAX_PARKED) <= memory / 4;
}

void ks_standby_fill(struct ks_session *s)
{
    struct ks_worker *launched[KS_MAX_STANDBY];
    struct ks_err ignored; /* what goes wrong here goes wrong again where it is reported */
    size_t n = 0;
    if (!s->standby_allowed)
        return;
    while (s->n_standby + n < KS_MAX_STANDBY && ks_worker_of_session(s, &launched[n], &ignored) == KS_OK)
        n++;
    for (size_t i = 0; i < n; i++)
        if (ks_worker_await(launched[i], KS_WORKER_START_MS, &ignored) == KS_OK)
            s->standby[s->n_standby++] = launched[i];
        else
            ks_worker_stop(launched[i]);
}

struct ks_worker *ks_standby_take(struct ks_session *s)
{
    while (s->n_standby > 0) {
        struct ks_worker *first = s->standby[0];
        memmove(s->standby, s->standby + 1, --s->n_standby * sizeof *s->standby);
        if (ks_worker_ends(first))
            ks_worker_stop(first);
        else
            return first;
    }
    return NULL;
}

void ks_standby_drop(struct ks_session *s)
{
    for (size_t i = 0; i < s->n_standby; i++)
        ks_worker_condemn(s->standby[i]);
    for (size_t i = 0; i < s->n_standby; i++)
        ks_worker_stop(s->standby[i]);
    s->n_standby = 0;
}

bool ks_arm_park(struct ks_session *s, struct ks_arm *arm)
{
    if (!s->standby_allowed || s->n_parked == KS_MAX_PARKED || !ks_worker_alive(arm->worker))
        return false;
    s->parked[s->n_parked++] = arm->worker;
    arm->worker = NULL;
    arm->loaded = false;
    return true;
}

void ks_parked_drop(struct ks_session *s)
{
    for (size_t i = 0; i < s->n_parked; i++)
        ks_worker_condemn(s->parked[i]);
    for (size_t i = 0; i < s->n_parked; i++)
        ks_worker_stop(s->parked[i]);
    s->n_parked = 0;
}

static void *bury(void *arg)
{
    struct ks_grave *g = arg;
    for (size_t i = 0; i < g->n; i++)
        ks_worker_stop(g->workers[i]);
    ks_device_lock_close(&g->lock);
    return NULL;
}

void ks_grave_wait(struct ks_session *s)
{
    if (s->grave.used)
        pthread_join(s->grave.thread, NULL);
    s->grave.used = false;
}

void ks_arm_bury(struct ks_session *s, struct ks_arm *arm)
{
    struct ks_grave *g = &s->grave;
    if (!arm->worker && s->n_parked == 0)
        return;
    ks_grave_wait(s);
    *g = (struct ks_grave){.lock = s->lock, .used = true};
    if (arm->worker)
        g->workers[g->n++] = arm->worker;
    for (size_t i = 0; i < s->n_parked; i++)
        g->workers[g->n++] = s->parked[i];
    s->n_parked = 0;
    for (size_t i = 0; i < g->n; i++)
        ks_worker_condemn(g->workers[i]);
    ks_device_lock_open(&s->lock);
    if (pthread_create(&g->thread, NULL, bury, g) != 0) {
        g->used = false;
        bury(g);
    }
    arm->worker = NULL;
    arm->loaded = false;
}

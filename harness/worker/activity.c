#include "harness/worker/activity.h"

#ifdef KSCC_HAS_CUPTI
#include "harness/record_gpu/api.h"

#include <pthread.h>
#include <string.h>

#define MAX_RECORDS 100000 /* of one call; more are not told apart */

struct record {
    uint64_t start_ns, end_ns;
    uint32_t number;
    bool own;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static KS_VEC(struct record) records; /* under lock: CUPTI has a thread of its own */
static bool on;

static void take(const CUpti_Activity *a)
{
    struct record r = {0};
    if (a->kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL) {
        const CUpti_ActivityKernel10 *k = (const CUpti_ActivityKernel10 *)a;
        r = (struct record){k->start, k->end, k->correlationId, k->name && strcmp(k->name, "kscc_spin") == 0};
    } else if (a->kind == CUPTI_ACTIVITY_KIND_MEMCPY) {
        const CUpti_ActivityMemcpy6 *c = (const CUpti_ActivityMemcpy6 *)a;
        r = (struct record){c->start, c->end, c->correlationId, false};
    } else if (a->kind == CUPTI_ACTIVITY_KIND_MEMSET) {
        const CUpti_ActivityMemset4 *m = (const CUpti_ActivityMemset4 *)a;
        r = (struct record){m->start, m->end, m->correlationId, false};
    } else {
        return;
    }
    pthread_mutex_lock(&lock);
    if (records.n < MAX_RECORDS)
        ks_vec_push(&records, r);
    pthread_mutex_unlock(&lock);
}

enum ks_code ks_activity_open(const char *cupti, struct ks_err *err)
{
    static const CUpti_ActivityKind kinds[] = {CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, CUPTI_ACTIVITY_KIND_MEMCPY,
                                               CUPTI_ACTIVITY_KIND_MEMSET};
    KS_TRY(gpu_cupti_load(cupti, err));
    KS_TRY(gpu_records_start(take, kinds, sizeof kinds / sizeof *kinds, err));
    on = true;
    return KS_OK;
}

void ks_activity_clear(void)
{
    gpu.cuptiActivityFlushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
    pthread_mutex_lock(&lock);
    records.n = 0;
    pthread_mutex_unlock(&lock);
}

void ks_activity_print(struct ks_str *out)
{
    if (on)
        gpu.cuptiActivityFlushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
    pthread_mutex_lock(&lock);
    ks_str_add(out, "[");
    for (size_t i = 0; i < records.n; i++) {
        const struct record *r = &records.data[i];
        uint64_t from = records.data[0].start_ns; /* doubles hold differences exactly */
        ks_str_addf(out, "%s[%lld,%lld,%u,%d]", i ? "," : "", (long long)(r->start_ns - from), (long long)(r->end_ns - from),
                    (unsigned)r->number, r->own);
    }
    ks_str_add(out, "]");
    pthread_mutex_unlock(&lock);
}

bool ks_activity_is_on(void)
{
    return on;
}

#else /* built without CUPTI's headers */

enum ks_code ks_activity_open(const char *cupti, struct ks_err *err)
{
    (void)cupti;
    return ks_fail(err, KS_ERR_UNSUPPORTED, "this kscc-worker was built without CUPTI's headers");
}

bool ks_activity_is_on(void)
{
    return false;
}

void ks_activity_clear(void)
{
}

void ks_activity_print(struct ks_str *out)
{
    ks_str_add(out, "[]");
}
#endif

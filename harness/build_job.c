/* Builds of candidates: confined, kept by their text, and on a GPU beside what the device has to do for the same trial. */
#include "harness/session_impl.h"

#include "base/hash.h"
#include "base/mem.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What the gates do not let in is not linked. */
static enum ks_code build_admitted(const struct ks_session *s, const char *source, size_t len, const char *tag,
                                   int64_t timeout_ms, struct ks_built **ret, struct ks_str *log, struct ks_err *err)
{
    KS_AUTO_STR struct ks_str reason = KS_STR_INIT;
    struct ks_built *b = NULL;
    KS_TRY(ks_build_object(&s->opt, source, len, tag, timeout_ms, &b, log, err));
    enum ks_code code = KS_OK;
    if (ks_admit_interface(s, b, &reason) && ks_admit_object(s, b, source, len, &reason))
        code = ks_build_finish(&s->opt, b, timeout_ms, log, err);
    if (code != KS_OK) {
        ks_built_free(b);
        return code;
    }
    *ret = b;
    return KS_OK;
}

/* Where not even the original can be built in the confinement (a toolkit in an unusual place), it is left out, and the report
 * says so. */
static enum ks_code confined_build(struct ks_session *s, const char *source, size_t len, const char *tag, int64_t timeout_ms,
                                   struct ks_built **ret, struct ks_str *log, struct ks_err *err)
{
    struct ks_err why;
    struct ks_built *again = NULL;
    enum ks_code code = build_admitted(s, source, len, tag, timeout_ms, ret, log, err);
    s->confinement_works |= code == KS_OK;
    if (code == KS_OK || s->confinement_works || s->unconfined_why)
        return code;
    if (ks_build(&s->opt, s->opt.source, s->opt.source_len, "confined", 600000, &again, NULL, &why) == KS_OK) {
        ks_built_free(again);
        s->confinement_works = true;
        return code; /* it is the text */
    }
    s->unconfined_why = ks_xstrdup(why.message);
    s->opt.confined_to = NULL;
    ks_str_clear(log);
    return build_admitted(s, source, len, tag, timeout_ms, ret, log, err);
}

/* A text built before is not built again; the oldest build makes room. */
static enum ks_code built_get(struct ks_session *s, const char *source, size_t len, int64_t timeout_ms, struct ks_built **ret,
                              struct ks_str *log, struct ks_err *err)
{
    char hash[65], tag[32];
    ks_hash_hex(source, len, hash);
    for (size_t i = 0; i < s->n_builds; i++)
        if (strcmp(s->builds[i]->hash, hash) == 0) {
            *ret = s->builds[i];
            return KS_OK;
        }
    struct ks_built *b = NULL;
    snprintf(tag, sizeof tag, "candidate-%zu", s->next_tag++);
    KS_TRY(confined_build(s, source, len, tag, timeout_ms, &b, log, err));
    if (s->n_builds == KS_MAX_CACHED_BUILDS) {
        ks_built_free(s->builds[0]);
        memmove(s->builds, s->builds + 1, (KS_MAX_CACHED_BUILDS - 1) * sizeof *s->builds);
        s->n_builds--;
    }
    s->builds[s->n_builds++] = b;
    *ret = b;
    return KS_OK;
}

static void *build(void *arg)
{
    struct ks_build_job *job = arg;
    job->code = built_get(job->s, job->source, job->len, job->timeout_ms, &job->built, &job->log, &job->err);
    return NULL;
}

void ks_build_start(struct ks_session *s, const char *source, size_t len, int64_t timeout_ms, struct ks_build_job *job)
{
    memset(job, 0, sizeof *job);
    job->s = s;
    job->source = source;
    job->len = len;
    job->timeout_ms = timeout_ms;
    ks_str_init(&job->log);
    /* The emulated device needs the processor itself. */
    job->threaded = s->opt.device == KS_DEVICE_CUDA && pthread_create(&job->thread, NULL, build, job) == 0;
}

enum ks_code ks_build_wait(struct ks_build_job *job, struct ks_built **ret)
{
    if (job->threaded)
        pthread_join(job->thread, NULL);
    else if (!job->done)
        build(job);
    job->threaded = false;
    job->done = true;
    *ret = job->built;
    return job->code;
}

void ks_build_end(struct ks_build_job *job)
{
    struct ks_built *ignored;
    if (job->threaded && ks_build_wait(job, &ignored) != KS_OK)
        ks_str_clear(&job->log); /* nobody asks any more */
    ks_str_release(&job->log);
}

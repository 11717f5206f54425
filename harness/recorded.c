/* Contents that a program had in its buffers, as a contract names them (harness/record has the files). */
#include "harness/session_impl.h"

#include "harness/record/record.h"

#include <string.h>

/* The buffer's bytes out of the allocation's that were recorded. */
static enum ks_code load_one(struct ks_session *s, size_t i, struct ks_err *err)
{
    const struct ks_buffer *b = &s->c->buffers[i];
    KS_AUTO_STR struct ks_str all = KS_STR_INIT;
    if (!s->opt.recording)
        return ks_fail(err, KS_ERR_NOT_FOUND, "find the recorded contents of '%s': no recording is given (--kscc-workload=DIR)",
                       b->name);
    KS_TRY(ks_recording_contents(s->opt.recording, b->recorded, &all, err));
    if (b->recorded_off_byte < 0 || (size_t)b->recorded_off_byte > all.len)
        return ks_fail(err, KS_ERR_MISMATCH, "recorded contents of '%s' end before byte %lld", b->name,
                       (long long)b->recorded_off_byte);
    size_t n = all.len - (size_t)b->recorded_off_byte;
    s->recorded[i] = (const unsigned char *)ks_arena_strndup(&s->arena, all.data + b->recorded_off_byte, n);
    s->recorded_bytes[i] = n;
    return KS_OK;
}

/* The contract has one shape (check_whole), which every timing point repeats. */
static enum ks_code check_size(struct ks_session *s, size_t i, struct ks_err *err)
{
    struct ks_layout l;
    KS_TRY(ks_layout_make(s, &s->c->times[0].shape, KS_SET_DECLARED, 0, &l, err));
    if (l.buf[i].bytes <= s->recorded_bytes[i])
        return KS_OK;
    return ks_fail(err, KS_ERR_MISMATCH, "recorded contents of '%s' have %zu bytes, the contract asks for %zu",
                   s->c->buffers[i].name, s->recorded_bytes[i], l.buf[i].bytes);
}

enum ks_code ks_recorded_load(struct ks_session *s, struct ks_err *err)
{
    bool any = false;
    for (size_t i = 0; i < s->c->n_buffers; i++)
        any |= s->c->buffers[i].recorded != NULL;
    if (!any)
        return KS_OK;
    const unsigned char **bytes = KS_ARENA_ARRAY(&s->arena, const unsigned char *, s->c->n_buffers);
    s->recorded_bytes = KS_ARENA_ARRAY(&s->arena, size_t, s->c->n_buffers);
    memset(bytes, 0, s->c->n_buffers * sizeof(*bytes));
    s->recorded = bytes;
    for (size_t i = 0; i < s->c->n_buffers; i++)
        if (s->c->buffers[i].recorded) {
            KS_TRY(load_one(s, i, err));
            KS_TRY(check_size(s, i, err));
        }
    return KS_OK;
}

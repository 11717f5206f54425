#include "harness/remote/step.h"

#include "base/process.h"
#include "base/zstd.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define PACK_FROM 512u /* shorter payloads are not worth it */

const char *ks_step_version(void)
{
    static char text[128];
    if (!text[0])
        snprintf(text, sizeof text, "kscc " KSCC_VERSION " steps %d wire %zu.%zu.%zu.%zu", KS_STEP_FORMAT,
                 sizeof(struct ks_wire_command), sizeof(struct ks_wire_reply), sizeof(struct ks_step_result),
                 sizeof(struct ks_step_start));
    return text;
}

enum ks_code ks_step_version_check(const char *theirs, size_t len, struct ks_err *err)
{
    const char *ours = ks_step_version();
    if (len == strlen(ours) && memcmp(theirs, ours, len) == 0)
        return KS_OK;
    return ks_fail(err, KS_ERR_UNSUPPORTED, "speak with a worker or parent of another version: this is '%s', that is '%.*s'",
                   ours, (int)(len < 128 ? len : 128), theirs);
}

void ks_frame_put(struct ks_str *out, enum ks_step_kind kind, uint32_t lane, uint32_t number, const void *payload, size_t len)
{
    struct ks_frame f = {KS_STEP_MAGIC, kind, lane, number, len, len};
    KS_AUTO_STR struct ks_str packed = KS_STR_INIT;
    if (len >= PACK_FROM)
        ks_zstd_pack(payload, len, &packed);
    bool shorter = packed.len > 0 && packed.len < len;
    if (shorter)
        f.packed_bytes = packed.len;
    ks_str_addn(out, &f, sizeof f);
    ks_str_addn(out, shorter ? packed.data : payload, (size_t)f.packed_bytes);
}

static enum ks_code frame_check(const struct ks_frame *f, struct ks_err *err)
{
    if (f->magic != KS_STEP_MAGIC)
        return ks_fail(err, KS_ERR_PROTOCOL, "read a step: what is there is none");
    if (f->kind >= KS_N_STEPS || f->bytes > KS_MAX_FRAME_BYTES || f->packed_bytes > f->bytes)
        return ks_fail(err, KS_ERR_PROTOCOL, "read a step: kind %u of %llu bytes", f->kind, (unsigned long long)f->bytes);
    return KS_OK;
}

static enum ks_code frame_unpack(const struct ks_frame *f, const char *packed, struct ks_str *payload, struct ks_err *err)
{
    size_t n = 0;
    ks_str_clear(payload);
    if (f->packed_bytes == f->bytes) {
        ks_str_addn(payload, packed, (size_t)f->bytes);
        return KS_OK;
    }
    ks_str_reserve(payload, (size_t)f->bytes);
    KS_TRY(ks_zstd_unpack(packed, (size_t)f->packed_bytes, payload->data, (size_t)f->bytes, &n, err));
    if (n != f->bytes)
        return ks_fail(err, KS_ERR_PROTOCOL, "read a step: %zu bytes where it says %llu", n, (unsigned long long)f->bytes);
    payload->len = n;
    payload->data[n] = 0;
    return KS_OK;
}

enum ks_code ks_frame_take(const struct ks_str *text, size_t *at, struct ks_frame *ret, struct ks_str *payload,
                           struct ks_err *err)
{
    struct ks_frame f;
    if (text->len - *at < sizeof f)
        return ks_fail(err, KS_ERR_PROTOCOL, "read a step: the file ends within it");
    memcpy(&f, text->data + *at, sizeof f);
    KS_TRY(frame_check(&f, err));
    if (text->len - *at - sizeof f < f.packed_bytes)
        return ks_fail(err, KS_ERR_PROTOCOL, "read a step: the file ends within it");
    KS_TRY(frame_unpack(&f, text->data + *at + sizeof f, payload, err));
    *at += sizeof f + (size_t)f.packed_bytes;
    *ret = f;
    return KS_OK;
}

enum ks_code ks_frame_send(int fd, const struct ks_str *frame, struct ks_err *err)
{
    for (size_t done = 0; done < frame->len;) {
        ssize_t n = write(fd, frame->data + done, frame->len - done);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return ks_fail_errno(err, KS_ERR_IO, "send a step");
        done += (size_t)n;
    }
    return KS_OK;
}

/* *ret_n: less than len where the other side has closed. */
static enum ks_code recv_all(int fd, int64_t deadline_ns, char *to, size_t len, size_t *ret_n, struct ks_err *err)
{
    for (*ret_n = 0; *ret_n < len;) {
        struct pollfd p = {.fd = fd, .events = POLLIN};
        int64_t left_ms = deadline_ns ? (deadline_ns - ks_clock_ns()) / 1000000 : -1;
        if (deadline_ns && left_ms <= 0)
            return ks_fail(err, KS_ERR_TIMEOUT, "wait for an answer: none came in time");
        int ready = poll(&p, 1, left_ms > 1000000 ? 1000000 : (int)left_ms);
        if (ready <= 0)
            continue;
        ssize_t n = read(fd, to + *ret_n, len - *ret_n);
        if (n < 0 && (errno == EINTR || errno == EAGAIN))
            continue;
        if (n < 0)
            return ks_fail_errno(err, KS_ERR_IO, "receive a step");
        if (n == 0)
            return KS_OK;
        *ret_n += (size_t)n;
    }
    return KS_OK;
}

enum ks_code ks_frame_recv(int fd, int64_t deadline_ns, struct ks_frame *ret, struct ks_str *payload, bool *ret_end,
                           struct ks_err *err)
{
    struct ks_frame f;
    size_t n = 0;
    KS_AUTO_STR struct ks_str packed = KS_STR_INIT;
    *ret_end = false;
    KS_TRY(recv_all(fd, deadline_ns, (char *)&f, sizeof f, &n, err));
    if (n == 0) {
        *ret_end = true;
        return KS_OK;
    }
    if (n < sizeof f)
        return ks_fail(err, KS_ERR_PROTOCOL, "receive a step: the connection ended within it");
    KS_TRY(frame_check(&f, err));
    ks_str_reserve(&packed, (size_t)f.packed_bytes);
    KS_TRY(recv_all(fd, deadline_ns, packed.data, (size_t)f.packed_bytes, &n, err));
    if (n < f.packed_bytes)
        return ks_fail(err, KS_ERR_PROTOCOL, "receive a step: the connection ended within it");
    KS_TRY(frame_unpack(&f, packed.data, payload, err));
    *ret = f;
    return KS_OK;
}

void ks_ranges_put(struct ks_str *out, const unsigned char *shm, const struct ks_range *ranges, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        ks_str_addn(out, &ranges[i], sizeof ranges[i]);
        ks_str_addn(out, shm + ranges[i].off, (size_t)ranges[i].bytes);
    }
}

enum ks_code ks_ranges_take(const char *data, size_t len, size_t n, const struct ks_range *allowed, unsigned char *shm,
                            size_t shm_bytes, struct ks_err *err)
{
    for (size_t i = 0; i < n; i++) {
        struct ks_range r;
        if (len < sizeof r)
            return ks_fail(err, KS_ERR_PROTOCOL, "take contents: cut short");
        memcpy(&r, data, sizeof r);
        data += sizeof r;
        len -= sizeof r;
        if (r.off < KS_WIRE_DATA_OFF || r.off > shm_bytes || r.bytes > shm_bytes - r.off || r.bytes > len ||
            (allowed && (r.off != allowed[i].off || r.bytes != allowed[i].bytes)))
            return ks_fail(err, KS_ERR_PROTOCOL, "take contents: not the ones that were asked for");
        memcpy(shm + r.off, data, (size_t)r.bytes);
        data += r.bytes;
        len -= (size_t)r.bytes;
    }
    return len == 0 ? KS_OK : ks_fail(err, KS_ERR_PROTOCOL, "take contents: more than were asked for");
}

size_t ks_ranges_of_prepare(const struct ks_wire_prepare *p, struct ks_range *ret)
{
    size_t n = 0;
    for (uint32_t i = 0; i < p->n && i < KS_MAX_PARAMS; i++)
        if (p->buffers[i].source == KS_SOURCE_SHM)
            ret[n++] = (struct ks_range){p->buffers[i].shm_off, p->buffers[i].bytes};
    return n;
}

size_t ks_ranges_of_fetch(const struct ks_wire_fetch *f, const struct ks_wire_prepare *placed, struct ks_range *ret)
{
    size_t n = 0;
    for (uint32_t i = 0; i < placed->n && i < KS_MAX_PARAMS; i++)
        if (f->mask >> i & 1)
            ret[n++] =
                (struct ks_range){placed->buffers[i].shm_off, placed->buffers[i].bytes + 2ull * placed->buffers[i].red_bytes};
    return n;
}

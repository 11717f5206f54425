/* Plain memory of the process, for the contract's oracle: a function of the host, in a worker that holds the original alone. */
#include "harness/worker/device.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#define ALIGN_BYTES 256u

static enum ks_code host_open(const struct ks_wire_hello *hello, struct ks_str *ret_json, struct ks_err *err)
{
    /* The object names the emulated runtime, which nothing here calls. */
    if (hello->runtime_path[0] && !dlopen(hello->runtime_path, RTLD_NOW | RTLD_GLOBAL))
        return ks_fail(err, KS_ERR_DEVICE, "load the emulated device: %s", dlerror());
    ks_str_add(ret_json, "{\"kind\":\"host\"}");
    return KS_OK;
}

static enum ks_code host_configure(const struct ks_wire_config *config, struct ks_err *err)
{
    (void)config;
    (void)err;
    return KS_OK;
}

static enum ks_code host_place(const struct ks_wire_buffer *b, void **ret_p, struct ks_err *err)
{
    *ret_p = aligned_alloc(ALIGN_BYTES, (b->bytes / ALIGN_BYTES + 1) * ALIGN_BYTES);
    return *ret_p ? KS_OK
                  : ks_fail(err, KS_ERR_MEMORY_LIMIT, "allocate %llu bytes for '%s'", (unsigned long long)b->bytes, b->name);
}

static enum ks_code host_release(const struct ks_wire_buffer *b, void *p, struct ks_err *err)
{
    (void)b;
    (void)err;
    free(p);
    return KS_OK;
}

static enum ks_code host_fill(const struct ks_wire_prepare *prepare, const struct ks_wire_buffer *b, void *p,
                              const void *shm_data, struct ks_err *err)
{
    (void)prepare;
    if (b->source == KS_SOURCE_GENERATE)
        return ks_fail(err, KS_ERR_PROTOCOL, "make the contents of '%s' on the host", b->name);
    if (b->source == KS_SOURCE_SHM && b->bytes)
        memcpy(p, shm_data, b->bytes);
    for (uint64_t i = 0; b->source == KS_SOURCE_POISON && i < b->bytes; i++)
        ((unsigned char *)p)[i] = (unsigned char)(b->pattern >> (i % 4 * 8));
    return KS_OK;
}

static enum ks_code host_sync(struct ks_err *err)
{
    (void)err;
    return KS_OK;
}

static enum ks_code host_fetch(const struct ks_wire_prepare *prepare, const struct ks_wire_buffer *b, void *p, void *shm_data,
                               struct ks_err *err)
{
    (void)prepare;
    (void)err;
    if (b->bytes)
        memcpy(shm_data, p, b->bytes);
    return KS_OK;
}

static void *host_stream(void)
{
    return NULL;
}

static enum ks_code host_begin(const struct ks_wire_prepare *p, void *const *pointers, bool on_stream, struct ks_err *err)
{
    (void)p;
    (void)pointers;
    (void)on_stream;
    (void)err;
    return KS_OK;
}

static enum ks_code host_end(const struct ks_wire_prepare *p, void *const *pointers, bool on_stream, struct ks_call_result *ret,
                             struct ks_err *err)
{
    (void)ret;
    return host_begin(p, pointers, on_stream, err);
}

static enum ks_code host_report(const struct ks_wire_report *r, struct ks_str *out, double *ret_modelled_ns, struct ks_err *err)
{
    (void)r;
    (void)err;
    *ret_modelled_ns = 0;
    ks_str_add(out, "[]");
    return KS_OK;
}

const struct ks_device_ops ks_device_host = {.name = "host",
                                             .open = host_open,
                                             .configure = host_configure,
                                             .place = host_place,
                                             .release = host_release,
                                             .fill = host_fill,
                                             .sync = host_sync,
                                             .fetch = host_fetch,
                                             .stream = host_stream,
                                             .call_begin = host_begin,
                                             .call_end = host_end,
                                             .report = host_report};

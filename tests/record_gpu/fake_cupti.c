/* CUPTI's part: one subscriber, one kind of record. */
#include "tests/record_gpu/fake.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct {
    CUpti_CallbackFunc fn;
    void *arg;
    bool driver[2048], resource[64];
} subscriber;
static CUpti_BuffersCallbackRequestFunc wanted;
static CUpti_BuffersCallbackCompleteFunc complete;
static CUpti_ActivityKernel10 *records;
static size_t n_records, cap_records;

void fake_notify(CUpti_CallbackId id, const char *name, const void *params, CUpti_ApiCallbackSite site, CUresult *r,
                 uint32_t number, const char *symbol)
{
    uint64_t data = 0;
    CUpti_CallbackData cb = {.callbackSite = site,
                             .functionName = name,
                             .functionParams = params,
                             .functionReturnValue = r,
                             .symbolName = symbol,
                             .context = (CUcontext)&lock,
                             .correlationData = &data,
                             .correlationId = number};
    if (subscriber.fn && subscriber.driver[id])
        subscriber.fn(subscriber.arg, CUPTI_CB_DOMAIN_DRIVER_API, id, &cb);
}

void fake_notify_module(const CUpti_ResourceData *loaded)
{
    if (subscriber.fn && subscriber.resource[CUPTI_CBID_RESOURCE_MODULE_LOADED])
        subscriber.fn(subscriber.arg, CUPTI_CB_DOMAIN_RESOURCE, CUPTI_CBID_RESOURCE_MODULE_LOADED, loaded);
}

void fake_record(const CUpti_ActivityKernel10 *k)
{
    pthread_mutex_lock(&lock);
    if (n_records == cap_records) {
        cap_records = cap_records * 2 + 64;
        CUpti_ActivityKernel10 *more = calloc(cap_records, sizeof *more);
        if (n_records)
            memcpy(more, records, n_records * sizeof *more);
        free(records);
        records = more;
    }
    records[n_records++] = *k;
    pthread_mutex_unlock(&lock);
}

EXPORT CUptiResult cuptiSubscribe(CUpti_SubscriberHandle *ret, CUpti_CallbackFunc fn, void *arg)
{
    if (getenv("FAKE_CUPTI_TAKEN"))
        return CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED;
    subscriber.fn = fn;
    subscriber.arg = arg;
    *ret = (CUpti_SubscriberHandle)&subscriber;
    return CUPTI_SUCCESS;
}
EXPORT CUptiResult cuptiEnableCallback(uint32_t on, CUpti_SubscriberHandle s, CUpti_CallbackDomain domain, CUpti_CallbackId id)
{
    (void)s;
    (domain == CUPTI_CB_DOMAIN_RESOURCE ? subscriber.resource : subscriber.driver)[id] = on != 0;
    return CUPTI_SUCCESS;
}
EXPORT CUptiResult cuptiGetResultString(CUptiResult r, const char **ret)
{
    return *ret = r == CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED ? "another subscriber is there" : "?", CUPTI_SUCCESS;
}
EXPORT CUptiResult cuptiActivityRegisterCallbacks(CUpti_BuffersCallbackRequestFunc request,
                                                  CUpti_BuffersCallbackCompleteFunc done)
{
    wanted = request;
    complete = done;
    return CUPTI_SUCCESS;
}
EXPORT CUptiResult cuptiActivityEnable(CUpti_ActivityKind kind)
{
    bool known =
        kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL || kind == CUPTI_ACTIVITY_KIND_MEMCPY || kind == CUPTI_ACTIVITY_KIND_MEMSET;
    return known ? CUPTI_SUCCESS : CUPTI_ERROR_INVALID_KIND;
}
EXPORT CUptiResult cuptiActivityFlushAll(uint32_t flag)
{
    (void)flag;
    for (size_t at = 0;;) {
        uint8_t *buffer = NULL;
        size_t size = 0, most = 0, fit;
        pthread_mutex_lock(&lock);
        bool none = n_records == 0;
        pthread_mutex_unlock(&lock);
        if (none)
            return CUPTI_SUCCESS;
        wanted(&buffer, &size, &most);
        pthread_mutex_lock(&lock);
        fit = size / sizeof *records < n_records ? size / sizeof *records : n_records;
        memcpy(buffer, records + at, fit * sizeof *records);
        memmove(records, records + fit, (n_records - fit) * sizeof *records);
        n_records -= fit;
        pthread_mutex_unlock(&lock);
        complete(NULL, 0, buffer, size, fit * sizeof *records);
    }
}
EXPORT CUptiResult cuptiActivityGetNextRecord(uint8_t *buffer, size_t valid, CUpti_Activity **at)
{
    uint8_t *next = *at ? (uint8_t *)*at + sizeof(CUpti_ActivityKernel10) : buffer;
    if (next + sizeof(CUpti_ActivityKernel10) > buffer + valid)
        return CUPTI_ERROR_MAX_LIMIT_REACHED;
    *at = (CUpti_Activity *)(void *)next;
    return CUPTI_SUCCESS;
}

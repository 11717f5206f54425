#include "base/mem.h"

#include "base/err.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define ARENA_BLOCK_BYTES ((size_t)64 << 10)
#define ARENA_ALIGN       ((size_t)16)

struct ks_arena_block {
    struct ks_arena_block *next;
    size_t used_bytes;
    size_t size_bytes;
    _Alignas(16) unsigned char data[];
};

static void *check(void *p)
{
    if (!p) {
        fputs("kscc: out of memory [kscc-out-of-memory]\n", stderr);
        abort();
    }
    return p;
}

void *ks_xmalloc(size_t size_bytes)
{
    return check(malloc(size_bytes ? size_bytes : 1));
}

void *ks_xcalloc(size_t n, size_t size_bytes)
{
    return check(calloc(n ? n : 1, size_bytes ? size_bytes : 1));
}

void *ks_xrealloc_array(void *p, size_t n, size_t size_bytes)
{
    size_t total;
    KS_BUG(__builtin_mul_overflow(n, size_bytes, &total));
    return check(realloc(p, total ? total : 1));
}

char *ks_xstrdup(const char *s)
{
    return check(strdup(s));
}

char *ks_xstrndup(const char *s, size_t len)
{
    char *copy = ks_xmalloc(len + 1);
    memcpy(copy, s, len);
    copy[len] = '\0';
    return copy;
}

void ks_auto_free_(void *pp)
{
    void *p;
    memcpy(&p, pp, sizeof(p));
    free(p);
}

void ks_auto_fd_(int *fd)
{
    if (*fd >= 0)
        close(*fd);
}

void ks_arena_init(struct ks_arena *a)
{
    a->head = NULL;
    a->used_bytes = 0;
}

void ks_arena_release(struct ks_arena *a)
{
    for (struct ks_arena_block *b = a->head; b;) {
        struct ks_arena_block *next = b->next;
        free(b);
        b = next;
    }
    ks_arena_init(a);
}

void *ks_arena_alloc(struct ks_arena *a, size_t size_bytes)
{
    KS_BUG(size_bytes > SIZE_MAX / 2);
    size_bytes = (size_bytes + ARENA_ALIGN - 1) & ~(ARENA_ALIGN - 1);
    if (!a->head || a->head->size_bytes - a->head->used_bytes < size_bytes) {
        size_t block_bytes = size_bytes > ARENA_BLOCK_BYTES ? size_bytes : ARENA_BLOCK_BYTES;
        struct ks_arena_block *b = ks_xmalloc(sizeof(*b) + block_bytes);
        b->next = a->head;
        b->used_bytes = 0;
        b->size_bytes = block_bytes;
        a->head = b;
    }
    void *p = a->head->data + a->head->used_bytes;
    a->head->used_bytes += size_bytes;
    a->used_bytes += size_bytes;
    memset(p, 0, size_bytes);
    return p;
}

char *ks_arena_strdup(struct ks_arena *a, const char *s)
{
    return ks_arena_strndup(a, s, strlen(s));
}

char *ks_arena_strndup(struct ks_arena *a, const char *s, size_t len)
{
    char *copy = ks_arena_alloc(a, len + 1);
    memcpy(copy, s, len);
    return copy;
}

char *ks_arena_printf(struct ks_arena *a, const char *fmt, ...)
{
    va_list ap, again;
    va_start(ap, fmt);
    va_copy(again, ap);
    int len = vsnprintf(NULL, 0, fmt, ap);
    KS_BUG(len < 0);
    char *text = ks_arena_alloc(a, (size_t)len + 1);
    vsnprintf(text, (size_t)len + 1, fmt, again);
    va_end(again);
    va_end(ap);
    return text;
}

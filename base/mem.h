#ifndef KS_BASE_MEM_H
#define KS_BASE_MEM_H

/* Allocation that dies on exhaustion, scope-bound release, and arenas for data that lives as long as a run, a unit or a
 * candidate.  Arena memory is zeroed, 16-byte aligned and freed at once by ks_arena_release(). */

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

void *ks_xmalloc(size_t size_bytes);           /* contents undefined; aborts when out of memory */
void *ks_xcalloc(size_t n, size_t size_bytes); /* zeroed */
void *ks_xrealloc_array(void *p, size_t n, size_t size_bytes);
char *ks_xstrdup(const char *s);
char *ks_xstrndup(const char *s, size_t len);

void ks_auto_free_(void *pp);
void ks_auto_fd_(int *fd);
#define KS_AUTO_FREE __attribute__((cleanup(ks_auto_free_))) /* on an owned pointer */
#define KS_AUTO_FD   __attribute__((cleanup(ks_auto_fd_)))   /* on an int fd, -1: none */

/* Takes an owned pointer out of an auto variable, leaving NULL. */
#define ks_steal(p)                                                                                                              \
    __extension__({                                                                                                              \
        __typeof__(p) ks_steal_ = (p);                                                                                           \
        (p) = NULL;                                                                                                              \
        ks_steal_;                                                                                                               \
    })

struct ks_arena {
    struct ks_arena_block *head;
    size_t used_bytes; /* handed out so far */
};

void ks_arena_init(struct ks_arena *a);
void ks_arena_release(struct ks_arena *a);
void *ks_arena_alloc(struct ks_arena *a, size_t size_bytes);
char *ks_arena_strdup(struct ks_arena *a, const char *s);
char *ks_arena_strndup(struct ks_arena *a, const char *s, size_t len);
char *ks_arena_printf(struct ks_arena *a, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
#define KS_ARENA_NEW(a, type)      ((type *)ks_arena_alloc((a), sizeof(type)))
#define KS_ARENA_ARRAY(a, type, n) ((type *)ks_arena_alloc((a), sizeof(type) * (size_t)(n)))

#endif

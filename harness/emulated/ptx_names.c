#include "harness/emulated/ptx_parse.h"

#include <string.h>

static size_t hash_name(uint32_t scope, const char *text, size_t len)
{
    uint64_t h = 0xcbf29ce484222325u ^ scope * 0x9e3779b97f4a7c15u;
    for (size_t i = 0; i < len; i++)
        h = (h ^ (unsigned char)text[i]) * 0x100000001b3u;
    return (size_t)(h ^ h >> 32);
}

void ks_ptx_names_init(struct ptx_names *t)
{
    *t = (struct ptx_names){.cap = 256};
    t->slot = ks_xcalloc(t->cap, sizeof(*t->slot));
    ks_vec_push(&t->parent, 0);
}

void ks_ptx_names_release(struct ptx_names *t)
{
    free(t->slot);
    ks_vec_release(&t->parent);
    *t = (struct ptx_names){0};
}

uint32_t ks_ptx_names_scope(struct ptx_names *t, uint32_t parent)
{
    ks_vec_push(&t->parent, parent);
    return (uint32_t)t->parent.n - 1;
}

static struct ptx_name *find_slot(const struct ptx_names *t, uint32_t scope, const char *text, size_t len)
{
    size_t i = hash_name(scope, text, len) & (t->cap - 1);
    while (t->slot[i].kind != PTX_NAME_FREE &&
           !(t->slot[i].scope == scope && t->slot[i].len == len && memcmp(t->slot[i].text, text, len) == 0))
        i = (i + 1) & (t->cap - 1);
    return &t->slot[i];
}

static void grow(struct ptx_names *t)
{
    struct ptx_name *old = t->slot;
    size_t old_cap = t->cap;
    t->cap *= 2;
    t->slot = ks_xcalloc(t->cap, sizeof(*t->slot));
    for (size_t i = 0; i < old_cap; i++)
        if (old[i].kind != PTX_NAME_FREE)
            *find_slot(t, old[i].scope, old[i].text, old[i].len) = old[i];
    free(old);
}

void ks_ptx_names_add(struct ptx_names *t, const struct ptx_name *name)
{
    if (t->n * 2 >= t->cap)
        grow(t);
    struct ptx_name *s = find_slot(t, name->scope, name->text, name->len);
    if (s->kind == PTX_NAME_FREE)
        t->n++;
    *s = *name;
}

static const struct ptx_name *find_in_scope(const struct ptx_names *t, uint32_t scope, const char *text, size_t len,
                                            uint32_t *ret_index)
{
    const struct ptx_name *s = find_slot(t, scope, text, len);
    if (s->kind != PTX_NAME_FREE && s->kind != PTX_NAME_REG_RANGE) {
        *ret_index = s->index;
        return s;
    }
    size_t digits = len;
    while (digits > 0 && text[digits - 1] >= '0' && text[digits - 1] <= '9')
        digits--;
    /* every split between the name and its number: %rd<3> and %r<..> never collide, but foo1<2> may */
    for (size_t cut = digits; cut < len && cut > 0; cut++) {
        if (text[cut] == '0' && cut + 1 < len)
            continue;
        s = find_slot(t, scope, text, cut);
        if (s->kind != PTX_NAME_REG_RANGE || len - cut > 9)
            continue;
        uint32_t number = 0;
        for (size_t i = cut; i < len; i++)
            number = number * 10 + (uint32_t)(text[i] - '0');
        if (number < s->count) {
            *ret_index = s->index + number;
            return s;
        }
    }
    return NULL;
}

const struct ptx_name *ks_ptx_names_find(const struct ptx_names *t, uint32_t scope, const char *text, size_t len,
                                         uint32_t *ret_index)
{
    for (;;) {
        const struct ptx_name *s = find_in_scope(t, scope, text, len, ret_index);
        if (s || scope == 0)
            return s;
        scope = t->parent.data[scope];
    }
}

/* ptxas -v text, which nvcc prints to stderr. */

#include "analyzer/hypothesis.h"

#include "base/str.h"

#include <stdio.h>
#include <string.h>

struct reader {
    struct ks_arena *arena;
    KS_VEC(struct ks_ptxas_info) infos;
    struct ks_ptxas_info *current; /* the function that the lines are about; NULL: one that is no kernel */
};

/* The text between quotes, or up to the end of a word. */
static const char *word_after(struct reader *r, const char *line, const char *phrase)
{
    const char *at = strstr(line, phrase);
    if (!at)
        return NULL;
    at += strlen(phrase);
    at += *at == '\'';
    return ks_arena_strndup(r->arena, at, strcspn(at, "' \t\r\n"));
}

static struct ks_ptxas_info *find(struct reader *r, const char *mangled, bool make)
{
    for (size_t i = 0; i < r->infos.n; i++) {
        if (ks_streq(r->infos.data[i].mangled, mangled))
            return &r->infos.data[i];
    }
    if (!make)
        return NULL;
    struct ks_ptxas_info info = {mangled, -1, -1, -1, -1, 0};
    ks_vec_push(&r->infos, info);
    return &r->infos.data[r->infos.n - 1];
}

/* The number that stands before `unit`: "256 bytes smem". */
static void number_before(const char *line, const char *unit, int *ret)
{
    const char *at = strstr(line, unit);
    if (!at)
        return;
    while (at > line && at[-1] >= '0' && at[-1] <= '9')
        at--;
    int value;
    if (sscanf(at, "%d", &value) == 1)
        *ret = value;
}

static void read_line(struct reader *r, const char *line)
{
    const char *entry = word_after(r, line, "Compiling entry function ");
    const char *function = entry ? NULL : word_after(r, line, "Function properties for ");
    if (entry)
        r->current = find(r, entry, true);
    else if (function)
        r->current = find(r, function, false);
    struct ks_ptxas_info *i = r->current;
    if (!i)
        return;
    number_before(line, " bytes stack frame", &i->stack_bytes);
    number_before(line, " bytes spill stores", &i->spill_store_bytes);
    number_before(line, " bytes spill loads", &i->spill_load_bytes);
    number_before(line, " registers", &i->registers);
    number_before(line, " bytes smem", &i->static_shared_bytes);
}

void ks_ptxas_parse(const char *text, size_t len, struct ks_arena *arena, struct ks_ptxas_info **ret_infos, size_t *ret_n)
{
    struct reader r = {.arena = arena};
    for (size_t at = 0; at < len;) {
        const char *end = memchr(text + at, '\n', len - at);
        size_t line_len = end ? (size_t)(end - (text + at)) : len - at;
        char *line = ks_xstrndup(text + at, line_len);
        read_line(&r, line);
        free(line);
        at += line_len + 1;
    }
    *ret_n = r.infos.n;
    *ret_infos = KS_ARENA_ARRAY(arena, struct ks_ptxas_info, r.infos.n + 1);
    if (r.infos.n)
        memcpy(*ret_infos, r.infos.data, r.infos.n * sizeof **ret_infos);
    ks_vec_release(&r.infos);
}

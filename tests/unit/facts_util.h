#ifndef KS_TESTS_UNIT_FACTS_UTIL_H
#define KS_TESTS_UNIT_FACTS_UTIL_H

/* A unit parsed for a test, and the look-ups that the tests of facts share. */

#include "analyzer/facts.h"
#include "base/file.h"
#include "base/limits.h"
#include "base/str.h"
#include "tests/unit/parse_options.h"

#include <string.h>

struct unit {
    struct ks_arena arena;
    struct ks_diags diags;
    struct ks_facts *facts; /* NULL: the parse failed with `code` */
    enum ks_code code;
    struct ks_err err;
};

static inline void unit_parse_words(struct unit *u, const char *path, const char *text, char *const *words)
{
    memset(u, 0, sizeof *u);
    ks_arena_init(&u->arena);
    ks_diags_init(&u->diags);
    struct ks_parse_options opt;
    parse_options(words, &u->arena, &opt);
    opt.user_headers = true;
    u->code = ks_facts_parse(path, text, strlen(text), &opt, &u->arena, &u->diags, &u->facts, &u->err);
}

static inline void unit_parse(struct unit *u, const char *text)
{
    char *words[] = {(char *)"nvcc", (char *)"-arch=sm_90a", (char *)"-c", (char *)"unit.cu", NULL};
    unit_parse_words(u, "unit.cu", text, words);
}

static inline void unit_parse_example(struct unit *u, const char *name)
{
    KS_AUTO_STR struct ks_str path = KS_STR_INIT, text = KS_STR_INIT;
    ks_str_addf(&path, "%s/kernels/examples/%s.cu", KSCC_SOURCE_DIR, name);
    struct ks_err err;
    char *words[] = {(char *)"nvcc", (char *)"-arch=sm_90a", NULL};
    if (ks_file_read(ks_str_cstr(&path), KS_MAX_SOURCE_BYTES, &text, &err) != KS_OK)
        ks_str_clear(&text);
    unit_parse_words(u, ks_str_cstr(&path), ks_str_cstr(&text), words);
}

static inline void unit_release(struct unit *u)
{
    ks_diags_release(&u->diags);
    ks_arena_release(&u->arena);
}

/* The n-th access to a buffer that reads (or writes); NULL: none. */
static inline const struct ks_access *access_of(const struct ks_kernel *k, const char *buffer, bool writes, size_t n)
{
    for (size_t i = 0; k && i < k->n_accesses; i++) {
        const struct ks_access *a = &k->accesses[i];
        bool is_it = a->buffer && strcmp(a->buffer->name, buffer) == 0 && (writes ? a->is_write : a->is_read);
        if (is_it && n-- == 0)
            return a;
    }
    return NULL;
}

static inline const struct ks_loop *loop_of(const struct ks_kernel *k, const char *variable, size_t n)
{
    for (size_t i = 0; k && i < k->n_loops; i++) {
        if (k->loops[i].variable && strcmp(k->loops[i].variable->name, variable) == 0 && n-- == 0)
            return &k->loops[i];
    }
    return NULL;
}

/* Polynomial as text, valid until the next call. */
static inline const char *poly_text(const struct ks_poly *p)
{
    static struct ks_str out;
    ks_str_clear(&out);
    ks_poly_print(p, &out);
    return ks_str_cstr(&out);
}

static inline const char *node_text(const struct unit *u, const struct ks_node *n)
{
    size_t len;
    const char *text = ks_node_text(u->facts, n, &len);
    return ks_arena_strndup((struct ks_arena *)&u->arena, text, len);
}

#endif

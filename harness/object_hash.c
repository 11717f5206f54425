#include "harness/elf.h"

#include "base/hash.h"

#include <elf.h>
#include <stdio.h>
#include <string.h>

/* nvcc numbers a module by its file's path: eight hexadecimal digits behind one of these, in names with internal linkage and in
 * the strings that kernels are registered by. */
static void blank_module_ids(char *bytes, size_t n)
{
    static const char *const marks[] = {"_GLOBAL__N__", "_INTERNAL_"};
    for (size_t i = 0; i < sizeof marks / sizeof *marks; i++) {
        size_t len = strlen(marks[i]);
        for (char *p = bytes, *end = bytes + n; (p = memmem(p, (size_t)(end - p), marks[i], len)) != NULL;) {
            p += len;
            size_t k = 0;
            while (k < 8 && p + k < end && strchr("0123456789abcdef", p[k]) && p[k])
                k++;
            if (k == 8 && p + 8 < end && p[8] == '_')
                memset(p, '0', 8);
        }
    }
}

static void add_text(struct ks_hash *h, const char *text)
{
    KS_AUTO_STR struct ks_str copy = KS_STR_INIT;
    ks_str_add(&copy, text);
    blank_module_ids(copy.data, copy.len);
    ks_hash_update_field(h, copy.data, copy.len);
}

static void add_number(struct ks_hash *h, uint64_t n)
{
    ks_hash_update(h, &n, sizeof n);
}

/* Machine code of the device is in the object that is emitted and not in the one of the emulated device; ptxas makes it of the
 * PTX. */
static void add_section(struct ks_hash *h, const struct ks_section *s)
{
    KS_AUTO_STR struct ks_str copy = KS_STR_INIT;
    add_text(h, s->name);
    add_number(h, s->type);
    add_number(h, s->flags);
    if (ks_streq(s->name, ".nv_fatbin"))
        return;
    add_number(h, s->size_bytes);
    if (!s->bytes)
        return;
    ks_str_add(&copy, "");
    ks_str_addn(&copy, (const char *)s->bytes, s->size_bytes);
    blank_module_ids(copy.data, copy.len);
    ks_hash_update_field(h, copy.data, copy.len);
}

/* What is defined here is its place, whatever a compiler calls it; a name is what another object may know it by. */
static void add_reloc(struct ks_hash *h, const struct ks_object *o, const struct ks_reloc *r)
{
    const struct ks_symbol *s = &o->symbols[r->symbol];
    add_number(h, r->off_byte);
    add_number(h, r->type);
    add_text(h, s->external ? s->name : "");
    add_number(h, s->section);
    add_number(h, s->value + (uint64_t)r->addend);
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static void add_exports(struct ks_hash *h, const struct ks_object *o)
{
    KS_VEC(char *) rows = {NULL, 0, 0};
    for (size_t i = 0; i < o->n_symbols; i++) {
        const struct ks_symbol *s = &o->symbols[i];
        if (!s->external || !s->name[0])
            continue;
        struct ks_str row = KS_STR_INIT;
        ks_str_addf(&row, "%s %zu %llu %zu %d%d%d%d", s->name, s->section, (unsigned long long)s->value, s->size_bytes,
                    s->defined, s->weak, s->function, s->state);
        blank_module_ids(row.data, row.len);
        ks_vec_push(&rows, row.data);
    }
    if (rows.n)
        qsort(rows.data, rows.n, sizeof *rows.data, by_text);
    for (size_t i = 0; i < rows.n; i++) {
        ks_hash_update_field(h, rows.data[i], strlen(rows.data[i]));
        free(rows.data[i]);
    }
    ks_vec_release(&rows);
}

void ks_object_code_hash(const struct ks_object *o, char ret_hex[65])
{
    struct ks_hash h;
    ks_hash_init(&h);
    size_t k = 0;
    for (size_t i = 1; i < o->n_sections; i++) {
        if (!(o->sections[i].flags & (SHF_ALLOC | SHF_EXECINSTR)))
            continue;
        add_number(&h, i);
        add_section(&h, &o->sections[i]);
        for (; k < o->n_relocs && o->relocs[k].section <= i; k++)
            if (o->relocs[k].section == i)
                add_reloc(&h, o, &o->relocs[k]);
    }
    add_exports(&h, o);
    ks_hash_final_hex(&h, ret_hex);
}

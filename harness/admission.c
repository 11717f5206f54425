/* The two gates that read the object: interface and admission. */
#include "harness/object.h"

#include <stdio.h>
#include <string.h>

/* `word` stands in `text` and is not part of a longer identifier. */
static bool has_word(const char *text, const char *word, const char *before)
{
    size_t n = strlen(word);
    for (const char *p = text; (p = strstr(p, word)) != NULL; p += n) {
        char after = p[n];
        bool ends = !((after >= '0' && after <= '9') || (after >= 'A' && after <= 'Z') || (after >= 'a' && after <= 'z') ||
                      after == '_' || after == '$');
        size_t k = strlen(before);
        if (ends && (size_t)(p - text) >= k && memcmp(p - k, before, k) == 0)
            return true;
    }
    return false;
}

static bool is_kernel(const struct ks_object *o, const char *name)
{
    return strstr(name, "__device_stub_") != NULL || has_word(ks_str_cstr(&o->ptx), name, ".entry ");
}

/* Weak C++ definitions: templates and inline functions.  Replacing operator new or delete is not one of them. */
static bool is_template_instance(const char *name)
{
    static const char *const operators[] = {"_Znw", "_Zna", "_Zdl", "_Zda"};
    for (size_t i = 0; i < sizeof operators / sizeof *operators; i++)
        if (ks_str_starts(name, operators[i]))
            return false;
    return ks_str_starts(name, "_Z") || ks_str_starts(name, "DW.ref.");
}

bool ks_interface_check(const struct ks_object *baseline, const struct ks_object *candidate, const char *entry_symbol,
                        struct ks_str *reason)
{
    const struct ks_symbol *entry = ks_object_symbol(candidate, entry_symbol);
    if (!entry || !entry->defined || !entry->external || !entry->function) {
        ks_str_addf(reason, "the entry's symbol '%s' is gone: its name or its parameter types changed", entry_symbol);
        return false;
    }
    for (size_t i = 0; i < baseline->n_symbols; i++) {
        const struct ks_symbol *b = &baseline->symbols[i];
        if (!b->defined || !b->external || b->weak || is_kernel(baseline, b->name))
            continue;
        const struct ks_symbol *c = ks_object_symbol(candidate, b->name);
        if (!c || !c->defined || !c->external || c->function != b->function) {
            ks_str_addf(reason, "external symbol '%s' of the original is missing", b->name);
            return false;
        }
    }
    for (size_t i = 0; i < candidate->n_symbols; i++) {
        const struct ks_symbol *c = &candidate->symbols[i];
        if (!c->defined || !c->external || is_kernel(candidate, c->name))
            continue;
        const struct ks_symbol *b = ks_object_symbol(baseline, c->name);
        if (b && b->defined)
            continue;
        if (c->weak && is_template_instance(c->name))
            continue;
        ks_str_addf(reason, "defines a new external symbol '%s'", c->name);
        return false;
    }
    return true;
}

static const struct {
    bool allowed;
    const char *pattern;
} undefined_rules[] = {
#define X(allowed, pattern) {allowed, pattern},
#include "harness/allow_undefined.def"
#undef X
};

bool ks_admission_symbol_allowed(const char *name)
{
    for (size_t i = 0; i < sizeof undefined_rules / sizeof *undefined_rules; i++) {
        const char *pattern = undefined_rules[i].pattern, *star = strchr(pattern, '*');
        bool hit = star ? strncmp(name, pattern, (size_t)(star - pattern)) == 0 && ks_str_ends(name, star + 1)
                        : strcmp(name, pattern) == 0;
        if (hit)
            return undefined_rules[i].allowed;
    }
    return false;
}

/* The host-side shadow that nvcc makes of a __device__ or __constant__ variable: its name is in the PTX. */
static bool is_device_shadow(const struct ks_object *o, const char *name)
{
    const char *plain = name;
    int digits = 0;
    size_t len = 0;
    if (sscanf(name, "_ZL%zu%n", &len, &digits) == 1 && strlen(name + digits) == len)
        plain = name + digits;
    const char *ptx = ks_str_cstr(&o->ptx);
    size_t n = strlen(plain);
    for (const char *p = ptx; (p = strstr(p, plain)) != NULL; p += n) {
        const char *line = p;
        while (line > ptx && line[-1] != '\n')
            line--;
        while (*line == ' ' || *line == '\t')
            line++;
        bool variable = strncmp(line, ".global", 7) == 0 || strncmp(line, ".const", 6) == 0 ||
                        strncmp(line, ".visible .global", 16) == 0 || strncmp(line, ".visible .const", 15) == 0;
        if (variable && (p[n] == ';' || p[n] == '[' || p[n] == ' ' || p[n] == '='))
            return true;
    }
    return false;
}

/* Host state that every nvcc object has. */
static bool is_glue(const char *name)
{
    static const char *const glue[] = {"__device_stub_", "__cudaFatCubinHandle", "__fatDeviceText", "__nv_", "__module_id_str",
                                       "DW.ref.",        "__fatbinwrap"};
    for (size_t i = 0; i < sizeof glue / sizeof *glue; i++)
        if (strstr(name, glue[i]))
            return true;
    return false;
}

bool ks_admission_check(const struct ks_object *baseline, const struct ks_object *candidate, struct ks_str *reason)
{
    for (size_t i = 0; i < candidate->n_symbols; i++) {
        const struct ks_symbol *c = &candidate->symbols[i], *b;
        if (!c->defined && !ks_admission_symbol_allowed(c->name)) {
            b = ks_object_symbol(baseline, c->name);
            if (!b || b->defined) {
                ks_str_addf(reason, "host code calls '%s', which is not on the allow-list and which the original does not call",
                            c->name);
                return false;
            }
        }
        if (c->state && !is_glue(c->name) && !is_device_shadow(candidate, c->name)) {
            b = ks_object_symbol(baseline, c->name);
            if (!b || !b->state) {
                ks_str_addf(reason, "keeps host state between calls: variable '%s'", c->name);
                return false;
            }
        }
    }
    if (candidate->constructors_bytes > baseline->constructors_bytes ||
        candidate->destructors_bytes > baseline->destructors_bytes) {
        ks_str_addf(reason, "runs code before or after main: %zu bytes of constructors where the original has %zu",
                    candidate->constructors_bytes + candidate->destructors_bytes,
                    baseline->constructors_bytes + baseline->destructors_bytes);
        return false;
    }
    if (candidate->n_syscalls > baseline->n_syscalls) {
        ks_str_add(reason, "host code contains a system call instruction");
        return false;
    }
    if (candidate->n_indirect > baseline->n_indirect) {
        ks_str_add(reason, "host code contains an indirect function (resolved by code of its own at load time)");
        return false;
    }
    if (candidate->n_fatbins != baseline->n_fatbins) {
        ks_str_addf(reason, "has %zu fat binaries where the original has %zu", candidate->n_fatbins, baseline->n_fatbins);
        return false;
    }
    return true;
}

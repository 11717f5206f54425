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

/* The next declaration of module-scope storage in `space` (".global", ".const") at or after p: from the space's name to the
 * initial value or the end.  The name as part of an instruction ("ld.global") is none. */
static const char *declaration_next(const char *p, const char *space, size_t *ret_len)
{
    size_t n = strlen(space);
    for (const char *text = p; (p = strstr(p, space)) != NULL; p += n) {
        if ((p > text && !strchr(" \t\n;{}/", p[-1])) || !strchr(" \t\n.", p[n]))
            continue;
        *ret_len = strcspn(p, ";=");
        while (*ret_len > n && (p[*ret_len - 1] == ' ' || p[*ret_len - 1] == '\t'))
            (*ret_len)--;
        return p;
    }
    return NULL;
}

/* What a declaration declares: the last word before its bracket. */
static const char *declared_name(const char *declaration, size_t len, size_t *ret_len)
{
    const char *end = memchr(declaration, '[', len), *p = end ? end : declaration + len;
    const char *last = p;
    while (p > declaration && !strchr(" \t\n", p[-1]))
        p--;
    *ret_len = (size_t)(last - p);
    return p;
}

/* Texts of printf and assert, which the compiler places in .global. */
static bool is_compiler_text(const char *name, size_t len)
{
    return (len >= 4 && memcmp(name, "$str", 4) == 0) || (len >= 10 && memcmp(name, "__unnamed_", 10) == 0);
}

/* Storage of this space that the original does not declare with the same type and size; NULL: none. */
static const char *new_storage(const struct ks_object *baseline, const struct ks_object *candidate, const char *space,
                               size_t *ret_len)
{
    size_t len = 0, base_len = 0, name_len = 0;
    for (const char *d = ks_str_cstr(&candidate->ptx); (d = declaration_next(d, space, &len)) != NULL; d += len) {
        const char *name = declared_name(d, len, &name_len), *b = ks_str_cstr(&baseline->ptx);
        if (is_compiler_text(name, name_len))
            continue;
        while ((b = declaration_next(b, space, &base_len)) != NULL && !(base_len == len && memcmp(b, d, len) == 0))
            b += base_len;
        if (!b) {
            *ret_len = name_len;
            return name;
        }
    }
    return NULL;
}

/* Host code can change constants. */
static bool writes_symbols(const struct ks_object *o)
{
    for (size_t i = 0; i < o->n_symbols; i++)
        if (!o->symbols[i].defined && (ks_str_starts(o->symbols[i].name, "cudaMemcpyToSymbol") ||
                                       ks_str_starts(o->symbols[i].name, "cudaGetSymbolAddress")))
            return true;
    return false;
}

/* Device code must be a function of its arguments, as the original is: nothing kept from call to call, no look at a clock. */
static bool device_code_check(const struct ks_object *baseline, const struct ks_object *candidate, struct ks_str *reason)
{
    static const char *const tells_time[] = {"%clock", "%globaltimer", "%gridid", "%pm"};
    size_t len = 0;
    const char *name = new_storage(baseline, candidate, ".global", &len);
    if (name) {
        ks_str_addf(reason, "keeps device state between calls: variable '%.*s'", (int)len, name);
        return false;
    }
    name = writes_symbols(candidate) ? new_storage(baseline, candidate, ".const", &len) : NULL;
    if (name) {
        ks_str_addf(reason, "keeps device state between calls: host code can write the constant '%.*s'", (int)len, name);
        return false;
    }
    for (size_t i = 0; i < sizeof tells_time / sizeof *tells_time; i++)
        if (strstr(ks_str_cstr(&candidate->ptx), tells_time[i]) && !strstr(ks_str_cstr(&baseline->ptx), tells_time[i])) {
            ks_str_addf(reason, "device code reads %s, which differs from call to call and which the original does not read",
                        tells_time[i]);
            return false;
        }
    return true;
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
    return device_code_check(baseline, candidate, reason);
}

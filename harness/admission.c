/* The two gates that read the object: interface and admission. */
#include "harness/elf.h"

#include <elf.h>
#include <stdint.h>
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

static const char *const undefined_allowed[] = {
#define X(pattern) pattern,
#include "harness/allow_undefined.def"
#undef X
};

/* The runtime's functions for a default stream of each thread go by another name. */
static bool same_name(const char *name, const char *allowed)
{
    size_t n = strlen(allowed);
    if (strncmp(name, allowed, n) != 0)
        return false;
    return !name[n] || (strstr(allowed, "cuda") && (ks_streq(name + n, "_ptsz") || ks_streq(name + n, "_ptds")));
}

bool ks_admission_symbol_allowed(const char *name)
{
    for (size_t i = 0; i < sizeof undefined_allowed / sizeof *undefined_allowed; i++) {
        const char *pattern = undefined_allowed[i], *star = strchr(pattern, '*');
        if (star ? strncmp(name, pattern, (size_t)(star - pattern)) == 0 : same_name(name, pattern))
            return true;
    }
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

/* The host has a symbol of that name: it can be asked for the variable's address. */
static bool host_knows(const struct ks_object *o, const char *name, size_t name_len)
{
    for (size_t i = 0; i < o->n_symbols; i++)
        if (memmem(o->symbols[i].name, strlen(o->symbols[i].name), name, name_len))
            return true;
    return false;
}

/* A table as the compiler places it in .global, the text of a literal or what sinf() looks up: bytes with an initial value, unknown
 * to the host and to other modules. */
static bool is_compiler_table(const struct ks_object *o, const char *declaration, size_t len, const char *name, size_t name_len)
{
    return ks_str_starts(declaration, ".global .align ") && memmem(declaration, len, " .b8 ", 5) &&
           ks_str_starts(declaration + len, " = {") && !host_knows(o, name, name_len);
}

/* The call behind a parameter's store is printf's or assert's. */
static bool is_for_printing(const char *line)
{
    const char *call = strstr(line, "call");
    KS_AUTO_FREE char *text = call ? ks_xstrndup(call, strcspn(call, ";")) : NULL;
    if (text && memchr(line, '/', (size_t)(call - line) + strlen(text))) /* the call may be in a comment */
        return false;
    static const char *const blanks[] = {" ", "\t", "\n"}; /* the whole name, not the end of one */
    for (size_t i = 0; text && i < sizeof blanks / sizeof *blanks; i++)
        if (has_word(text, "vprintf", blanks[i]) || has_word(text, "__assertfail", blanks[i]))
            return true;
    return false;
}

/* What is stored in a thread's own memory stays there: nothing in the function [begin, end) could load an address from it, and
 * nobody else is called who could. */
static bool keeps_stores(const char *begin, const char *end)
{
    static const char *const loads[] = {"param.", "global.", "shared.", "const."};
    for (const char *p = begin; (p = memmem(p, (size_t)(end - p), "ld.", 3)) != NULL; p += 3) {
        bool elsewhere = false;
        for (size_t i = 0; i < sizeof loads / sizeof *loads; i++)
            elsewhere |= ks_str_starts(p + 3, loads[i]);
        if (!elsewhere)
            return false;
    }
    for (const char *p = begin; (p = memmem(p, (size_t)(end - p), "call", 4)) != NULL; p += 4)
        if (strchr(" \t\n.(", p[4]) && !is_for_printing(p))
            return false;
    return !memmem(begin, (size_t)(end - begin), "atom.", 5);
}

/* What happens to a table's address in the function [begin, end): copied, moved along, read through, printed.  Nothing else, so
 * that nobody writes there.  `value`: the table's name or a register.  A statement ends where one may: a part of one that is cut in
 * two has no operation that is known. */
static bool is_only_read(const char *begin, const char *end, const char *value, int depth)
{
    static const char *const copies[] = {"mov.u64", "mov.b64", "cvta.global.u64", "add.s64", "add.u64", "selp.b64"};
    size_t value_len = strlen(value);
    for (const char *at = begin; at < end && (at = memmem(at, (size_t)(end - at), value, value_len)) != NULL;) {
        const char *line = at, *over = at + strcspn(at, ";\n");
        while (line > begin && !strchr(";\n", line[-1]))
            line--;
        KS_AUTO_FREE char *text = ks_xstrndup(line, (size_t)(over - line));
        char *op = text + strspn(text, " \t"), *to = op + strcspn(op, " \t"), *rest;
        at = over;
        if (!has_word(text, value, ""))
            continue;
        if (!*to || strchr(text, '/')) /* a comment may hold the operation that is seen */
            return false;
        *to++ = 0;
        to += strspn(to, " \t");
        rest = to + strcspn(to, ",]");
        bool stores = (ks_str_starts(op, "st.local.") && keeps_stores(begin, end)) ||
                      (ks_str_starts(op, "st.param.") && is_for_printing(line));
        bool known = ks_str_starts(op, "ld.global.") || ks_str_starts(op, "ld.u8") || ks_str_starts(op, "ld.s8");
        for (size_t i = 0; i < sizeof copies / sizeof *copies; i++)
            if (ks_streq(op, copies[i]) && *to == '%') { /* no vector, whose parts would be names of their own */
                KS_AUTO_FREE char *next = ks_xstrndup(to, strcspn(to, ", \t"));
                known = ks_streq(next, value) || (depth > 0 && is_only_read(begin, end, next, depth - 1));
            }
        if (!known && !(stores && has_word(rest, value, ""))) /* the value that is stored, not the place */
            return false;
        if (stores) {
            *rest = 0;
            if (has_word(to, value, ""))
                return false;
        }
    }
    return true;
}

static bool is_mentioned(const char *begin, const char *end, const char *word)
{
    KS_AUTO_FREE char *text = memmem(begin, (size_t)(end - begin), word, strlen(word)) ? ks_xstrndup(begin, (size_t)(end - begin)) : NULL;
    return text && has_word(text, word, "");
}

/* Whether every use of a variable, wherever it is, only reads it. */
static bool is_constant(const struct ks_object *o, const char *declaration, const char *name, size_t name_len)
{
    KS_AUTO_FREE char *word = ks_xstrndup(name, name_len);
    for (const char *p = ks_str_cstr(&o->ptx), *next; *p; p = next) { /* a piece: from one function's head to the next's */
        const char *entry = strstr(p + 1, ".entry "), *func = strstr(p + 1, ".func ");
        next = !entry || (func && func < entry) ? func : entry;
        next = next ? next : p + strlen(p);
        bool here = declaration >= p && declaration < next; /* its own name is passed over, its value is not */
        if (!is_only_read(p, here ? declaration : next, word, 6) || (here && !is_only_read(name + name_len, next, word, 6)))
            return false;
    }
    return true;
}

/* Host code can change variables of the device. */
static bool writes_symbols(const struct ks_object *o)
{
    static const char *const ways[] = {"ToSymbol", "GetSymbolAddress", "GetGlobal"};
    for (size_t i = 0; i < o->n_symbols; i++)
        for (size_t k = 0; k < sizeof ways / sizeof *ways && !o->symbols[i].defined; k++)
            if (strstr(o->symbols[i].name, ways[k]))
                return true;
    return false;
}

/* What stands in .global and yet keeps nothing: a table that is only read; bytes that no device code mentions (of std::ignore and
 * the like), as long as no host code can use them as a place of its own, either. */
static bool is_no_state(const struct ks_object *o, const char *declaration, size_t len, const char *name, size_t name_len)
{
    KS_AUTO_FREE char *word = ks_xstrndup(name, name_len);
    const char *ptx = ks_str_cstr(&o->ptx);
    if (is_mentioned(ptx, declaration, word) || is_mentioned(name + name_len, ptx + o->ptx.len, word))
        return is_compiler_table(o, declaration, len, name, name_len) && is_constant(o, declaration, name, name_len);
    const char *line = declaration;
    while (line > ptx && line[-1] != '\n')
        line--;
    return line == declaration && ks_str_starts(declaration, ".global .align ") && !writes_symbols(o);
}

/* Storage of this space that the original does not declare with the same type and size; what keeps nothing there may keep nothing
 * here.  NULL: none. */
static const char *new_storage(const struct ks_object *baseline, const struct ks_object *candidate, const char *space,
                               size_t *ret_len)
{
    size_t len = 0, base_len = 0, name_len = 0;
    for (const char *d = ks_str_cstr(&candidate->ptx); (d = declaration_next(d, space, &len)) != NULL; d += len) {
        const char *name = declared_name(d, len, &name_len), *b = ks_str_cstr(&baseline->ptx);
        if (is_no_state(candidate, d, len, name, name_len))
            continue;
        while ((b = declaration_next(b, space, &base_len)) != NULL && !(base_len == len && memcmp(b, d, len) == 0))
            b += base_len;
        if (!b || is_no_state(baseline, b, len, b + (name - d), name_len)) {
            *ret_len = name_len;
            return name;
        }
    }
    return NULL;
}

bool ks_device_state_check(const struct ks_object *o, struct ks_str *reason)
{
    static const struct ks_object none;
    size_t len = 0;
    const char *name = new_storage(&none, o, ".global", &len);
    if (name)
        ks_str_addf(reason, "keeps device state between calls: variable '%.*s'", (int)len, name);
    return !name;
}

/* A function of the device's own runtime that the original does not call: what it does is seen outside (printf), or lasts longer
 * than the call (the device's heap). */
static const char *new_system_call(const struct ks_object *baseline, const struct ks_object *candidate)
{
    static const char *const names[] = {"vprintf", "malloc"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (has_word(ks_str_cstr(&candidate->ptx), names[i], " ") && !has_word(ks_str_cstr(&baseline->ptx), names[i], " "))
            return names[i];
    return NULL;
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
    name = new_system_call(baseline, candidate);
    if (name) {
        ks_str_addf(reason, "device code calls %s, which the original does not", ks_streq(name, "vprintf") ? "printf" : name);
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

/* Names that only nvcc's glue has a use for: code run when the program ends, device code from elsewhere, and writable bytes of
 * the linker's and of crtbegin's. */
static bool is_for_glue(const char *name)
{
    static const char *const names[] = {"atexit",           "__cudaRegister*", "__cudaUnregister*",
                                        "__cudaInitModule", "__dso_handle",    "_GLOBAL_OFFSET_TABLE_"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (ks_streq(name, names[i]) || (ks_str_ends(names[i], "*") && strncmp(name, names[i], strlen(names[i]) - 1) == 0))
            return true;
    return false;
}

static size_t uses_outside_glue(const struct ks_object *o, const char *name)
{
    size_t n = 0;
    for (size_t i = 0; i < o->n_relocs; i++) {
        const struct ks_reloc *r = &o->relocs[i];
        n += ks_streq(o->symbols[r->symbol].name, name) &&
             !ks_symbol_is_glue_function(ks_object_symbol_at(o, r->section, r->off_byte));
    }
    return n;
}

/* Everything undefined is allowed, or the original's too. */
static bool undefined_check(const struct ks_object *baseline, const struct ks_object *candidate, struct ks_str *reason)
{
    for (size_t i = 0; i < candidate->n_symbols; i++) {
        const struct ks_symbol *c = &candidate->symbols[i], *b;
        if (c->defined)
            continue;
        b = ks_object_symbol(baseline, c->name);
        if (!ks_admission_symbol_allowed(c->name) && (!b || b->defined)) {
            ks_str_addf(reason, "host code calls '%s', which is not on the allow-list and which the original does not call",
                        c->name);
            return false;
        }
        if (is_for_glue(c->name) && uses_outside_glue(candidate, c->name) > uses_outside_glue(baseline, c->name)) {
            ks_str_addf(reason, "host code calls '%s', which only the compiler's own code may", c->name);
            return false;
        }
    }
    return true;
}

static size_t section_bytes(const struct ks_object *o, const char *name)
{
    size_t n = 0;
    for (size_t i = 1; i < o->n_sections; i++)
        if (ks_streq(o->sections[i].name, name) && (o->sections[i].flags & SHF_EXECINSTR))
            n += o->sections[i].size_bytes;
    return n;
}

/* Code lies where compilers put functions: what stands in .init or .fini runs before or after main; an executable
 * .note.GNU-stack asks for a stack that can hold code. */
static bool sections_check(const struct ks_object *baseline, const struct ks_object *candidate, struct ks_str *reason)
{
    for (size_t i = 1; i < candidate->n_sections; i++) {
        const struct ks_section *s = &candidate->sections[i];
        if (!(s->flags & SHF_EXECINSTR) || ks_streq(s->name, ".text") || ks_str_starts(s->name, ".text."))
            continue;
        if (!ks_streq(s->name, ".note.GNU-stack") && s->size_bytes == 0)
            continue;
        size_t allowed = section_bytes(baseline, s->name);
        if (allowed == 0 || section_bytes(candidate, s->name) != allowed) {
            ks_str_addf(reason, "has code in section '%s', where the original has other code or none", s->name);
            return false;
        }
    }
    return true;
}

/* Bytes of the constructor that a relocation names, 0: nvcc's registration, which every object has. */
static size_t constructor_bytes(const struct ks_object *o, const struct ks_reloc *r)
{
    const struct ks_symbol *to = &o->symbols[r->symbol];
    const struct ks_symbol *f = ks_object_symbol_at(o, to->section, to->value + (uint64_t)r->addend);
    return ks_symbol_is_glue_function(f) ? 0 : f ? f->size_bytes : SIZE_MAX;
}

static bool has_constructor(const struct ks_object *o, size_t bytes)
{
    for (size_t i = 0; i < o->n_relocs; i++)
        if (o->sections[o->relocs[i].section].type == SHT_INIT_ARRAY && constructor_bytes(o, &o->relocs[i]) == bytes)
            return true;
    return false;
}

/* No more constructors than the original has, and each is nvcc's registration or as long as one of the original's (iostream's).
 */
static bool constructors_check(const struct ks_object *baseline, const struct ks_object *candidate, struct ks_str *reason)
{
    if (candidate->constructors_bytes > baseline->constructors_bytes ||
        candidate->destructors_bytes > baseline->destructors_bytes) {
        ks_str_addf(reason, "runs code before or after main: %zu bytes of constructors where the original has %zu",
                    candidate->constructors_bytes + candidate->destructors_bytes,
                    baseline->constructors_bytes + baseline->destructors_bytes);
        return false;
    }
    for (size_t i = 0; i < candidate->n_relocs; i++) {
        const struct ks_reloc *r = &candidate->relocs[i];
        size_t bytes = candidate->sections[r->section].type == SHT_INIT_ARRAY ? constructor_bytes(candidate, r) : 0;
        if (bytes > 0 && !has_constructor(baseline, bytes)) {
            ks_str_add(reason, "runs code before or after main: a constructor that the original does not have");
            return false;
        }
    }
    return true;
}

bool ks_admission_check(const struct ks_object *baseline, const struct ks_object *candidate, struct ks_str *reason)
{
    if (!undefined_check(baseline, candidate, reason) || !constructors_check(baseline, candidate, reason) ||
        !sections_check(baseline, candidate, reason))
        return false;
    if (candidate->n_syscalls > baseline->n_syscalls) {
        ks_str_add(reason, "host code contains a system call instruction");
        return false;
    }
    if (candidate->n_clocks > baseline->n_clocks) {
        ks_str_add(reason, "host code reads the processor's clock or its random numbers");
        return false;
    }
    if (candidate->n_states > baseline->n_states) {
        ks_str_add(reason, "host code uses registers or bytes of the thread that keep what the call before left there");
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
    return device_code_check(baseline, candidate, reason) && ks_state_check(baseline, candidate, reason);
}

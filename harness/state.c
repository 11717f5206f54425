/* Host state: what is writable in an object, accounted for byte by byte. */
#include "harness/elf.h"

#include <elf.h>
#include <stdio.h>
#include <string.h>

bool ks_section_is_state(const struct ks_section *s)
{
    if (!(s->flags & SHF_ALLOC) || !(s->flags & SHF_WRITE))
        return false;
    if (s->type == SHT_INIT_ARRAY || s->type == SHT_FINI_ARRAY || s->type == SHT_PREINIT_ARRAY) /* counted as constructors */
        return false;
    /* read-only once relocated: whoever writes there dies */
    return !(s->type == SHT_PROGBITS && (ks_streq(s->name, ".data.rel.ro") || ks_str_starts(s->name, ".data.rel.ro.")));
}

/* Variables that nvcc (and gcc, for exceptions) puts into an object once.  Variables of a kernel's stub: see stub_variable(). */
static const struct {
    const char *name;
    size_t size_bytes;
    const char *section; /* NULL: any */
} glue[] = {
    {"_ZL20__cudaFatCubinHandle", 8, NULL},
    {"_ZL15__fatDeviceText", 24, ".nvFatBinSegment"},
    {"_ZL22__nv_inited_managed_rt", 1, NULL},
    {"_ZL32__nv_fatbinhandle_for_managed_rt", 8, NULL},
    {"_ZZL22____nv_dummy_param_refPvE5__ref", 8, NULL},
    {"_ZZL31__nv_cudaEntityRegisterCallbackPPvE5__ref", 8, NULL},
    {"DW.ref.__gxx_personality_v0", 8, NULL},
};

/* Functions of that glue. */
static const char *const glue_functions[] = {
    "_ZL24__sti____cudaRegisterAllv",
    "_ZL26__cudaUnregisterBinaryUtilv",
    "_ZL31__nv_cudaEntityRegisterCallbackPPv",
    "_ZL22____nv_dummy_param_refPv",
    "_ZL37__nv_save_fatbinhandle_for_managed_rtPPv",
    "_ZL18__nv_init_managed_rtPPv",
};

/* What a kernel's stub keeps: the kernel's handle, a flag and its guard; its address in builds that do not optimise. */
enum stub_part { STUB_NONE, STUB_HANDLE, STUB_FLAG, STUB_GUARD, STUB_ADDRESS, N_STUB_PARTS };

/* _ZZL26__device_stub__Z2k2IfEvPT_PfE8__handle: local to a function whose name has that length. */
static enum stub_part stub_variable(const struct ks_symbol *s)
{
    bool guard = ks_str_starts(s->name, "_ZGVZ");
    if (!guard && !ks_str_starts(s->name, "_ZZ"))
        return STUB_NONE;
    const char *p = s->name + (guard ? 5 : 3);
    p += *p == 'L';
    char *name;
    unsigned long len = strtoul(p, &name, 10);
    if (name == p || strlen(name) < len || !ks_str_starts(name, "__device_stub_"))
        return STUB_NONE;
    if (guard)
        return ks_str_ends(name + len, "E5__tmp") && s->size_bytes == 8 ? STUB_GUARD : STUB_NONE;
    if (ks_str_ends(name + len, "E8__handle") && s->size_bytes == 8)
        return STUB_HANDLE;
    if (ks_str_ends(name + len, "E3__f") && s->size_bytes == 8)
        return STUB_ADDRESS;
    return ks_str_ends(name + len, "E5__tmp") && s->size_bytes == 1 ? STUB_FLAG : STUB_NONE;
}

static bool is_glue(const struct ks_object *o, const struct ks_symbol *s)
{
    const struct ks_section *in = ks_object_section(o, s->section);
    for (size_t i = 0; in && i < sizeof glue / sizeof *glue; i++)
        if (ks_streq(s->name, glue[i].name))
            return s->size_bytes == glue[i].size_bytes && (!glue[i].section || ks_streq(in->name, glue[i].section));
    /* pointers to the types that handlers catch: for tables of the compiler's, out of reach for code (reloc_check) */
    return in && ks_str_starts(s->name, "DW.ref._ZTI") && s->size_bytes == 8 && s->weak;
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
    for (const char *p = ptx; n > 0 && (p = strstr(p, plain)) != NULL; p += n) {
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

enum owner { OWNER_NONE, OWNER_GLUE, OWNER_STUB, OWNER_SHADOW, OWNER_SHARED };

/* Who a variable belongs to; OWNER_NONE: to the candidate. */
static enum owner owner_of(const struct ks_object *baseline, const struct ks_object *o, const struct ks_symbol *s)
{
    const struct ks_symbol *b = baseline ? ks_object_symbol(baseline, s->name) : NULL;
    if (is_glue(o, s))
        return OWNER_GLUE;
    if (stub_variable(s) != STUB_NONE)
        return OWNER_STUB;
    if (b && b->state && s->size_bytes <= b->size_bytes && s->size_bytes > 0)
        return OWNER_SHARED;
    return baseline && is_device_shadow(o, s->name) ? OWNER_SHADOW : OWNER_NONE;
}

/* The relocatable form of separate compilation names its fat binary after the module; the whole section is glue. */
static bool is_fatbin_section(const struct ks_section *s)
{
    return ks_streq(s->name, ".nvFatBinSegment") && s->type == SHT_PROGBITS && s->size_bytes % 24 == 0;
}

const struct ks_symbol *ks_object_symbol_at(const struct ks_object *o, size_t section, uint64_t off_byte)
{
    for (size_t i = 1; i < o->n_symbols; i++) {
        const struct ks_symbol *s = &o->symbols[i];
        if (s->section == section && s->name[0] && off_byte >= s->value && off_byte - s->value < s->size_bytes)
            return s;
    }
    return NULL;
}

/* The first byte at or behind `at` that no variable holds, and where the next variable begins. */
static bool next_gap(const struct ks_object *o, size_t section, uint64_t at, uint64_t *ret_begin, uint64_t *ret_end)
{
    const struct ks_symbol *s;
    uint64_t size = o->sections[section].size_bytes;
    while (at < size && (s = ks_object_symbol_at(o, section, at)) != NULL)
        at = s->value + s->size_bytes;
    *ret_begin = at;
    *ret_end = size;
    for (size_t i = 1; i < o->n_symbols; i++)
        if (o->symbols[i].section == section && o->symbols[i].size_bytes && o->symbols[i].value > at &&
            o->symbols[i].value < *ret_end)
            *ret_end = o->symbols[i].value;
    return at < size;
}

/* Every variable is somebody else's, and between variables lies no more than what alignment leaves. */
static bool section_check(const struct ks_object *baseline, const struct ks_object *o, size_t section, struct ks_str *reason)
{
    const struct ks_section *s = &o->sections[section];
    for (size_t i = 1; i < o->n_symbols; i++)
        if (o->symbols[i].section == section && o->symbols[i].name[0] && owner_of(baseline, o, &o->symbols[i]) == OWNER_NONE) {
            ks_str_addf(reason, "keeps host state between calls: variable '%s'", o->symbols[i].name);
            return false;
        }
    for (uint64_t begin = 0, end = 0; next_gap(o, section, end, &begin, &end);)
        if (end == s->size_bytes || end - begin >= (end & (~end + 1)) || end - begin >= 32) {
            ks_str_addf(reason, "keeps host state between calls: %llu bytes without a name in section '%s'",
                        (unsigned long long)(end - begin), s->name);
            return false;
        }
    return true;
}

/* Bytes of a constant behind the four of the address in an instruction of x86-64, told by its opcode. */
static int immediate_bytes(const struct ks_section *s, uint64_t at)
{
    if (!s->bytes || at < 2 || at > s->size_bytes)
        return 0;
    unsigned char op = s->bytes[at - 2], before = at > 2 ? s->bytes[at - 3] : 0, further = at > 3 ? s->bytes[at - 4] : 0;
    unsigned extension = (s->bytes[at - 1] >> 3) & 7;
    if (before == 0x0f)
        return op == 0xba || op == 0xa4 || op == 0xac || op == 0xc2 || (op >= 0xc4 && op <= 0xc6) || (op >= 0x70 && op <= 0x73);
    if (op == 0x80 || op == 0x83 || op == 0xc6 || op == 0xc0 || op == 0xc1 || op == 0x6b || (op == 0xf6 && extension < 2))
        return 1;
    if (op == 0x81 || op == 0xc7 || op == 0x69 || (op == 0xf7 && extension < 2))
        return before == 0x66 || further == 0x66 ? 2 : 4;
    return 0;
}

bool ks_symbol_is_glue_function(const struct ks_symbol *f)
{
    for (size_t i = 0; f && i < sizeof glue_functions / sizeof *glue_functions; i++)
        if (ks_streq(f->name, glue_functions[i]) && !f->external)
            return true;
    return false;
}

/* `stub` begins with `name`; internal linkage shows in the function's name, as an L before a length, and not in its stub's.  What
 * the compiler moves out of a function belongs to it. */
static bool names_stub(const char *name, const char *stub)
{
    while (*name && !ks_streq(name, ".cold")) {
        if (*name == 'L' && *stub != 'L' && name[1] >= '0' && name[1] <= '9')
            name++;
        if (*name++ != *stub++)
            return false;
    }
    return true;
}

/* The stub that launches the kernel, or the kernel's own name on the host, into which the compiler may put the stub. */
static bool is_stub_code(const struct ks_symbol *from, const struct ks_symbol *variable)
{
    const char *stub = strstr(variable->name, "__device_stub_");
    return strstr(from->name, "__device_stub_") ||
           (stub && from->name[0] && names_stub(from->name, stub + strlen("__device_stub_")));
}

/* The compiler may put a stub into whoever launches the kernel.  That this is what reaches a stub's variable is certain where the
 * text can name neither it (no function of its own has a stub's name) nor another writable variable, from which an offset leads
 * there. */
static bool stubs_are_everywhere(const struct ks_object *baseline, const struct ks_object *o)
{
    for (size_t i = 1; o->stubs_known && i < o->n_symbols; i++) {
        enum owner owner = o->symbols[i].state ? owner_of(baseline, o, &o->symbols[i]) : OWNER_GLUE;
        if (owner != OWNER_GLUE && owner != OWNER_STUB)
            return false;
    }
    return o->stubs_known;
}

/* What a relocation reaches in a writable section is somebody else's variable, and only its owner reaches it.  inlined:
 * stubs_are_everywhere(). */
static bool reloc_check(const struct ks_object *baseline, const struct ks_object *o, const struct ks_reloc *r, bool inlined,
                        struct ks_str *reason)
{
    const struct ks_symbol *to = &o->symbols[r->symbol], *from = ks_object_symbol_at(o, r->section, r->off_byte);
    const struct ks_section *in = &o->sections[r->section], *target = ks_object_section(o, to->section);
    if (!target || !ks_section_is_state(target))
        return true;
    uint64_t at = to->value + (uint64_t)r->addend;
    bool relative = r->type == R_X86_64_PC32 || r->type == R_X86_64_PLT32 || r->type == R_X86_64_GOTPCREL ||
                    r->type == R_X86_64_GOTPCRELX || r->type == R_X86_64_REX_GOTPCRELX;
    if (relative && (in->flags & SHF_EXECINSTR))
        at += 4 + (uint64_t)immediate_bytes(in, r->off_byte);
    const struct ks_symbol *variable = ks_object_symbol_at(o, to->section, at);
    if (!variable) {
        ks_str_addf(reason, "keeps host state between calls: uses a byte without a name in section '%s'", target->name);
        return false;
    }
    enum owner owner = owner_of(baseline, o, variable);
    bool code = (in->flags & SHF_EXECINSTR) != 0;
    bool own = owner == OWNER_STUB ? from && ((inlined && code) || is_stub_code(from, variable))
                                   : !code || ks_symbol_is_glue_function(from);
    const struct ks_symbol *b = ks_object_symbol(baseline, variable->name);
    if (own || owner == OWNER_SHARED || (owner == OWNER_SHADOW && b && b->state))
        return true;
    ks_str_addf(reason, "keeps host state between calls: '%s' uses '%s', which belongs to %s", from ? from->name : in->name,
                variable->name, owner == OWNER_SHADOW ? "the device" : "code of the compiler");
    return false;
}

/* No more sets of stub variables than kernels. */
static bool stubs_check(const struct ks_object *o, struct ks_str *reason)
{
    size_t n_entries = 0, n[N_STUB_PARTS] = {0};
    for (const char *p = ks_str_cstr(&o->ptx); (p = strstr(p, ".entry ")) != NULL; p++)
        n_entries++;
    for (size_t i = 1; i < o->n_symbols; i++)
        if (o->symbols[i].state && ++n[stub_variable(&o->symbols[i])] > n_entries && stub_variable(&o->symbols[i]) != STUB_NONE) {
            ks_str_addf(reason, "keeps host state between calls: variable '%s' where there are %zu kernel%s", o->symbols[i].name,
                        n_entries, ks_plural_s((int64_t)n_entries));
            return false;
        }
    return true;
}

bool ks_state_check(const struct ks_object *baseline, const struct ks_object *o, struct ks_str *reason)
{
    for (size_t i = 1; i < o->n_symbols; i++) {
        const struct ks_symbol *s = &o->symbols[i];
        if (s->state && s->section == 0 && owner_of(baseline, o, s) == OWNER_NONE) { /* common */
            ks_str_addf(reason, "keeps host state between calls: variable '%s'", s->name);
            return false;
        }
    }
    for (size_t i = 1; i < o->n_sections; i++)
        if (ks_section_is_state(&o->sections[i]) && !is_fatbin_section(&o->sections[i]) && !section_check(baseline, o, i, reason))
            return false;
    if (!baseline)
        return true;
    bool inlined = stubs_are_everywhere(baseline, o);
    for (size_t i = 0; o->x86 && i < o->n_relocs; i++)
        if (!reloc_check(baseline, o, &o->relocs[i], inlined, reason))
            return false;
    return stubs_check(o, reason);
}

#include "harness/object.h"

#include "harness/elf.h"
#include "harness/fatbin.h"
#include "base/file.h"
#include "base/limits.h"

#include <elf.h>
#include <string.h>

#define MAX_OBJECT_BYTES (256u << 20)

/* Opcodes of syscall, sysenter and int 0x80.  Two zero or two 0xff bytes behind them mean the middle of a 32-bit constant: code
 * is not disassembled here, and what slips through meets the sandbox. */
static size_t count_syscalls(const unsigned char *p, size_t n)
{
    size_t found = 0;
    for (size_t i = 0; i + 1 < n; i++) {
        bool hit = (p[i] == 0x0f && (p[i + 1] == 0x05 || p[i + 1] == 0x34)) || (p[i] == 0xcd && p[i + 1] == 0x80);
        bool constant = i + 3 < n && p[i + 2] == p[i + 3] && (p[i + 2] == 0x00 || p[i + 2] == 0xff);
        found += hit && !constant;
    }
    return found;
}

/* rdtsc, rdtscp, rdrand and rdseed.  0f 31 before a register operand is the end of an addition of 15 and a clearing xor. */
static size_t count_clocks(const unsigned char *p, size_t n)
{
    size_t found = 0;
    for (size_t i = 0; i + 2 < n; i++) {
        bool constant = i + 3 < n && p[i + 2] == p[i + 3] && (p[i + 2] == 0x00 || p[i + 2] == 0xff);
        found += p[i] == 0x0f && ((p[i + 1] == 0x31 && p[i + 2] < 0xc0 && !constant) || (p[i + 1] == 0x01 && p[i + 2] == 0xf9) ||
                                  (p[i + 1] == 0xc7 && p[i + 2] >= 0xf0));
    }
    return found;
}

/* fxsave, fxrstor, ldmxcsr, stmxcsr, xsave and kin, the bases of FS and GS, protection keys: registers that nobody saves.  And
 * what lies at a fixed place of the thread's control block, the stack protector's word excepted. */
static size_t count_states(const unsigned char *p, size_t n)
{
    size_t found = 0;
    for (size_t i = 0; i + 2 < n; i++) {
        unsigned mod = p[i + 2] >> 6, reg = p[i + 2] >> 3 & 7;
        bool constant = i + 3 < n && p[i + 2] == p[i + 3] && (p[i + 2] == 0x00 || p[i + 2] == 0xff);
        if (p[i] == 0x0f && !constant)
            found += (p[i + 1] == 0xae && (mod == 3 ? reg <= 3 : reg <= 6)) ||
                     (p[i + 1] == 0xc7 && mod != 3 && reg >= 3 && reg <= 5) ||
                     (p[i + 1] == 0x01 && (p[i + 2] == 0xd0 || p[i + 2] == 0xd1 || p[i + 2] == 0xee || p[i + 2] == 0xef));
        if (p[i] != 0x64 && p[i] != 0x65)
            continue;
        size_t k = i + 1;
        k += p[k] == 0x66 || p[k] == 0xf2 || p[k] == 0xf3;
        k += k < n && (p[k] & 0xf0) == 0x40;
        k += k < n && p[k] == 0x0f ? 2 : 1;
        bool fixed = k + 5 < n && (p[k] & 0xc7) == 0x04 && p[k + 1] == 0x25;
        found += fixed && !(p[i] == 0x64 && memcmp(p + k + 2, "\x28\0\0\0", 4) == 0);
    }
    return found;
}

/* Counts what the gates ask of a section.  `code`: how reading the PTX went so far. */
static enum ks_code note_section(struct ks_object *o, const struct ks_section *s, enum ks_code code, struct ks_err *err)
{
    if (s->type == SHT_INIT_ARRAY || s->type == SHT_PREINIT_ARRAY || ks_str_starts(s->name, ".ctors"))
        o->constructors_bytes += s->size_bytes;
    else if (s->type == SHT_FINI_ARRAY || ks_str_starts(s->name, ".dtors"))
        o->destructors_bytes += s->size_bytes;
    else if (ks_streq(s->name, ".nvFatBinSegment"))
        o->n_fatbins += s->size_bytes / 24;
    else if (ks_streq(s->name, ".nv_fatbin") && s->bytes && s->size_bytes > 0)
        code = ks_fatbin_ptx(s->bytes, s->size_bytes, 0, &o->ptx, err);
    if (o->x86 && s->bytes && (s->flags & SHF_EXECINSTR)) {
        o->n_syscalls += count_syscalls(s->bytes, s->size_bytes);
        o->n_clocks += count_clocks(s->bytes, s->size_bytes);
        o->n_states += count_states(s->bytes, s->size_bytes);
    }
    return code;
}

static enum ks_code object_read(const char *path, bool needs_ptx, struct ks_object *ret, struct ks_err *err)
{
    struct ks_object o = {.file = KS_STR_INIT};
    KS_TRY(ks_file_read(path, MAX_OBJECT_BYTES, &o.file, err));
    enum ks_code code = KS_ERR_NOT_FOUND;
    struct ks_err device;
    if (!ks_elf_read(&o)) {
        code = ks_fail(err, KS_ERR_SYNTAX, "read '%s': not a relocatable 64-bit ELF object", path);
    } else {
        ks_fail(&device, code, "read '%s': it contains no device code", path);
        for (size_t i = 1; i < o.n_sections; i++)
            code = note_section(&o, &o.sections[i], code, &device);
        ks_object_code_hash(&o, o.code_hash);
        if (!needs_ptx)
            code = KS_OK;
        else if (code != KS_OK)
            *err = device;
    }
    if (code != KS_OK) {
        ks_object_release(&o);
        return code;
    }
    *ret = o;
    return KS_OK;
}

enum ks_code ks_object_read(const char *path, struct ks_object *ret, struct ks_err *err)
{
    return object_read(path, true, ret, err);
}

enum ks_code ks_object_read_host(const char *path, struct ks_object *ret, struct ks_err *err)
{
    return object_read(path, false, ret, err);
}

void ks_object_release(struct ks_object *o)
{
    ks_str_release(&o->file);
    ks_str_release(&o->ptx);
    free(o->symbols);
    free(o->sections);
    free(o->relocs);
    *o = (struct ks_object){.file = KS_STR_INIT};
}

/* nvcc makes functions of anonymous namespaces external, under names with a number it makes of the file's path. */
static size_t module_id(const char *name)
{
    static const char mark[] = "_GLOBAL__N__";
    const char *p = strstr(name, mark);
    return p && strspn(p + sizeof mark - 1, "0123456789abcdef") >= 8 ? (size_t)(p - name) + sizeof mark - 1 : 0;
}

/* Relocatable device code: an object's own, under a name with a number of the compilation. */
static bool is_fatbin_wrap(const char *name)
{
    return strncmp(name, "__fatbinwrap_", 13) == 0;
}

bool ks_object_same_name(const char *a, const char *b)
{
    if (is_fatbin_wrap(a) && is_fatbin_wrap(b))
        return true;
    size_t at = module_id(a);
    if (at == 0 || at != module_id(b))
        return strcmp(a, b) == 0;
    return strncmp(a, b, at) == 0 && strcmp(a + at + 8, b + at + 8) == 0;
}

const struct ks_symbol *ks_object_symbol(const struct ks_object *o, const char *name)
{
    for (size_t i = 0; i < o->n_symbols; i++)
        if (ks_object_same_name(o->symbols[i].name, name))
            return &o->symbols[i];
    return NULL;
}

#include "harness/object.h"

#include "harness/fatbin.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/limits.h"

#include <elf.h>
#include <string.h>

#define MAX_OBJECT_BYTES (256u << 20)

struct reader {
    const unsigned char *data;
    size_t len;
    const Elf64_Ehdr *head;
    const Elf64_Shdr *sections;
    const char *names;
    size_t names_len;
};

static bool in_file(const struct reader *r, uint64_t off, uint64_t n)
{
    return off <= r->len && n <= r->len - off;
}

static const char *section_name(const struct reader *r, const Elf64_Shdr *s)
{
    return s->sh_name < r->names_len ? r->names + s->sh_name : "";
}

static bool reader_open(struct reader *r, const struct ks_str *file)
{
    r->data = (const unsigned char *)file->data;
    r->len = file->len;
    if (r->len < sizeof *r->head)
        return false;
    r->head = (const Elf64_Ehdr *)(const void *)r->data;
    if (memcmp(r->head->e_ident, ELFMAG, SELFMAG) != 0 || r->head->e_ident[EI_CLASS] != ELFCLASS64 || r->head->e_type != ET_REL ||
        r->head->e_shentsize != sizeof(Elf64_Shdr) || r->head->e_shoff % 8 != 0 ||
        !in_file(r, r->head->e_shoff, (uint64_t)r->head->e_shnum * sizeof(Elf64_Shdr)) || r->head->e_shstrndx >= r->head->e_shnum)
        return false;
    r->sections = (const Elf64_Shdr *)(const void *)(r->data + r->head->e_shoff);
    for (size_t i = 0; i < r->head->e_shnum; i++)
        if (r->sections[i].sh_type != SHT_NOBITS && !in_file(r, r->sections[i].sh_offset, r->sections[i].sh_size))
            return false;
    const Elf64_Shdr *names = &r->sections[r->head->e_shstrndx];
    r->names = (const char *)r->data + names->sh_offset;
    r->names_len = names->sh_size;
    return r->names_len > 0 && r->names[r->names_len - 1] == 0;
}

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

/* Storage a candidate could keep results in: writable, not relocated read-only data, not what nvcc and gcc make for themselves.
 */
static bool is_state_section(const struct reader *r, size_t index)
{
    if (index == SHN_COMMON)
        return true;
    if (index == 0 || index >= r->head->e_shnum)
        return false;
    const Elf64_Shdr *s = &r->sections[index];
    const char *name = section_name(r, s);
    static const char *const harmless[] = {".data.rel.ro", ".data.rel.local.DW", ".init_array",
                                           ".fini_array",  ".nvFatBinSegment",   ".eh_frame"};
    for (size_t i = 0; i < sizeof harmless / sizeof *harmless; i++)
        if (ks_str_starts(name, harmless[i]))
            return false;
    return (s->sh_flags & SHF_ALLOC) && (s->sh_flags & SHF_WRITE);
}

static bool read_symbols(struct ks_object *o, const struct reader *r, const Elf64_Shdr *table)
{
    if (table->sh_entsize != sizeof(Elf64_Sym) || table->sh_link >= r->head->e_shnum || table->sh_offset % 8 != 0)
        return false;
    const Elf64_Shdr *names = &r->sections[table->sh_link];
    const char *text = (const char *)r->data + names->sh_offset;
    if (names->sh_size == 0 || text[names->sh_size - 1] != 0)
        return false;
    const Elf64_Sym *sym = (const Elf64_Sym *)(const void *)(r->data + table->sh_offset);
    size_t n = table->sh_size / sizeof *sym;
    o->symbols = ks_xcalloc(n + 1, sizeof *o->symbols);
    for (size_t i = 1; i < n; i++) {
        unsigned type = ELF64_ST_TYPE(sym[i].st_info), bind = ELF64_ST_BIND(sym[i].st_info);
        if (sym[i].st_name >= names->sh_size || type == STT_SECTION || type == STT_FILE || text[sym[i].st_name] == 0)
            continue;
        bool defined = sym[i].st_shndx != SHN_UNDEF;
        o->n_indirect += type == STT_GNU_IFUNC;
        o->symbols[o->n_symbols++] = (struct ks_symbol){
            .name = text + sym[i].st_name,
            .defined = defined,
            .external = bind != STB_LOCAL,
            .weak = bind == STB_WEAK || bind == STB_GNU_UNIQUE,
            .function = type == STT_FUNC || type == STT_GNU_IFUNC,
            .state = defined && (type == STT_OBJECT || type == STT_TLS || type == STT_COMMON || type == STT_NOTYPE) &&
                     (type == STT_TLS || is_state_section(r, sym[i].st_shndx)),
            .size_bytes = sym[i].st_size,
        };
    }
    return true;
}

enum ks_code ks_object_read(const char *path, struct ks_object *ret, struct ks_err *err)
{
    struct ks_object o = {.file = KS_STR_INIT};
    struct reader r;
    KS_TRY(ks_file_read(path, MAX_OBJECT_BYTES, &o.file, err));
    bool ok = reader_open(&r, &o.file);
    enum ks_code code = KS_ERR_NOT_FOUND;
    struct ks_hash hash;
    ks_hash_init(&hash);
    for (size_t i = 1; ok && i < r.head->e_shnum; i++) {
        const Elf64_Shdr *s = &r.sections[i];
        const char *name = section_name(&r, s);
        const unsigned char *bytes = r.data + (s->sh_type == SHT_NOBITS ? 0 : s->sh_offset);
        if (s->sh_type == SHT_SYMTAB && !o.symbols)
            ok = read_symbols(&o, &r, s);
        else if (s->sh_type == SHT_INIT_ARRAY || s->sh_type == SHT_PREINIT_ARRAY || ks_str_starts(name, ".ctors"))
            o.constructors_bytes += s->sh_size;
        else if (s->sh_type == SHT_FINI_ARRAY || ks_str_starts(name, ".dtors"))
            o.destructors_bytes += s->sh_size;
        else if (ks_streq(name, ".nvFatBinSegment"))
            o.n_fatbins += s->sh_size / 24;
        else if (ks_streq(name, ".nv_fatbin") && s->sh_size > 0)
            code = ks_fatbin_ptx(bytes, s->sh_size, 0, &o.ptx, err);
        if (ok && s->sh_type == SHT_PROGBITS && (s->sh_flags & SHF_EXECINSTR)) {
            ks_hash_update_field(&hash, bytes, s->sh_size);
            if (r.head->e_machine == EM_X86_64)
                o.n_syscalls += count_syscalls(bytes, s->sh_size);
        }
    }
    ks_hash_final_hex(&hash, o.code_hash);
    if (!ok)
        code = ks_fail(err, KS_ERR_SYNTAX, "read '%s': not a relocatable 64-bit ELF object", path);
    else if (code == KS_ERR_NOT_FOUND)
        ks_fail(err, code, "read '%s': it contains no device code", path);
    if (code != KS_OK) {
        ks_object_release(&o);
        return code;
    }
    *ret = o;
    return KS_OK;
}

void ks_object_release(struct ks_object *o)
{
    ks_str_release(&o->file);
    ks_str_release(&o->ptx);
    free(o->symbols);
    *o = (struct ks_object){.file = KS_STR_INIT};
}

const struct ks_symbol *ks_object_symbol(const struct ks_object *o, const char *name)
{
    for (size_t i = 0; i < o->n_symbols; i++)
        if (strcmp(o->symbols[i].name, name) == 0)
            return &o->symbols[i];
    return NULL;
}

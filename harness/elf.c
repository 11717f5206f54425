#include "harness/elf.h"

#include <elf.h>
#include <string.h>

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
    if (names->sh_type == SHT_NOBITS)
        return false;
    r->names = (const char *)r->data + names->sh_offset;
    r->names_len = names->sh_size;
    return r->names_len > 0 && r->names[r->names_len - 1] == 0;
}

static void read_sections(struct ks_object *o, const struct reader *r)
{
    o->n_sections = r->head->e_shnum;
    o->sections = ks_xcalloc(o->n_sections + 1, sizeof *o->sections);
    for (size_t i = 0; i < o->n_sections; i++) {
        const Elf64_Shdr *s = &r->sections[i];
        o->sections[i] = (struct ks_section){
            .name = s->sh_name < r->names_len ? r->names + s->sh_name : "",
            .type = s->sh_type,
            .flags = s->sh_flags,
            .size_bytes = s->sh_size,
            .bytes = s->sh_type == SHT_NOBITS ? NULL : r->data + s->sh_offset,
        };
    }
}

/* The table that relocations count in; an object has one. */
static const Elf64_Shdr *symbol_table(const struct reader *r)
{
    for (size_t i = 1; i < r->head->e_shnum; i++)
        if (r->sections[i].sh_type == SHT_SYMTAB)
            return &r->sections[i];
    return NULL;
}

/* Storage a candidate could keep results in: writable, or common. */
static bool is_state_section(const struct ks_object *o, size_t index)
{
    const struct ks_section *s = ks_object_section(o, index);
    return index == SHN_COMMON || (s && ks_section_is_state(s));
}

/* o->symbols keeps the order and the count of the file's table, so that relocations find theirs; sections have the name "". */
static bool read_symbols(struct ks_object *o, const struct reader *r)
{
    const Elf64_Shdr *table = symbol_table(r);
    if (!table)
        return true;
    if (table->sh_entsize != sizeof(Elf64_Sym) || table->sh_link >= r->head->e_shnum || table->sh_offset % 8 != 0)
        return false;
    const Elf64_Shdr *names = &r->sections[table->sh_link];
    const char *text = (const char *)r->data + names->sh_offset;
    if (names->sh_type == SHT_NOBITS || names->sh_size == 0 || text[names->sh_size - 1] != 0)
        return false;
    const Elf64_Sym *sym = (const Elf64_Sym *)(const void *)(r->data + table->sh_offset);
    o->n_symbols = table->sh_size / sizeof *sym;
    o->symbols = ks_xcalloc(o->n_symbols + 1, sizeof *o->symbols);
    for (size_t i = 0; i < o->n_symbols; i++) {
        unsigned type = ELF64_ST_TYPE(sym[i].st_info), bind = ELF64_ST_BIND(sym[i].st_info);
        bool named = type != STT_SECTION && type != STT_FILE && sym[i].st_name < names->sh_size;
        bool defined = sym[i].st_shndx != SHN_UNDEF;
        o->n_indirect += type == STT_GNU_IFUNC;
        o->symbols[i] = (struct ks_symbol){
            .name = named ? text + sym[i].st_name : "",
            .defined = defined || type == STT_FILE || i == 0,
            .external = bind != STB_LOCAL,
            .weak = bind == STB_WEAK || bind == STB_GNU_UNIQUE,
            .function = type == STT_FUNC || type == STT_GNU_IFUNC,
            .state = named && defined && type != STT_FUNC && (type == STT_TLS || is_state_section(o, sym[i].st_shndx)),
            .size_bytes = sym[i].st_size,
            .section = sym[i].st_shndx < o->n_sections ? sym[i].st_shndx : 0,
            .value = sym[i].st_value,
        };
    }
    return true;
}

static int by_place(const void *a, const void *b)
{
    const struct ks_reloc *x = a, *y = b;
    if (x->section != y->section)
        return x->section < y->section ? -1 : 1;
    if (x->off_byte != y->off_byte)
        return x->off_byte < y->off_byte ? -1 : 1;
    return x->type != y->type ? (x->type < y->type ? -1 : 1) : 0;
}

/* Relocations of sections that get loaded.  The form without addends is not used on the machines that are read here. */
static bool read_relocs(struct ks_object *o, const struct reader *r)
{
    KS_VEC(struct ks_reloc) list = {NULL, 0, 0};
    bool ok = true;
    for (size_t i = 1; ok && i < r->head->e_shnum; i++) {
        const Elf64_Shdr *s = &r->sections[i];
        const struct ks_section *target = ks_object_section(o, s->sh_info);
        if ((s->sh_type != SHT_RELA && s->sh_type != SHT_REL) || !target || !(target->flags & SHF_ALLOC))
            continue;
        ok = s->sh_type == SHT_RELA && s->sh_offset % 8 == 0 && s->sh_entsize == sizeof(Elf64_Rela);
        const Elf64_Rela *rela = (const Elf64_Rela *)(const void *)(r->data + s->sh_offset);
        for (size_t k = 0; ok && k < s->sh_size / sizeof *rela; k++) {
            struct ks_reloc item = {.section = s->sh_info,
                                    .off_byte = rela[k].r_offset,
                                    .type = (uint32_t)ELF64_R_TYPE(rela[k].r_info),
                                    .symbol = ELF64_R_SYM(rela[k].r_info),
                                    .addend = rela[k].r_addend};
            ok = item.symbol < o->n_symbols;
            ks_vec_push(&list, item);
        }
    }
    if (list.n)
        qsort(list.data, list.n, sizeof *list.data, by_place);
    o->relocs = list.data;
    o->n_relocs = list.n;
    return ok;
}

bool ks_elf_read(struct ks_object *o)
{
    struct reader r;
    if (!reader_open(&r, &o->file))
        return false;
    o->x86 = r.head->e_machine == EM_X86_64;
    read_sections(o, &r);
    return read_symbols(o, &r) && read_relocs(o, &r);
}

const struct ks_section *ks_object_section(const struct ks_object *o, size_t index)
{
    return index > 0 && index < o->n_sections ? &o->sections[index] : NULL;
}

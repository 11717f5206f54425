/* The driver does not list a module's variables: their names are read from the machine code that CUPTI shows of every module as
 * it is loaded, and each module is asked for all of them. */
#include "harness/record_gpu/state.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

struct variable {
    const char *name;
    CUdeviceptr address;
};
struct module {
    CUmodule handle;
    size_t n_names; /* asked for */
    KS_VEC(struct variable) variables;
};

/* Modules are loaded, and names come, while the driver is asked under the first lock. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER, names_lock = PTHREAD_MUTEX_INITIALIZER;
static KS_VEC(char *) names;
static KS_VEC(struct module) modules;

static void name_add(const char *name)
{
    for (size_t i = 0; i < names.n; i++)
        if (strcmp(names.data[i], name) == 0)
            return;
    char *copy = ks_xstrdup(name);
    ks_vec_push(&names, copy);
}

/* Every offset is checked against the size. */
static void symbols_add(const unsigned char *elf, size_t size_bytes, const Elf64_Shdr *table, const Elf64_Shdr *strings)
{
    if (table->sh_offset > size_bytes || table->sh_size > size_bytes - table->sh_offset || strings->sh_offset > size_bytes ||
        strings->sh_size > size_bytes - strings->sh_offset)
        return;
    for (size_t at = 0; at + sizeof(Elf64_Sym) <= table->sh_size; at += sizeof(Elf64_Sym)) {
        Elf64_Sym s;
        memcpy(&s, elf + table->sh_offset + at, sizeof s);
        const char *text = (const char *)elf + strings->sh_offset;
        if (ELF64_ST_TYPE(s.st_info) != STT_OBJECT || s.st_shndx == SHN_UNDEF || s.st_size == 0 ||
            s.st_name >= strings->sh_size || !memchr(text + s.st_name, 0, strings->sh_size - s.st_name) ||
            text[s.st_name] == '$' || !text[s.st_name])
            continue;
        name_add(text + s.st_name);
    }
}

void gpu_variables_of_image(const void *image, size_t size_bytes)
{
    Elf64_Ehdr head;
    if (!image || size_bytes < sizeof head)
        return;
    memcpy(&head, image, sizeof head);
    if (memcmp(head.e_ident, ELFMAG, SELFMAG) != 0 || head.e_ident[EI_CLASS] != ELFCLASS64 || head.e_shoff > size_bytes ||
        (size_bytes - head.e_shoff) / sizeof(Elf64_Shdr) < head.e_shnum)
        return;
    KS_AUTO_FREE Elf64_Shdr *sections = ks_xmalloc((head.e_shnum + 1u) * sizeof *sections);
    memcpy(sections, (const unsigned char *)image + head.e_shoff, head.e_shnum * sizeof *sections);
    pthread_mutex_lock(&names_lock);
    for (size_t i = 0; i < head.e_shnum; i++)
        if (sections[i].sh_type == SHT_SYMTAB && sections[i].sh_link < head.e_shnum)
            symbols_add(image, size_bytes, &sections[i], &sections[sections[i].sh_link]);
    pthread_mutex_unlock(&names_lock);
}

void gpu_variables_forget(void)
{
    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < modules.n; i++)
        ks_vec_release(&modules.data[i].variables);
    modules.n = 0;
    pthread_mutex_unlock(&lock);
}

static struct module *module_of(CUfunction f)
{
    CUmodule handle = NULL;
    if (gpu.cuFuncGetModule(&handle, f) != CUDA_SUCCESS)
        return NULL;
    for (size_t i = 0; i < modules.n; i++)
        if (modules.data[i].handle == handle)
            return &modules.data[i];
    struct module fresh = {.handle = handle};
    ks_vec_push(&modules, fresh);
    return &modules.data[modules.n - 1];
}

static const char *name_at(size_t i)
{
    pthread_mutex_lock(&names_lock);
    const char *name = i < names.n ? names.data[i] : NULL;
    pthread_mutex_unlock(&names_lock);
    return name;
}

void gpu_variables_add(struct ks_record_call *c, CUfunction f)
{
    pthread_mutex_lock(&lock);
    struct module *m = module_of(f);
    for (; m && name_at(m->n_names); m->n_names++) {
        struct variable v = {.name = name_at(m->n_names)};
        size_t size_bytes = 0;
        if (gpu.cuModuleGetGlobal_v2(&v.address, &size_bytes, m->handle, v.name) != CUDA_SUCCESS || size_bytes == 0)
            continue;
        gpu_memory_add((const void *)(uintptr_t)v.address, size_bytes, "variable");
        ks_vec_push(&m->variables, v);
    }
    for (size_t i = 0; m && i < m->variables.n; i++)
        ks_record_call_variable(c, m->variables.data[i].name, (const void *)(uintptr_t)m->variables.data[i].address);
    pthread_mutex_unlock(&lock);
}

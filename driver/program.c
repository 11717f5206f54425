#include "driver/program.h"

#include "base/str.h"

#include <elf.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* A mapped file: programs may be gigabytes, and two tables of them are read. */
struct image {
    const unsigned char *data;
    size_t len;
};

static const void *at(const struct image *m, uint64_t offset, uint64_t bytes)
{
    return offset <= m->len && bytes <= m->len - offset ? m->data + offset : NULL;
}

/* The string at `index` of a string section; "" where it runs past the end. */
static const char *string_at(const struct image *m, const Elf64_Shdr *strings, uint64_t index)
{
    const char *text = index < strings->sh_size ? at(m, strings->sh_offset, strings->sh_size) : NULL;
    return text && memchr(text + index, 0, strings->sh_size - index) ? text + index : "";
}

static bool needs_runtime(const struct image *m, const Elf64_Shdr *sections, size_t n, const Elf64_Shdr *dynamic)
{
    const unsigned char *entries = at(m, dynamic->sh_offset, dynamic->sh_size);
    if (!entries || dynamic->sh_link >= n)
        return false;
    for (uint64_t i = 0; i + sizeof(Elf64_Dyn) <= dynamic->sh_size; i += sizeof(Elf64_Dyn)) {
        Elf64_Dyn d;
        memcpy(&d, entries + i, sizeof(d));
        if (d.d_tag == DT_NEEDED && ks_str_starts(string_at(m, &sections[dynamic->sh_link], d.d_un.d_val), "libcudart.so"))
            return true;
    }
    return false;
}

static bool look(const struct image *m)
{
    const Elf64_Ehdr *head = at(m, 0, sizeof(*head));
    if (!head || memcmp(head->e_ident, ELFMAG, SELFMAG) != 0 || head->e_ident[EI_CLASS] != ELFCLASS64 ||
        head->e_shentsize != sizeof(Elf64_Shdr) || head->e_shoff % _Alignof(Elf64_Shdr) || head->e_shstrndx >= head->e_shnum)
        return false;
    size_t n = head->e_shnum;
    const Elf64_Shdr *sections = at(m, head->e_shoff, n * sizeof(*sections));
    bool device_code = false;
    for (size_t i = 0; sections && i < n; i++) {
        device_code |= strcmp(string_at(m, &sections[head->e_shstrndx], sections[i].sh_name), ".nvFatBinSegment") == 0;
        if (sections[i].sh_type == SHT_DYNAMIC && needs_runtime(m, sections, n, &sections[i]))
            return false;
    }
    return device_code;
}

bool ks_program_has_static_runtime(const char *path)
{
    struct stat st;
    KS_AUTO_FD int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_size == 0)
        return false;
    void *data = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (data == MAP_FAILED)
        return false;
    struct image m = {data, (size_t)st.st_size};
    bool answer = look(&m);
    munmap(data, m.len);
    return answer;
}

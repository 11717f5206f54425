/* Modules: an image that nvcc registered or the program loads by itself, read into PTX and loaded on first use. */
#include "harness/emulated_rt/rt.h"

#include "base/str.h"
#include "harness/fatbin.h"

#include <string.h>

#define WRAPPER_MAGIC   0x466243b1
#define CONTAINER_MAGIC 0xba55ed50u
struct fat_wrapper {
    int magic, version;
    const void *data;
    void *more; /* version 2: the images that a link of relocatable code was made of, NULL at the end */
};

struct rt_module {
    const void *image;
    bool registered;
    struct ks_emu_module *loaded;
    cudaError_t failed; /* loading was tried and failed */
};

static KS_VEC(struct rt_module *) modules;

static bool is_ptx(const char *text)
{
    size_t i = 0;
    while (text[i] == ' ' || text[i] == '\t' || text[i] == '\n' || text[i] == '\r')
        i++;
    return strncmp(text + i, "//", 2) == 0 || strncmp(text + i, ".version", 8) == 0 || strncmp(text + i, "/*", 2) == 0;
}

static int sm_of_card(void)
{
    return rt_card()->major * 10 + rt_card()->minor;
}

/* The PTX of an image. */
static enum ks_code read_image(const void *image, struct ks_str *out, struct ks_err *err)
{
    uint32_t magic;
    if (!image)
        return ks_fail(err, KS_ERR_SYNTAX, "load a module: no image");
    memcpy(&magic, image, sizeof magic);
    if (magic == WRAPPER_MAGIC) {
        const struct fat_wrapper *w = image;
        return w->version == 2 ? ks_fatbin_ptx_linked(w->data, w->more, sm_of_card(), out, err)
                               : ks_fatbin_ptx(w->data, 0, sm_of_card(), out, err);
    }
    if (magic == CONTAINER_MAGIC)
        return ks_fatbin_ptx(image, 0, sm_of_card(), out, err);
    if (memcmp(image, "\177ELF", 4) == 0)
        return ks_fail(err, KS_ERR_NOT_FOUND, "load a module: it is machine code (a cubin); the emulated device runs PTX");
    if (!is_ptx(image))
        return ks_fail(err, KS_ERR_SYNTAX, "load a module: neither PTX nor a fat binary");
    ks_str_add(out, image);
    return KS_OK;
}

struct rt_module *rt_module_new(const void *image, bool registered)
{
    struct rt_module *m = ks_xcalloc(1, sizeof *m);
    m->image = image;
    m->registered = registered;
    ks_vec_push(&modules, m);
    return m;
}

struct rt_module *rt_module_find(const void *handle)
{
    for (size_t i = 0; i < modules.n; i++)
        if (modules.data[i] == handle)
            return modules.data[i];
    return NULL;
}

/* A registered image that cannot be loaded leaves the program without its kernels: said once, and sticky.  One that the program
 * loads itself is that call's error alone. */
static cudaError_t load_failed(struct rt_module *m, enum ks_code code, const struct ks_err *err)
{
    if (m->registered)
        (void)rt_from_code(code == KS_ERR_RANGE ? KS_ERR_UNSUPPORTED : code, err);
    else
        rt_error_note(err->message);
    m->failed = code == KS_ERR_NOT_FOUND ? cudaErrorNoKernelImageForDevice
                : code == KS_ERR_SYNTAX  ? cudaErrorInvalidPtx
                                         : cudaErrorNotSupported;
    return m->failed;
}

cudaError_t rt_module_load(struct rt_module *m)
{
    if (m->loaded || m->failed)
        return m->failed;
    struct ks_emu *emu = rt_emu();
    if (!emu)
        return rt_sticky();
    struct ks_err err;
    KS_AUTO_STR struct ks_str ptx = KS_STR_INIT;
    enum ks_code code = read_image(m->image, &ptx, &err);
    if (code == KS_OK)
        code = ks_emu_module_load(emu, ks_str_cstr(&ptx), ptx.len, &m->loaded, &err);
    if (code != KS_OK)
        return load_failed(m, code, &err);
    rt_module_told(m);
    return cudaSuccess;
}

struct ks_emu_module *rt_module_loaded(struct rt_module *m)
{
    return m->loaded;
}

void rt_module_free(struct rt_module *m)
{
    for (size_t i = 0; i < modules.n; i++)
        if (modules.data[i] == m)
            modules.data[i] = modules.data[--modules.n];
    rt_kernels_forget(m);
    if (m->loaded && rt_emu())
        ks_emu_module_unload(rt_emu(), m->loaded);
    free(m);
}

cudaError_t rt_module_kernel(struct rt_module *m, const char *name, struct rt_kernel **ret_kernel)
{
    cudaError_t e = rt_module_load(m);
    if (e != cudaSuccess)
        return e;
    struct rt_kernel *k = rt_kernel_named(m, name);
    for (size_t i = 0; !k && i < rt_module_kernel_count(m); i++)
        if (strcmp(rt_module_kernel_name(m, i), name) == 0)
            k = rt_kernel_add(m, NULL, name);
    if (!k)
        return cudaErrorSymbolNotFound;
    *ret_kernel = k;
    return cudaSuccess;
}

size_t rt_module_kernel_count(struct rt_module *m)
{
    size_t n = 0;
    while (m->loaded && ks_emu_module_kernel(m->loaded, n))
        n++;
    return n;
}

const char *rt_module_kernel_name(struct rt_module *m, size_t i)
{
    return ks_emu_module_kernel(m->loaded, i);
}

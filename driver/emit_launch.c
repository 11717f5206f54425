/* Generates what stands between the unit's launches and the runtime: recorded calls go to their candidates. */

#include "driver/emit.h"

#include <string.h>

/* The first recorded call of the same kernel: it stands for the kernel. */
static size_t first_of_kernel(const struct ks_emission *entries, size_t i)
{
    for (size_t k = 0; k < i; k++)
        if (entries[k].launch && strcmp(entries[k].launch->symbol, entries[i].launch->symbol) == 0)
            return k;
    return i;
}

static void add_asked(const struct ks_emission *e, size_t i, const char *asked, struct ks_str *out)
{
    const struct ks_signature *s = e->signature;
    ks_str_addf(out, "int kscc_try_%zu(", i);
    for (size_t k = 0; k < s->n_params; k++)
        ks_str_addf(out, "%s%s", k ? ", " : "", ks_inner_c_type(&s->params[k]));
    ks_str_addf(out, ") __asm__(\"%s\") __attribute__((visibility(\"hidden\")));\n", asked);
}

/* One recorded call: the kernel, its launch, then the guard over the arguments.  The stream is the entry's last parameter. */
static void add_case(const struct ks_emission *entries, size_t i, struct ks_str *out)
{
    const struct ks_emission_launch *l = entries[i].launch;
    const struct ks_signature *s = entries[i].signature;
    ks_str_addf(out,
                "    if (kernel == __atomic_load_n(&kscc_handle_%zu, __ATOMIC_RELAXED) && shared == %lldu &&\n"
                "        is(grid, %uu, %uu, %uu) && is(block, %uu, %uu, %uu) &&\n        kscc_try_%zu(",
                first_of_kernel(entries, i), (long long)l->shared_bytes, l->grid[0], l->grid[1], l->grid[2], l->block[0],
                l->block[1], l->block[2], i);
    for (size_t k = 0; k + 1 < s->n_params; k++)
        ks_str_addf(out, "*(%s *)args[%zu], ", ks_inner_c_type(&s->params[k]), k);
    ks_str_add(out, "stream))\n        return 0;\n");
}

void ks_emit_launches(const struct ks_emission *entries, size_t n, const char *get_kernel, const char *launch, struct ks_str *out)
{
    ks_str_add(
        out,
        "/* Leads launches that were recorded, and proved, to their candidates. */\n#include <stddef.h>\n#include <stdint.h>\n"
        "struct dim { unsigned x, y, z; };\n"
        "int __cudaGetKernel(void **kernel, const void *symbol);\n"
        "int __cudaLaunchKernel(void *kernel, struct dim grid, struct dim block, void **args, size_t shared, void *stream);\n"
        "static int is(struct dim d, unsigned x, unsigned y, unsigned z) { return d.x == x && d.y == y && d.z == z; }\n");
    for (size_t i = 0; i < n; i++) {
        KS_AUTO_STR struct ks_str asked = KS_STR_INIT;
        if (!entries[i].launch)
            continue;
        ks_emit_asked_symbol(&entries[i], &asked);
        add_asked(&entries[i], i, ks_str_cstr(&asked), out);
        if (first_of_kernel(entries, i) == i)
            ks_str_addf(out, "extern const char kscc_kernel_%zu[] __asm__(\"%s\");\nstatic void *kscc_handle_%zu;\n", i,
                        entries[i].launch->symbol, i);
    }
    ks_str_addf(out, "int kscc_get_kernel(void **, const void *) __asm__(\"%s\");\n", get_kernel);
    ks_str_add(out,
               "int kscc_get_kernel(void **kernel, const void *symbol)\n{\n    int status = __cudaGetKernel(kernel, symbol);\n");
    for (size_t i = 0; i < n; i++)
        if (entries[i].launch && first_of_kernel(entries, i) == i)
            ks_str_addf(out,
                        "    if (status == 0 && symbol == kscc_kernel_%zu)\n"
                        "        __atomic_store_n(&kscc_handle_%zu, *kernel, __ATOMIC_RELAXED);\n",
                        i, i);
    ks_str_add(out, "    return status;\n}\n");
    ks_str_addf(out, "int kscc_launch(void *, struct dim, struct dim, void **, size_t, void *) __asm__(\"%s\");\n", launch);
    ks_str_add(out,
               "int kscc_launch(void *kernel, struct dim grid, struct dim block, void **args, size_t shared, void *stream)\n{\n");
    for (size_t i = 0; i < n; i++)
        if (entries[i].launch)
            add_case(entries, i, out);
    ks_str_add(out, "    return __cudaLaunchKernel(kernel, grid, block, args, shared, stream);\n}\n");
}

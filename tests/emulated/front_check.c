/* Feeds PTX files to the front end of the emulated device and says what it refuses: front_check FILE.ptx ...
 * One line for each kernel that is not decoded: file, kernel, reason; then the totals.  Run by hand over public code (a file that
 * is not read at all counts as one refusal). */

#include "harness/emulated/ptx_ast.h"
#include "tests/emulated/emu_test.h"

int main(int argc, char **argv)
{
    struct ks_emu_config c = {.arch = "sm_100a"};
    long kernels = 0, refused = 0, unread = 0;
    if (argc < 2 || ks_emu_new(&c, &dev, &err) != KS_OK) {
        printf("usage: %s FILE.ptx ...\n", argv[0]);
        return 2;
    }
    for (int i = 1; i < argc; i++) {
        KS_AUTO_STR struct ks_str text = KS_STR_INIT;
        struct ptx_module *tree;
        err = (struct ks_err){0};
        if (ks_file_read(argv[i], 256u << 20, &text, &err) != KS_OK ||
            ks_ptx_parse(ks_str_cstr(&text), text.len, &tree, &err) != KS_OK ||
            ks_emu_module_load(dev, ks_str_cstr(&text), text.len, &mod, &err) != KS_OK) {
            printf("%s\t\t%s\n", argv[i], err.message);
            unread++;
            continue;
        }
        for (uint32_t k = 0; k < tree->n_funcs; k++) {
            struct ks_emu_func_info info;
            if (!tree->funcs[k]->is_entry || tree->funcs[k]->is_extern)
                continue;
            kernels++;
            err = (struct ks_err){0};
            if (ks_emu_func(mod, tree->funcs[k]->name, &info, &err) == KS_OK)
                continue;
            refused++;
            printf("%s\t%s\t%s\n", argv[i], tree->funcs[k]->name, err.message);
        }
        ks_emu_module_unload(dev, mod);
        ks_ptx_free(tree);
    }
    ks_emu_free(dev);
    printf("%d files, %ld not read; %ld kernels, %ld refused\n", argc - 1, unread, kernels, refused);
    return unread || refused;
}

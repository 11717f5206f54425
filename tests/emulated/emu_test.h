#ifndef KS_TESTS_EMULATED_EMU_TEST_H
#define KS_TESTS_EMULATED_EMU_TEST_H

/* Helpers of the runners: a device with one module, buffers by one call, launches, and a tally printed as "N passed, N failed".
 */

#include "base/file.h"
#include "harness/emulated/emu.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static struct ks_emu *dev;
static struct ks_emu_module *mod;
static struct ks_err err;
static int n_passed, n_failed;

static inline void verdict(bool ok, const char *name, const char *fmt, ...)
{
    va_list ap;
    if (ok) {
        n_passed++;
        return;
    }
    n_failed++;
    printf("FAILED %s: ", name);
    va_start(ap, fmt);
    vprintf(fmt, ap);
    va_end(ap);
    printf("\n");
}

static inline void start_device(const struct ks_emu_config *c, const char *ptx_path)
{
    KS_AUTO_STR struct ks_str text = KS_STR_INIT;
    if (ks_emu_new(c, &dev, &err) != KS_OK || ks_file_read(ptx_path, 64u << 20, &text, &err) != KS_OK ||
        ks_emu_module_load(dev, ks_str_cstr(&text), text.len, &mod, &err) != KS_OK) {
        printf("cannot start: %s\n", err.message);
        exit(2);
    }
}

static inline void *upload(const void *data, size_t bytes, const char *name)
{
    void *p = ks_emu_malloc(dev, bytes, name);
    if (!p || (data && ks_emu_write(dev, p, data, bytes, &err) != KS_OK)) {
        printf("cannot upload %s: %s\n", name, err.message);
        exit(2);
    }
    return p;
}

static inline void download(void *to, const void *from, size_t bytes)
{
    if (ks_emu_read(dev, to, from, bytes, &err) != KS_OK) {
        printf("cannot download: %s\n", err.message);
        exit(2);
    }
}

static inline void drop(void *p)
{
    if (ks_emu_mfree(dev, p, &err) != KS_OK) {
        printf("cannot free: %s\n", err.message);
        exit(2);
    }
}

/* The most memory that this process ever had. */
static inline size_t peak_bytes(void)
{
    KS_AUTO_STR struct ks_str text = KS_STR_INIT;
    const char *at =
        ks_file_read("/proc/self/status", 1u << 20, &text, &err) == KS_OK ? strstr(ks_str_cstr(&text), "VmHWM:") : NULL;
    return at ? strtoul(at + 6, NULL, 10) * 1024 : 0;
}

/* args: pointers to the parameters. */
static inline enum ks_code launch_as(const char *name, unsigned grid, unsigned block, size_t shared, bool cooperative,
                                     void **args)
{
    struct ks_emu_launch l = {.name = name,
                              .grid = {grid, 1, 1},
                              .block = {block, 1, 1},
                              .shared_bytes = shared,
                              .args = args,
                              .cooperative = cooperative};
    err = (struct ks_err){0};
    return ks_emu_launch_run(dev, mod, &l, &err);
}
#define launch(name, grid, block, shared, ...) launch_as(name, grid, block, shared, false, (void *[]){__VA_ARGS__})

static inline int finish(void)
{
    ks_emu_free(dev);
    printf("%d passed, %d failed\n", n_passed, n_failed);
    return n_failed > 99 ? 99 : n_failed;
}

#endif

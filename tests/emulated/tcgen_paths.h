#ifndef KS_TESTS_EMULATED_TCGEN_PATHS_H
#define KS_TESTS_EMULATED_TCGEN_PATHS_H

/* What test_tcgen_paths.c and test_tcgen_products.c share: PTX of a kernel around one tcgen05 instruction, and its run.
 *
 * A kernel copies image[block] to shared memory and init[block] (lane by lane) to the first `cols` columns of tensor memory, does
 * what it is about, and stores the same columns in got[block].  Registers for the instruction: %r1 thread, %r3 cols, %r4
 * instruction descriptor, %p1 keep, %r6 the result's address, %r7 mask, %r16 the warp's part of tensor memory, %r21 operand A
 * there, %rd7 and %rd8 descriptors of A and B, whose addresses count from the image's start.
 *
 * With -DTCGEN_CARD the same on a card, through the driver (tests/gpu/tcgen_card.h). */

#ifdef TCGEN_CARD
#include "tests/gpu/tcgen_card.h"
#else
#include "tests/emulated/emu_test.h"
#endif

#define LANES 128
#define WORDS 13312u /* of shared memory that a case fills */
#define HEAD  ".version 8.8\n.target sm_100a\n.address_size 64\n.extern .shared .align 1024 .b8 mem[];\n"

static uint32_t image[2][WORDS], init[2][LANES][512], got[2][LANES][512], want[2][LANES][512];

/* ------------------------------------------------------------------------------------------------ kernels */

#define PARAMETERS                                                                                                               \
    "(.param .u64 a_image, .param .u64 a_init, .param .u64 a_out, .param .u32 a_cols, .param .u64 a_a, .param .u64 a_b, "        \
    ".param .u32 a_idesc, .param .u32 a_keep, .param .u32 a_d, .param .u32 a_mask)\n"
#define BODY                                                                                                                     \
    "{\n"                                                                                                                        \
    ".reg .b32 %%r<40>;\n.reg .b32 %%v<128>;\n.reg .b64 %%rd<20>;\n.reg .pred %%p<8>;\n.reg .b16 %%h;\n"                         \
    ".shared .align 8 .b64 bar;\n.shared .align 4 .b32 where;\n"                                                                 \
    "mov.u32 %%r1, %%tid.x;\nmov.u32 %%r2, %%cluster_ctarank;\nld.param.u32 %%r3, [a_cols];\n"                                   \
    "ld.param.u64 %%rd1, [a_image];\nld.param.u64 %%rd2, [a_init];\nld.param.u64 %%rd3, [a_out];\n"                              \
    "ld.param.u64 %%rd4, [a_a];\nld.param.u64 %%rd5, [a_b];\nld.param.u32 %%r4, [a_idesc];\nld.param.u32 %%r5, [a_keep];\n"      \
    "ld.param.u32 %%r6, [a_d];\nld.param.u32 %%r7, [a_mask];\nsetp.ne.b32 %%p1, %%r5, 0;\n"                                      \
    "setp.lt.u32 %%p2, %%r1, 32;\nsetp.eq.u32 %%p3, %%r1, 0;\nsetp.eq.u32 %%p4, %%r2, 0;\nand.pred %%p4, %%p3, %%p4;\n"          \
    "mov.u32 %%r8, mem;\nmov.u32 %%r9, where;\nmov.u32 %%r10, bar;\n"                                                            \
    "@%%p2 tcgen05.alloc.cta_group::%u.sync.aligned.shared::cta.b32 [%%r9], 512;\n"                                              \
    "@%%p3 mbarrier.init.shared::cta.b64 [%%r10], 1;\n@%%p3 fence.mbarrier_init.release.cluster;\n"                              \
    "mov.u32 %%r11, %%r1;\n"                                                                                                     \
    "copy:\nmad.lo.u32 %%r12, %%r2, %u, %%r11;\nmul.wide.u32 %%rd10, %%r12, 4;\nadd.u64 %%rd10, %%rd10, %%rd1;\n"                \
    "ld.global.u32 %%r13, [%%rd10];\nshl.b32 %%r14, %%r11, 2;\nadd.u32 %%r14, %%r14, %%r8;\nst.shared.u32 [%%r14], %%r13;\n"     \
    "add.u32 %%r11, %%r11, 128;\nsetp.lt.u32 %%p5, %%r11, %u;\n@%%p5 bra copy;\n"                                                \
    "fence.proxy.async.shared::cta;\ntcgen05.fence::before_thread_sync;\nbar.sync 0;\ntcgen05.fence::after_thread_sync;\n"       \
    "ld.shared.u32 %%r15, [where];\nshr.u32 %%r16, %%r1, 5;\nshl.b32 %%r16, %%r16, 21;\nadd.u32 %%r16, %%r16, %%r15;\n"          \
    "mad.lo.u32 %%r17, %%r2, 128, %%r1;\nmul.lo.u32 %%r17, %%r17, 512;\nmul.wide.u32 %%rd11, %%r17, 4;\n"                        \
    "add.u64 %%rd12, %%rd11, %%rd2;\nadd.u64 %%rd13, %%rd11, %%rd3;\nmov.u32 %%r18, 0;\n"                                        \
    "fill:\nmul.wide.u32 %%rd14, %%r18, 4;\nadd.u64 %%rd14, %%rd14, %%rd12;\nld.global.u32 %%r19, [%%rd14];\n"                   \
    "add.u32 %%r20, %%r16, %%r18;\ntcgen05.st.sync.aligned.32x32b.x1.b32 [%%r20], {%%r19};\nadd.u32 %%r18, %%r18, 1;\n"          \
    "setp.lt.u32 %%p5, %%r18, %%r3;\n@%%p5 bra fill;\ntcgen05.wait::st.sync.aligned;\n"                                          \
    "tcgen05.fence::before_thread_sync;\nbarrier.cluster.arrive.release.aligned;\nbarrier.cluster.wait.acquire.aligned;\n"       \
    "tcgen05.fence::after_thread_sync;\nadd.u32 %%r6, %%r6, %%r15;\n"                                                            \
    "cvt.u64.u32 %%rd6, %%r8;\nshr.u64 %%rd6, %%rd6, 4;\nadd.u64 %%rd7, %%rd4, %%rd6;\nadd.u64 %%rd8, %%rd5, %%rd6;\n"           \
    "cvt.u32.u64 %%r21, %%rd4;\nadd.u32 %%r21, %%r21, %%r15;\n"
#define WAIT                                                                                                                     \
    "again:\nmbarrier.try_wait.parity.shared::cta.b64 %%p6, [%%r10], 0;\n@!%%p6 bra again;\ntcgen05.fence::after_thread_sync;\n"
#define DUMP                                                                                                                     \
    "mov.u32 %%r18, 0;\ndump:\nadd.u32 %%r20, %%r16, %%r18;\ntcgen05.ld.sync.aligned.32x32b.x1.b32 {%%r19}, [%%r20];\n"          \
    "tcgen05.wait::ld.sync.aligned;\nmul.wide.u32 %%rd14, %%r18, 4;\nadd.u64 %%rd14, %%rd14, %%rd13;\n"                          \
    "st.global.u32 [%%rd14], %%r19;\nadd.u32 %%r18, %%r18, 1;\nsetp.lt.u32 %%p5, %%r18, %%r3;\n@%%p5 bra dump;\n"
#define END                                                                                                                      \
    "tcgen05.fence::before_thread_sync;\nbarrier.cluster.arrive.release.aligned;\nbarrier.cluster.wait.acquire.aligned;\n"       \
    "@%%p2 tcgen05.dealloc.cta_group::%u.sync.aligned.b32 %%r15, 512;\nret;\n}\n"

static inline void begin_kernel(struct ks_str *t, const char *name, unsigned group)
{
    ks_str_addf(t, ".visible .entry %s" PARAMETERS "%s" BODY, name, group == 2 ? ".reqnctapercluster 2, 1, 1\n" : "", group,
                WORDS, WORDS);
}
/* One thread's `what`, then its completion and all of tensor memory. */
static inline void emit_pipe(struct ks_str *t, const char *name, unsigned group, const char *what)
{
    begin_kernel(t, name, group);
    ks_str_addf(t, "@!%%p4 bra issued;\n%s\n", what);
    if (group == 1)
        ks_str_addf(t, "tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%%r10];\n");
    else
        ks_str_addf(t,
                    "mov.u16 %%h, 3;\ntcgen05.commit.cta_group::2.mbarrier::arrive::one.shared::cluster.multicast::cluster.b64 "
                    "[%%r10], %%h;\n");
    ks_str_addf(t, "issued:\n" WAIT DUMP END, group);
}

/* ------------------------------------------------------------------------------------------------ running */

/* Tensor memory after a kernel into got; KS_OK when it ran. */
#ifdef TCGEN_CARD
static unsigned long long buffers[3]; /* image, init, got */
static const size_t buffer_bytes[3] = {sizeof(image), sizeof(init), sizeof(got)};

static inline enum ks_code run(const char *name, unsigned blocks, uint32_t cols, uint64_t a, uint64_t b, uint32_t idesc,
                               uint32_t keep, uint32_t d, uint32_t mask)
{
    void *f, *args[] = {&buffers[0], &buffers[1], &buffers[2], &cols, &a, &b, &idesc, &keep, &d, &mask};
    unsigned dynamic = 4 * WORDS + 1024;
    int r = cu.module_function(&f, card_module, name);
    r = r ? r : cu.function_set(f, CARD_MAX_DYNAMIC_SHARED, (int)dynamic);
    r = r ? r : cu.to_device(buffers[0], image, blocks * sizeof(image[0]));
    r = r ? r : cu.to_device(buffers[1], init, blocks * sizeof(init[0]));
    r = r ? r : cu.launch(f, blocks, 1, 1, 128, 1, 1, dynamic, NULL, args, NULL);
    r = r ? r : cu.context_sync();
    r = r ? r : cu.to_host(got, buffers[2], blocks * sizeof(got[0]));
    if (r) {
        printf("%s: driver error %d\n", name, r);
        (void)cu.context_reset(card_device);
        if (card_begin(buffers, buffer_bytes)) /* not even that: nothing more can be learned */
            exit(2);
    }
    return r ? KS_ERR_DEVICE : KS_OK;
}
static inline void start_with(struct ks_str *ptx)
{
    card_open();
    card_ptx = ks_str_cstr(ptx);
    int r = card_begin(buffers, buffer_bytes);
    if (r) {
        printf("cannot start: driver error %d\n", r);
        exit(2);
    }
}
static inline bool silent(void)
{
    return true;
}
#else
static struct ks_emu_config config = {.arch = "sm_100a", .checks = KS_EMU_CHECK_ALL, .n_threads = 1};
static void *d_image, *d_init, *d_out;
static inline enum ks_code run(const char *name, unsigned blocks, uint32_t cols, uint64_t a, uint64_t b, uint32_t idesc,
                               uint32_t keep, uint32_t d, uint32_t mask)
{
    void *args[] = {&d_image, &d_init, &d_out, &cols, &a, &b, &idesc, &keep, &d, &mask};
    struct ks_emu_launch l = {
        .name = name, .grid = {blocks, 1, 1}, .block = {128, 1, 1}, .shared_bytes = 4 * WORDS + 1024, .args = args};
    err = (struct ks_err){0};
    ks_emu_findings_clear(dev);
    if (ks_emu_write(dev, d_image, image, blocks * sizeof(image[0]), &err) != KS_OK ||
        ks_emu_write(dev, d_init, init, blocks * sizeof(init[0]), &err) != KS_OK)
        return err.code;
    enum ks_code code = ks_emu_launch_run(dev, mod, &l, &err);
    if (code == KS_OK)
        download(got, d_out, blocks * sizeof(got[0]));
    return code;
}
static inline void start_with(struct ks_str *ptx)
{
    if (ks_emu_new(&config, &dev, &err) != KS_OK || ks_emu_module_load(dev, ks_str_cstr(ptx), ptx->len, &mod, &err) != KS_OK) {
        printf("cannot start: %s\n", err.message);
        exit(2);
    }
    ks_str_release(ptx);
    d_image = upload(NULL, sizeof(image), "image");
    d_init = upload(NULL, sizeof(init), "init");
    d_out = upload(NULL, sizeof(got), "out");
}

/* Did the checks find nothing? */
static inline bool silent(void)
{
    struct ks_json *found = ks_emu_findings(dev);
    bool none = ks_json_len(found) == 0;
    if (!none)
        printf("    %s\n", ks_json_get_str(ks_json_at(found, 0), "text", ""));
    ks_json_free(found);
    return none;
}
#endif

static inline void compare(const char *name, enum ks_code code, unsigned blocks, uint32_t cols)
{
    unsigned bad = 0, at = 0;
    for (unsigned i = 0; i < blocks * LANES * 512; i++) {
        const uint32_t *g = &got[0][0][0], *w = &want[0][0][0];
        if (i % 512 < cols && g[i] != w[i] && bad++ == 0)
            at = i;
    }
    verdict(code == KS_OK && bad == 0 && silent(), name, "%s, %u wrong; block %u, lane %u, column %u is 0x%x, expected 0x%x",
            ks_code_name(code), bad, at / 512 / LANES, at / 512 % LANES, at % 512, (&got[0][0][0])[at], (&want[0][0][0])[at]);
}

#endif

#include "harness/emulated/device.h"

#include <stdio.h>

/* Functions the device runtime provides: printf, assert, malloc, free.  ext: frame offsets of the arguments, target: of the
 * result. */

static uint64_t argument(const struct emu_warp *w, const struct emu_insn *in, uint32_t k, int lane, uint32_t bytes)
{
    uint64_t v = 0;
    size_t at = (size_t)lane * w->local_bytes + w->frame[lane] + in->ext[k];
    memcpy(&v, w->local + at, bytes);
    return v;
}

static void result(struct emu_warp *w, const struct emu_insn *in, int lane, uint64_t v, uint32_t bytes)
{
    if (in->target == UINT32_MAX)
        return;
    size_t at = (size_t)lane * w->local_bytes + w->frame[lane] + in->target;
    memcpy(w->local + at, &v, bytes);
    if (w->local_init)
        memset(w->local_init + at, 1, bytes);
}

/* Host pointer to `n` readable bytes at a generic address of a lane; NULL: not in bounds. */
static const uint8_t *reach(const struct emu_warp *w, uint64_t ad, int lane, size_t n)
{
    struct ks_emu *emu = w->worker->launch->emu;
    uint64_t off = ad - (uint64_t)(uintptr_t)emu->arena;
    if (off < EMU_LOCAL_WINDOW)
        return off + n <= w->block->shared_bytes ? w->block->shared + off : NULL;
    if (off < EMU_FIRST_ALLOC) {
        off -= EMU_LOCAL_WINDOW;
        return off + n <= w->local_bytes ? w->local + (size_t)lane * w->local_bytes + off : NULL;
    }
    const struct emu_alloc *a = ks_emu_alloc_find(emu, (uintptr_t)ad);
    return a && a->live && (uintptr_t)ad + n <= (uintptr_t)a->base + a->size ? (const uint8_t *)(uintptr_t)ad : NULL;
}

static bool read_text(const struct emu_warp *w, uint64_t ad, int lane, struct ks_str *out)
{
    for (size_t i = 0; i < 65536; i++) {
        const uint8_t *p = reach(w, ad + i, lane, 1);
        if (!p)
            return false;
        if (!*p)
            return true;
        ks_str_addc(out, (char)*p);
    }
    return false;
}

/* One conversion: `spec` is "%08.3lf".  The argument list packs each value at its own alignment. */
static bool format_one(const struct emu_warp *w, const char *spec, uint64_t args, size_t *at, int lane, struct ks_str *out)
{
    size_t len = strlen(spec);
    char conv = spec[len - 1];
    bool is_float = strchr("fFeEgGaA", conv),
         is_long = strstr(spec, "l") || strchr("sp", conv) || strchr(spec, 'j') || strchr(spec, 'z');
    size_t bytes = is_float || is_long ? 8 : 4;
    char plain[64];
    size_t n = 0;
    for (size_t i = 0; i + 1 < len && n < sizeof(plain) - 4; i++)
        if (!strchr("lhjztL", spec[i]))
            plain[n++] = spec[i];
    *at = (*at + bytes - 1) / bytes * bytes;
    const uint8_t *p = reach(w, args + *at, lane, bytes);
    if (!p)
        return false;
    uint64_t v = 0;
    memcpy(&v, p, bytes);
    *at += bytes;
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
    if (is_float) {
        double f;
        memcpy(&f, &v, 8);
        plain[n++] = conv;
        plain[n] = 0;
        ks_str_addf(out, plain, f);
    } else if (conv == 's') {
        KS_AUTO_STR struct ks_str text = KS_STR_INIT;
        if (!read_text(w, v, lane, &text))
            return false;
        plain[n++] = 's';
        plain[n] = 0;
        ks_str_addf(out, plain, ks_str_cstr(&text));
    } else if (conv == 'c') {
        plain[n++] = 'c';
        plain[n] = 0;
        ks_str_addf(out, plain, (int)v);
    } else if (conv == 'p') {
        if (v)
            ks_str_addf(out, "0x%llx", (unsigned long long)v);
        else
            ks_str_add(out, "(nil)"); /* the host's C library formats */
    } else {
        bool is_signed = conv == 'd' || conv == 'i';
        plain[n++] = 'l';
        plain[n++] = 'l';
        plain[n++] = conv;
        plain[n] = 0;
        long long s = bytes == 8 ? (long long)v : is_signed ? (long long)(int32_t)v : (long long)(uint32_t)v;
        ks_str_addf(out, plain, s);
    }
#pragma GCC diagnostic pop
    return true;
}

static bool format(const struct emu_warp *w, const char *fmt, uint64_t args, int lane, struct ks_str *out)
{
    size_t at = 0;
    while (*fmt) {
        if (*fmt != '%') {
            ks_str_addc(out, *fmt++);
            continue;
        }
        if (fmt[1] == '%') {
            ks_str_addc(out, '%');
            fmt += 2;
            continue;
        }
        char spec[48];
        size_t n = 0;
        spec[n++] = *fmt++;
        while (*fmt && n < sizeof(spec) - 2 && strchr("0123456789+-# .lhjztL", *fmt))
            spec[n++] = *fmt++;
        if (!*fmt || !strchr("diouxXcspfFeEgGaA", *fmt))
            return true; /* as on the device: an unknown conversion ends the output */
        spec[n++] = *fmt++;
        spec[n] = 0;
        if (!format_one(w, spec, args, &at, lane, out))
            return false;
    }
    return true;
}

static void call_vprintf(struct emu_warp *w, const struct emu_insn *in, uint32_t mask)
{
    struct ks_emu *emu = w->worker->launch->emu;
    for (int i = 0; i < EMU_LANES; i++) {
        if (!emu_lane(mask, i) || in->n_ext < 2)
            continue;
        KS_AUTO_STR struct ks_str fmt = KS_STR_INIT;
        KS_AUTO_STR struct ks_str out = KS_STR_INIT;
        if (!read_text(w, argument(w, in, 0, i, 8), i, &fmt) ||
            !format(w, ks_str_cstr(&fmt), argument(w, in, 1, i, 8), i, &out)) {
            ks_emu_fault(w, KS_ERR_DEVICE, "out-of-bounds", i, "load", argument(w, in, 0, i, 8), "",
                         "printf of memory out of bounds");
            return;
        }
        if (emu->config.output)
            emu->config.output(emu->config.output_arg, ks_str_cstr(&out), out.len);
        else
            (void)fwrite(ks_str_cstr(&out), 1, out.len, stdout);
        result(w, in, i, 1, 4);
    }
}

static void call_assertfail(struct emu_warp *w, const struct emu_insn *in, uint32_t mask)
{
    int lane = __builtin_ctz(mask);
    KS_AUTO_STR struct ks_str text = KS_STR_INIT;
    KS_AUTO_STR struct ks_str file = KS_STR_INIT;
    if (in->n_ext < 3 || !read_text(w, argument(w, in, 0, lane, 8), lane, &text) ||
        !read_text(w, argument(w, in, 1, lane, 8), lane, &file))
        ks_str_add(&text, "?");
    ks_emu_fault(w, KS_ERR_DEVICE, "assert", lane, "", 0, "", "assertion `%s' failed at %s:%u", ks_str_cstr(&text),
                 ks_str_cstr(&file), in->n_ext >= 3 ? (uint32_t)argument(w, in, 2, lane, 4) : 0);
}

static void call_malloc(struct emu_warp *w, const struct emu_insn *in, uint32_t mask)
{
    for (int i = 0; i < EMU_LANES; i++)
        if (emu_lane(mask, i) && in->n_ext >= 1)
            result(w, in, i,
                   (uint64_t)(uintptr_t)ks_emu_malloc(w->worker->launch->emu, argument(w, in, 0, i, 8), "kernel malloc"), 8);
}

static void call_free(struct emu_warp *w, const struct emu_insn *in, uint32_t mask)
{
    for (int i = 0; i < EMU_LANES; i++) {
        if (!emu_lane(mask, i) || in->n_ext < 1)
            continue;
        uint64_t p = argument(w, in, 0, i, 8);
        struct ks_err err = {0};
        if (p && ks_emu_mfree(w->worker->launch->emu, (void *)(uintptr_t)p, &err) != KS_OK) {
            ks_emu_fault(w, KS_ERR_DEVICE, "bad-free", i, "", p, "global", "free() of what malloc() did not give");
            return;
        }
        memset(w->worker->cache, 0, sizeof(w->worker->cache));
    }
}

static void call_set_conditional(struct emu_warp *w, const struct emu_insn *in, uint32_t mask)
{
    for (int i = 0; i < EMU_LANES; i++) {
        if (!emu_lane(mask, i) || in->n_ext < 2)
            continue;
        uint64_t handle = argument(w, in, 0, i, 8);
        if (!ks_emu_condition_set(w->worker->launch->emu, handle, (uint32_t)argument(w, in, 1, i, 4))) {
            ks_emu_fault(w, KS_ERR_DEVICE, "bad-call", i, "", handle, "", "cudaGraphSetConditional() of no conditional handle");
            return;
        }
    }
}

const struct emu_row ks_emu_rows_call[] = {{"call.vprintf", call_vprintf},
                                           {"call.__assertfail", call_assertfail},
                                           {"call.malloc", call_malloc},
                                           {"call.free", call_free},
                                           {"call.cudaGraphSetConditional", call_set_conditional},
                                           {NULL, NULL}};

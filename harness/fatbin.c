#include "harness/fatbin.h"

#include "base/limits.h"
#include "base/zstd.h"
#include "harness/ptx_join.h"

#include <limits.h>
#include <lz4.h>
#include <stdio.h>
#include <string.h>

/* Container header and entry header as nvcc 11..13 write them; only the fields used here are named. */
struct fat_header {
    uint32_t magic;
    uint16_t version, header_bytes;
    uint64_t size_bytes;
};
struct fat_entry {
    uint16_t kind, unknown;
    uint32_t header_bytes;
    uint64_t payload_bytes;
    uint32_t compressed_bytes, unknown2;
    uint16_t minor, major;
    uint32_t sm;
    uint32_t name_off, name_bytes;
    uint64_t flags;
    uint64_t zero;
    uint64_t plain_bytes;
};
#define FAT_MAGIC     0xba55ed50u
#define FAT_KIND_PTX  1
#define FAT_FLAG_LZ4  0x2000u
#define FAT_FLAG_ZSTD 0x8000u

static void add_text(struct ks_str *out, const void *text, size_t n)
{
    while (n > 0 && ((const char *)text)[n - 1] == 0) /* padded with NUL bytes */
        n--;
    ks_str_addn(out, text, n);
}

static enum ks_code unpack(const struct fat_entry *e, const unsigned char *payload, char *plain, size_t *ret_n,
                           struct ks_err *err)
{
    size_t packed = e->compressed_bytes ? e->compressed_bytes : e->payload_bytes;
    if (e->flags & FAT_FLAG_LZ4) {
        if (packed > INT_MAX)
            return ks_fail(err, KS_ERR_LIMIT, "decompress PTX: %zu bytes", packed);
        int n = LZ4_decompress_safe((const char *)payload, plain, (int)packed, (int)e->plain_bytes);
        if (n < 0)
            return ks_fail(err, KS_ERR_SYNTAX, "decompress PTX: not LZ4");
        *ret_n = (size_t)n;
        return KS_OK;
    }
    enum ks_code code = ks_zstd_unpack(payload, packed, plain, e->plain_bytes, ret_n, err);
    return code == KS_OK ? code : ks_wrap(err, "PTX");
}

static enum ks_code entry_text(const struct fat_entry *e, const unsigned char *payload, struct ks_str *out, struct ks_err *err)
{
    if (!(e->flags & (FAT_FLAG_ZSTD | FAT_FLAG_LZ4))) {
        add_text(out, payload, e->payload_bytes);
        return KS_OK;
    }
    if (e->plain_bytes == 0 || e->plain_bytes > KS_MAX_PTX_BYTES)
        return ks_fail(err, KS_ERR_LIMIT, "read PTX: module is larger than %u bytes", KS_MAX_PTX_BYTES);
    KS_AUTO_FREE char *plain = ks_xmalloc(e->plain_bytes);
    size_t n = 0;
    KS_TRY(unpack(e, payload, plain, &n, err));
    add_text(out, plain, n);
    return KS_OK;
}

enum ks_code ks_fatbin_ptx(const void *data, size_t len, int sm, struct ks_str *out, struct ks_err *err)
{
    struct fat_header h;
    if (len > 0 && len < sizeof h)
        return ks_fail(err, KS_ERR_SYNTAX, "read fat binary: %zu bytes are too few", len);
    memcpy(&h, data, sizeof h);
    if (h.magic != FAT_MAGIC || h.header_bytes < sizeof h)
        return ks_fail(err, KS_ERR_SYNTAX, "read fat binary: magic is 0x%x", (unsigned)h.magic);
    if (len > 0 && (h.size_bytes > len || h.header_bytes > len - h.size_bytes))
        return ks_fail(err, KS_ERR_SYNTAX, "read fat binary: truncated");
    const unsigned char *p = (const unsigned char *)data + h.header_bytes, *end = p + h.size_bytes;
    struct fat_entry best = {0};
    const unsigned char *best_payload = NULL;
    while ((size_t)(end - p) >= sizeof(struct fat_entry)) {
        struct fat_entry e;
        memcpy(&e, p, sizeof e);
        if (e.header_bytes < sizeof e || e.header_bytes > (size_t)(end - p) ||
            e.payload_bytes > (size_t)(end - p) - e.header_bytes)
            return ks_fail(err, KS_ERR_SYNTAX, "read fat binary: entry runs past the end");
        if (e.kind == FAT_KIND_PTX && (sm == 0 || e.sm <= (uint32_t)sm) && (!best_payload || e.sm >= best.sm)) {
            best = e;
            best_payload = p + e.header_bytes;
        }
        p += e.header_bytes + e.payload_bytes;
    }
    if (!best_payload)
        return ks_fail(err, KS_ERR_NOT_FOUND,
                       "find PTX in the fat binary: it holds machine code only (compile with code=compute_XX as well, "
                       "as in -gencode arch=compute_90a,code=[compute_90a,sm_90a])");
    return entry_text(&best, best_payload, out, err);
}

enum ks_code ks_fatbin_ptx_linked(const void *linked, const void *const *parts, int sm, struct ks_str *out, struct ks_err *err)
{
    enum ks_code code = ks_fatbin_ptx(linked, 0, sm, out, err);
    if (code != KS_ERR_NOT_FOUND || !parts)
        return code;
    struct ks_ptx_join join = {0};
    for (size_t i = 0; parts[i]; i++) {
        KS_AUTO_STR struct ks_str part = KS_STR_INIT;
        struct ks_err why;
        enum ks_code one = ks_fatbin_ptx(parts[i], 0, sm, &part, &why);
        if (one == KS_ERR_NOT_FOUND) /* NVIDIA's own device library; what is missed of the others is named when it is used */
            continue;
        if (one != KS_OK) {
            ks_ptx_join_release(&join);
            return ks_fail(err, one, "%s", why.message);
        }
        ks_ptx_join(&join, ks_str_cstr(&part), out);
    }
    ks_ptx_join_release(&join);
    return join.n_parts ? KS_OK : code;
}

/* Damaged PTX: every load, link and run must end in a result or an error, never in a crash.  The damage is a function of the
 * seed, so a failure can be repeated: test_fuzz FILE.ptx [first seed [count]]. */

#include "tests/emulated/emu_test.h"

static uint64_t rng;
static int n_ran;
static uint64_t next(void)
{
    rng ^= rng << 13;
    rng ^= rng >> 7;
    rng ^= rng << 17;
    return rng;
}

/* The instruction's name on the line around `at`, after a tab: its start and length; false: none there. */
static bool name_on_line(const struct ks_str *t, size_t at, size_t *ret_from, size_t *ret_len)
{
    while (at > 0 && t->data[at - 1] != '\n')
        at--;
    if (t->data[at] != '\t')
        return false;
    *ret_from = at + 1;
    *ret_len = strcspn(t->data + at + 1, " ;\n\t");
    return *ret_len > 1 && *ret_len < 120;
}

/* Puts another instruction's name before this one's operands. */
static void swap_name(struct ks_str *t)
{
    size_t from, len, other, other_len;
    if (!name_on_line(t, next() % t->len, &from, &len) || !name_on_line(t, next() % t->len, &other, &other_len))
        return;
    struct ks_str r = KS_STR_INIT;
    ks_str_addn(&r, t->data, from);
    ks_str_addn(&r, t->data + other, other_len);
    ks_str_addn(&r, t->data + from + len, t->len - from - len);
    ks_str_release(t);
    *t = r;
}

/* Changes characters, drops or doubles lines, swaps instructions, swaps operands' digits, cuts the end. */
static void damage(struct ks_str *t)
{
    static const char junk[] = ";,.:{}[]()%@!+-<>|0123456789abcdfrsux_$\"\n ";
    uint64_t n = 1 + next() % 6;
    for (uint64_t k = next() % 4; k > 0 && t->len > 64; k--)
        swap_name(t);
    for (uint64_t k = 0; k < n && t->len > 64; k++) {
        size_t at = next() % t->len;
        char *p = t->data + at;
        char *line = p, *end = p;
        while (line > t->data && line[-1] != '\n')
            line--;
        while (*end && *end != '\n')
            end++;
        size_t len = (size_t)(end - line);
        switch (next() % 6) {
        case 0:
            *p = junk[next() % (sizeof(junk) - 1)];
            break;
        case 1:
            memset(line, ' ', len);
            break;
        case 2:
            if (next() % 8 == 0)
                t->data[t->len = at] = 0;
            break;
        case 3:
            for (char *s = line; s < end; s++)
                if (*s >= '0' && *s <= '9')
                    *s = (char)('0' + next() % 10);
            break;
        case 4: {
            char *other = t->data + next() % (t->len - 32);
            memmove(p, other, 16 < t->len - at ? 16 : t->len - at);
            break;
        }
        default: {
            static const char *const from[] = {"u32", "f32", "s32", "b64", "global", "shared", "add", "mul", "bra"};
            static const char *const to[] = {"u64", "f64", "s16", "b32", "shared", "local ", "sub", "div", "ret"};
            size_t w = next() % 9;
            char *hit = strstr(p, from[w]);
            if (hit)
                memcpy(hit, to[w], strlen(from[w]));
        }
        }
    }
}

static void quiet(void *arg, const char *text, size_t len)
{
    (void)arg;
    (void)text;
    (void)len;
}

/* Kernels whose parameters do not fit what is passed simply see other values: pointers into buffers, small numbers. */
static void run_all(struct ks_emu_module *m, const char *ptx, void *buffer)
{
    void *args[64];
    for (const char *p = strstr(ptx, ".entry "); p; p = strstr(p + 1, ".entry ")) {
        char name[128];
        struct ks_emu_func_info info;
        if (sscanf(p + 7, "%127[A-Za-z0-9_$]", name) != 1 || ks_emu_func(m, name, &info, &err) != KS_OK || info.n_params > 64)
            continue;
        static uint64_t wide[64][64];
        for (size_t i = 0; i < info.n_params; i++) {
            if (info.param_size[i] > sizeof(wide[0]))
                return;
            for (size_t k = 0; k < 64; k++)
                wide[i][k] = info.param_size[i] == 8 ? (uint64_t)(uintptr_t)buffer : 40;
            args[i] = wide[i];
        }
        struct ks_emu_launch l = {.name = name, .grid = {2, 1, 1}, .block = {64, 1, 1}, .shared_bytes = 512, .args = args};
        if (ks_emu_launch_run(dev, m, &l, &err) == KS_OK)
            n_ran++;
    }
}

int main(int argc, char **argv)
{
    KS_AUTO_STR struct ks_str text = KS_STR_INIT;
    uint64_t first = argc > 2 ? strtoull(argv[2], NULL, 10) : 1, count = argc > 3 ? strtoull(argv[3], NULL, 10) : 60;
    struct ks_emu_config c = {
        .arch = "sm_90a", .checks = KS_EMU_CHECK_ALL, .counters = true, .max_warp_insts = 20000, .n_threads = 2, .output = quiet};
    if (argc < 2 || ks_file_read(argv[1], 64u << 20, &text, &err) != KS_OK) {
        printf("usage: %s FILE.ptx [first seed [count]]\n", argv[0]);
        return 2;
    }
    if (strstr(ks_str_cstr(&text), ".target sm_100a"))
        c.arch = "sm_100a";
    if (ks_emu_new(&c, &dev, &err) != KS_OK) {
        printf("cannot start: %s\n", err.message);
        return 2;
    }
    uint64_t loaded = 0;
    for (uint64_t seed = first; seed < first + count; seed++) {
        KS_AUTO_STR struct ks_str t = KS_STR_INIT;
        struct ks_emu_module *m = NULL;
        rng = seed * 0x9e3779b97f4a7c15u | 1;
        ks_str_addn(&t, ks_str_cstr(&text), text.len);
        damage(&t);
        void *buffer = ks_emu_malloc(dev, 65536, "buffer");
        if (buffer && ks_emu_module_load(dev, ks_str_cstr(&t), t.len, &m, &err) == KS_OK) {
            loaded++;
            run_all(m, ks_str_cstr(&t), buffer);
            ks_emu_module_unload(dev, m);
        }
        if (buffer)
            (void)!ks_emu_mfree(dev, buffer, &err); /* a kernel may have freed it */
        ks_emu_findings_clear(dev);
        ks_emu_counters_clear(dev);
    }
    printf("%llu damaged files, %llu still load, %d kernels still run\n", (unsigned long long)count, (unsigned long long)loaded,
           n_ran);
    /* of few, none may load by chance */
    verdict(count < 60 || (loaded > 0 && loaded < count), "damage", "of %llu files %llu load", (unsigned long long)count,
            (unsigned long long)loaded);
    return finish();
}

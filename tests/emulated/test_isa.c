/* Instruction tests on the emulated device, and their exchange with a GPU.
 *   test_isa CASES CORPUS [RESULTS] runs every case, decodes every opcode of the corpus, and compares with recorded results
 *   test_isa --dump DIR CASES       writes isa.ptx, isa.in and isa.tsv for tests/gpu/isa_run
 *   test_isa --compare DIR CASES    compares isa.out, which that program wrote, and prints the table of results
 *   test_isa --show OPCODE          prints the kernel of an opcode */

#include "tests/emulated/emu_test.h"
#include "tests/emulated/isa.h"

#include "base/hash.h"

#include <math.h>

struct prepared {
    struct isa_io io;
    struct ks_str ptx;
    char name[24];
};

static bool prepare(const struct isa_case *c, size_t index, struct prepared *p)
{
    *p = (struct prepared){0};
    (void)snprintf(p->name, sizeof(p->name), "k%zu", index);
    return isa_emit(&p->ptx, c->opcode, p->name, &p->io);
}

static enum ks_code load(const struct prepared *p, int arch)
{
    KS_AUTO_STR struct ks_str text = KS_STR_INIT;
    struct ks_emu_func_info info;
    ks_str_add(&text, isa_header(arch));
    ks_str_addn(&text, ks_str_cstr(&p->ptx), p->ptx.len);
    err = (struct ks_err){0};
    KS_TRY(ks_emu_module_load(dev, ks_str_cstr(&text), text.len, &mod, &err));
    enum ks_code code = ks_emu_func(mod, p->name, &info, &err);
    if (code != KS_OK)
        ks_emu_module_unload(dev, mod);
    return code;
}

/* Runs a case; *ret_out: ISA_THREADS * out_stride bytes, the caller frees. */
static bool run(const struct isa_case *c, const struct prepared *p, uint8_t **ret_out)
{
    size_t in_bytes = (size_t)p->io.in_stride * ISA_THREADS, out_bytes = (size_t)p->io.out_stride * ISA_THREADS;
    uint8_t *in = calloc(1, in_bytes), *out = calloc(1, out_bytes);
    *ret_out = out;
    if (load(p, c->arch) != KS_OK) {
        verdict(false, c->opcode, "%s", err.message);
        free(in);
        return false;
    }
    isa_inputs(c->opcode, &p->io, in);
    static void *din, *dout, *dmem; /* of all cases: new ones would cost more than running */
    din = din ? din : upload(NULL, 16 * ISA_MAX_IN * ISA_THREADS, "in");
    dout = dout ? dout : upload(NULL, 16 * ISA_MAX_OUT * ISA_THREADS, "out");
    dmem = dmem ? dmem : upload(NULL, ISA_MEM_BYTES, "mem");
    bool ok = ks_emu_write(dev, din, in, in_bytes, &err) == KS_OK && ks_emu_write(dev, dout, out, out_bytes, &err) == KS_OK &&
              ks_emu_fill(dev, dmem, 0, ISA_MEM_BYTES, &err) == KS_OK &&
              launch(p->name, ISA_THREADS / ISA_BLOCK, ISA_BLOCK, 0, &din, &dout, &dmem) == KS_OK;
    verdict(ok, c->opcode, "%s", err.message);
    download(out, dout, out_bytes);
    ks_emu_module_unload(dev, mod);
    free(in);
    return ok;
}

static uint64_t hash(const uint8_t *data, size_t n)
{
    uint64_t h = 0xcbf29ce484222325u;
    for (size_t i = 0; i < n; i++)
        h = (h ^ data[i]) * 0x100000001b3u;
    return h;
}

static struct isa_case *read_cases(const char *path, size_t *ret_n)
{
    KS_AUTO_STR struct ks_str text = KS_STR_INIT;
    struct isa_case *cases = NULL;
    int line = 0;
    if (ks_file_read(path, 1u << 20, &text, &err) != KS_OK || !isa_cases_read(ks_str_cstr(&text), &cases, ret_n, &line)) {
        printf("cannot read %s, line %d: %s\n", path, line, err.message);
        exit(2);
    }
    return cases;
}

static bool on_gpu(const struct isa_case *c)
{
    return c->arch <= 90 && c->verdict <= ISA_RUNS;
}

/* ------------------------------------------------------------------------------------------------ the test */

/* A line of the recorded results: opcode, compared how, threads that differ, worst distance, hash on the emulated device. */
struct recorded {
    char opcode[120];
    unsigned long long emulated;
};

static struct recorded *read_results(const char *path, size_t *ret_n)
{
    KS_AUTO_STR struct ks_str text = KS_STR_INIT;
    struct recorded *r = calloc(4096, sizeof(*r));
    *ret_n = 0;
    if (ks_file_read(path, 4u << 20, &text, &err) != KS_OK) {
        printf("cannot read %s: %s\n", path, err.message);
        exit(2);
    }
    for (const char *s = ks_str_cstr(&text); *s && *ret_n < 4096;) {
        size_t len = strcspn(s, "\n");
        char line[300];
        (void)snprintf(line, sizeof(line), "%.*s", (int)len, s);
        if (line[0] != '#' && sscanf(line, "%119s %*s %*s %*s %llx", r[*ret_n].opcode, &r[*ret_n].emulated) == 2)
            ++*ret_n;
        s += len + (s[len] == '\n');
    }
    return r;
}

static void run_cases(const struct isa_case *cases, size_t n, const struct recorded *results, size_t n_results)
{
    size_t compared = 0;
    for (size_t i = 0; i < n; i++) {
        struct prepared p;
        if (!prepare(&cases[i], i, &p)) {
            verdict(false, cases[i].opcode, "no kernel is known for it");
        } else if (cases[i].verdict == ISA_REFUSED) {
            enum ks_code code = load(&p, cases[i].arch);
            verdict(code == KS_ERR_UNSUPPORTED && strstr(err.message, cases[i].opcode), cases[i].opcode,
                    "is not refused by name: %s", err.message);
            if (code == KS_OK)
                ks_emu_module_unload(dev, mod);
        } else if (cases[i].verdict == ISA_DECODES) {
            bool ok = load(&p, cases[i].arch) == KS_OK;
            verdict(ok, cases[i].opcode, "%s", err.message);
            if (ok)
                ks_emu_module_unload(dev, mod);
        } else {
            uint8_t *out;
            bool ok = run(&cases[i], &p, &out);
            uint64_t h = hash(out, (size_t)p.io.out_stride * ISA_THREADS);
            for (size_t k = 0; ok && k < n_results && cases[i].verdict != ISA_RUNS; k++) {
                if (strcmp(results[k].opcode, cases[i].opcode) != 0)
                    continue;
                compared++;
                verdict(h == results[k].emulated, cases[i].opcode, "gives 0x%llx, recorded is 0x%llx", (unsigned long long)h,
                        results[k].emulated);
            }
            free(out);
        }
        ks_str_release(&p.ptx);
    }
    printf("%zu cases, %zu compared with recorded results\n", n, compared);
    if (n_results)
        verdict(compared >= 400, "recorded results", "only %zu cases have one", compared);
}

/* Groups that other tests bring to run: asynchronous copies, clusters, warpgroup and fifth-generation tensor instructions. */
static bool elsewhere(const char *group)
{
    static const char *const names[] = {"mbarrier",        "cp.async.bulk",
                                        "cp.reduce",       "cp.async.mbarrier",
                                        "wgmma",           "tcgen05",
                                        "barrier.cluster", "mapa",
                                        "st.async",        "setmaxnreg",
                                        "tensormap",       "clusterlaunchcontrol",
                                        "fence.proxy",     "fence.mbarrier_init",
                                        "multimem",        "red.async"};
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
        if (strncmp(group, names[i], strlen(names[i])) == 0)
            return true;
    return false;
}

/* Every opcode that at least three public kernels use is decoded.  Lines: opcode, group, kernels. */
static void decode_corpus(const char *path)
{
    KS_AUTO_STR struct ks_str text = KS_STR_INIT;
    long all = 0, rows = 0, left = 0;
    if (ks_file_read(path, 1u << 20, &text, &err) != KS_OK) {
        printf("cannot read %s: %s\n", path, err.message);
        exit(2);
    }
    for (const char *s = ks_str_cstr(&text); *s;) {
        char line[300], group[64];
        struct isa_case c = {.arch = 100};
        long kernels;
        size_t len = strcspn(s, "\n");
        (void)snprintf(line, sizeof(line), "%.*s", (int)len, s);
        s += len + (s[len] == '\n');
        if (line[0] == '#' || sscanf(line, "%119[^\t]\t%63[^\t]\t%ld", c.opcode, group, &kernels) != 3)
            continue;
        if (elsewhere(group) || strstr(c.opcode, "tensormap")) {
            left++;
            printf("elsewhere\t%s\t%ld\n", c.opcode, kernels);
            continue;
        }
        if (strstr(c.opcode, "mxf8f6f4") || strstr(c.opcode, "mxf4"))
            c.arch = 120;
        struct prepared p;
        rows++;
        all += kernels;
        bool known = prepare(&c, 0, &p);
        if (!known)
            verdict(false, c.opcode, "(%ld kernels) no kernel is known for it", kernels);
        else if (load(&p, c.arch) != KS_OK)
            verdict(false, c.opcode, "(%ld kernels) %s", kernels, err.message);
        else {
            verdict(true, c.opcode, "decoded");
            ks_emu_module_unload(dev, mod);
        }
        ks_str_release(&p.ptx);
    }
    printf("%ld opcodes of the corpus, used %ld times, decoded; %ld belong to other tests\n", rows, all, left);
}

/* ------------------------------------------------------------------------------------------------ exchange with a GPU */

static FILE *create(const char *dir, const char *name)
{
    char path[512];
    (void)snprintf(path, sizeof(path), "%s/%s", dir, name);
    FILE *f = fopen(path, "w");
    if (!f) {
        printf("cannot write %s\n", path);
        exit(2);
    }
    return f;
}

static void dump(const char *dir, const struct isa_case *cases, size_t n)
{
    FILE *ptx = create(dir, "isa.ptx"), *tsv = create(dir, "isa.tsv"), *input = create(dir, "isa.in");
    FILE *later[2] = {create(dir, "isa_100.ptx"), create(dir, "isa_120.ptx")}; /* no GPU here runs these: for ptxas */
    (void)fputs(isa_header(90), ptx);
    (void)fputs(isa_header(100), later[0]);
    (void)fputs(isa_header(120), later[1]);
    for (size_t i = 0; i < n; i++) {
        struct prepared p;
        if (!on_gpu(&cases[i]) && prepare(&cases[i], i, &p)) {
            (void)fputs(ks_str_cstr(&p.ptx), cases[i].arch >= 100 ? later[cases[i].arch >= 120] : ptx);
            ks_str_release(&p.ptx);
        } else if (on_gpu(&cases[i]) && prepare(&cases[i], i, &p)) {
            size_t bytes = (size_t)p.io.in_stride * ISA_THREADS;
            uint8_t *in = malloc(bytes);
            isa_inputs(cases[i].opcode, &p.io, in);
            (void)fputs(ks_str_cstr(&p.ptx), ptx);
            (void)fwrite(in, 1, bytes, input);
            (void)fprintf(tsv, "%s\t%u\t%u\t%s\n", p.name, p.io.in_stride, p.io.out_stride, cases[i].opcode);
            free(in);
            ks_str_release(&p.ptx);
        }
    }
    (void)fclose(later[0]);
    (void)fclose(later[1]);
    (void)fclose(ptx);
    (void)fclose(tsv);
    (void)fclose(input);
}

/* Differences of one case; the first few are printed as comments. */
static void compare_case(const struct isa_case *c, const struct prepared *p, const uint8_t *got, const uint8_t *gpu,
                         long *ret_bad, double *ret_worst)
{
    uint8_t *in = malloc((size_t)p->io.in_stride * ISA_THREADS);
    int shown = 0;
    isa_inputs(c->opcode, &p->io, in);
    *ret_bad = 0;
    *ret_worst = 0;
    for (size_t t = 0; t < ISA_THREADS; t++) {
        uint32_t at = 0;
        for (uint32_t k = 0; k < p->io.n_out; k++) {
            uint32_t bytes = p->io.out_bytes[k];
            at = (at + bytes - 1) / bytes * bytes;
            const uint8_t *a = got + t * p->io.out_stride + at, *b = gpu + t * p->io.out_stride + at;
            at += bytes;
            if (memcmp(a, b, bytes) == 0)
                continue;
            double d = c->verdict == ISA_EXACT ? 1 : isa_distance(c->opcode, a, b, bytes, c->verdict);
            ++*ret_bad;
            *ret_worst = d > *ret_worst ? d : *ret_worst;
            if ((c->verdict != ISA_EXACT && d <= c->tol) || shown++ >= 4)
                continue;
            unsigned long long x = 0, y = 0;
            memcpy(&x, a, bytes < 8 ? bytes : 8);
            memcpy(&y, b, bytes < 8 ? bytes : 8);
            fprintf(stderr, "  %s thread %zu result %u: emulated %llx, gpu %llx; inputs", c->opcode, t, k, x, y);
            for (uint32_t j = 0; j < p->io.n_in && j < 5; j++) {
                unsigned long long v = 0;
                memcpy(&v, in + t * p->io.in_stride + 16 * j, p->io.in[j].bytes < 8 ? p->io.in[j].bytes : 8);
                fprintf(stderr, " %llx", v);
            }
            fprintf(stderr, "\n");
        }
    }
    free(in);
}

/* What the GPU stored for an opcode: offsets into isa.out follow from the lines of isa.tsv. */
struct stored {
    char opcode[120];
    long offset, bytes;
};

static struct stored *read_list(const char *dir, size_t *ret_n)
{
    KS_AUTO_STR struct ks_str text = KS_STR_INIT;
    struct stored *all = calloc(8192, sizeof(*all));
    char path[512];
    long at = 0;
    (void)snprintf(path, sizeof(path), "%s/isa.tsv", dir);
    *ret_n = 0;
    if (ks_file_read(path, 4u << 20, &text, &err) != KS_OK) {
        printf("cannot read %s: %s\n", path, err.message);
        exit(2);
    }
    for (const char *s = ks_str_cstr(&text); *s && *ret_n < 8192;) {
        char line[300];
        long stride;
        struct stored *one = &all[*ret_n];
        size_t len = strcspn(s, "\n");
        (void)snprintf(line, sizeof(line), "%.*s", (int)len, s);
        s += len + (s[len] == '\n');
        if (sscanf(line, "%*s %*u %ld %119[^\n]", &stride, one->opcode) != 2)
            continue;
        one->offset = at + 1;
        one->bytes = stride * ISA_THREADS;
        at = one->offset + one->bytes;
        ++*ret_n;
    }
    return all;
}

static void compare(const char *dir, const struct isa_case *cases, size_t n)
{
    static const char *const names[] = {"exact", "ulp", "abs", "rel", "near", "runs"};
    char path[512];
    (void)snprintf(path, sizeof(path), "%s/isa.out", dir);
    FILE *f = fopen(path, "r");
    size_t n_stored;
    struct stored *all = read_list(dir, &n_stored);
    long cases_bad = 0, cases_all = 0;
    for (size_t i = 0; f && i < n; i++) {
        struct prepared p;
        const struct stored *one = NULL;
        for (size_t k = 0; k < n_stored; k++)
            if (strcmp(all[k].opcode, cases[i].opcode) == 0)
                one = &all[k];
        if (!one || !on_gpu(&cases[i]) || !prepare(&cases[i], i, &p))
            continue;
        size_t bytes = (size_t)p.io.out_stride * ISA_THREADS;
        uint8_t *out, *gpu = malloc(bytes), status = 1;
        bool ok = run(&cases[i], &p, &out) && (long)bytes == one->bytes && fseek(f, one->offset - 1, SEEK_SET) == 0 &&
                  fread(&status, 1, 1, f) == 1 && fread(gpu, 1, bytes, f) == bytes && status == 0;
        long bad = 0;
        double worst = 0;
        if (ok && cases[i].verdict != ISA_RUNS)
            compare_case(&cases[i], &p, out, gpu, &bad, &worst);
        bool fine = ok && (cases[i].verdict == ISA_EXACT ? bad == 0 : worst <= cases[i].tol);
        cases_all++;
        cases_bad += !fine;
        printf("%s\t%s\t%ld\t%.6g\t%016llx\t%s\n", cases[i].opcode, names[cases[i].verdict], bad, worst,
               (unsigned long long)hash(out, bytes),
               fine ? "ok"
               : ok ? "DIFFERS"
                    : "no result");
        free(out);
        free(gpu);
        ks_str_release(&p.ptx);
    }
    fprintf(stderr, "%ld cases compared, %ld differ\n", cases_all, cases_bad);
    free(all);
    if (f)
        (void)fclose(f);
}

int main(int argc, char **argv)
{
    struct ks_emu_config c = {.arch = "sm_90a", .checks = KS_EMU_CHECK_BOUNDS | KS_EMU_CHECK_SYNC};
    size_t n = 0, n_results = 0;
    if (argc == 3 && strcmp(argv[1], "--show") == 0) {
        struct isa_case one = {.arch = 90};
        struct prepared p;
        (void)snprintf(one.opcode, sizeof(one.opcode), "%s", argv[2]);
        bool known = prepare(&one, 0, &p);
        printf("%s%s", isa_header(strstr(argv[2], "mxf") ? 120 : 100), known ? ks_str_cstr(&p.ptx) : "unknown\n");
        ks_str_release(&p.ptx);
        return known ? 0 : 1;
    }
    if (argc != 4 && !(argc == 3 && argv[1][0] != '-')) {
        printf("usage: %s CASES CORPUS [RESULTS] | --dump DIR CASES | --compare DIR CASES | --show OPCODE\n", argv[0]);
        return 2;
    }
    if (ks_emu_new(&c, &dev, &err) != KS_OK) {
        printf("cannot start: %s\n", err.message);
        return 2;
    }
    bool other = strncmp(argv[1], "--", 2) == 0;
    struct isa_case *cases = read_cases(argv[other ? 3 : 1], &n);
    if (strcmp(argv[1], "--dump") == 0) {
        dump(argv[2], cases, n);
    } else if (other) {
        compare(argv[2], cases, n);
    } else {
        struct recorded *results = argc > 3 ? read_results(argv[3], &n_results) : NULL;
        run_cases(cases, n, results, n_results);
        decode_corpus(argv[2]);
        free(results);
        int r = finish();
        free(cases);
        return r;
    }
    free(cases);
    ks_emu_free(dev);
    return 0;
}

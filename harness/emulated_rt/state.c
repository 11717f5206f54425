/* The device, its errors and what the worker asks of it. */
#include "harness/emulated_rt/record.h"

#include "base/file.h"
#include "base/str.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define COUNTERS_VARIABLE "KSCC_EMU_COUNTERS"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct ks_emu *device;
static struct ks_emu_card card;
static cudaError_t sticky;
static enum ks_code sticky_code;
static char error_text[sizeof(((struct ks_err *)0)->message)];
static bool quiet;
static double past_ns; /* modelled time before the last clear */
static int launches;
static __thread cudaError_t last_error;
static KS_VEC(struct {
    char *kernel;
    int registers;
}) registers;

void rt_lock(void)
{
    pthread_mutex_lock(&lock);
}

void rt_unlock(void)
{
    pthread_mutex_unlock(&lock);
}

static void set_error(enum ks_code code, const char *text)
{
    sticky_code = code;
    snprintf(error_text, sizeof error_text, "%s", text);
}

static enum ks_code device_make(const struct ks_emu_config *config)
{
    struct ks_err err;
    if (!ks_emu_card_find(config->arch, &card)) {
        snprintf(error_text, sizeof error_text, "emulate '%s': not a known architecture", config->arch);
        return KS_ERR_UNSUPPORTED;
    }
    enum ks_code code = ks_emu_new(config, &device, &err);
    if (code != KS_OK)
        snprintf(error_text, sizeof error_text, "%s", err.message);
    return code;
}

/* Checks by name, separated by commas; bounds are always on. */
static unsigned checks_of(const char *list)
{
    static const struct {
        const char *name;
        unsigned bit;
    } names[] = {{"all", KS_EMU_CHECK_ALL},  {"bounds", 0}, {"none", 0}, {"init", KS_EMU_CHECK_INIT}, {"race", KS_EMU_CHECK_RACE},
                 {"sync", KS_EMU_CHECK_SYNC}};
    unsigned checks = KS_EMU_CHECK_BOUNDS;
    while (list && *list) {
        size_t n = strcspn(list, ","), k = 0, n_names = sizeof(names) / sizeof(*names);
        while (k < n_names && !(strncmp(list, names[k].name, n) == 0 && !names[k].name[n]))
            k++;
        if (k < n_names)
            checks |= names[k].bit;
        else
            fprintf(stderr, "kscc emulated device: KSCC_EMU_CHECKS: no check '%.*s', left out [kscc-emulated-device]\n", (int)n,
                    list);
        list += n + (list[n] == ',');
    }
    return checks;
}

struct ks_emu *rt_emu(void)
{
    if (device || sticky)
        return device;
    const char *arch = getenv("KSCC_EMU_ARCH"), *checks = getenv("KSCC_EMU_CHECKS"), *threads = getenv("KSCC_EMU_THREADS");
    const char *seed = getenv("KSCC_EMU_SEED");
    struct ks_emu_config config = {.arch = arch && *arch ? arch : "sm_90a",
                                   .checks = checks_of(checks),
                                   .seed = seed ? strtoull(seed, NULL, 10) : 0,
                                   .n_threads = threads ? (int)strtol(threads, NULL, 10) : 0};
    const char *sums = getenv("KSCC_EMU_SUMS");
    config.sums = sums && strcmp(sums, "hardware") == 0 ? KS_EMU_SUMS_HARDWARE
                  : sums && strcmp(sums, "exact") == 0  ? KS_EMU_SUMS_EXACT
                                                        : KS_EMU_SUMS_DEFAULT;
    config.line_bytes = getenv(COUNTERS_VARIABLE) != NULL;
    config.counters = config.line_bytes || rt_record_wanted(); /* a launch's modelled time comes from them */
    enum ks_code code = device_make(&config);
    if (code != KS_OK) {
        sticky = cudaErrorInitializationError;
        sticky_code = code;
        fprintf(stderr, "kscc emulated device: %s [kscc-emulated-device]\n", error_text);
    }
    return device;
}

const struct ks_emu_card *rt_card(void)
{
    return &card;
}

cudaError_t rt_sticky(void)
{
    return sticky;
}

cudaError_t rt_return(cudaError_t e)
{
    if (e != cudaSuccess)
        last_error = e;
    return e;
}

cudaError_t rt_last_error_exchange(cudaError_t e)
{
    cudaError_t old = last_error;
    last_error = e;
    return old;
}

/* "FILE:LINE: block (x,y,z) thread (x,y,z)", by the line of the PTX where there is no other. */
static void add_place(struct ks_str *out, const struct ks_json *party)
{
    static const char *const fields[] = {"block", "thread"};
    const char *file = ks_json_get_str(party, "file", NULL);
    ks_str_addf(out, "%s:%lld:", file ? file : "<ptx>", (long long)ks_json_get_i64(party, file ? "line" : "ptx_line", 0));
    for (size_t k = 0; k < 2; k++) {
        const struct ks_json *at = ks_json_get(party, fields[k]);
        ks_str_addf(out, " %s (%g,%g,%g)", fields[k], ks_json_num(ks_json_at(at, 0), 0), ks_json_num(ks_json_at(at, 1), 0),
                    ks_json_num(ks_json_at(at, 2), 0));
    }
}

static void print_findings(void)
{
    struct ks_json *list = ks_emu_findings(device);
    rt_order_findings(list);
    for (size_t i = 0; i < ks_json_len(list); i++) {
        const struct ks_json *f = ks_json_at(list, i), *other = ks_json_get(f, "other");
        const char *address = ks_json_get_str(f, "address", NULL), *allocation = ks_json_get_str(f, "allocation", NULL);
        KS_AUTO_STR struct ks_str text = KS_STR_INIT;
        add_place(&text, f);
        ks_str_addf(&text, ": %s in '%s': %s", ks_json_get_str(f, "kind", ""), ks_json_get_str(f, "kernel", ""),
                    ks_json_get_str(f, "text", ""));
        if (address)
            ks_str_addf(&text, ", at %s of %s", address, allocation ? allocation : ks_json_get_str(f, "space", ""));
        if (other) {
            ks_str_add(&text, "; the other: ");
            add_place(&text, other);
        }
        if (ks_json_get_i64(f, "count", 1) > 1)
            ks_str_addf(&text, " (%lld times)", (long long)ks_json_get_i64(f, "count", 1));
        fprintf(stderr, "kscc emulated device: %s [kscc-emulated-device]\n", ks_str_cstr(&text));
    }
    ks_json_free(list);
}

/* Only faults that leave the device unusable are sticky; a refused launch is not. */
cudaError_t rt_from_code(enum ks_code code, const struct ks_err *err)
{
    if (code == KS_OK)
        return cudaSuccess;
    cudaError_t e = code == KS_ERR_RANGE     ? cudaErrorInvalidConfiguration
                    : code == KS_ERR_TIMEOUT ? cudaErrorLaunchTimeout
                    : code == KS_ERR_DEVICE  ? rt_error_of_fault(ks_emu_fault_kind(device))
                                             : cudaErrorNotSupported;
    snprintf(error_text, sizeof error_text, "%s", err->message);
    if (code == KS_ERR_RANGE)
        return e;
    sticky = e;
    set_error(code, err->message);
    if (!quiet) {
        fprintf(stderr, "kscc emulated device: %s [kscc-emulated-device]\n", err->message);
        print_findings();
    }
    return e;
}

void rt_error_note(const char *text)
{
    snprintf(error_text, sizeof error_text, "%s", text);
    if (!quiet && getenv("KSCC_EMU_EXPLAIN"))
        fprintf(stderr, "kscc emulated device: %s [kscc-emulated-device]\n", text);
}

cudaError_t rt_refuse(const char *function, const char *reason)
{
    char text[256];
    snprintf(text, sizeof text, "%s: %s", function, reason);
    rt_error_note(text);
    return rt_return(cudaErrorNotSupported);
}

double rt_now_ns(void)
{
    return past_ns + (device ? ks_emu_modelled_ns(device) : 0);
}

void rt_count_launch(void)
{
    launches++;
}

/* What was counted, for `kscc profile`: one file a process. */
static void write_counters(const char *dir)
{
    KS_AUTO_JSON struct ks_json *j = ks_json_object();
    KS_AUTO_STR struct ks_str text = KS_STR_INIT, path = KS_STR_INIT;
    struct ks_err err;
    ks_json_set_str(j, "program", program_invocation_name);
    ks_json_set_str(j, "device", card.name);
    ks_json_set_bool(j, "modelled", true);
    ks_json_set_num(j, "modelled_ns", rt_now_ns());
    ks_json_set(j, "kernels", ks_emu_counters(device));
    ks_json_print_pretty(j, &text);
    ks_str_addf(&path, "%s/%ld.json", dir, (long)getpid());
    if (ks_file_write_atomic(ks_str_cstr(&path), text.data, text.len, 0644, &err) != KS_OK)
        fprintf(stderr, "kscc emulated device: %s [kscc-emulated-device]\n", err.message);
}

/* With the checks on and no worker to ask, what was found is said once, when the program ends. */
__attribute__((destructor)) static void report_at_exit(void)
{
    rt_record_finish();
    if (device && !quiet && !sticky)
        print_findings();
    const char *dir = getenv(COUNTERS_VARIABLE);
    if (device && !quiet && dir)
        write_counters(dir);
}

cudaError_t cudaGetLastError(void)
{
    cudaError_t e = last_error != cudaSuccess ? last_error : sticky;
    last_error = cudaSuccess;
    return e;
}

cudaError_t cudaPeekAtLastError(void)
{
    return last_error != cudaSuccess ? last_error : sticky;
}

/* Returns the registers that ptxas gave the kernel, 0: not known. */
static int registers_of(const char *kernel)
{
    for (size_t i = 0; i < registers.n; i++)
        if (strcmp(registers.data[i].kernel, kernel) == 0)
            return registers.data[i].registers;
    return 0;
}

void rt_registers_apply(struct ks_emu_module *m, const char *kernel)
{
    int n = registers_of(kernel);
    if (n > 0)
        ks_emu_set_registers(m, kernel, n);
}

int kscc_emu_configure(const struct ks_emu_config *config)
{
    rt_lock();
    enum ks_code code = KS_OK;
    if (device)
        ks_emu_configure(device, config);
    else
        code = device_make(config);
    rt_unlock();
    return (int)code;
}

const char *kscc_emu_error(void)
{
    return error_text;
}

int kscc_emu_failed(void)
{
    return (int)sticky_code;
}

void kscc_emu_quiet(void)
{
    quiet = true;
}

void kscc_emu_reset_errors(void)
{
    sticky = cudaSuccess;
    sticky_code = KS_OK;
    error_text[0] = 0;
    last_error = cudaSuccess;
}

struct ks_emu *kscc_emu_device(void)
{
    return device;
}

void kscc_emu_set_registers(const char *kernel, int n)
{
    __typeof__(*registers.data) item = {ks_xstrdup(kernel), n};
    ks_vec_push(&registers, item);
}

static char *json_text(struct ks_json *j)
{
    struct ks_str text = KS_STR_INIT;
    ks_json_print(j, &text);
    ks_json_free(j);
    return ks_str_detach(&text, NULL);
}

char *kscc_emu_findings(void)
{
    struct ks_json *list = ks_emu_findings(device);
    rt_order_findings(list);
    return json_text(list);
}

char *kscc_emu_counters(void)
{
    return json_text(ks_emu_counters(device));
}

double kscc_emu_modelled_ns(void)
{
    return ks_emu_modelled_ns(device);
}

void kscc_emu_clear(void)
{
    past_ns += ks_emu_modelled_ns(device);
    launches = 0;
    ks_emu_findings_clear(device);
    rt_order_clear();
    ks_emu_counters_clear(device);
}

int kscc_emu_launches(void)
{
    return launches;
}

void *kscc_emu_malloc(size_t size_bytes, const char *name)
{
    return ks_emu_malloc(device, size_bytes, name);
}

void *kscc_emu_malloc_at(size_t size_bytes, size_t align_bytes, size_t off_byte, const char *name)
{
    return ks_emu_malloc_at(device, size_bytes, align_bytes, off_byte, name);
}

void kscc_emu_declare_input(void *p)
{
    ks_emu_declare_input(device, p, true);
}

size_t kscc_emu_live_bytes(void)
{
    return ks_emu_live_bytes(device);
}

/* What the worker does to its own buffers must not mark the device as broken. */
static int plain(enum ks_code code, const struct ks_err *err)
{
    if (code != KS_OK)
        snprintf(error_text, sizeof error_text, "%s", err->message);
    return (int)code;
}

int kscc_emu_free(void *p)
{
    struct ks_err err;
    return plain(ks_emu_mfree(device, p, &err), &err);
}

int kscc_emu_write(void *dst, const void *src, size_t n)
{
    struct ks_err err;
    return plain(ks_emu_write(device, dst, src, n, &err), &err);
}

int kscc_emu_read(void *dst, const void *src, size_t n)
{
    struct ks_err err;
    return plain(ks_emu_read(device, dst, src, n, &err), &err);
}

void kscc_emu_poison(void *dst, size_t n, uint32_t pattern)
{
    ks_emu_poison(device, dst, n, pattern);
}

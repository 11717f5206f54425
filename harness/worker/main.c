/* kscc-worker: owns one device context and one candidate; does what the parent says over its socket and knows nothing more.
 * No seeds, no expected outputs, no verdicts live here.  Ends with _exit: a candidate's exit handlers never run. */
#include "harness/worker/device.h"

#include "harness/contract.h"
#include "harness/session.h"
#include "harness/worker/confine.h"
#include "harness/worker/sandbox.h"
#include "harness/worker/stack.h"
#include "harness/worker/thread_state.h"
#include "harness/worker/words.h"
#include "base/process.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <ffi.h>
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

static int socket_fd = -1, shm_fd = -1;
static bool replaying; /* commands come from a file, under compute-sanitizer: anonymous shared memory */
static bool unsealed;  /* replaying where the tool does not work in the sandbox: limits and no_new_privs are left */

static struct ks_namespaces namespaces;

struct worker {
    const struct ks_device_ops *device;
    bool gpu;
    unsigned char *shm;
    size_t shm_bytes;
    char runtime_path[KS_MAX_PATH_BYTES];
    void (*entry)(void);
    int (*last_error)(void);       /* NULL: not there */
    void *(*cxx_globals)(void);    /* of exceptions; NULL: no C++ runtime */
    struct ks_wire_prepare placed; /* the buffers of the current call */
    void *pointers[KS_MAX_PARAMS];
};

static void report_put(struct worker *w, const struct ks_str *text, struct ks_wire_reply *reply)
{
    size_t n = text->len < KS_WIRE_REPORT_BYTES ? text->len : KS_WIRE_REPORT_BYTES;
    if (n)
        memcpy(w->shm + KS_WIRE_HEAD_BYTES, text->data, n);
    reply->value[0] = (double)n;
}

static enum ks_code do_hello(struct worker *w, const struct ks_wire_hello *h, struct ks_wire_reply *reply, struct ks_err *err)
{
    w->shm_bytes = h->shm_bytes;
    w->shm = mmap(NULL, h->shm_bytes, PROT_READ | PROT_WRITE, replaying ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED, shm_fd, 0);
    if (w->shm == MAP_FAILED)
        return ks_fail_errno(err, KS_ERR_IO, "map the shared memory of %llu bytes", (unsigned long long)h->shm_bytes);
    ks_sandbox_limits(h->cpu_limit_s, h->device == KS_DEVICE_CUDA);
    w->gpu = h->device == KS_DEVICE_CUDA;
    w->device = w->gpu ? &ks_device_cuda : h->device == KS_WIRE_HOST ? &ks_device_host : &ks_device_emulated;
    memcpy(w->runtime_path, h->runtime_path, sizeof w->runtime_path);
    KS_AUTO_STR struct ks_str json = KS_STR_INIT;
    KS_TRY(w->device->open(h, &json, err));
    report_put(w, &json, reply);
    return KS_OK;
}

static enum ks_code do_load(struct worker *w, const struct ks_wire_load *l, struct ks_wire_reply *reply, struct ks_err *err)
{
    struct ks_sandbox s = {.head = (struct ks_wire_head *)w->shm,
                           .gpu = w->gpu,
                           .candidate = l->path,
                           .namespaces = &namespaces,
                           .runtime = w->runtime_path[0] ? w->runtime_path : NULL};
    KS_AUTO_STR struct ks_str json = KS_STR_INIT;
    if (!unsealed)
        KS_TRY(ks_sandbox_seal(&s, &json, err));
    else if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
        return ks_fail_errno(err, KS_ERR_SANDBOX, "set no_new_privs");
    void *lib = dlopen(l->path, RTLD_NOW | RTLD_LOCAL);
    if (!lib)
        return ks_fail(err, KS_ERR_BUILD, "load the object: %s", dlerror());
    void *entry = dlsym(lib, l->symbol);
    if (!entry)
        return ks_fail(err, KS_ERR_BUILD, "find '%s' in the object", l->symbol);
    memcpy(&w->entry, &entry, sizeof entry);
    void *last_error = w->device == &ks_device_host ? NULL : dlsym(lib, KS_LAST_ERROR_SYMBOL);
    memcpy(&w->last_error, &last_error, sizeof last_error);
    void *cxx_globals = dlsym(lib, "__cxa_get_globals"); /* the library itself, and what it needs */
    memcpy(&w->cxx_globals, &cxx_globals, sizeof cxx_globals);
    if (!unsealed)
        KS_TRY(ks_sandbox_seal_code(&s, err));
    report_put(w, &json, reply);
    return KS_OK;
}

static bool shm_range_ok(const struct worker *w, const struct ks_wire_buffer *b)
{
    uint64_t n = b->bytes + 2ull * b->red_bytes;
    return b->shm_off >= KS_WIRE_DATA_OFF && b->shm_off <= w->shm_bytes && n <= w->shm_bytes - b->shm_off;
}

static bool same_sizes(const struct ks_wire_prepare *a, const struct ks_wire_prepare *b)
{
    bool same = a->n == b->n;
    for (uint32_t i = 0; same && i < a->n; i++)
        same = a->buffers[i].bytes == b->buffers[i].bytes && a->buffers[i].arena_off == b->buffers[i].arena_off;
    return same;
}

static enum ks_code buffers_place(struct worker *w, const struct ks_wire_prepare *p, struct ks_err *err)
{
    for (uint32_t i = 0; i < w->placed.n; i++)
        if (w->pointers[i])
            KS_TRY(w->device->release(&w->placed.buffers[i], w->pointers[i], err));
    memset(w->pointers, 0, sizeof w->pointers);
    w->placed.n = 0;
    for (uint32_t i = 0; i < p->n; i++) {
        KS_TRY(w->device->place(&p->buffers[i], &w->pointers[i], err));
        w->placed.buffers[i] = p->buffers[i];
        w->placed.n = i + 1;
    }
    return KS_OK;
}

static enum ks_code do_prepare(struct worker *w, const struct ks_wire_prepare *p, struct ks_err *err)
{
    if (p->n > KS_MAX_PARAMS)
        return ks_fail(err, KS_ERR_PROTOCOL, "prepare %u buffers", (unsigned)p->n);
    if (w->device->renew)
        KS_TRY(w->device->renew(p, err));
    if (!p->same_place || p->fresh || !same_sizes(&w->placed, p))
        KS_TRY(buffers_place(w, p, err));
    w->placed = *p;
    for (uint32_t i = 0; i < p->n; i++) {
        const struct ks_wire_buffer *b = &p->buffers[i];
        if (b->source == KS_SOURCE_SHM && !shm_range_ok(w, b))
            return ks_fail(err, KS_ERR_PROTOCOL, "prepare buffer '%s': outside the shared memory", b->name);
        KS_TRY(w->device->fill(p, b, w->pointers[i], w->shm + b->shm_off, err));
    }
    return w->device->sync(err);
}

/* One argument as libffi wants it: a type and a place. */
union arg_value {
    void *p;
    int8_t i8;
    uint8_t u8;
    int16_t i16;
    uint16_t u16;
    int32_t i32;
    uint32_t u32;
    int64_t i64;
    uint64_t u64;
    float f32;
    double f64;
};

static ffi_type *arg_convert(struct worker *w, const struct ks_wire_arg *a, union arg_value *v)
{
    switch ((enum ks_param_kind)a->kind) {
    case KS_PARAM_POINTER:
        v->p = a->buffer < w->placed.n ? w->pointers[a->buffer] : NULL;
        return &ffi_type_pointer;
    case KS_PARAM_STREAM:
        v->p = w->device->stream();
        return &ffi_type_pointer;
    case KS_PARAM_I8:
        v->i8 = (int8_t)a->v.i;
        return &ffi_type_sint8;
    case KS_PARAM_U8:
        v->u8 = (uint8_t)a->v.i;
        return &ffi_type_uint8;
    case KS_PARAM_I16:
        v->i16 = (int16_t)a->v.i;
        return &ffi_type_sint16;
    case KS_PARAM_U16:
        v->u16 = (uint16_t)a->v.i;
        return &ffi_type_uint16;
    case KS_PARAM_I32:
        v->i32 = (int32_t)a->v.i;
        return &ffi_type_sint32;
    case KS_PARAM_U32:
        v->u32 = (uint32_t)a->v.i;
        return &ffi_type_uint32;
    case KS_PARAM_I64:
        v->i64 = a->v.i;
        return &ffi_type_sint64;
    case KS_PARAM_U64:
        v->u64 = (uint64_t)a->v.i;
        return &ffi_type_uint64;
    case KS_PARAM_F32:
        v->f32 = (float)a->v.f;
        return &ffi_type_float;
    case KS_PARAM_F64:
        v->f64 = a->v.f;
        return &ffi_type_double;
    case KS_PARAM_UNSUPPORTED:
        break;
    }
    return NULL;
}

/* The call itself, on a stack of its own. */
struct entry_call {
    ffi_cif *cif;
    void (*entry)(void);
    ffi_arg *result;
    void **places;
    void *(*cxx_globals)(void);
    uint32_t left; /* bits of enum ks_left */
};

static void entry_run(void *arg)
{
    struct entry_call *c = arg;
    ks_thread_state_disturb(c->cxx_globals);
    ffi_call(c->cif, c->entry, c->result, c->places);
    c->left = ks_thread_state_left();
}

static enum ks_code do_call(struct worker *w, const struct ks_wire_call *c, struct ks_wire_reply *reply, struct ks_err *err)
{
    ffi_cif cif;
    ffi_type *types[KS_MAX_PARAMS];
    union arg_value values[KS_MAX_PARAMS];
    void *places[KS_MAX_PARAMS];
    bool on_stream = false;
    if (!w->entry || c->n_args > KS_MAX_PARAMS)
        return ks_fail(err, KS_ERR_PROTOCOL, "call before an object is loaded");
    for (uint32_t i = 0; i < c->n_args; i++) {
        types[i] = arg_convert(w, &c->args[i], &values[i]);
        if (!types[i])
            return ks_fail(err, KS_ERR_UNSUPPORTED, "pass argument %u: type not supported", (unsigned)i);
        places[i] = &values[i];
        on_stream |= c->args[i].kind == KS_PARAM_STREAM;
    }
    if (ffi_prep_cif(&cif, FFI_DEFAULT_ABI, c->n_args, c->returns_int ? &ffi_type_sint : &ffi_type_void, types) != FFI_OK)
        return ks_fail(err, KS_ERR_UNSUPPORTED, "prepare the call");
    ffi_arg result = 0;
    struct ks_call_result r = {0};
    if (w->last_error) /* what the call before has left is not this one's */
        (void)w->last_error();
    KS_TRY(w->device->call_begin(&w->placed, w->pointers, on_stream, err));
    int64_t start_ns = ks_clock_ns();
    struct entry_call call = {&cif, w->entry, c->returns_int ? &result : NULL, places, w->cxx_globals, 0};
    ks_stack_call(entry_run, &call);
    KS_TRY(w->device->call_end(&w->placed, w->pointers, on_stream, &r, err));
    reply->value[KS_VALUE_RETURNED] = (int)result;
    reply->value[KS_VALUE_DEVICE_NS] = r.device_ns;
    reply->value[KS_VALUE_HOST_NS] = (double)(ks_clock_ns() - start_ns);
    reply->value[KS_VALUE_LATE_NS] = r.late_ns;
    reply->value[KS_VALUE_BUSY_NS] = r.busy_ns;
    reply->value[KS_VALUE_LEFT_BYTES] = r.left_bytes;
    reply->value[KS_VALUE_LAST_ERROR] = w->last_error ? w->last_error() : 0;
    reply->value[KS_VALUE_LEFT_STATE] = (double)call.left;
    return KS_OK;
}

static enum ks_code do_fetch(struct worker *w, const struct ks_wire_fetch *f, struct ks_err *err)
{
    for (uint32_t i = 0; i < w->placed.n; i++) {
        const struct ks_wire_buffer *b = &w->placed.buffers[i];
        if (!(f->mask >> i & 1))
            continue;
        if (!shm_range_ok(w, b))
            return ks_fail(err, KS_ERR_PROTOCOL, "read buffer '%s' back: outside the shared memory", b->name);
        KS_TRY(w->device->fetch(&w->placed, b, w->pointers[i], w->shm + b->shm_off, err));
    }
    return KS_OK;
}

static enum ks_code do_report(struct worker *w, const struct ks_wire_report *r, struct ks_wire_reply *reply, struct ks_err *err)
{
    KS_AUTO_STR struct ks_str text = KS_STR_INIT;
    KS_TRY(w->device->report(r, &text, &reply->value[1], err));
    report_put(w, &text, reply);
    return KS_OK;
}

static enum ks_code obey(struct worker *w, const struct ks_wire_command *c, struct ks_wire_reply *reply, struct ks_err *err)
{
    if (c->op != KS_OP_HELLO && !w->device)
        return ks_fail(err, KS_ERR_PROTOCOL, "obey before the start");
    switch ((enum ks_wire_op)c->op) {
    case KS_OP_HELLO:
        return do_hello(w, &c->u.hello, reply, err);
    case KS_OP_CONFIGURE:
        return w->device->configure(&c->u.config, err);
    case KS_OP_LOAD:
        return do_load(w, &c->u.load, reply, err);
    case KS_OP_PREPARE:
        return do_prepare(w, &c->u.prepare, err);
    case KS_OP_CALL:
        return do_call(w, &c->u.call, reply, err);
    case KS_OP_FETCH:
        return do_fetch(w, &c->u.fetch, err);
    case KS_OP_REPORT:
        return do_report(w, &c->u.report, reply, err);
    case KS_OP_QUIT:
        _exit(0);
    }
    return ks_fail(err, KS_ERR_PROTOCOL, "obey unknown command %u", (unsigned)c->op);
}

#ifdef __SANITIZE_ADDRESS__
/* A sanitized build of ours must die of a candidate's signal as any other build does. */
__attribute__((visibility("default"))) const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
    return "handle_segv=0:handle_sigbus=0:handle_sigfpe=0:handle_sigill=0:handle_abort=0:detect_leaks=0";
}
#endif

/* Everything inherited but the three standard descriptors and the two of the parent is closed. */
static bool descriptors_take(int argc, char **argv)
{
    if (argc != 5)
        return false;
    socket_fd = (int)strtol(argv[1], NULL, 10);
    shm_fd = (int)strtol(argv[2], NULL, 10);
    if (socket_fd < 3 || shm_fd < 3 || socket_fd == shm_fd)
        return false;
    unsigned lo = (unsigned)(socket_fd < shm_fd ? socket_fd : shm_fd), hi = (unsigned)(socket_fd < shm_fd ? shm_fd : socket_fd);
    if (lo > 3)
        close_range(3, lo - 1, 0);
    if (hi > lo + 1)
        close_range(lo + 1, hi - 1, 0);
    close_range(hi + 1, ~0u, 0);
    fcntl(socket_fd, F_SETFD, FD_CLOEXEC);
    fcntl(shm_fd, F_SETFD, FD_CLOEXEC);
    return true;
}

/* Says on our standard output that all before `c` is done.  The number was in no memory of this process before: the file is read
 * unbuffered. */
static bool record_print(const struct ks_wire_command *c)
{
    char line[64];
    int n = snprintf(line, sizeof line, "\n" KS_REPLAY_RECORD "\n", (unsigned)c->seq, (unsigned)c->pad);
    return write(STDOUT_FILENO, line, (size_t)n) == n;
}

/* Obeys a file of commands, as written by the parent for compute-sanitizer.  Returns the exit status. */
static int replay(struct worker *w, const char *path)
{
    static struct ks_wire_command c;
    FILE *f = fopen(path, "re");
    replaying = true;
    if (!f) {
        perror(path);
        return 2;
    }
    setvbuf(f, NULL, _IONBF, 0);
    while (fread(&c, offsetof(struct ks_wire_command, u), 1, f) == 1) {
        size_t rest = ks_wire_command_bytes(c.op) - offsetof(struct ks_wire_command, u);
        struct ks_wire_reply reply = {0};
        struct ks_err err = {0};
        bool whole = c.magic == KS_WIRE_MAGIC && (!rest || fread(&c.u, rest, 1, f) == 1);
        if (whole && c.op == KS_OP_REPORT && record_print(&c))
            continue;
        if (!whole || obey(w, &c, &reply, &err) != KS_OK) {
            fprintf(stderr, "kscc-worker: replay stopped: %s [kscc-worker]\n", err.message);
            return 3;
        }
    }
    fclose(f);
    for (uint32_t i = 0; w->device && i < w->placed.n; i++) {
        struct ks_err ignored;
        if (w->device->release(&w->placed.buffers[i], w->pointers[i], &ignored) != KS_OK)
            return 3;
    }
    if (w->device && w->device->close)
        w->device->close();
    return 0;
}

/* Before any other process is made.  Where it fails the parent finds the group empty and says so. */
static void cgroup_enter(const char *folder)
{
    char path[KS_MAX_PATH_BYTES];
    if (folder[0] != '/' || snprintf(path, sizeof path, "%s/cgroup.procs", folder) >= (int)sizeof path)
        return;
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    if (fd >= 0 && write(fd, "0", 1) != 1)
        perror(path);
    if (fd >= 0)
        close(fd);
}

/* From the highest to none; a device that does not open behind one set is tried behind the next. */
static void walls_raise(const char *which)
{
    static const char *const names[] = {
        [KS_WITHOUT_NONE] = "own", [KS_WITHOUT_READ_ONLY] = "writable", [KS_WITHOUT_PIDS] = "open"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(which, names[i]) == 0) {
            ks_namespaces_enter(&namespaces, (enum ks_namespaces_without)i, (const int[]){socket_fd, shm_fd}, 2);
            return;
        }
    namespaces.no_capabilities = strcmp(which, "shared") == 0 && ks_capabilities_drop();
}

/* Which walls there are here, as they are raised for a candidate on the emulated device: for kscc doctor. */
static int probe(void)
{
    static struct ks_wire_head head;
    KS_AUTO_STR struct ks_str json = KS_STR_INIT;
    struct ks_sandbox s = {.head = &head, .namespaces = &namespaces};
    struct ks_err err;
    ks_namespaces_enter(&namespaces, KS_WITHOUT_NONE, NULL, 0);
    if (ks_sandbox_seal(&s, &json, &err) != KS_OK)
        return 1;
    ks_str_add(&json, "\n");
    return write(STDOUT_FILENO, json.data, json.len) == (ssize_t)json.len ? 0 : 1;
}

int main(int argc, char **argv)
{
    static struct worker w;
    static struct ks_wire_command c;
    unsealed = argc == 3 && strcmp(argv[1], "--replay-unsealed") == 0;
    if (unsealed || (argc == 3 && strcmp(argv[1], "--replay") == 0))
        return replay(&w, argv[2]);
    if (argc > 2 && strcmp(argv[1], "--confine") == 0)
        ks_confine_run(argc, argv);
    if (argc == 2 && strcmp(argv[1], "--probe") == 0)
        return probe();
    int status = ks_words_run(argc, argv);
    if (status >= 0)
        return status;
    if (!descriptors_take(argc, argv) || prctl(PR_SET_PDEATHSIG, SIGKILL) != 0) {
        fputs("kscc-worker: is started by kscc and takes its orders over a socket [kscc-usage]\n", stderr);
        return 2;
    }
    cgroup_enter(argv[4]);
    char walls[16];
    snprintf(walls, sizeof walls, "%s", argv[3]);
    ks_stack_forget_arguments(argc, argv);
    unsigned fill = 0;
    if (getrandom(&fill, sizeof fill, GRND_NONBLOCK) == (ssize_t)sizeof fill)
        mallopt(M_PERTURB, (int)(fill % 255 + 1)); /* what was freed tells nothing to who gets it next */
    walls_raise(walls);
    for (;;) {
        ssize_t n = recv(socket_fd, &c, sizeof c, 0);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < (ssize_t)offsetof(struct ks_wire_command, u) || c.magic != KS_WIRE_MAGIC ||
            (size_t)n != ks_wire_command_bytes(c.op))
            _exit(n == 0 ? 0 : 3);
        struct ks_wire_reply reply = {.magic = KS_WIRE_MAGIC, .op = c.op, .seq = c.seq};
        struct ks_err err = {0};
        reply.code = obey(&w, &c, &reply, &err);
        if (reply.code != KS_OK)
            snprintf(reply.text, sizeof reply.text, "%s", err.message);
        if (send(socket_fd, &reply, sizeof reply, MSG_NOSIGNAL) != (ssize_t)sizeof reply)
            _exit(4);
    }
}

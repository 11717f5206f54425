/* One call of the entry in a worker: arguments, buffers, what came back. */
#include "harness/session_impl.h"

#include "harness/cupti_find.h"
#include "harness/emulated/emu.h"
#include "base/process.h"

#include <stdio.h>
#include <string.h>

#define RED_BYTES      4096u /* on a GPU: red zone on either side of a buffer */
#define ALIGN_UP(n, a) (((n) + (a)-1) / (a) * (a))

bool ks_buffer_is_output(const struct ks_buffer *b)
{
    return b->direction == KS_DIR_OUT || b->direction == KS_DIR_INOUT;
}

bool ks_buffer_is_input(const struct ks_buffer *b)
{
    return b->direction == KS_DIR_IN || b->direction == KS_DIR_INOUT;
}

void ks_bindings_make(struct ks_session *s)
{
    const struct ks_signature *sig = s->opt.signature;
    s->bindings = KS_ARENA_ARRAY(&s->arena, struct ks_binding, sig->n_params + 1);
    for (size_t i = 0; i < sig->n_params; i++) {
        struct ks_binding *b = &s->bindings[i];
        *b = (struct ks_binding){sig->params[i].kind, -1, -1, -1};
        for (size_t k = 0; k < s->c->n_buffers; k++)
            if (ks_streq(s->c->buffers[k].name, sig->params[i].name))
                b->buffer = (int)k;
        for (size_t k = 0; k < s->c->n_dims; k++)
            if (ks_streq(s->c->dims[k].name, sig->params[i].name))
                b->dim = (int)k;
        for (size_t k = 0; k < s->c->n_args; k++)
            if (ks_streq(s->c->args[k].name, sig->params[i].name))
                b->arg = (int)k;
    }
}

static enum ks_code arg_value(const struct ks_session *s, size_t i, const struct ks_shape *shape, struct ks_wire_arg *ret,
                              struct ks_err *err)
{
    const struct ks_binding *b = &s->bindings[i];
    ret->kind = b->kind;
    if (b->kind == KS_PARAM_POINTER) {
        ret->buffer = (uint32_t)b->buffer;
        return b->buffer >= 0 ? KS_OK
                              : ks_fail(err, KS_ERR_MISMATCH, "bind parameter '%s': no buffer of the contract has its name",
                                        s->opt.signature->params[i].name);
    }
    if (b->kind == KS_PARAM_STREAM)
        return KS_OK;
    double v = 0;
    if (b->arg >= 0)
        KS_TRY(ks_expr_eval(s->c->args[b->arg].value, s->c, shape, &v, err));
    else if (b->dim < 0)
        return ks_fail(err, KS_ERR_MISMATCH, "bind parameter '%s': neither a dim nor an arg line has its name",
                       s->opt.signature->params[i].name);
    if (b->kind == KS_PARAM_F32 || b->kind == KS_PARAM_F64)
        ret->v.f = b->arg >= 0 ? v : (double)shape->dim[b->dim];
    else
        ret->v.i = b->arg >= 0 ? (int64_t)v : shape->dim[b->dim];
    return KS_OK;
}

/* How far behind a multiple of KS_PLACE_BYTES a buffer of this pair of calls lies.  Each buffer has a place of its own, so that
 * no relation between pointers is the judge's: every other pair aligned as the contract says and no better; the others as big
 * blocks from cudaMalloc are, or (where the contract asks for less than that gives) somewhere among its small ones. */
static size_t place_off(const struct ks_session *s, uint64_t call, size_t i, size_t align)
{
    uint64_t pair = call / 2;
    bool least = pair % 2 == 1;
    if (!least && (align >= 256 || pair % 4 == 0))
        return 0;
    size_t step = least ? 2 * align : 256;
    return (size_t)ks_inputs_choice(s->secret, pair, 1000 + (uint32_t)i, KS_PLACE_BYTES / step) * step + (least ? align : 0);
}

enum ks_code ks_layout_make(const struct ks_session *s, const struct ks_shape *shape, enum ks_input_set set, uint64_t call,
                            struct ks_layout *ret, struct ks_err *err)
{
    struct ks_layout l = {.shape = *shape, .call = call, .set = set, .n = s->c->n_buffers};
    KS_TRY(ks_contract_complete(s->c, &l.shape, err));
    size_t shm = KS_WIRE_DATA_OFF, arena = 0;
    size_t red = s->opt.device == KS_DEVICE_CUDA ? RED_BYTES : 0;
    for (size_t i = 0; i < l.n; i++) {
        const struct ks_buffer *b = &s->c->buffers[i];
        int64_t n = 0;
        KS_TRY(ks_contract_elems(s->c, b, &l.shape, &n, err));
        size_t align = b->align_bytes ? b->align_bytes : 256;
        l.buf[i].n_elem = (size_t)n;
        l.buf[i].bytes = (size_t)n * ks_dtype_size(b->dtype);
        ks_contract_row(s->c, b, &l.shape, &l.buf[i].row_elems, &l.buf[i].used_elems);
        l.buf[i].red_bytes = red;
        l.buf[i].place_off = place_off(s, call, i, align);
        size_t first = arena + red, at = ALIGN_UP(first, KS_PLACE_BYTES) + l.buf[i].place_off;
        at -= at - first >= KS_PLACE_BYTES ? KS_PLACE_BYTES : 0;
        l.buf[i].shm_off = shm;
        l.buf[i].arena_off = at - red;
        arena = at + l.buf[i].bytes + red;
        size_t whole = ALIGN_UP(l.buf[i].bytes + 2 * red, 4096u);
        shm += whole;
        l.arena_bytes += whole + KS_PLACE_BYTES; /* whatever the places of the call */
        l.data_bytes += l.buf[i].bytes;
    }
    l.shm_bytes = shm;
    l.args.n_args = (uint32_t)s->opt.signature->n_params;
    l.args.returns_int = s->opt.signature->returns_int;
    for (size_t i = 0; i < s->opt.signature->n_params; i++)
        KS_TRY(arg_value(s, i, &l.shape, &l.args.args[i], err));
    *ret = l;
    return KS_OK;
}

void ks_layout_gen(const struct ks_session *s, const struct ks_layout *l, size_t i, struct ks_input_gen *ret)
{
    const struct ks_buffer *b = &s->c->buffers[i];
    *ret = (struct ks_input_gen){.dtype = b->dtype,
                                 .dist = b->dist,
                                 .set = l->set,
                                 .nonfinite = b->nonfinite,
                                 .a = b->dist_a,
                                 .b = b->dist_b,
                                 .n_elem = l->buf[i].n_elem,
                                 .row_elems = l->buf[i].row_elems};
    ks_inputs_key(s->secret, l->call, (uint32_t)i, ret->key);
}

bool ks_layout_is_recorded(const struct ks_session *s, const struct ks_layout *l, size_t i)
{
    return s->recorded && s->recorded[i] && (s->c->buffers[i].kept || l->set == KS_SET_RECORDED);
}

void ks_layout_contents(const struct ks_session *s, const struct ks_layout *l, size_t i, void *out)
{
    struct ks_input_gen gen;
    if (ks_layout_is_recorded(s, l, i)) { /* ks_recorded_load has seen that there is enough */
        memcpy(out, s->recorded[i], l->buf[i].bytes);
        return;
    }
    ks_layout_gen(s, l, i, &gen);
    ks_inputs_generate(&gen, out);
}

/* Where the device does not open behind all walls, fewer of them, for the rest of the session; the report says which. */
static enum ks_code worker_start(struct ks_session *s, struct ks_worker_options *o, struct ks_worker **ret, struct ks_err *err)
{
    struct ks_err first;
    o->walls = s->walls;
    enum ks_code code = ks_worker_start(o, ret, err);
    first = *err;
    while (code != KS_OK && !s->walls_known && o->walls != KS_WALLS_PLAIN) {
        ks_str_addf(&s->walls_why, "%s%s", s->walls_why.len ? "; " : "", err->message);
        o->walls++;
        code = ks_worker_start(o, ret, err);
    }
    if (code != KS_OK)
        *err = first; /* it was not the walls */
    s->walls = code == KS_OK ? o->walls : s->walls;
    s->walls_known |= code == KS_OK;
    return code;
}

static void worker_options(const struct ks_session *s, const struct ks_built *built, struct ks_worker_options *o)
{
    KS_AUTO_STR struct ks_str registers = KS_STR_INIT;
    if (built)
        ks_built_registers(built, &registers);
    o->program = s->worker_path;
    o->remote = s->opt.remote;
    o->memory_limit_bytes = s->opt.memory_limit_bytes;
    o->timeout_ms = KS_WORKER_START_MS;
    o->hello.device = s->opt.device;
    snprintf(o->hello.arch, sizeof o->hello.arch, "%s", s->opt.arch);
    if (s->runtime_path)
        snprintf(o->hello.runtime_path, sizeof o->hello.runtime_path, "%s", s->runtime_path);
    if (registers.len < sizeof o->hello.registers)
        snprintf(o->hello.registers, sizeof o->hello.registers, "%s", ks_str_cstr(&registers));
    if (s->activity) {
        KS_AUTO_STR struct ks_str cupti = KS_STR_INIT;
        o->hello.activity = 1;
        if (ks_cupti_find(s->opt.toolkit_dir, &cupti) && cupti.len < sizeof o->hello.cupti)
            snprintf(o->hello.cupti, sizeof o->hello.cupti, "%s", ks_str_cstr(&cupti));
    }
    o->hello.arena_bytes = s->arena_bytes;
    o->hello.shm_bytes = s->shm_bytes;
    o->hello.cpu_limit_s = s->opt.trial_timeout_ms > 0 ? (uint64_t)s->opt.trial_timeout_ms / 1000 * 64 + 60 : 0;
}

enum ks_code ks_worker_of_session(struct ks_session *s, struct ks_worker **ret, struct ks_err *err)
{
    struct ks_worker_options *o = ks_xcalloc(1, sizeof *o);
    worker_options(s, NULL, o);
    o->walls = s->walls;
    enum ks_code code = ks_worker_launch(o, ret, err);
    free(o);
    return code;
}

enum ks_code ks_arm_open(struct ks_session *s, struct ks_arm *arm, struct ks_err *err)
{
    if (ks_worker_alive(arm->worker))
        return KS_OK;
    ks_arm_stop(arm);
    arm->worker = s->activity ? NULL : ks_standby_take(s);
    if (arm->worker)
        return KS_OK;
    struct ks_worker_options *o = ks_xcalloc(1, sizeof *o);
    worker_options(s, arm->built, o);
    enum ks_code code = worker_start(s, o, &arm->worker, err);
    free(o);
    return code;
}

enum ks_code ks_arm_start(struct ks_session *s, struct ks_arm *arm, struct ks_err *err)
{
    if (ks_worker_alive(arm->worker) && arm->loaded)
        return KS_OK;
    KS_TRY(ks_arm_open(s, arm, err));
    struct ks_wire_command *c = ks_xcalloc(1, sizeof *c);
    struct ks_wire_reply reply;
    KS_AUTO_STR struct ks_str text = KS_STR_INIT;
    c->op = KS_OP_LOAD;
    snprintf(c->u.load.path, sizeof c->u.load.path, "%s", arm->built->shared_path);
    snprintf(c->u.load.symbol, sizeof c->u.load.symbol, "%s", s->opt.signature->symbol);
    enum ks_code code = ks_worker_ask(arm->worker, c, 60000, &reply, err);
    free(c);
    arm->loaded = code == KS_OK;
    if (code == KS_OK && !s->sandbox) {
        struct ks_err ignored;
        ks_worker_text(arm->worker, &reply, &text);
        if (ks_json_parse(ks_str_cstr(&text), text.len, "sandbox report", &s->sandbox, &ignored) != KS_OK)
            s->sandbox = NULL;
        else
            ks_worker_cgroup(arm->worker, s->sandbox);
    }
    return code;
}

void ks_arm_stop(struct ks_arm *arm)
{
    ks_worker_stop(arm->worker);
    arm->worker = NULL;
    arm->loaded = false;
}

enum ks_code ks_arm_configure(struct ks_session *s, struct ks_arm *arm, const struct ks_wire_config *config, struct ks_err *err)
{
    if (s->opt.device != KS_DEVICE_EMULATED)
        return KS_OK;
    KS_TRY(ks_arm_start(s, arm, err));
    struct ks_wire_command *c = ks_xcalloc(1, sizeof *c);
    struct ks_wire_reply reply;
    c->op = KS_OP_CONFIGURE;
    c->u.config = *config;
    enum ks_code code = ks_worker_ask(arm->worker, c, 10000, &reply, err);
    free(c);
    return code;
}

static void prepare_fill(struct ks_session *s, const struct ks_layout *l, const struct ks_run_options *opt,
                         struct ks_wire_prepare *p)
{
    p->n = (uint32_t)l->n;
    bool gpu = s->opt.device == KS_DEVICE_CUDA;
    p->cache = opt->cache;
    p->same_place = l->call % 2 == 1; /* every other call: new contents behind old pointers */
    p->fresh = opt->fresh ? 1 + (uint32_t)ks_inputs_choice(s->secret, l->call, 8000, 1000) : 0;
    p->order = opt->order;
    p->tenant = opt->tenant;
    p->watch = opt->watch;
    for (size_t i = 0; i < l->n; i++) {
        const struct ks_buffer *b = &s->c->buffers[i];
        struct ks_wire_buffer *w = &p->buffers[i];
        *w = (struct ks_wire_buffer){.bytes = l->buf[i].bytes,
                                     .shm_off = l->buf[i].shm_off,
                                     .arena_off = l->buf[i].arena_off,
                                     .red_bytes = (uint32_t)l->buf[i].red_bytes,
                                     .place_off = (uint32_t)l->buf[i].place_off,
                                     .pattern = opt->poison,
                                     .red_pattern = opt->poison ^ 0x00010001u};
        w->source = !ks_buffer_is_input(b)           ? KS_SOURCE_POISON
                    : ks_layout_is_recorded(s, l, i) ? KS_SOURCE_SHM
                    : opt->on_device || gpu          ? KS_SOURCE_GENERATE
                                                     : KS_SOURCE_SHM;
        w->read_only = b->direction == KS_DIR_IN;
        if (w->source == KS_SOURCE_GENERATE)
            ks_layout_gen(s, l, i, &w->gen);
        snprintf(w->name, sizeof w->name, "%s", b->name);
    }
}

const unsigned char *ks_run_output(const struct ks_arm *arm, const struct ks_layout *l, size_t i)
{
    return ks_worker_shm(arm->worker) + l->buf[i].shm_off + l->buf[i].red_bytes;
}

/* To the byte: a buffer may end anywhere. */
static bool red_intact(const unsigned char *p, size_t n, uint32_t pattern)
{
    for (size_t i = 0; i < n; i++)
        if (p[i] != (unsigned char)(pattern >> i % 4 * 8))
            return false;
    return true;
}

/* Gaps of an output: as they were before the call (inout: `before`, else the poison), or the first element that is not; n_elem:
 * none. */
static size_t gap_touched(const struct ks_layout *l, size_t i, size_t elem_bytes, const unsigned char *data,
                          const unsigned char *before, uint32_t poison)
{
    for (size_t e = l->buf[i].used_elems; e < l->buf[i].n_elem; e++) {
        if (e % l->buf[i].row_elems < l->buf[i].used_elems) {
            e += l->buf[i].used_elems - 1;
            continue;
        }
        for (size_t k = e * elem_bytes; k < (e + 1) * elem_bytes; k++)
            if (data[k] != (before ? before[k] : ((const unsigned char *)&poison)[k % 4]))
                return e;
    }
    return l->buf[i].n_elem;
}

void ks_gaps_clear(const struct ks_session *s, const struct ks_layout *l, size_t i, unsigned char *data)
{
    size_t row = l->buf[i].row_elems, used = l->buf[i].used_elems, bytes = ks_dtype_size(s->c->buffers[i].dtype);
    for (size_t at = 0; used < row && at + row <= l->buf[i].n_elem; at += row)
        memset(data + (at + used) * bytes, 0, (row - used) * bytes);
}

static void outputs_settle(const struct ks_session *s, const struct ks_arm *arm, const struct ks_layout *l)
{
    for (size_t i = 0; i < l->n; i++)
        if (ks_buffer_is_output(&s->c->buffers[i]))
            ks_gaps_clear(s, l, i, (unsigned char *)ks_worker_shm(arm->worker) + l->buf[i].shm_off + l->buf[i].red_bytes);
}

/* Nobody writes what lies between the rows of an output. */
static void gaps_check(const struct ks_session *s, const struct ks_arm *arm, const struct ks_layout *l,
                       const struct ks_run_options *opt, unsigned char *const *inputs, struct ks_run *ret)
{
    for (size_t i = 0; i < l->n && !ret->touched; i++) {
        const struct ks_buffer *b = &s->c->buffers[i];
        size_t row = l->buf[i].row_elems;
        const unsigned char *before = inputs[i] ? inputs[i] : opt->known ? opt->known[i] : NULL;
        if (!ks_buffer_is_output(b) || l->buf[i].used_elems == row || (b->direction == KS_DIR_INOUT && !before))
            continue;
        size_t at = gap_touched(l, i, ks_dtype_size(b->dtype), ks_run_output(arm, l, i),
                                b->direction == KS_DIR_INOUT ? before : NULL, opt->poison);
        if (at == l->buf[i].n_elem)
            continue;
        ret->touched = ret->outside = true;
        ks_str_addf(&ret->problem, "writes between the rows of '%s': element %zu of row %zu, of which %zu are used", b->name,
                    at % row, at / row, l->buf[i].used_elems);
    }
}

/* Inputs and red zones must be as they were. */
static void untouched_check(struct ks_session *s, struct ks_arm *arm, const struct ks_layout *l, const struct ks_run_options *opt,
                            unsigned char *const *inputs, struct ks_run *ret)
{
    for (size_t i = 0; i < l->n && !ret->touched; i++) {
        const struct ks_buffer *b = &s->c->buffers[i];
        const unsigned char *data = ks_run_output(arm, l, i);
        size_t red = l->buf[i].red_bytes;
        const unsigned char *want = inputs[i] ? inputs[i] : opt->known ? opt->known[i] : NULL;
        if (b->direction == KS_DIR_IN && want && memcmp(data, want, l->buf[i].bytes) != 0) {
            ret->touched = true;
            ks_str_addf(&ret->problem, "writes to its input '%s'", b->name);
        } else if (!red_intact(data - red, red, opt->poison ^ 0x00010001u)) {
            ret->touched = ret->outside = true;
            ks_str_addf(&ret->problem, "writes in front of '%s'", b->name);
        } else if (!red_intact(data + l->buf[i].bytes, red, opt->poison ^ 0x00010001u)) {
            ret->touched = ret->outside = true;
            ks_str_addf(&ret->problem, "writes behind '%s'", b->name);
        }
    }
}

static enum ks_code ask_call(struct ks_session *s, struct ks_arm *arm, struct ks_wire_command *c, const struct ks_layout *l,
                             int64_t timeout_ms, struct ks_run *ret)
{
    struct ks_wire_reply reply;
    c->op = KS_OP_CALL;
    c->u.call = l->args;
    KS_TRY(ks_worker_ask(arm->worker, c, timeout_ms, &reply, &ret->err));
    ret->device_ns = reply.value[KS_VALUE_DEVICE_NS];
    ret->late_ns = reply.value[KS_VALUE_LATE_NS];
    ret->busy_ns = reply.value[KS_VALUE_BUSY_NS];
    s->busy_ns += ret->busy_ns;
    ret->left_bytes = reply.value[KS_VALUE_LEFT_BYTES];
    ret->last_error = (int)reply.value[KS_VALUE_LAST_ERROR];
    ret->left_state = (uint32_t)reply.value[KS_VALUE_LEFT_STATE];
    ret->wall_ns = ks_worker_last_wall_ns(arm->worker);
    if (l->args.returns_int && reply.value[KS_VALUE_RETURNED] != 0) {
        ret->returned_error = true;
        ks_str_addf(&ret->problem, "the entry returned %d", (int)reply.value[KS_VALUE_RETURNED]);
    }
    return KS_OK;
}

void ks_run_once(struct ks_session *s, struct ks_arm *arm, const struct ks_layout *l, const struct ks_run_options *opt,
                 struct ks_run *ret)
{
    unsigned char *inputs[KS_MAX_PARAMS] = {NULL};
    struct ks_wire_command *c = ks_xcalloc(1, sizeof *c);
    struct ks_wire_reply reply;
    *ret = (struct ks_run){.problem = KS_STR_INIT};
    ret->code = ks_arm_start(s, arm, &ret->err);
    if (ret->code != KS_OK)
        goto out;
    bool gpu = s->opt.device == KS_DEVICE_CUDA; /* makes the contents itself, faster than they could be copied there */
    for (size_t i = 0; i < l->n; i++) {
        bool recorded = ks_buffer_is_input(&s->c->buffers[i]) && ks_layout_is_recorded(s, l, i);
        unsigned char *shm = ks_worker_shm(arm->worker) + l->buf[i].shm_off;
        if (recorded)
            ks_layout_contents(s, l, i, shm);
        if (opt->on_device || opt->trust || !ks_buffer_is_input(&s->c->buffers[i]) || (opt->known && opt->known[i]))
            continue;
        inputs[i] = ks_xmalloc(l->buf[i].bytes + 1);
        ks_layout_contents(s, l, i, inputs[i]);
        if (!gpu && !recorded)
            memcpy(shm, inputs[i], l->buf[i].bytes);
    }
    c->op = KS_OP_PREPARE;
    prepare_fill(s, l, opt, &c->u.prepare);
    ret->code = ks_worker_ask(arm->worker, c, opt->timeout_ms, &reply, &ret->err);
    if (ret->code == KS_OK)
        ret->code = ask_call(s, arm, c, l, opt->timeout_ms, ret);
    if (ret->code != KS_OK || opt->on_device)
        goto out;
    c->op = KS_OP_FETCH;
    c->u.fetch.mask = l->n >= 64 ? ~0ull : (1ull << l->n) - 1;
    ret->code = ks_worker_ask(arm->worker, c, opt->timeout_ms, &reply, &ret->err);
    if (ret->code == KS_OK) {
        untouched_check(s, arm, l, opt, inputs, ret);
        gaps_check(s, arm, l, opt, inputs, ret);
        outputs_settle(s, arm, l);
    }
out:
    for (size_t i = 0; i < l->n; i++)
        free(inputs[i]);
    free(c);
}

enum ks_code ks_run_fetch_outputs(struct ks_session *s, struct ks_arm *arm, const struct ks_layout *l, int64_t timeout_ms,
                                  struct ks_err *err)
{
    struct ks_wire_command *c = ks_xcalloc(1, sizeof *c);
    struct ks_wire_reply reply;
    c->op = KS_OP_FETCH;
    for (size_t i = 0; i < l->n; i++)
        if (ks_buffer_is_output(&s->c->buffers[i]))
            c->u.fetch.mask |= 1ull << i;
    enum ks_code code = ks_worker_ask(arm->worker, c, timeout_ms, &reply, err);
    free(c);
    if (code == KS_OK)
        outputs_settle(s, arm, l);
    return code;
}

void ks_run_release(struct ks_run *r)
{
    ks_str_release(&r->problem);
}

enum ks_code ks_arm_report(struct ks_session *s, struct ks_arm *arm, enum ks_wire_report_kind kind, struct ks_json **ret_json,
                           double *ret_modelled_ns, struct ks_err *err)
{
    KS_TRY(ks_arm_start(s, arm, err));
    struct ks_wire_command *c = ks_xcalloc(1, sizeof *c);
    struct ks_wire_reply reply;
    c->op = KS_OP_REPORT;
    c->u.report = (struct ks_wire_report){.kind = kind, .clear = 1};
    enum ks_code code = ks_worker_ask(arm->worker, c, 60000, &reply, err);
    free(c);
    KS_TRY(code);
    KS_AUTO_STR struct ks_str text = KS_STR_INIT;
    ks_worker_text(arm->worker, &reply, &text);
    KS_TRY(ks_json_parse(ks_str_cstr(&text), text.len, "device report", ret_json, err));
    if (ret_modelled_ns)
        *ret_modelled_ns = reply.value[KS_VALUE_DEVICE_NS];
    return KS_OK;
}

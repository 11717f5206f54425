/* Where the original stands under the roofline: the least time that the contract's bytes and the operations take at the device's
 * ceilings, beside the time it takes. */
#include "harness/roofline.h"

#include "harness/emulated/device.h"
#include "harness/session_impl.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Bytes and operations per nanosecond. */
struct ceilings {
    double bytes, fp32, fp64, fp16, tensor;
};

/* arch.def has them per SM and clock.  A GPU's driver says how many SMs at which clock and how wide a bus there really are. */
static bool ceilings_of(const struct ks_json *device, struct ceilings *ret, char *ret_board, size_t size, const char **ret_source)
{
    const struct emu_arch *a = ks_emu_arch_find(ks_json_get_str(device, "arch", NULL));
    bool cuda = ks_streq(ks_json_get_str(device, "kind", ""), "cuda");
    if (!a)
        return false;
    double sms = cuda ? ks_json_get_num(device, "sms", a->sms) : a->sms;
    double ghz = cuda ? ks_json_get_num(device, "max_clock_khz", a->clock_ghz * 1e6) / 1e6 : a->clock_ghz;
    double told = ks_json_get_num(device, "max_memory_clock_khz", 0) * 2e3 * ks_json_get_num(device, "memory_bus_bits", 0) / 8e9;
    *ret = (struct ceilings){.bytes = cuda && told > 0 ? told : a->dram_gbs,
                             .fp32 = 2 * a->fp32_clk * sms * ghz,
                             .fp64 = 2 * a->fp64_clk * sms * ghz,
                             .fp16 = 2 * a->fp16_clk * sms * ghz,
                             .tensor = a->tensor_flops_clk * sms * ghz};
    (void)snprintf(ret_board, size, "%s", cuda ? ks_json_get_str(device, "name", a->board) : a->board);
    *ret_source =
        cuda ? "rates per SM of harness/emulated/arch.def, SMs, clocks and bus as the driver says" : "harness/emulated/arch.def";
    return true;
}

static double sum_of(const struct ks_json *kernels, const char *name)
{
    double sum = 0;
    for (size_t i = 0; i < ks_json_len(kernels); i++)
        sum += ks_json_get_num(ks_json_at(kernels, i), name, 0);
    return sum;
}

static bool has_tensor_type(const struct ks_contract *c)
{
    for (size_t i = 0; i < c->n_buffers; i++)
        if (c->buffers[i].dtype == KS_DT_HALF || c->buffers[i].dtype == KS_DT_BF16 || c->buffers[i].dtype == KS_DT_INT8)
            return true;
    return false;
}

/* The contract's operations, on the fastest units that take its types; where it says nothing, those that were counted. */
static double compute_ns(const struct ks_contract *c, const struct ks_shape *shape, const struct ceilings *top,
                         const struct ks_json *kernels, double *ret_ops)
{
    double said = 0;
    struct ks_err ignored;
    if (c->work_ops && ks_expr_eval(c->work_ops, c, shape, &said, &ignored) == KS_OK && said > 0) {
        *ret_ops = said;
        return said / (has_tensor_type(c) ? top->tensor : top->fp32);
    }
    double fp32 = sum_of(kernels, "flops_fp32"), fp64 = sum_of(kernels, "flops_fp64"), fp16 = sum_of(kernels, "flops_fp16"),
           tensor = sum_of(kernels, "flops_tensor");
    *ret_ops = fp32 + fp64 + fp16 + tensor;
    return fmax(fmax(fp32 / top->fp32, fp64 / top->fp64), fmax(fp16 / top->fp16, tensor / top->tensor));
}

struct ks_json *ks_roofline(const struct ks_contract *c, const struct ks_shape *point, const struct ks_json *device,
                            const struct ks_json *kernels, double time_ns)
{
    struct ceilings top;
    char board[64];
    const char *source;
    struct ks_shape shape = *point;
    struct ks_err ignored;
    if (!ceilings_of(device, &top, board, sizeof board, &source) || ks_contract_complete(c, &shape, &ignored) != KS_OK)
        return NULL;
    double in, out, ops, said = 0;
    ks_least_bytes(c, &shape, &in, &out);
    bool has_said = c->work_bytes && ks_expr_eval(c->work_bytes, c, &shape, &said, &ignored) == KS_OK && said > 0;
    double bytes = has_said ? said : in + out, memory = bytes / top.bytes, compute = compute_ns(c, &shape, &top, kernels, &ops);
    double roof = fmax(memory, compute);
    struct ks_json *j = ks_json_object(), *ceiling = ks_json_object();
    KS_AUTO_STR struct ks_str text = KS_STR_INIT;
    ks_shape_print(c, &shape, &text);
    ks_json_set_str(j, "entry", c->entry);
    ks_json_set_str(j, "shape", ks_str_cstr(&text));
    ks_json_set_num(j, "bytes", bytes);
    ks_json_set_num(j, "ops", ops);
    ks_json_set_num(j, "memory_ns", memory);
    ks_json_set_num(j, "compute_ns", compute);
    ks_json_set_num(j, "roof_ns", roof);
    ks_json_set_str(j, "bound", compute > memory ? "compute" : "memory");
    if (bytes > 0)
        ks_json_set_num(j, "intensity", ops / bytes);
    if (time_ns > 0) {
        ks_json_set_num(j, "time_ns", time_ns);
        ks_json_set_num(j, "reached", roof / time_ns);
    }
    ks_json_set_str(ceiling, "board", board);
    ks_json_set_str(ceiling, "source", source);
    ks_json_set_num(ceiling, "dram_gbs", top.bytes);
    ks_json_set_num(ceiling, "fp32_gflops", top.fp32);
    ks_json_set_num(ceiling, "fp64_gflops", top.fp64);
    ks_json_set_num(ceiling, "fp16_gflops", top.fp16);
    ks_json_set_num(ceiling, "tensor_gflops", top.tensor);
    ks_json_set(j, "ceiling", ceiling);
    return j;
}

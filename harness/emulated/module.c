#include "harness/emulated/device.h"

/* Modules: parsed PTX, its variables placed in device memory, kernels linked on first use. */

static enum ks_code place_variables(struct ks_emu *emu, struct ks_emu_module *m, struct ks_err *err)
{
    const struct ptx_module *ptx = m->ptx;
    m->var_address = ks_xcalloc(ptx->n_vars + 1, sizeof(*m->var_address));
    for (uint32_t i = 0; i < ptx->n_vars; i++) {
        const struct ptx_var *v = ptx->vars[i];
        if (v->space == PTX_SHARED || v->is_extern)
            continue;
        m->var_address[i] = ks_emu_malloc(emu, v->size_bytes, v->name);
        if (!m->var_address[i])
            return ks_fail(err, KS_ERR_MEMORY_LIMIT, "place variable '%s' of %llu bytes: the device is full", v->name,
                           (unsigned long long)v->size_bytes);
        KS_TRY(ks_emu_fill(emu, m->var_address[i], 0, v->size_bytes, err));
        if (v->space == PTX_CONST)
            ks_emu_alloc_find(emu, (uintptr_t)m->var_address[i])->read_only = true;
    }
    return KS_OK;
}

static enum ks_code symbol_address(struct ks_emu_module *m, const char *name, uint64_t *ret_address, struct ks_err *err)
{
    const struct ptx_module *ptx = m->ptx;
    for (uint32_t i = 0; i < ptx->n_vars; i++) {
        if (ks_streq(ptx->vars[i]->name, name) && m->var_address[i]) {
            *ret_address = (uint64_t)(uintptr_t)m->var_address[i];
            return KS_OK;
        }
    }
    for (uint32_t i = 0; i < ptx->n_funcs; i++) {
        if (ptx->funcs[i] == ks_ptx_func(ptx, name)) {
            *ret_address = i + 1;
            return KS_OK;
        }
    }
    return ks_fail(err, KS_ERR_NOT_FOUND, "initialise a variable with '%s': not in the module", name);
}

static enum ks_code initialise(struct ks_emu_module *m, struct ks_err *err)
{
    const struct ptx_module *ptx = m->ptx;
    for (uint32_t i = 0; i < ptx->n_vars; i++) {
        const struct ptx_var *v = ptx->vars[i];
        for (uint32_t k = 0; m->var_address[i] && k < v->n_init; k++) {
            const struct ptx_init *in = &v->init[k];
            uint64_t value = 0;
            if (in->sym)
                KS_TRY(symbol_address(m, in->sym, &value, err));
            value += in->value;
            if (in->off_byte + in->bytes > v->size_bytes || in->bytes > 8)
                return ks_fail(err, KS_ERR_SYNTAX, "initialise '%s': past its end", v->name);
            memcpy(m->var_address[i] + in->off_byte, &value, in->bytes);
        }
    }
    return KS_OK;
}

enum ks_code ks_emu_module_load(struct ks_emu *emu, const char *ptx, size_t len, struct ks_emu_module **ret_module,
                                struct ks_err *err)
{
    struct ptx_module *tree;
    KS_TRY(ks_ptx_parse(ptx, len, &tree, err));
    struct ks_emu_module *m = ks_xcalloc(1, sizeof(*m));
    m->emu = emu;
    m->ptx = tree;
    m->programs = ks_xcalloc(tree->n_funcs + 1, sizeof(*m->programs));
    m->registers = ks_xcalloc(tree->n_funcs + 1, sizeof(*m->registers));
    ks_vec_push(&emu->modules, m);
    ks_emu_memory_open(emu);
    enum ks_code code = place_variables(emu, m, err);
    if (code == KS_OK)
        code = initialise(m, err);
    ks_emu_memory_close(emu);
    if (code != KS_OK) {
        ks_emu_module_unload(emu, m);
        return code;
    }
    *ret_module = m;
    return KS_OK;
}

void ks_emu_module_unload(struct ks_emu *emu, struct ks_emu_module *m)
{
    struct ks_err ignored;
    if (!m)
        return;
    for (size_t i = 0; i < emu->modules.n; i++) {
        if (emu->modules.data[i] == m) {
            memmove(&emu->modules.data[i], &emu->modules.data[i + 1], sizeof(m) * (emu->modules.n - i - 1));
            emu->modules.n--;
            break;
        }
    }
    for (uint32_t i = 0; m->var_address && i < m->ptx->n_vars; i++)
        if (m->var_address[i])
            (void)!ks_emu_mfree(emu, m->var_address[i], &ignored);
    for (uint32_t i = 0; i < m->ptx->n_funcs; i++)
        ks_emu_program_free(m->programs[i]);
    free(m->var_address);
    free(m->programs);
    free(m->registers);
    ks_ptx_free(m->ptx);
    free(m);
}

bool ks_emu_module_symbol(struct ks_emu_module *m, const char *name, void **ret_address, size_t *ret_size_bytes)
{
    for (uint32_t i = 0; i < m->ptx->n_vars; i++) {
        if (!ks_streq(m->ptx->vars[i]->name, name) || !m->var_address[i])
            continue;
        if (ret_address)
            *ret_address = m->var_address[i];
        if (ret_size_bytes)
            *ret_size_bytes = m->ptx->vars[i]->size_bytes;
        return true;
    }
    return false;
}

bool ks_emu_module_variable(const struct ks_emu_module *m, size_t i, const char **ret_name, void **ret_address,
                            size_t *ret_size_bytes)
{
    for (uint32_t k = 0; k < m->ptx->n_vars; k++) {
        if (!m->var_address[k] || i-- != 0)
            continue;
        *ret_name = m->ptx->vars[k]->name;
        *ret_address = m->var_address[k];
        *ret_size_bytes = m->ptx->vars[k]->size_bytes;
        return true;
    }
    return false;
}

const char *ks_emu_module_kernel(const struct ks_emu_module *m, size_t i)
{
    for (uint32_t k = 0; k < m->ptx->n_funcs; k++)
        if (m->ptx->funcs[k]->is_entry && !m->ptx->funcs[k]->is_extern && i-- == 0)
            return m->ptx->funcs[k]->name;
    return NULL;
}

static enum ks_code find_kernel(struct ks_emu_module *m, const char *name, uint32_t *ret_index, struct ks_err *err)
{
    for (uint32_t i = 0; i < m->ptx->n_funcs; i++) {
        struct ptx_func *f = m->ptx->funcs[i];
        if (!ks_streq(f->name, name) || !f->is_entry || f->is_extern)
            continue;
        if (!m->programs[i])
            KS_TRY(ks_emu_program_link(m, f, &m->programs[i], err));
        *ret_index = i;
        return KS_OK;
    }
    return ks_fail(err, KS_ERR_NOT_FOUND, "find kernel '%s': not in the module", name);
}

enum ks_code ks_emu_kernel(struct ks_emu_module *m, const char *name, struct emu_program **ret_program, int *ret_registers,
                           struct ks_err *err)
{
    uint32_t i = 0;
    KS_TRY(find_kernel(m, name, &i, err));
    *ret_program = m->programs[i];
    *ret_registers = m->registers[i] ? m->registers[i] : (int)m->programs[i]->registers_estimate;
    return KS_OK;
}

enum ks_code ks_emu_func(struct ks_emu_module *m, const char *name, struct ks_emu_func_info *ret_info, struct ks_err *err)
{
    struct emu_program *p;
    int registers;
    KS_TRY(ks_emu_kernel(m, name, &p, &registers, err));
    *ret_info = (struct ks_emu_func_info){
        .n_params = p->n_params,
        .param_bytes = p->param_bytes,
        .param_offset = p->param_offset,
        .param_size = p->param_size,
        .static_shared_bytes = p->static_shared_bytes,
        .local_bytes = p->local_bytes,
        .max_threads_per_block = p->max_threads && p->max_threads < 1024 ? (int)p->max_threads : 1024,
        .registers_estimate = registers,
    };
    return KS_OK;
}

void ks_emu_set_registers(struct ks_emu_module *m, const char *name, int registers)
{
    for (uint32_t i = 0; i < m->ptx->n_funcs; i++)
        if (ks_streq(m->ptx->funcs[i]->name, name))
            m->registers[i] = registers;
}

#include "harness/emulated/decode.h"

#include <stdio.h>

/* Clusters, setmaxnreg. */

/* Does the function name other blocks of its cluster, or which one it is?  Then its own shared addresses carry their rank. */
bool ks_emu_uses_clusters(const struct ptx_func *f)
{
    for (uint32_t i = 0; i < f->n_insns; i++) {
        const struct ptx_insn *in = &f->insns[i];
        if (ks_streq(in->base, "mapa") || ks_streq(in->base, "getctarank"))
            return true;
        for (uint32_t k = 0; k < in->n_mods; k++)
            if (ks_streq(in->mods[k], "multicast::cluster") || ks_streq(in->mods[k], "cta_group::2") ||
                (ks_streq(in->mods[k], "shared::cluster") && !ks_streq(in->base, "cp")))
                return true;
        for (uint32_t k = 0; k < in->n_operands; k++)
            if (in->operands[k].kind == PTX_OP_SREG && ks_str_starts(in->operands[k].name, "%cluster_ctarank"))
                return true;
    }
    return f->cluster[0] > 0;
}

enum ks_code ks_emu_decode_mapa(struct emu_dec *d, const char *arg)
{
    struct emu_insn in = ks_emu_insn(EMU_NONE, EMU_NONE, EMU_NONE, EMU_NONE);
    enum ptx_type t = d->mods.n_t ? d->mods.t[0] : PTX_NONE;
    uint32_t bytes = (uint32_t)ks_ptx_type_bytes(t);
    bool rank = ks_streq(arg, "getctarank"), generic = d->mods.space == PTX_GENERIC;
    char key[32];
    if ((bytes != 4 && bytes != 8) || (generic && bytes != 8) || d->in->n_operands != (rank ? 2u : 3u))
        return ks_emu_unsupported(d, "that form");
    KS_TRY(ks_emu_dst_k(d, 0, rank ? 4 : bytes, &in.d));
    KS_TRY(ks_emu_src_k(d, 1, t, &in.a));
    if (!rank)
        KS_TRY(ks_emu_src_k(d, 2, PTX_u32, &in.b));
    in.imm = generic ? (int64_t)(uintptr_t)d->m->emu->arena : 0;
    (void)snprintf(key, sizeof(key), "%s.%u", arg, bytes * 8);
    return ks_emu_emit(d, key, in);
}

enum ks_code ks_emu_decode_cluster_barrier(struct emu_dec *d)
{
    struct emu_insn in = ks_emu_insn(EMU_NONE, EMU_NONE, EMU_NONE, EMU_NONE);
    bool arrive = ks_emu_has_mod(d, "arrive");
    if (d->in->n_operands != 0 || arrive == ks_emu_has_mod(d, "wait"))
        return ks_emu_unsupported(d, NULL);
    in.flags = d->mods.sem == EMU_SEM_RELAXED ? 0 : arrive ? EMU_RELEASE : EMU_ACQUIRE;
    in.flow = d->mods.aligned ? EMU_FLOW_WARPSYNC : arrive ? EMU_FLOW_NONE : EMU_FLOW_WAIT;
    return ks_emu_emit(d, arrive ? "barrier.cluster.arrive" : "barrier.cluster.wait", in);
}

enum ks_code ks_emu_decode_setmaxnreg(struct emu_dec *d, const char *arg)
{
    struct emu_insn in = ks_emu_insn(EMU_NONE, EMU_NONE, EMU_NONE, EMU_NONE);
    (void)arg;
    if (d->in->n_operands != 1 || d->in->operands[0].kind != PTX_OP_INT)
        return ks_emu_unsupported(d, "that form");
    in.imm = (int64_t)d->in->operands[0].bits;
    in.flow = EMU_FLOW_WARPSYNC;
    return ks_emu_emit(d, "setmaxnreg", in);
}

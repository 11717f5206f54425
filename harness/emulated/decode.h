#ifndef KS_HARNESS_EMULATED_DECODE_H
#define KS_HARNESS_EMULATED_DECODE_H

/* From the PTX tree to emu_insn.  Modifiers are read as a set, so every order of spelling works; an instruction is mapped to the
 * name of a handler ("add.ftz.f32"), and one without a handler is unsupported: nothing is ever approximated by a neighbour. */

#include "harness/emulated/device.h"
#include "harness/emulated/exec_float.h"

enum emu_sem { EMU_SEM_WEAK, EMU_SEM_VOLATILE, EMU_SEM_RELAXED, EMU_SEM_ACQUIRE, EMU_SEM_RELEASE, EMU_SEM_ACQ_REL };

struct emu_mods {
    enum ptx_type t[4];
    uint32_t n_t;
    int rnd;      /* EMU_RN ..., -1: not given */
    int integral; /* 1 n, 2 z, 3 m, 4 p: round to an integer; 0: no */
    enum ptx_space space;
    enum emu_sem sem;
    uint32_t vec;
    char cmp[8], op[8]; /* comparison; boolean or atomic operation */
    char mode[8];       /* lo, hi, wide, l, r, idx, up, down, bfly, ballot, all, any, uni ... */
    char clamp[12];     /* wrap, clamp, shiftamt */
    bool ftz, sat, satfinite, approx, full, relu, nan, xorsign, cc, uni, sync, aligned, nc, to, noftz;
};

struct emu_dec {
    struct ks_emu_module *m;
    struct emu_program *p;
    struct ks_err *err;
    KS_VEC(struct emu_insn) code;
    KS_VEC(struct emu_info) info;
    KS_VEC(uint32_t) ext;
    KS_VEC(uint8_t) ext_def; /* parallel to ext: written, not read */
    KS_VEC(uint8_t) vreg_bytes;
    KS_VEC(uint32_t) vreg_func;
    KS_VEC(uint8_t) pool;
    KS_VEC(struct emu_constant) constants;
    KS_VEC(struct emu_reloc) relocs;
    KS_VEC(struct emu_func) funcs;
    KS_VEC(struct emu_jump_table) tables;
    uint32_t *constant_hash;
    uint32_t constant_hash_cap;
    uint32_t func_index, vreg_base;
    uint32_t *var_frame; /* of the function being decoded: frame offset by variable index */
    const struct ptx_func *func;
    const struct ptx_insn *in;
    struct emu_mods mods;
};

struct emu_constant {
    uint64_t bits;
    uint32_t bytes, off;
};

typedef enum ks_code (*emu_decode_fn)(struct emu_dec *d, const char *arg);
struct emu_op {
    const char *base;
    emu_decode_fn decode;
    const char *arg;
    enum emu_class cls;
};

KS_NODISCARD enum ks_code ks_emu_read_mods(struct emu_dec *d);
KS_NODISCARD enum ks_code ks_emu_unsupported(struct emu_dec *d,
                                             const char *why); /* names instruction, PTX line and source line */
bool ks_emu_has_mod(const struct emu_dec *d, const char *mod);

uint32_t ks_emu_temp(struct emu_dec *d, uint32_t bytes);                 /* fresh register; 1 byte: predicate */
uint32_t ks_emu_const(struct emu_dec *d, uint64_t bits, uint32_t bytes); /* broadcast constant; 1: predicate mask */
uint32_t ks_emu_reloc(struct emu_dec *d, enum emu_reloc_kind kind, uint32_t lane_bytes, uint32_t offset, uint32_t bytes,
                      uint32_t index);
/* Operand k of the instruction as a source of `type` / a destination of `bytes` lanes.  Sources may emit helper instructions. */
KS_NODISCARD enum ks_code ks_emu_src(struct emu_dec *d, const struct ptx_operand *op, enum ptx_type type, uint32_t *ret_ref);
KS_NODISCARD enum ks_code ks_emu_src_k(struct emu_dec *d, uint32_t k, enum ptx_type type, uint32_t *ret_ref);
KS_NODISCARD enum ks_code ks_emu_dst(struct emu_dec *d, const struct ptx_operand *op, uint32_t bytes, uint32_t *ret_ref);
KS_NODISCARD enum ks_code ks_emu_dst_k(struct emu_dec *d, uint32_t k, uint32_t bytes, uint32_t *ret_ref);
uint32_t ks_emu_reg_bytes(const struct emu_dec *d,
                          const struct ptx_operand *op); /* lane bytes of a register operand, 0: none; 1: predicate */
uint32_t ks_emu_lane_bytes(enum ptx_type t);             /* of a register that holds t; 1: predicate */

/* Appends the registers of a vector operand (or the single register) to ext; there must be `want`. */
KS_NODISCARD enum ks_code ks_emu_registers(struct emu_dec *d, struct emu_insn *in, const struct ptx_operand *op, uint32_t bytes,
                                           bool def, uint32_t want);
/* Appends an instruction, guarded like the PTX one.  key: handler. */
struct emu_insn ks_emu_insn(uint32_t d, uint32_t a, uint32_t b, uint32_t c);
KS_NODISCARD enum ks_code ks_emu_emit(struct emu_dec *d, const char *key, struct emu_insn insn);
KS_NODISCARD enum ks_code ks_emu_emit_helper(struct emu_dec *d, const char *key,
                                             struct emu_insn insn);                /* not counted, not guarded */
void ks_emu_ext(struct emu_dec *d, struct emu_insn *insn, uint32_t ref, bool def); /* to the insn about to be emitted */

/* Address operand [..]: register or absolute; fills a, imm, sub bit 0 (64-bit register).  ret_space: from the variable when
 * generic. */
KS_NODISCARD enum ks_code ks_emu_address(struct emu_dec *d, const struct ptx_operand *op, enum ptx_space *space,
                                         struct emu_insn *insn, const struct ptx_var **ret_var);
/* The whole address as a 64-bit register; of [a, {..}] the first part. */
KS_NODISCARD enum ks_code ks_emu_address64(struct emu_dec *d, const struct ptx_operand *op, enum ptx_space *space,
                                           uint32_t *ret_ref);
/* Address of the block's own shared memory, with its rank, in a register of 4 or 8 bytes. */
KS_NODISCARD enum ks_code ks_emu_shared_base(struct emu_dec *d, uint64_t offset, uint32_t bytes, uint32_t *ret_ref);
bool ks_emu_uses_clusters(const struct ptx_func *f);
KS_NODISCARD enum ks_code ks_emu_var_address(struct emu_dec *d, const struct ptx_var *v, enum ptx_space *ret_space,
                                             uint64_t *ret_address);

/* Parts of decoders: bulk forms of cp, async forms of st and red, barrier.cluster. */
KS_NODISCARD enum ks_code ks_emu_decode_bulk(struct emu_dec *d);
KS_NODISCARD enum ks_code ks_emu_decode_cp_async_arrive(struct emu_dec *d);
KS_NODISCARD enum ks_code ks_emu_decode_async_value(struct emu_dec *d);
KS_NODISCARD enum ks_code ks_emu_decode_cluster_barrier(struct emu_dec *d);

KS_NODISCARD enum ks_code ks_emu_decode_insn(struct emu_dec *d);
extern const struct emu_op ks_emu_ops[];
extern const uint32_t ks_emu_n_ops;

/* decode_*.c */
#define KS_EMU_DECODERS(X)                                                                                                       \
    X(alu)                                                                                                                       \
    X(setp)                                                                                                                      \
    X(set)                                                                                                                       \
    X(selp)                                                                                                                      \
    X(mov)                                                                                                                       \
    X(cvt)                                                                                                                       \
    X(cvta)                                                                                                                      \
    X(ld)                                                                                                                        \
    X(st)                                                                                                                        \
    X(atom)                                                                                                                      \
    X(bra) X(brx) X(call) X(ret) X(exit) X(trap) X(bar) X(fence) X(nothing) X(shfl) X(vote) X(match) X(redux) X(activemask)      \
        X(elect) X(isspacep) X(carry) X(nanosleep) X(dp) X(prmt) X(lop3) X(shf) X(mma) X(ldmatrix) X(stmatrix) X(movmatrix)      \
            X(wmma) X(cp) X(createpolicy) X(cache_op) X(tex) X(surface) X(txq) X(video) X(mbarrier) X(mapa) X(setmaxnreg)        \
                X(wgmma) X(tcgen)
#define X(name) enum ks_code ks_emu_decode_##name(struct emu_dec *d, const char *arg);
KS_EMU_DECODERS(X)
#undef X

#endif

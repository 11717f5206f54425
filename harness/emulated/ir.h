#ifndef KS_HARNESS_EMULATED_IR_H
#define KS_HARNESS_EMULATED_IR_H

/* Decoded kernels.  A program is one kernel with every device function it can reach, callees first (so that the lowest-pc-first
 * scheduler finishes calls before their callers go on).  An instruction is 64 bytes: a handler over 32 lanes and operand
 * references.
 *
 * References: bit 0 clear: byte offset into the warp's register file; bit 0 set: byte offset (less one) into the launch's pool of
 * broadcast constants, kernel parameters included.  A register is 32 lanes of 2, 4, 8 or 16 bytes; a predicate is one 32-bit
 * mask. While decoding, a register reference is EMU_VREG(n); allocation (regalloc.c) turns it into an offset. */

#include "base/err.h"
#include "base/str.h"
#include "harness/emulated/ptx_ast.h"

struct emu_warp;
struct emu_insn;
typedef void (*emu_fn)(struct emu_warp *w, const struct emu_insn *in, uint32_t mask);

#define EMU_FULL         0xffffffffu
#define EMU_NONE         0xfffffffcu /* no operand */
#define EMU_VREG(n)      ((uint32_t)(n) << 2 | 2u)
#define EMU_IS_VREG(ref) (((ref)&3u) == 2u)

/* What the scheduler does with an instruction; EMU_FLOW_NONE: just calls the handler. */
enum emu_flow {
    EMU_FLOW_NONE,
    EMU_FLOW_BRA,      /* target */
    EMU_FLOW_BRX,      /* a: index register, table `target` */
    EMU_FLOW_CALL,     /* target: function; copies described by ext */
    EMU_FLOW_CALL_REG, /* a: function address */
    EMU_FLOW_RET,
    EMU_FLOW_EXIT,
    EMU_FLOW_TRAP,
    EMU_FLOW_BAR, /* a: barrier id, b: thread count or EMU_NONE; sub: EMU_BAR_*; d, c: predicate result and input of a reduction
                   */
    EMU_FLOW_WARPSYNC, /* handler runs once the lanes of its member mask (c) stand here together; it may make them wait */
    EMU_FLOW_WAIT,     /* handler; the lanes it puts into emu_warp.wait_mask wait here and try again, with EMU_SOFT go on later */
    EMU_FLOW_YIELD,    /* handler, then let others run: nanosleep */
    EMU_FLOW_END       /* past the last instruction of a function */
};

enum emu_bar { EMU_BAR_SYNC, EMU_BAR_ARRIVE, EMU_BAR_RED_POPC, EMU_BAR_RED_AND, EMU_BAR_RED_OR };

#define EMU_PRED     0x01u /* guarded by `pred` */
#define EMU_PRED_NOT 0x02u /* ... when it is false */
#define EMU_ALIGNED  0x04u /* all live lanes of the warp must come together */
#define EMU_STRONG   0x08u /* memory: volatile, relaxed, acquire, release: takes no part in races with its like */
#define EMU_ACQUIRE  0x10u
#define EMU_RELEASE  0x20u
#define EMU_SIGNED   0x40u
#define EMU_SOFT     0x80u    /* a poll that failed: others first */
#define EMU_OWN      EMU_SOFT /* of a warp operation: it checks its registers itself */
#define EMU_CTA      0x100u   /* memory, fence: ordered among the threads of one block only */

struct emu_insn {
    emu_fn fn;
    int64_t imm;
    const uint32_t *ext; /* further references, n_ext of them */
    uint32_t d, a, b, c;
    uint32_t pred;
    uint32_t target;
    uint16_t n_ext;
    uint16_t flags;
    uint8_t flow;
    uint8_t size;  /* memory: bytes of an element */
    uint8_t vec;   /* memory: elements */
    uint8_t rsize; /* memory: bytes of a destination or source register lane */
    uint8_t space; /* memory: enum ptx_space */
    uint8_t type;  /* enum ptx_type of the operation */
    uint8_t sub;   /* operation-specific */
};

enum emu_class {
#define X(name) EMU_CLASS_##name,
#include "harness/emulated/insn_class.def"
#undef X
    EMU_N_CLASSES
};

/* What an instruction does with values nobody wrote (checks_undef.c). */
enum emu_undef_rule {
    EMU_UNDEF_ANY, /* results depend on all of its sources */
    EMU_UNDEF_MOVE,
    EMU_UNDEF_SELECT,
    EMU_UNDEF_SHUFFLE,
    EMU_UNDEF_PERMUTE,
    EMU_UNDEF_SHIFT,
    EMU_UNDEF_AND,
    EMU_UNDEF_LOAD,
    EMU_UNDEF_STORE,
    EMU_UNDEF_USE, /* they must not reach it */
    EMU_UNDEF_NONE
};

/* What is known about an instruction but not needed to execute it. */
struct emu_info {
    const struct ptx_insn *ptx;
    uint8_t cls;     /* enum emu_class */
    uint8_t weight;  /* 1: counts as an instruction; 0: a helper of the one before */
    uint8_t expands; /* machine instructions it becomes: 0 for moves that vanish, many for a division (model.c) */
    uint8_t undef;   /* enum emu_undef_rule */
    bool unused;     /* nobody reads the register it writes */
    uint32_t flops;  /* floating-point operations per lane (tensor: per warp) */
    uint32_t func;   /* index into funcs */
};

/* A register of the file; 1 byte: a predicate. */
struct emu_slot {
    uint32_t offset, lane_bytes;
};

struct emu_func {
    const struct ptx_func *ptx;
    uint32_t first_pc, end_pc;
    uint32_t frame_bytes;   /* of local memory: formals, results, call arguments, locals */
    bool recursive;         /* may run again before it returns: its registers are saved at each call (recursion.c) */
    struct emu_slot *slots; /* of a recursive function: its registers */
    uint32_t n_slots;
    uint32_t module_index; /* of the function in the module: function pointers */
};

/* A pool entry whose value is known at launch only. */
enum emu_reloc_kind {
    EMU_RELOC_PARAM,      /* `bytes` at `offset` of the parameter block; index: signed */
    EMU_RELOC_PARAM_ADDR, /* address of the parameter block + offset */
    EMU_RELOC_NTID,       /* index: 0..2 */
    EMU_RELOC_NCTAID,
    EMU_RELOC_GRIDID,
    EMU_RELOC_DYN_SHARED, /* bytes of dynamic shared memory */
    EMU_RELOC_TOTAL_SHARED,
    EMU_RELOC_NWARPID,
    EMU_RELOC_NSMID,
    EMU_RELOC_ENVREG, /* index */
    EMU_RELOC_NCLUSTERID,
    EMU_RELOC_CLUSTER_NCTAID,
    EMU_RELOC_CLUSTER_NCTARANK,
    EMU_RELOC_IS_CLUSTER
};
struct emu_reloc {
    enum emu_reloc_kind kind;
    uint32_t pool_off, lane_bytes;
    uint32_t offset, bytes, index;
};

struct emu_jump_table {
    uint32_t *pc;
    uint32_t n;
};

struct emu_program {
    const char *name;
    struct ks_arena arena;
    struct emu_insn *code;
    struct emu_info *info;
    uint32_t *next_stop; /* per pc: the next pc at or after it that the scheduler must look at */
    uint32_t n_code;
    struct emu_func *funcs;
    uint32_t n_funcs;
    uint32_t entry; /* index of the kernel in funcs */
    struct emu_jump_table *tables;
    uint32_t n_tables;
    uint8_t *pool;
    uint32_t pool_bytes;
    struct emu_reloc *relocs;
    uint32_t n_relocs;
    const uint32_t *ext;        /* all further references of instructions */
    const uint8_t *ext_def;     /* parallel: written, not read */
    uint8_t *slot_bytes;        /* by offset / 64 into a register file: lane bytes of the register that starts there */
    const uint32_t *undef_regs; /* registers that may be read before they are written */
    uint32_t n_undef_regs;
    uint32_t reg_bytes;   /* register file of a warp */
    uint32_t local_bytes; /* local memory of a thread, calls included */
    uint32_t static_shared_bytes;
    uint32_t dyn_shared_off; /* where extern shared memory starts */
    uint32_t param_bytes;
    uint32_t n_params;
    uint32_t *param_offset, *param_size;
    uint32_t registers_estimate;
    uint32_t max_threads; /* .maxntid / .reqntid, 0: none */
    bool has_indirect,
        ordered;    /* ordered: blocks must run one after the other to be reproducible (value-returning atomics, ...) */
    bool may_spin;  /* strong loads or atomics: blocks may wait for each other */
    bool clustered; /* names other blocks of its cluster: shared addresses carry ranks */
    bool async;     /* has operations of the async proxy */
};

#endif

#ifndef KS_TESTS_EMULATED_ISA_H
#define KS_TESTS_EMULATED_ISA_H

/* Instruction tests.  A case is an opcode as PTX spells it ("fma.rn.ftz.f32"); isa_emit() makes a kernel of it that loads its
 * operands from `in`, executes it once a thread and stores what it wrote to `out`.  The same PTX runs on the emulated device and
 * on a GPU (tests/gpu/isa_run.c), and the bytes are compared.
 *
 * Kernels take (in, out, mem): thread t has io->in_stride bytes of `in` (operand k at 16 * k), io->out_stride bytes of `out` and
 * 64 bytes of scratch memory at mem + 64 * t. */

#include "base/str.h"

#include <stdbool.h>
#include <stdint.h>

#define ISA_THREADS   1024 /* of a case, in blocks of ISA_BLOCK */
#define ISA_BLOCK     128
#define ISA_MEM_BYTES (ISA_THREADS * 64)
#define ISA_MAX_IN    20
#define ISA_MAX_OUT   16

/* What an operand holds, for the choice of inputs. */
enum isa_kind {
    ISA_INT,
    ISA_F16,
    ISA_BF16,
    ISA_F32,
    ISA_F64,
    ISA_SHIFT,   /* 0 to a little past the width, rarely anything */
    ISA_PRED,    /* 0 or 1 */
    ISA_NIBBLES, /* selector of prmt */
    ISA_LANE,    /* 0 to 31 */
    ISA_BITS,    /* packed small floats: any bits */
    ISA_TENSOR,  /* four words of matrix elements of type `type` */
    ISA_METADATA /* of sparse products: ordered pairs of indices, a nibble each; of tf32 single indices */
};

struct isa_operand {
    enum isa_kind kind;
    uint32_t bytes;
    char type[12];
};
struct isa_io {
    struct isa_operand in[ISA_MAX_IN];
    uint32_t n_in, in_stride;
    uint32_t out_bytes[ISA_MAX_OUT];
    uint32_t n_out, out_stride;
};

/* Appends the kernel `name` to *out.  False: this emitter does not know the opcode. */
bool isa_emit(struct ks_str *out, const char *opcode, const char *name, struct isa_io *ret_io);
const char *isa_header(int arch); /* .version, .target, shared declarations */

enum isa_verdict {
    ISA_EXACT,   /* every byte as on hardware */
    ISA_ULP,     /* results are floats, at most `tol` units in the last place apart */
    ISA_ABS,     /* ... at most tol apart */
    ISA_REL,     /* ... at most tol times the larger apart, or both tiny */
    ISA_NEAR,    /* ... by either of the two */
    ISA_RUNS,    /* runs; what it gives is not compared */
    ISA_DECODES, /* only decoded */
    ISA_REFUSED  /* named as unsupported */
};
struct isa_case {
    char opcode[120];
    int arch; /* 90: compared on hardware of sm_90; 100, 120: on the emulated device only */
    enum isa_verdict verdict;
    double tol;
};
/* Reads a case file: pattern, architecture, verdict, with {a,b,} expanded.  False: *ret_line is bad. */
bool isa_cases_read(const char *text, struct isa_case **ret_cases, size_t *ret_n, int *ret_line);
/* Inputs of a case: ISA_THREADS * in_stride bytes, a function of the opcode and of io alone. */
void isa_inputs(const char *opcode, const struct isa_io *io, uint8_t *in);
/* Units in the last place between two values of a type ("f32", "f16x2", ...); packed types: the worst half. */
double isa_distance(const char *opcode, const void *a, const void *b, uint32_t bytes, enum isa_verdict verdict);

/* isa_emit.c for isa_emit_memory.c */
struct isa_emitter {
    struct ks_str *o;   /* body */
    struct ks_str tail; /* stores of results */
    struct isa_io *io;
    const char *opcode;
    char text[200];
    char *mod[32]; /* mod[0]: the base */
    int n_mod;
    char type[4][12]; /* types among the modifiers */
    int n_type;
    int next[5]; /* registers used, by size class */
};
const char *isa_reg(struct isa_emitter *e, uint32_t bytes);                    /* fresh; 1: predicate; valid for a while */
const char *isa_in(struct isa_emitter *e, enum isa_kind kind, uint32_t bytes); /* fresh, loaded with the next operand */
const char *isa_in_type(struct isa_emitter *e, const char *type);
void isa_out(struct isa_emitter *e, const char *reg, uint32_t bytes); /* store it at the end */
bool isa_has(const struct isa_emitter *e, const char *mod);
uint32_t isa_type_bytes(const char *type); /* 0: no type; pred: 1 */
bool isa_emit_memory(struct isa_emitter *e);
bool isa_emit_warp(struct isa_emitter *e);
bool isa_emit_tensor(struct isa_emitter *e);

#endif

#ifndef KS_HARNESS_PROTOCOL_H
#define KS_HARNESS_PROTOCOL_H

/* What parent and kscc-worker say to each other.  Commands and replies are single SOCK_SEQPACKET messages of the structs below
 * (both sides come from one build, so layouts agree); bulk data and report texts travel through a memfd mapped in both.
 *
 * Nothing in a reply is evidence of a right answer: the parent takes "done" from it and judges the bytes it then finds in the
 * shared memory.  A candidate shares the worker's address space and may forge any reply; where answers are compared all it can
 * gain is to be compared earlier or later.  Times are another matter.  On a GPU the parent's own clock bounds what a reply says.
 * On the emulated device findings, counters and modelled time live in the worker, beside the candidate: code that finds them
 * there can change them.  The sandbox, the admission gate and a few cross-checks (ks_counters_agree, the plausibility of a call's
 * work) stand in its way; a proof they are not, and certificates of that device say `modelled`. */

#include "base/err.h"
#include "base/limits.h"
#include "harness/inputs_core.h"

#include <stdint.h>

#define KS_WIRE_MAGIC        0x6b736363u
#define KS_WIRE_HEAD_BYTES   4096u      /* struct ks_wire_head at the start of the shared memory */
#define KS_WIRE_REPORT_BYTES (8u << 20) /* report text, after the head */
#define KS_WIRE_DATA_OFF     (KS_WIRE_HEAD_BYTES + KS_WIRE_REPORT_BYTES)
#define KS_WIRE_TEXT_BYTES   1024

enum ks_wire_op {
    KS_OP_HELLO,     /* ks_wire_hello: set the device up; report = {"device":...,"sandbox":{...}} */
    KS_OP_CONFIGURE, /* ks_wire_config: checks and counters of an emulated device */
    KS_OP_LOAD,      /* ks_wire_load: seal the sandbox, load the candidate */
    KS_OP_PREPARE,   /* ks_wire_prepare: place and fill the buffers of one call */
    KS_OP_CALL,      /* ks_wire_call: one call of the entry, device synchronised; value: see struct ks_wire_reply */
    KS_OP_FETCH,     /* ks_wire_fetch: copy buffers back into the shared memory */
    KS_OP_REPORT,    /* ks_wire_report: findings or counters as text; value[0] length, [1] modelled ns */
    KS_OP_QUIT
};

/* ks_wire_hello.device beside enum ks_device_kind: plain memory, for an oracle. */
#define KS_WIRE_HOST 2u

/* Written by the worker's SIGSYS handler, read by the parent when the worker has died. */
struct ks_wire_head {
    uint32_t refused_syscall; /* number + 1; 0: none */
    char refused_name[32];
};

struct ks_wire_hello {
    uint32_t device; /* enum ks_device_kind */
    char arch[32];
    char runtime_path[KS_MAX_PATH_BYTES]; /* emulated: our libcudart.so.13 */
    uint64_t arena_bytes;                 /* cuda: device memory that holds all buffers of a call */
    uint64_t shm_bytes;
    uint64_t cpu_limit_s;
    char registers[8192]; /* emulated: "kernel=count;..." from ptxas */
    uint32_t activity;    /* cuda: CUPTI records what the device does; it is opened as the next says, or by the loader's names */
    char cupti[KS_MAX_PATH_BYTES];
};

struct ks_wire_config {
    uint32_t checks;   /* KS_EMU_CHECK_* */
    uint32_t counters; /* 2: those of source lines whole */
    uint32_t n_threads;
    uint64_t seed;
    int64_t sample_thread_insts;
    int64_t max_warp_insts;
};

struct ks_wire_load {
    char path[KS_MAX_PATH_BYTES]; /* the candidate's .so */
    char symbol[1024];
};
/* What build.c links into every object that a worker loads: the last error of the object's own runtime, which is thereby
 * forgotten. */
#define KS_LAST_ERROR_SYMBOL "kscc_last_error"

/* Places of buffers are chosen within pieces of this size, which is how cudaMalloc aligns big blocks. */
#define KS_PLACE_BYTES ((size_t)2 << 20)

enum ks_wire_source { KS_SOURCE_SHM, KS_SOURCE_POISON, KS_SOURCE_GENERATE };

struct ks_wire_buffer {
    uint64_t bytes;
    uint64_t shm_off;     /* contents to load, and where FETCH puts them (with red zones when there are any) */
    uint64_t arena_off;   /* cuda: where in the arena the red zone before the buffer starts */
    uint32_t red_bytes;   /* red zone on either side; 0 on the emulated device, whose bounds are exact */
    uint32_t place_off;   /* emulated: the pointer lies this far behind a multiple of KS_PLACE_BYTES (cuda: arena_off says so) */
    uint32_t source;      /* enum ks_wire_source */
    uint32_t read_only;   /* an input: emulated: a kernel's store is a finding of its own, whatever is there in the end */
    uint32_t pattern;     /* poison of outputs */
    uint32_t red_pattern; /* from the first byte of each red zone on */
    struct ks_input_gen gen;
    char name[32];
};

enum ks_wire_cache {
    KS_CACHE_ANY,  /* not timed */
    KS_CACHE_COLD, /* L2 is overwritten before the call */
    KS_CACHE_WARM  /* L2 holds what the preparation left there */
};

/* How the call is scheduled; cuda but for the first and KS_ORDER_CAPTURED. */
enum ks_wire_order {
    KS_ORDER_PLAIN,
    KS_ORDER_LATE_IN,  /* the buffers get their contents on the call's stream behind a delay: work that does not wait for the
                          stream  meets poison */
    KS_ORDER_LATE_OUT, /* so too, and every multiprocessor is taken until the buffers have been read on the stream after the call:
                          work that the stream does not wait for is missed */
    KS_ORDER_CAPTURED, /* the call is recorded into a graph, and the graph launched; the emulated device, too */
    KS_ORDER_TENANT    /* another kernel occupies a part of the multiprocessors */
};

struct ks_wire_prepare {
    uint32_t n;
    uint32_t cache;      /* enum ks_wire_cache */
    uint32_t same_place; /* keep the buffers of the call before when their sizes are the same: old pointers, new contents */
    uint32_t fresh;      /* cuda: not 0: other physical memory behind all buffers, and a number that says how far it moves */
    uint32_t order;      /* enum ks_wire_order */
    uint32_t tenant;     /* blocks of the other kernel */
    uint32_t watch;      /* cuda: a call that changes limits or attributes of the device fails */
    uint32_t pad;
    struct ks_wire_buffer buffers[KS_MAX_PARAMS];
};

struct ks_wire_arg {
    uint32_t kind; /* enum ks_param_kind */
    uint32_t buffer;
    union {
        int64_t i;
        double f;
    } v;
};

struct ks_wire_call {
    uint32_t n_args;
    uint32_t returns_int;
    struct ks_wire_arg args[KS_MAX_PARAMS];
};

struct ks_wire_fetch {
    uint64_t mask; /* bit i: buffer i */
};

/* How the worker's text begins when a watched call has changed the device's state. */
#define KS_CHANGED_TEXT "the call leaves a changed device: "

/* In a replay a KS_OP_REPORT follows each call; the worker answers it with this line, made of the command's seq and pad. */
#define KS_REPLAY_RECORD "kscc-case %08x%08x"
enum ks_wire_report_kind { KS_REPORT_FINDINGS, KS_REPORT_COUNTERS, KS_REPORT_ACTIVITY /* cuda: worker/activity.h */ };
struct ks_wire_report {
    uint32_t kind;
    uint32_t clear;
};

struct ks_wire_command {
    uint32_t magic, op, seq, pad;
    union {
        struct ks_wire_hello hello;
        struct ks_wire_config config;
        struct ks_wire_load load;
        struct ks_wire_prepare prepare;
        struct ks_wire_call call;
        struct ks_wire_fetch fetch;
        struct ks_wire_report report;
    } u;
};

/* X(name, text): what a call may leave changed in its thread without any variable. */
#define KS_LEFT(X)                                                                                                               \
    X(FLOAT_MODE, "the rounding, flushing or trapping of floating point")                                                        \
    X(X87, "registers of the x87 unit in use")                                                                                   \
    X(FLAGS, "flags of the processor")                                                                                           \
    X(GS, "the base of the segment GS")                                                                                          \
    X(THREAD_BLOCK, "the thread's control block")                                                                                \
    X(EXCEPTIONS, "exceptions that are caught and not done with")
enum ks_left {
#define X(name, text) KS_LEFT_##name,
    KS_LEFT(X)
#undef X
        KS_N_LEFT
};

/* What a reply to KS_OP_CALL holds; a text's reply has its length in the first. */
enum ks_wire_value {
    KS_VALUE_RETURNED,  /* by the entry */
    KS_VALUE_DEVICE_NS, /* between the events; KS_OP_REPORT: modelled */
    KS_VALUE_HOST_NS,
    KS_VALUE_LATE_NS,    /* after the closing event other work went on */
    KS_VALUE_BUSY_NS,    /* the device's time for preparing and calling */
    KS_VALUE_LEFT_BYTES, /* emulated: device memory taken and not given back */
    KS_VALUE_LAST_ERROR, /* the runtime's last error, as the caller of the entry would find it; 0: none */
    KS_VALUE_LEFT_STATE, /* bits of enum ks_left */
    KS_N_VALUES
};

struct ks_wire_reply {
    uint32_t magic, op, seq;
    uint32_t code; /* enum ks_code */
    double value[KS_N_VALUES];
    char text[KS_WIRE_TEXT_BYTES];
};

/* Bytes of the command `op` on the wire. */
size_t ks_wire_command_bytes(enum ks_wire_op op);
const char *ks_wire_op_text(enum ks_wire_op op);

#endif

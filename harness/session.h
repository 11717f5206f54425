#ifndef KS_HARNESS_SESSION_H
#define KS_HARNESS_SESSION_H

/* A session judges candidates of one entry of one unit on one device.  The parent (this process) holds the seeds, the expected
 * outputs and the verdicts and never runs candidate code; each arm runs in a kscc-worker process of its own.  A session first
 * builds the baseline and tests its own contract: zeros, a copy of an input, a constant and a no-op must be rejected by the
 * numerics gate, else ks_session_new() refuses and says why.
 *
 * Nothing a candidate does ends the session: every fault costs one trial. */

#include "base/json.h"
#include "base/str.h"
#include "harness/contract.h"

enum ks_gate {
#define X(name, text) KS_GATE_##name,
#include "harness/gate.def"
#undef X
    KS_N_GATES
};
const char *ks_gate_text(enum ks_gate gate);

enum ks_gate_state { KS_GATE_NOT_RUN, KS_GATE_PASS, KS_GATE_FAIL, KS_GATE_SKIPPED };

struct ks_gate_result {
    enum ks_gate_state state;
    char *reason;            /* one sentence; what was compared and where it first differed.  NULL when passed */
    struct ks_json *details; /* object or NULL */
};

/* One timing point. */
struct ks_point_result {
    struct ks_shape shape;
    double weight;
    double reference_ns, candidate_ns;      /* medians */
    double speedup, speedup_lo, speedup_hi; /* T_reference / T_kernel, 95 % interval of the paired ratio */
    int n_pairs;
    double warm_reference_ns, warm_candidate_ns; /* medians with a warm cache; 0: not measured */
    double floor_ns, roofline_ns;                /* no card does it in less; less if it reads its inputs once.  0: not known */
};

enum ks_outcome {
    KS_OUTCOME_ACCEPTED,
    KS_OUTCOME_REJECTED, /* some gate failed */
    KS_OUTCOME_NO_GAIN   /* correct and safe, not faster beyond the gate */
};

struct ks_verdict {
    enum ks_outcome outcome;
    struct ks_gate_result gates[KS_N_GATES];
    struct ks_point_result *points;
    size_t n_points;
    double speedup, speedup_lo, speedup_hi; /* weighted geometric mean over the points; 0: not timed */
    bool modelled;                          /* times come from the emulated device's model */
    double max_abs_err, max_rel_err;
    int64_t build_ns, wall_ns;
    int64_t device_ns, tools_ns; /* GPU: its time in calls of both arms and their preparation; wall time of the sanitizers */
    int64_t beside_ns;           /* the part of device_ns that passed beside the build */
    int64_t gate_ns[KS_N_GATES]; /* wall time each gate took; build: 0 when the text was built before */
    char source_hash[65], object_hash[65];
    char code_hash[65];       /* of host code and PTX without line information */
    char same_as[65];         /* source_hash of a known trial with that code: no gate behind the build has run.  "": none */
    char *approval;           /* why a person must look at it before it is emitted; NULL: nothing unusual */
    struct ks_json *counters; /* device profile of the candidate, or NULL */
    /* Timing points whose answers were never compared (too large to emulate in full): [{"shape":..., "warp_insts": the
     * original's}], and the most work that was: {"shape":..., "bytes":..., "warp_insts":...}.  Emulated device only, NULL
     * elsewhere. */
    struct ks_json *unchecked_points, *largest_compared;
};
void ks_verdict_release(struct ks_verdict *v);
struct ks_json *ks_verdict_to_json(const struct ks_verdict *v, const struct ks_contract *c);
/* The first failed gate, or KS_N_GATES. */
enum ks_gate ks_verdict_failed_gate(const struct ks_verdict *v);

enum ks_device_kind { KS_DEVICE_EMULATED, KS_DEVICE_CUDA };

struct ks_session_options {
    const char *unit_path; /* the user's .cu: names in messages, #include "..." resolution */
    const char *line_path; /* what messages and line information name in its place; NULL: unit_path */
    const char *source;    /* its text */
    size_t source_len;
    char *const
        *nvcc_argv; /* the user's compile line as nvcc would get it (argv[0] = real nvcc, baseline flags, input file, -o ...) */
    const char
        *toolkit_dir;   /* where nvcc says its toolkit is (argv[0] may be a wrapper): builds may read it; NULL: beside argv[0] */
    size_t input_index; /* which word of nvcc_argv is the input file */
    const struct ks_contract *contract;
    const char *recording; /* folder that has the contents the contract names as recorded; NULL: none */
    const struct ks_signature *signature;
    enum ks_device_kind device;
    const char *arch;         /* "sm_90a"; emulated: the modelled card */
    const char *work_dir;     /* scratch that the session may fill; removed by the caller */
    const char *bin_dir;      /* where kscc-worker and the emulated libcudart.so.13 are */
    struct ks_remote *remote; /* not NULL: all workers run there (remote/remote.h).  Borrowed until the session's end */
    const uint8_t *secret;    /* 32 bytes, the session's key.  On the emulated device the driver passes a key derived from the
                                 content key, so that a run can be repeated byte for byte; on a GPU it is fresh */
    double delta;             /* gate: lower bound must exceed 1 + delta */
    double regress_limit;     /* no timing point below 1 - this */
    int64_t trial_timeout_ms;
    size_t memory_limit_bytes; /* host memory of a worker */
    bool look_twice; /* GPU: no trial is decided at the first look, so that what starting the processes anew costs can be measured
                      */
    bool standby;    /* GPU: keep opened workers waiting (standby.c) */
    void (*on_gate)(const char *gate, bool confirm); /* told before a gate is tried; NULL: nobody */
    const char *health_dir;                          /* what is remembered of places (health.h); NULL: nothing */
    void (*on_place)(const char *text);              /* told that a place is not used any more, and why; NULL: nobody */
    int64_t sample_thread_insts;                     /* emulated: budget per timed launch */
    bool line_bytes;                                 /* emulated: the profile counts the different bytes of every source line */
    const struct ks_args *confined_to; /* set by the session: what the build of a candidate may read besides the system's folders;
                                          NULL: not confined */
};

struct ks_session;

/* Errors: KS_ERR_BUILD (baseline does not build as a workload: reason), KS_ERR_DEVICE (none present, or baseline fails on it),
 * KS_ERR_MISMATCH (contract fails its self-test, or baseline is not deterministic within tolerance), KS_ERR_LIMIT (a shape needs
 * more memory than there is). */
KS_NODISCARD enum ks_code ks_session_new(const struct ks_session_options *opt, struct ks_session **ret_session,
                                         struct ks_err *err);
void ks_session_free(struct ks_session *s);
/* Judges one candidate text.  Returns KS_OK whatever the verdict; errors mean that the session itself cannot go on. */
KS_NODISCARD enum ks_code ks_session_try(struct ks_session *s, const char *source, size_t len, struct ks_verdict *ret_verdict,
                                         struct ks_err *err);
/* From now on a trial whose code has this hash ends with v.same_as = source_hash, instead of being run and timed once more;
 * whoever asked has that verdict. */
void ks_session_know(struct ks_session *s, const char *code_hash, const char *source_hash);
/* For whoever has others judge beside this session: asked after the build of a trial whose code is not known here.  True: another
 * text's trial has that code, and ret_source_hash is that text's.  May wait, which counts against no limit. */
typedef bool (*ks_code_asked_fn)(void *ctx, const char *code_hash, char ret_source_hash[65]);
void ks_session_on_code(struct ks_session *s, ks_code_asked_fn ask, void *ctx);
/* Final confirmation of an accepted candidate: fresh seeds and hidden shapes, longer timing. */
KS_NODISCARD enum ks_code ks_session_confirm(struct ks_session *s, const char *source, size_t len, struct ks_verdict *ret_verdict,
                                             struct ks_err *err);
/* Profile of the baseline over the timing points: {"device":..., "modelled":bool, "kernels":[...], "points":[...],
 * "roofline":..., "ptxas": "<ptxas -v text>"}; kernels: counters, where the device counts, and "ptx" (ptx_facts.h); roofline:
 * roofline.h.  Caller frees. */
KS_NODISCARD enum ks_code ks_session_profile(struct ks_session *s, struct ks_json **ret_profile, struct ks_err *err);
/* What the trials ran on, for certificates: {"kind":"emulated","arch":..,"modelled":true,...} or name, driver, clocks.  Caller
 * frees. */
/* That two versions of the unit can stand beside each other in one object as far as its device code goes (ks_device_state_check;
 * the host's part is seen without a session).  Errors: KS_ERR_UNSUPPORTED with the variable's name. */
KS_NODISCARD enum ks_code ks_session_check_state(const struct ks_session *s, struct ks_err *err);
struct ks_json *ks_session_device_json(struct ks_session *s);

/* Present GPUs as seen through the driver API; 0 when libcuda.so.1 is missing.  arch: "sm_90a". */
int ks_device_count_cuda(char *ret_name, size_t name_size, char *ret_arch, size_t arch_size);

#endif
